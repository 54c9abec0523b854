package decide

import "strings"

// The sums of answers: their bits do not depend on the order of the options.
var (
	Softmax   = softmax
	LogSumExp = logSumExp
)

// QuestionText returns the text that a plan of one question writes, from what its tokens decode to.
func (c *Compiler) QuestionText(decoded string, b Border) (string, bool) {
	s, err := c.scaffold()
	if err != nil {
		return "", false
	}
	open := s.open
	if b == BorderInside {
		open = insideLead
	}
	t, ok := strings.CutPrefix(decoded, open)
	t, ends := strings.CutSuffix(t, s.close+s.reply)
	return t, ok && ends
}
