package main

import "fmt"

// The products of rows of activations with panels of 16 outputs, a lane for each output. A kernel
// takes T rows and R panels at once. Every output is summed block after block, in that order, so
// that T and R change no bit.

// shape is a kernel's rows and panels.
type shape struct{ t, r int }

// Shapes are chosen so that accumulators fill the registers; the second of each pair takes the
// panels that the first leaves over.
var (
	int8Shapes  = []shape{{1, 8}, {1, 1}, {2, 6}, {2, 1}, {3, 4}, {3, 1}, {4, 3}, {4, 1}, {5, 1}, {6, 1}, {7, 1}, {8, 1}}
	floatShapes = []shape{{1, 8}, {1, 1}, {2, 8}, {2, 1}, {3, 6}, {3, 1}, {4, 5}, {4, 1}, {6, 4}, {6, 1}, {8, 3}, {8, 1}}
)

const (
	prefetchBytes      = 2048
	floatPrefetchBytes = 1024
)

const (
	recordBytes = 48 // of 32 activations: codes, then the fields below
	scaleAt     = 32 // float32
	sumAt       = 36 // minus the sum of the codes, int32
	halfAt      = 40 // minus the sum of the first 16 codes, int32
	floatSumAt  = 44 // sumAt as float32
)

// kernel is one product under construction.
type kernel struct {
	*file
	shape
	w, x rowsOf
	next int // free register
}

var linearParams = []string{"w:*byte", "panel:int", "x:*byte", "stride:int", "blocks:int", "y:*float32", "ld:int"}

func (f *file) kernel(name, doc string, s shape) *kernel {
	f.fn(fmt.Sprintf("%s%dx%d", name, s.t, s.r), fmt.Sprintf("multiplies %d rows with %d panels of %s", s.t, s.r, doc), linearParams...)
	k := &kernel{file: f, shape: s,
		w: rowsOf{"DI", "R8", "R9", "R10", "R11"},
		x: rowsOf{"SI", "R12", "R13", "DX", "BX"},
	}
	f.arg("w", 0, "DI")
	f.arg("panel", 1, "R8")
	f.arg("x", 2, "SI")
	f.arg("stride", 3, "R12")
	f.arg("blocks", 4, "CX")
	f.multiples(k.w, s.r)
	f.multiples(k.x, s.t)
	return k
}

// reg returns a fresh vector register.
func (k *kernel) reg() string {
	if k.next > 31 {
		panic(fmt.Sprint("out of registers: ", k.shape))
	}
	k.next++
	return fmt.Sprintf("Z%d", k.next-1)
}

// grid returns a register for each row and panel.
func (k *kernel) grid() [][]string {
	g := make([][]string, k.t)
	for t := range g {
		for range k.r {
			g[t] = append(g[t], k.reg())
		}
	}
	return g
}

func (k *kernel) zero(g [][]string) {
	for t := range g {
		for _, z := range g[t] {
			k.p("VPXORD %s, %s, %s", z, z, z)
		}
	}
}

// store writes the sums to y.
func (k *kernel) store(g [][]string) {
	y := rowsOf{"AX", "R12", "R13", "DX", "BX"}
	k.arg("y", 5, "AX")
	k.arg("ld", 6, "R12")
	k.multiples(y, k.t)
	for t := range g {
		for r, z := range g[t] {
			k.p("VMOVUPS %s, %s", z, y.at(t, 64*r))
		}
	}
	k.p("VZEROUPPER")
	k.p("RET")
}

// constant fills a register with a 32-bit word.
func (k *kernel) constant(word uint32) string {
	z := k.reg()
	k.p("MOVL $0x%08x, AX", word)
	k.p("VPBROADCASTD AX, %s", z)
	return z
}

// int8 is a kernel on integer activations.
type int8 struct {
	*kernel
	sums, ints [][]string
	act        []string // four codes of each row
	a, b       string   // weights
	low, high  string   // masks, for nibbles and pairs
}

func (f *file) int8(name, doc string, s shape) *int8 {
	k := &int8{kernel: f.kernel(name, doc, s)}
	k.sums, k.ints = k.grid(), k.grid()
	for range s.t {
		k.act = append(k.act, k.reg())
	}
	k.a, k.b = k.reg(), k.reg()
	return k
}

// begin sets the integer sums to shift times the negative sum of codes that the record has: an
// offset of the weights, times all activations. No offset is -1.
func (k *int8) begin(record, shift int, second bool) {
	for t := range k.t {
		z := k.ints[t][0]
		switch {
		case shift < 0:
			k.p("VPXORD %s, %s, %s", z, z, z)
		case second:
			k.p("VPBROADCASTD %s, %s", k.x.at(t, record+sumAt), z)
			k.p("VPSUBD.BCST %s, %s, %s", k.x.at(t, record+halfAt), z, z)
		default:
			k.p("VPBROADCASTD %s, %s", k.x.at(t, record+sumAt), z)
		}
		if shift >= 0 {
			k.p("VPSLLD $%d, %s, %s", shift, z, z)
		}
		for _, other := range k.ints[t][1:] {
			k.p("VMOVDQA64 %s, %s", z, other)
		}
	}
}

// ahead prefetches a line of the panel some way ahead, where one panel is read at a time: the
// processor's own prefetching follows several streams better than one.
func (k *int8) ahead(w rowsOf, at int) {
	if k.t > 4 || k.t == 1 {
		for r := range k.r {
			k.p("PREFETCHT0 %s", w.at(r, at+prefetchBytes/k.r))
		}
	}
}

// quad multiplies four codes of each row, at x, with the weights that load puts in register a.
func (k *int8) quad(x int, load func(r int)) {
	for t, z := range k.act {
		k.p("VPBROADCASTD %s, %s", k.x.at(t, x), z)
	}
	for r := range k.r {
		load(r)
		for t, z := range k.act {
			k.p("VPDPBUSD %s, %s, %s", z, k.a, k.ints[t][r])
		}
	}
}

// end adds the integer sums, times the panel's scale in register a and the record's, to the sums.
// minimum, if there is one, holds the weight of the negative sum of codes.
func (k *int8) end(record int, scale func(r int), minimum string) {
	for r := range k.r {
		scale(r)
		for t := range k.t {
			z := k.ints[t][r]
			k.p("VCVTDQ2PS %s, %s", z, z)
			k.p("VMULPS %s, %s, %s", k.a, z, z)
			if minimum != "" {
				k.p("VFMADD231PS.BCST %s, %s, %s", k.x.at(t, record+floatSumAt), minimum, z)
			}
			k.p("VFMADD231PS.BCST %s, %s, %s", k.x.at(t, record+scaleAt), z, k.sums[t][r])
		}
	}
}

// pairs writes the loop over blocks of 32 in pairs, whose scales share a cache line, and the block
// that may be left over.
func (k *int8) pairs(codes int, block func(w, scale, record int)) {
	k.p("SUBQ $2, CX")
	k.p("JLT last")
	k.label("loop")
	block(64, 0, 0)
	block(64+codes, 32, recordBytes)
	k.p("ADDQ $%d, DI", 64+2*codes)
	k.p("ADDQ $%d, SI", 2*recordBytes)
	k.p("SUBQ $2, CX")
	k.p("JGE loop")
	k.label("last")
	k.p("ADDQ $2, CX")
	k.p("JEQ done")
	block(64, 0, 0)
	k.label("done")
	k.store(k.sums)
}

func (f *file) q8_0(s shape) {
	k := f.int8("q8_0x", "Q8_0", s)
	k.zero(k.sums)
	k.pairs(512, func(w, scale, record int) {
		k.begin(record, 7, false)
		for q := range 8 {
			k.ahead(k.w, w+64*q)
			k.quad(record+4*q, func(r int) { k.p("VMOVDQU64 %s, %s", k.w.at(r, w+64*q), k.a) })
		}
		k.end(record, func(r int) { k.p("VCVTPH2PS %s, %s", k.w.at(r, scale), k.a) }, "")
	})
}

func (f *file) q4_0(s shape) {
	k := f.int8("q4_0x", "Q4_0", s)
	k.low = k.constant(0x0f0f0f0f)
	k.zero(k.sums)
	k.pairs(256, func(w, scale, record int) {
		k.begin(record, 3, false)
		k.nibbles(k.w, w, record)
		k.end(record, func(r int) { k.p("VCVTPH2PS %s, %s", k.w.at(r, scale), k.a) }, "")
	})
}

// nibbles multiplies a block of 32: four registers of low and high nibbles.
func (k *int8) nibbles(w rowsOf, at, record int) {
	for q := range 4 {
		k.ahead(w, at+64*q)
		k.quad(record+4*q, func(r int) { k.p("VPANDD %s, %s, %s", w.at(r, at+64*q), k.low, k.a) })
		k.quad(record+16+4*q, func(r int) {
			k.p("VPSRLW $4, %s, %s", w.at(r, at+64*q), k.a)
			k.p("VPANDD %s, %s, %s", k.low, k.a, k.a)
		})
	}
}

// q4_K: a superblock is a line of scales and minima in half precision, then four pairs of
// sub-blocks, each a line of 16 scales, 16 minima, 16 scales, 16 minima, and two runs of nibbles.
func (f *file) q4_K(s shape) {
	k := f.int8("q4_Kx", "Q4_K", s)
	k.low = k.constant(0x0f0f0f0f)
	k.zero(k.sums)
	sub := k.w
	sub.base = "AX"
	k.label("loop")
	k.p("LEAQ 64(DI), AX")
	k.p("MOVQ $4, R15")
	k.label("inner")
	for half := range 2 {
		record := half * recordBytes
		k.begin(record, -1, false)
		k.nibbles(sub, 64+256*half, record)
		k.end(record, func(r int) {
			k.p("VPMOVZXBD %s, %s", sub.at(r, 32*half+16), k.b)
			k.p("VCVTDQ2PS %s, %s", k.b, k.b)
			k.p("VCVTPH2PS %s, %s", k.w.at(r, 32), k.a)
			k.p("VMULPS %s, %s, %s", k.a, k.b, k.b)
			k.p("VPMOVZXBD %s, %s", sub.at(r, 32*half), k.a)
			k.p("VCVTDQ2PS %s, %s", k.a, k.a)
			k.p("VCVTPH2PS %s, %s", k.w.at(r, 0), k.act[0])
			k.p("VMULPS %s, %s, %s", k.act[0], k.a, k.a)
		}, k.b)
	}
	k.p("ADDQ $576, AX")
	k.p("ADDQ $%d, SI", 2*recordBytes)
	k.p("SUBQ $1, R15")
	k.p("JNE inner")
	k.p("ADDQ $%d, DI", 64+4*576)
	k.p("SUBQ $1, CX")
	k.p("JNE loop")
	k.store(k.sums)
}

// q6_K: a superblock is a line with the scales in half precision, then four groups of 64 values:
// a line of 4 x 16 sub-scales, eight lines of nibbles (values 4q.. low, 32+4q.. high), four lines of pairs
// of high bits.
func (f *file) q6_K(s shape) {
	k := f.int8("q6_Kx", "Q6_K", s)
	k.low, k.high = k.constant(0x0f0f0f0f), k.constant(0x30303030)
	k.zero(k.sums)
	group := k.w
	group.base = "AX"
	k.label("loop")
	k.p("LEAQ 64(DI), AX")
	k.p("MOVQ $4, R15")
	k.label("inner")
	for sub := range 4 {
		record := sub / 2 * recordBytes
		k.beginHalf(record, 5, sub%2 == 1)
		for i := range 3 {
			k.ahead(group, 64+64*(3*sub+i))
		}
		for i := range 4 {
			k.quad(record+sub%2*16+4*i, func(r int) {
				bits := group.at(r, 64+512+64*i)
				switch sub {
				case 0:
					k.p("VPSLLD $4, %s, %s", bits, k.b)
				case 1:
					k.p("VPSLLD $2, %s, %s", bits, k.b)
				case 3:
					k.p("VPSRLD $2, %s, %s", bits, k.b)
				}
				if sub == 2 {
					k.p("VPANDD %s, %s, %s", bits, k.high, k.b)
				} else {
					k.p("VPANDD %s, %s, %s", k.high, k.b, k.b)
				}
				nibble := group.at(r, 64+64*(sub%2*4+i))
				if sub < 2 {
					k.p("VPANDD %s, %s, %s", nibble, k.low, k.a)
				} else {
					k.p("VPSRLW $4, %s, %s", nibble, k.a)
					k.p("VPANDD %s, %s, %s", k.low, k.a, k.a)
				}
				k.p("VPORD %s, %s, %s", k.b, k.a, k.a)
			})
		}
		k.end(record, func(r int) {
			k.p("VPMOVSXBD %s, %s", group.at(r, 16*sub), k.a)
			k.p("VCVTDQ2PS %s, %s", k.a, k.a)
			k.p("VCVTPH2PS %s, %s", k.w.at(r, 0), k.b)
			k.p("VMULPS %s, %s, %s", k.b, k.a, k.a)
		}, "")
	}
	k.p("ADDQ $832, AX")
	k.p("ADDQ $%d, SI", 2*recordBytes)
	k.p("SUBQ $1, R15")
	k.p("JNE inner")
	k.p("ADDQ $%d, DI", 64+4*832)
	k.p("SUBQ $1, CX")
	k.p("JNE loop")
	k.store(k.sums)
}

// beginHalf is begin for the first or second 16 codes of a record.
func (k *int8) beginHalf(record, shift int, second bool) {
	if second {
		k.begin(record, shift, true)
		return
	}
	for t := range k.t {
		z := k.ints[t][0]
		k.p("VPBROADCASTD %s, %s", k.x.at(t, record+halfAt), z)
		k.p("VPSLLD $%d, %s, %s", shift, z, z)
		for _, other := range k.ints[t][1:] {
			k.p("VMOVDQA64 %s, %s", z, other)
		}
	}
}

// float writes a kernel on float32 activations: load puts the weights of panel r for value i of a
// step in a register. A step is some values; blocks counts values.
func (f *file) float(name, doc string, s shape, step, bytes int, load func(k *kernel, r, i int, z, mask string), mask uint32) {
	k := f.kernel(name, doc, s)
	sums := k.grid()
	var w []string
	for range s.r {
		w = append(w, k.reg())
	}
	act := [2]string{k.reg(), k.reg()}
	m := ""
	if mask != 0 {
		m = k.constant(mask)
	}
	k.zero(sums)
	value := func(i int) {
		for r := range s.r {
			load(k, r, i, w[r], m)
		}
		for t := range s.t {
			z := act[t%2]
			k.p("VBROADCASTSS %s, %s", k.x.at(t, 4*i), z)
			for r := range s.r {
				k.p("VFMADD231PS %s, %s, %s", w[r], z, sums[t][r])
			}
		}
	}
	if step > 1 {
		k.p("SUBQ $%d, CX", step)
		k.p("JLT last")
	}
	k.label("loop")
	for r := range s.r {
		k.p("PREFETCHT0 %s", k.w.at(r, floatPrefetchBytes))
	}
	for i := range step {
		value(i)
	}
	k.p("ADDQ $%d, DI", bytes)
	k.p("ADDQ $%d, SI", 4*step)
	k.p("SUBQ $%d, CX", step)
	if step > 1 {
		k.p("JGE loop")
		k.label("last")
		k.p("ADDQ $%d, CX", step)
		k.p("JEQ done")
		value(0)
		k.label("done")
	} else {
		k.p("JNE loop")
	}
	k.store(sums)
}

func linear() {
	f := newFile("linear_amd64")
	for _, s := range int8Shapes {
		f.q8_0(s)
		f.q4_0(s)
		f.q4_K(s)
		f.q6_K(s)
	}
	for _, s := range floatShapes {
		f.float("f32x", "F32", s, 1, 64, func(k *kernel, r, i int, z, _ string) {
			k.p("VMOVUPS %s, %s", k.w.at(r, 64*i), z)
		}, 0)
		f.float("f16x", "F16", s, 1, 32, func(k *kernel, r, i int, z, _ string) {
			k.p("VCVTPH2PS %s, %s", k.w.at(r, 32*i), z)
		}, 0)
		// Two values share 32 bits: the first is the lower half.
		f.float("bf16x", "BF16", s, 2, 64, func(k *kernel, r, i int, z, mask string) {
			if i == 0 {
				k.p("VPSLLD $16, %s, %s", k.w.at(r, 0), z)
			} else {
				k.p("VPANDD %s, %s, %s", k.w.at(r, 0), mask, z)
			}
		}, 0xffff0000)
	}
	for _, name := range []string{"q8_0x", "q4_0x", "q4_Kx", "q6_Kx"} {
		f.dispatch(name, int8Shapes)
	}
	for _, name := range []string{"f32x", "f16x", "bf16x"} {
		f.dispatch(name, floatShapes)
	}
	f.write()
}

// dispatch writes a Go function that calls the kernel of a shape. Direct calls keep the arguments
// off the heap.
func (f *file) dispatch(name string, shapes []shape) {
	fmt.Fprintf(&f.decl, "\nfunc %s(t, r int, w *byte, panel int, x *byte, stride, blocks int, y *float32, ld int) {\nswitch t<<8|r {\n", name)
	for _, s := range shapes {
		fmt.Fprintf(&f.decl, "case %d<<8|%d:\n%s%dx%d(w, panel, x, stride, blocks, y, ld)\n", s.t, s.r, name, s.t, s.r)
	}
	f.decl.WriteString("}\n}\n")
}
