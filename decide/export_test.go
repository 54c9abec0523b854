package decide

// The sums of answers: their bits do not depend on the order of the options.
var (
	Softmax   = softmax
	LogSumExp = logSumExp
)
