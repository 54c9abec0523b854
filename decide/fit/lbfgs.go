package fit

import (
	"math"
	"slices"
)

// minimize finds a minimum of a smooth function by L-BFGS with a backtracking line search. f returns
// the value at theta and writes the gradient. after, where it is given, sees each new theta and ends
// the search by returning true. It is deterministic.
func minimize(f func(theta, grad []float64) (float64, error), theta []float64, iterations int, after func(theta []float64) bool) ([]float64, error) {
	const (
		memory     = 10
		flat       = 1e-9 // gradient at which it ends
		sufficient = 1e-4 // part of the promised decrease that a step must bring
	)
	n := len(theta)
	theta = slices.Clone(theta)
	grad, next, nextGrad := make([]float64, n), make([]float64, n), make([]float64, n)
	value, err := f(theta, grad)
	if err != nil {
		return nil, err
	}
	var steps, turns [][]float64 // differences of theta and of the gradient, oldest first
	for range iterations {
		if norm(grad) < flat {
			break
		}
		dir := direction(grad, steps, turns)
		slope := dot(dir, grad)
		if !(slope < 0) {
			steps, turns = nil, nil
			for i, g := range grad {
				dir[i] = -g
			}
			slope = -dot(grad, grad)
		}
		step := 1.0
		if len(steps) == 0 {
			step = min(1, 1/norm(grad))
		}
		found := false
		var nextValue float64
		for range 40 {
			for i := range next {
				next[i] = theta[i] + step*dir[i]
			}
			// A step too far may leave the numbers that the loss can be computed for.
			if nextValue, err = f(next, nextGrad); err == nil && nextValue <= value+sufficient*step*slope && !math.IsInf(norm(nextGrad), 0) {
				found = true
				break
			}
			step /= 2
		}
		if !found {
			break
		}
		s, y := make([]float64, n), make([]float64, n)
		for i := range s {
			s[i], y[i] = next[i]-theta[i], nextGrad[i]-grad[i]
		}
		if dot(s, y) > 1e-12*norm(s)*norm(y) {
			steps, turns = append(steps, s), append(turns, y)
			if len(steps) > memory {
				steps, turns = steps[1:], turns[1:]
			}
		}
		copy(theta, next)
		copy(grad, nextGrad)
		gain := value - nextValue
		value = nextValue
		if after != nil && after(theta) {
			break
		}
		if gain <= 1e-14*math.Abs(value) {
			break
		}
	}
	return theta, nil
}

// direction returns minus the gradient times the inverse Hessian that the last steps suggest.
func direction(grad []float64, steps, turns [][]float64) []float64 {
	d := make([]float64, len(grad))
	for i, g := range grad {
		d[i] = -g
	}
	a := make([]float64, len(steps))
	for i := len(steps) - 1; i >= 0; i-- {
		a[i] = dot(steps[i], d) / dot(steps[i], turns[i])
		axpy(-a[i], turns[i], d)
	}
	if last := len(steps) - 1; last >= 0 {
		scale := dot(steps[last], turns[last]) / dot(turns[last], turns[last])
		for i := range d {
			d[i] *= scale
		}
	}
	for i := range steps {
		b := dot(turns[i], d) / dot(steps[i], turns[i])
		axpy(a[i]-b, steps[i], d)
	}
	return d
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

func axpy(a float64, x, y []float64) {
	for i := range x {
		y[i] += a * x[i]
	}
}

func norm(a []float64) float64 { return math.Sqrt(dot(a, a)) }
