// A module of its own, so that 5 MB of training text stay out of the one that people go get.
module github.com/hotpath-go/hotpath/model/embedded/train/written

go 1.26.0
