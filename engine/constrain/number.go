package constrain

import (
	"fmt"
	"math/big"
	"strings"
)

// Numbers are written with at most this many digits before the point, this many behind it, and
// two digits of exponent, so that every parser reads them and a model cannot count forever.
// A bound with more digits raises the first of these.
const maxDigits = 30

// maxModulus bounds multipleOf: its digits as an integer, times the digits behind the point.
const maxModulus = 20_000

// maxExponent bounds the digits and the exponent of the numbers in a schema.
const maxExponent = 400

type bound struct {
	value  *big.Rat
	strict bool
}

// numbers describes a set of numbers.
type numbers struct {
	integer   bool
	low, high *bound // nil: none
	multiples []*big.Rat
}

// key names the set.
func (s numbers) key() string {
	var b strings.Builder
	fmt.Fprint(&b, "number ", s.integer)
	for _, x := range []*bound{s.low, s.high} {
		if x == nil {
			b.WriteString(" -")
		} else {
			fmt.Fprint(&b, " ", x.value.RatString(), x.strict)
		}
	}
	for _, m := range s.multiples {
		b.WriteString(" " + m.RatString())
	}
	return b.String()
}

// automaton returns the set's texts.
func (s numbers) automaton(limit int) (*dfa, error) {
	if !s.integer && s.low == nil && s.high == nil && len(s.multiples) == 0 {
		return numberForm(maxDigits, maxDigits, true, limit)
	}
	whole, fraction := maxDigits, maxDigits
	for _, b := range []*bound{s.low, s.high} {
		if b != nil {
			n, d := decimal(b.value)
			whole = max(whole, len(n)+1)
			fraction = max(fraction, len(d)+1)
		}
	}
	if s.integer {
		fraction = 0
	}
	d, err := numberForm(whole, fraction, false, limit)
	for _, b := range []*bound{s.low, s.high} {
		if err != nil {
			return nil, err
		}
		if b != nil {
			d, err = combine(d, side(b, b == s.low), true, limit)
		}
	}
	for _, m := range s.multiples {
		if err != nil {
			return nil, err
		}
		var r *dfa
		if r, err = multiples(m); err == nil {
			d, err = combine(d, r, true, limit)
		}
	}
	return d, err
}

// numberForm is JSON's form of numbers with limits on their digits. -0 without a fraction is
// not in it.
func numberForm(whole, fraction int, exponent bool, limit int) (*dfa, error) {
	n := &nfa{limit: 8 * limit}
	start, accept := n.node(), n.node()
	digit, nonzero := []byteRange{{'0', '9'}}, []byteRange{{'1', '9'}}
	sign := n.after(start, "-")
	end := n.node() // of the whole digits
	first := n.node()
	n.empty(start, first)
	n.empty(sign, first)
	n.text(start, end, "0")
	negativeZero := n.after(sign, "0")
	at := n.node()
	n.bytes(first, at, nonzero)
	n.empty(at, end)
	for i := 1; i < whole; i++ {
		next := n.node()
		n.bytes(at, next, digit)
		n.empty(next, end)
		at = next
	}
	tail := n.node() // behind the fraction
	n.empty(end, tail)
	if fraction > 0 {
		at = n.after(end, ".")
		n.text(negativeZero, at, ".")
		for range fraction {
			next := n.node()
			n.bytes(at, next, digit)
			n.empty(next, tail)
			at = next
		}
	}
	n.empty(tail, accept)
	if exponent {
		e := n.node()
		n.text(tail, e, "e")
		n.text(tail, e, "E")
		signed := n.node()
		n.empty(e, signed)
		n.text(e, signed, "+")
		n.text(e, signed, "-")
		one := n.node()
		n.bytes(signed, one, digit)
		n.bytes(one, accept, digit)
		n.empty(one, accept)
	}
	d, err := n.determinize(start, accept, limit)
	if err != nil {
		return nil, err
	}
	return d.trim(), nil
}

// decimal returns the digits of |r| before and behind the point, without zeros at either end;
// the fraction ends where it has maxDigits more digits than is exact anyway.
func decimal(r *big.Rat) (whole, fraction string) {
	abs := new(big.Rat).Abs(r)
	places := 0
	for d := new(big.Int).Set(abs.Denom()); d.BitLen() > 1 && places < maxExponent; places++ {
		ten := big.NewInt(10)
		g := new(big.Int).GCD(nil, nil, d, ten)
		d.Quo(d, g)
	}
	whole, fraction, _ = strings.Cut(abs.FloatString(places), ".")
	return strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
}

// side accepts, among well-formed decimal numbers without exponent, those at least (low) or at
// most the bound.
func side(b *bound, low bool) *dfa {
	n := &nfa{limit: 1 << 20}
	start, accept := n.node(), n.node()
	negative := n.after(start, "-")
	sign := b.value.Sign()
	switch {
	case low && sign <= 0: // every x >= 0 but 0 > 0; of the rest |x| at most |b|
		n.magnitude(start, accept, new(big.Rat), true, b.strict && sign == 0)
		n.magnitude(negative, accept, b.value, false, b.strict)
	case low:
		n.magnitude(start, accept, b.value, true, b.strict)
	case sign >= 0:
		n.magnitude(start, accept, b.value, false, b.strict)
		n.magnitude(negative, accept, new(big.Rat), true, b.strict && sign == 0)
	default:
		n.magnitude(negative, accept, b.value, true, b.strict)
	}
	d, err := n.determinize(start, accept, 1<<20)
	if err != nil { // cannot be: bounds are at most a few hundred digits
		return &dfa{states: []state{{}}}
	}
	return d.trim()
}

// magnitude accepts unsigned decimal numbers of at least, or at most, |v|.
func (n *nfa) magnitude(from, to int32, v *big.Rat, atLeast, strict bool) {
	whole, fraction := decimal(v)
	digits := []byteRange{{'0', '9'}}
	free := n.node() // any digits, then perhaps a point and any digits
	n.bytes(free, free, digits)
	n.empty(free, to)
	point := n.after(free, ".")
	n.bytes(point, point, digits)
	n.empty(point, to)
	tail := n.node() // only behind the point: any digits
	n.bytes(tail, tail, digits)
	n.empty(tail, to)
	loose := n.node() // exactly the whole digits that are left matter no more: a fraction may follow
	n.empty(loose, to)
	n.text(loose, tail, ".")

	// The whole part, by its length against the bound's.
	equal := from
	if whole == "" {
		equal = n.after(from, "0")
		if atLeast {
			n.bytes(from, free, []byteRange{{'1', '9'}})
		}
	} else {
		if atLeast { // more digits
			at := n.node()
			n.bytes(from, at, []byteRange{{'1', '9'}})
			for i := 1; i < len(whole); i++ {
				next := n.node()
				n.bytes(at, next, digits)
				at = next
			}
			n.bytes(at, free, digits)
		} else { // fewer digits
			n.text(from, loose, "0")
			if len(whole) > 1 {
				at := n.node()
				n.bytes(from, at, []byteRange{{'1', '9'}})
				for i := 1; i < len(whole); i++ {
					n.empty(at, loose)
					next := n.node()
					if i+1 < len(whole) {
						n.bytes(at, next, digits)
					}
					at = next
				}
			}
		}
		for i := range len(whole) { // as many
			c := whole[i]
			rest := len(whole) - i - 1
			first := byte('0')
			if i == 0 {
				first = '1'
			}
			lo, hi := first, c-1
			if atLeast {
				lo, hi = c+1, '9'
			}
			if lo <= hi {
				at := n.node()
				n.bytes(equal, at, []byteRange{{lo, hi}})
				for range rest {
					next := n.node()
					n.bytes(at, next, digits)
					at = next
				}
				n.empty(at, loose)
			}
			equal = n.after(equal, string(c))
		}
	}
	// The fraction, equal so far.
	if done := fraction == ""; done && !strict || !done && !atLeast {
		n.empty(equal, to)
	}
	equal = n.after(equal, ".")
	for i := range len(fraction) {
		c := fraction[i]
		lo, hi := byte('0'), c-1
		if atLeast {
			lo, hi = c+1, '9'
		}
		if lo <= hi {
			n.bytes(equal, tail, []byteRange{{lo, hi}})
		}
		equal = n.after(equal, string(c))
		if last := i+1 == len(fraction); last && !strict || !last && !atLeast {
			n.empty(equal, to)
		}
	}
	// Behind the bound's last digit: zeros keep it equal.
	if zeros := n.node(); atLeast {
		n.empty(equal, zeros)
		n.text(zeros, zeros, "0")
		n.bytes(zeros, tail, []byteRange{{'1', '9'}})
		if !strict {
			n.empty(zeros, to)
		}
	} else if !strict {
		n.empty(equal, zeros)
		n.text(zeros, zeros, "0")
		n.empty(zeros, to)
	}
}

// multiples accepts decimal numbers without exponent that are whole multiples of m.
func multiples(m *big.Rat) (*dfa, error) {
	// m = a / 10^places.
	_, fraction := decimal(m)
	places := len(fraction)
	scaled := new(big.Rat).Mul(m, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)))
	if !scaled.IsInt() || !scaled.Num().IsInt64() || scaled.Num().Int64() > maxModulus/int64(places+2) {
		return nil, fmt.Errorf("%w: multipleOf %s, as an integer over a power of ten at most %d", ErrLimit, m.RatString(), maxModulus/(places+2))
	}
	a := scaled.Num().Int64()
	// States: 0 start, 1 behind the sign, then remainder by number of digits behind the point,
	// 0 being before it; zeros may follow the last of them.
	d := &dfa{states: make([]state, 2+int(a)*(places+1))}
	at := func(rem int64, used int) int32 { return int32(2 + int64(used)*a + rem) }
	for c := byte('0'); c <= '9'; c++ {
		e := edge{lo: c, hi: c, to: at(int64(c-'0')%a, 0)}
		d.states[0].edges = append(d.states[0].edges, e)
		d.states[1].edges = append(d.states[1].edges, e)
	}
	d.states[0].edges = append([]edge{{lo: '-', hi: '-', to: 1}}, d.states[0].edges...)
	// A point leads to a copy of the row behind it, since 1. is not a number.
	for rem := range a {
		for used := range places + 1 {
			s := &d.states[at(rem, used)]
			scale := int64(1)
			for range places - used {
				scale = scale * 10 % a
			}
			s.accept = rem*scale%a == 0
		}
	}
	point := make([]int32, a)
	for rem := range a {
		point[rem] = int32(len(d.states))
		d.states = append(d.states, state{})
	}
	digits := func(rem int64, used int) (edges []edge) {
		if used == places { // the value is whole in units of 10^-places: only zeros may follow
			if rem%a == 0 {
				edges = append(edges, edge{lo: '0', hi: '0', to: at(rem, used)})
			}
			return edges
		}
		for c := byte('0'); c <= '9'; c++ {
			edges = append(edges, edge{lo: c, hi: c, to: at((rem*10+int64(c-'0'))%a, used+1)})
		}
		return edges
	}
	zeros := int32(len(d.states)) // behind the point where places is 0
	d.states = append(d.states, state{accept: true, edges: []edge{{lo: '0', hi: '0', to: zeros}}})
	for rem := range a {
		if places == 0 {
			if rem == 0 {
				d.states[point[rem]].edges = []edge{{lo: '0', hi: '0', to: zeros}}
			}
		} else {
			d.states[point[rem]].edges = digits(rem, 0)
		}
		s := &d.states[at(rem, 0)]
		s.edges = []edge{{lo: '.', hi: '.', to: point[rem]}}
		for c := byte('0'); c <= '9'; c++ {
			s.edges = append(s.edges, edge{lo: c, hi: c, to: at((rem*10+int64(c-'0'))%a, 0)})
		}
		for used := 1; used <= places; used++ {
			d.states[at(rem, used)].edges = digits(rem, used)
		}
	}
	return d.trim(), nil
}
