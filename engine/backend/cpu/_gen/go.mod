module github.com/hotpath-go/hotpath/engine/backend/cpu/_gen

go 1.26.0
