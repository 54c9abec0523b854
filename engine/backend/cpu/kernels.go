package cpu

import (
	"fmt"
	"os"
	"strings"

	"github.com/hotpath-go/hotpath/engine/backend"
	"github.com/hotpath-go/hotpath/quant"
)

// kernels is one kernel path: the loops over numbers that a forward pass is made of. Each function
// works on one row or tile and has one order of operations, whatever is asked beside it. Functions
// that a path does not override are the generic ones, which are the specification.
type kernels struct {
	name string

	// norm writes src / rms(src) * gain to dst; the three are equally long.
	norm func(dst, src, gain []float32, epsilon float32)
	// add adds src to dst.
	add func(dst, src []float32)
	// silu multiplies up by gate/(1+exp(-gate)), into up.
	silu func(up, gate []float32)
	// rotate turns the pairs (a[i], b[i]) by the angles of cos and sin, rotateAdjacent the pairs
	// (x[2i], x[2i+1]).
	rotate         func(a, b, cos, sin []float32)
	rotateAdjacent func(x, cos, sin []float32)

	// softmax turns n scores into weights exp(scale*(s - max)), in place, and returns scale*max and
	// the sum of the weights. The slice is whole tiles; what lies past n becomes 0.
	softmax func(scores []float32, n int, scale float32) (top, sum float32)
	// blend sets acc to acc*a + part*b.
	blend func(acc, part []float32, a, b float32)
	// exp is the function that softmax uses, for one value.
	exp func(x float32) float32
	// sumExp returns the largest of the values and the sum of exp(value - largest).
	sumExp func(x []float32) (top, sum float32)

	// reset sizes the forms of an input, fill derives them for columns lo to hi of a row; nil where
	// the input keeps the generic ones.
	reset func(in *input)
	fill  func(in *input, row, lo, hi int)

	// scores multiplies rows of queries with tiles of keys, see attention_generic.go.
	scores map[quant.Format]scoresKernel
	// values adds weighted tiles of values to rows, see attention_generic.go.
	values map[quant.Format]valuesKernel

	// linear holds the products with weights of a native format.
	linear map[quant.Format]*linearKernel
}

// linearKernel multiplies rows of activations with the rows of a matrix in one format.
type linearKernel struct {
	form form // of the activations
	// group is how many panels multiply likes best at once, for a number of rows; nil: any.
	group func(rows int) int
	// pack writes one panel, 16 rows of the matrix from row 16*panel on, in the layout of multiply,
	// zeros for the rows past the end; nil where multiply reads the rows as stored.
	pack      func(dst []byte, t quant.Tensor, panel int)
	packBytes func(cols int) int // bytes of a panel
	// multiply writes y[r*ld+o] for all rows r of in and the outputs o of panels lo to hi-1.
	multiply func(m *matrix, in *input, lo, hi int, y []float32, ld int)
	// one returns output o of row r, with the bits that multiply gives it.
	one func(m *matrix, in *input, r, o int) float32
}

// available returns the paths of this processor and build, best first.
func available() []*kernels { return append(native(), generic()) }

// choose returns the path that is asked for by option, or by environment, or the best.
func choose(name string, mapped bool) (*kernels, backend.Selection[string], error) {
	sel := backend.Selection[string]{Requested: name}
	if name == "" {
		name = os.Getenv(Variable)
		if name != "" {
			sel.Reason = "environment variable " + Variable
		}
	}
	if mapped && name == "" {
		name, sel.Reason = "generic", "mapped weights"
	}
	var names []string
	for _, k := range available() {
		if name == "" || k.name == name {
			if mapped && k.name != "generic" {
				return nil, sel, fmt.Errorf("%w: cpu: path %q reads no mapped weights, only generic does", backend.ErrUnsupported, name)
			}
			sel.Effective = k.name
			if sel.Requested == "" && sel.Reason == "" {
				sel.Reason = "best of this processor"
			}
			return k, sel, nil
		}
		names = append(names, k.name)
	}
	return nil, sel, fmt.Errorf("%w: cpu: path %q, this processor and build have %s", backend.ErrUnsupported, name, strings.Join(names, ", "))
}

func generic() *kernels {
	return &kernels{
		name:           "generic",
		norm:           normGeneric,
		add:            addGeneric,
		silu:           siluGeneric,
		rotate:         rotateGeneric,
		rotateAdjacent: rotateAdjacentGeneric,
		softmax:        softmaxGeneric,
		blend:          blendGeneric,
		exp:            expGeneric,
		sumExp:         sumExpGeneric,
		scores: map[quant.Format]scoresKernel{
			quant.F32: scoresGeneric(quant.F32), quant.F16: scoresGeneric(quant.F16), quant.BF16: scoresGeneric(quant.BF16),
		},
		values: map[quant.Format]valuesKernel{
			quant.F32: valuesGeneric(quant.F32), quant.F16: valuesGeneric(quant.F16), quant.BF16: valuesGeneric(quant.BF16),
		},
		linear: map[quant.Format]*linearKernel{
			quant.F32:  floatGeneric(quant.F32),
			quant.F16:  floatGeneric(quant.F16),
			quant.BF16: floatGeneric(quant.BF16),
			quant.Q8_0: int8Generic(quant.Q8_0),
			quant.Q4_0: int8Generic(quant.Q4_0),
			quant.Q4_K: int8Generic(quant.Q4_K),
			quant.Q6_K: int8Generic(quant.Q6_K),
		},
	}
}
