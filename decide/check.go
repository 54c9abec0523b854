package decide

import (
	"fmt"
	"strings"
)

// Check refuses a request that breaks a rule, naming the field's path and both numbers. Deciders
// call it themselves.
func (r *Request) Check() error {
	if err := r.State.Err(); err != nil {
		return err
	}
	for _, f := range []struct {
		name  string
		value float64
		most  float64
	}{
		{"MinConfidence", r.MinConfidence, 1}, {"MinLabelMass", r.MinLabelMass, 1},
		{"MaxSpread", r.MaxSpread, 1}, {"Prior", r.Prior, MaxPrior},
	} {
		if !(f.value >= 0 && f.value <= f.most) {
			return fmt.Errorf("%w: %s: %v, must be 0 to %v", ErrRequest, f.name, f.value, f.most)
		}
	}
	if r.Border != BorderNone && r.Border != BorderCanonical {
		return fmt.Errorf("%w: Border: %v, must be %v or %v", ErrRequest, r.Border, BorderNone, BorderCanonical)
	}
	if wrong := wrongReads(r.Method, r.Orders, r.Length); wrong != "" {
		return fmt.Errorf("%w: %s", ErrRequest, wrong)
	}
	if r.Confidence > Mass {
		return fmt.Errorf("%w: Confidence: %d, the definitions are 0 to %d", ErrRequest, r.Confidence, Mass)
	}
	if r.SkipMass && (r.Confidence == Mass || r.MinLabelMass > 0) {
		return fmt.Errorf("%w: SkipMass: set together with a confidence or threshold that needs the label mass", ErrRequest)
	}
	if r.Plan != nil {
		if len(r.Questions) > 0 || r.Instructions != "" || r.Method != Automatic || r.Orders != 0 || r.Length != Sum {
			return fmt.Errorf("%w: Plan: given together with Questions, Instructions, Method, Orders or Length", ErrPlan)
		}
		return nil
	}
	return checkQuestions(r.Questions)
}

// wrongReads says which way to read options there is not.
func wrongReads(m Method, orders int, l Length) string {
	switch {
	case m > Each:
		return fmt.Sprintf("Method: %d, the methods are %d to %d", m, Automatic, Each)
	case orders < 0 || orders > MaxOrders:
		return fmt.Sprintf("Orders: %d, must be 0 to %d", orders, MaxOrders)
	case l > PerByte:
		return fmt.Sprintf("Length: %d, the normalisations are %d to %d", l, Sum, PerByte)
	}
	return ""
}

func checkQuestions(list []Question) error {
	if n := len(list); n == 0 || n > MaxQuestions {
		return fmt.Errorf("%w: Questions: %d, must be 1 to %d", ErrRequest, n, MaxQuestions)
	}
	seen := make(map[string]int, len(list))
	for i := range list {
		q := &list[i]
		id := strings.TrimSpace(q.ID)
		if id == "" {
			return fmt.Errorf("%w: Questions[%d].ID: empty", ErrRequest, i)
		}
		if j, ok := seen[id]; ok {
			return fmt.Errorf("%w: Questions[%d].ID: %q is also that of Questions[%d]", ErrRequest, i, q.ID, j)
		}
		seen[id] = i
		if err := q.check(); err != nil {
			return err
		}
	}
	return nil
}

func (q *Question) check() error {
	fail := func(field, format string, args ...any) error {
		return fmt.Errorf("%w: question %.80q: %s: %s", ErrRequest, q.ID, field, fmt.Sprintf(format, args...))
	}
	if strings.TrimSpace(q.Instructions) == "" {
		return fail("Instructions", "empty")
	}
	if !(q.MinConfidence >= 0 && q.MinConfidence <= 1) {
		return fail("MinConfidence", "%v, must be 0 to 1", q.MinConfidence)
	}
	if wrong := wrongReads(q.Method, q.Orders, q.Length); wrong != "" {
		return fmt.Errorf("%w: question %q: %s", ErrRequest, q.ID, wrong)
	}
	size := len(q.Instructions) + len(q.Criteria)
	for _, o := range q.Options {
		size += len(o.Name) + len(o.Description)
	}
	if size > MaxText {
		return fail("Instructions, Criteria and Options", "%d bytes, limit %d", size, MaxText)
	}
	n := len(q.Options)
	switch q.Kind {
	case KindBoolean:
		if n != 0 && (n != 2 || q.Options[0].Name != "yes" || q.Options[1].Name != "no") {
			return fail("Options", "%d; a boolean has none, or the 2 named yes and no", n)
		}
	case KindChoice:
		if n < 1 || n > MaxOptions {
			return fail("Options", "%d options, must be 1 to %d", n, MaxOptions)
		}
	case KindScore:
		if n < 2 || n > MaxLevels {
			return fail("Options", "%d levels, must be 2 to %d", n, MaxLevels)
		}
	default:
		return fail("Kind", "%d, the kinds are %d to %d", q.Kind, KindBoolean, KindScore)
	}
	return q.checkOptions(fail)
}
