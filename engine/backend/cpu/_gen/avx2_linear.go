package main

import "fmt"

// The products on 256-bit registers. Panels are those of the wider kernels, in two halves of eight
// outputs; Q8_0 keeps its codes signed, since without VPDPBUSD unsigned ones would overflow the
// 16-bit sums of pairs.

var (
	avx2Int8Shapes  = []shape{{1, 2}, {1, 1}, {2, 1}, {3, 1}}
	avx2FloatShapes = []shape{{1, 4}, {1, 1}, {2, 2}, {2, 1}, {3, 2}, {3, 1}, {4, 1}, {6, 1}}
)

// half is a kernel on half panels: grids have a register for each row and half.
type half struct {
	*kernel
	sums, ints [][]string
	a, b, s    string
}

func (k *half) reg() string {
	if k.next > 15 {
		panic(fmt.Sprint("out of registers: ", k.shape))
	}
	k.next++
	return fmt.Sprintf("Y%d", k.next-1)
}

func (k *half) grid() [][]string {
	g := make([][]string, k.t)
	for t := range g {
		for range 2 * k.r {
			g[t] = append(g[t], k.reg())
		}
	}
	return g
}

func (k *half) zero(g [][]string) {
	for t := range g {
		for _, y := range g[t] {
			k.p("VPXOR %s, %s, %s", y, y, y)
		}
	}
}

func (k *half) store(g [][]string) {
	y := rowsOf{"AX", "R12", "R13", "DX", "BX"}
	k.arg("y", 5, "AX")
	k.arg("ld", 6, "R12")
	k.multiples(y, k.t)
	for t := range g {
		for h, z := range g[t] {
			k.p("VMOVUPS %s, %s", z, y.at(t, 32*h))
		}
	}
	k.p("VZEROUPPER")
	k.p("RET")
}

// line addresses half h of a line of 64 bytes of the panel that it belongs to.
func (k *half) line(w rowsOf, h, at int) string { return w.at(h/2, at+h%2*32) }

func (f *file) half(name, doc string, s shape) *half {
	k := &half{kernel: f.kernel(name, doc, s)}
	k.sums, k.ints = k.grid(), k.grid()
	k.a, k.b, k.s = k.reg(), k.reg(), k.reg()
	return k
}

// begin is int8.begin, or, for which 16 codes is 0 or 1, beginHalf.
func (k *half) begin(record, shift, which int) {
	if shift < 0 {
		k.zero(k.ints)
		return
	}
	for t := range k.t {
		z := k.ints[t][0]
		switch which {
		case 0:
			k.p("VPBROADCASTD %s, %s", k.x.at(t, record+halfAt), z)
		case 1:
			k.p("VPBROADCASTD %s, %s", k.x.at(t, record+sumAt), z)
			k.p("VPBROADCASTD %s, %s", k.x.at(t, record+halfAt), k.s)
			k.p("VPSUBD %s, %s, %s", k.s, z, z)
		default:
			k.p("VPBROADCASTD %s, %s", k.x.at(t, record+sumAt), z)
		}
		k.p("VPSLLD $%d, %s, %s", shift, z, z)
		for _, other := range k.ints[t][1:] {
			k.p("VMOVDQA %s, %s", z, other)
		}
	}
}

// quad multiplies four codes of each row with the weights that load puts in register a, unsigned,
// or, where signed, with register b, whose magnitudes are in a.
func (k *half) quad(x int, signed bool, load func(h int)) {
	for h := range 2 * k.r {
		load(h)
		for t := range k.t {
			k.p("VPBROADCASTD %s, %s", k.x.at(t, x), k.s)
			if signed {
				k.p("VPSIGNB %s, %s, %s", k.b, k.s, k.s)
			}
			k.p("VPMADDUBSW %s, %s, %s", k.s, k.a, k.s)
			k.p("VPMADDWD ones<>(SB), %s, %s", k.s, k.s)
			k.p("VPADDD %s, %s, %s", k.s, k.ints[t][h], k.ints[t][h])
		}
	}
}

// end is int8.end; minimum tells that register b holds the weights of the negative sums.
func (k *half) end(record int, scale func(h int), minimum bool) {
	for h := range 2 * k.r {
		scale(h)
		for t := range k.t {
			z := k.ints[t][h]
			k.p("VCVTDQ2PS %s, %s", z, z)
			k.p("VMULPS %s, %s, %s", k.a, z, z)
			if minimum {
				k.p("VBROADCASTSS %s, %s", k.x.at(t, record+floatSumAt), k.s)
				k.p("VFMADD231PS %s, %s, %s", k.s, k.b, z)
			}
			k.p("VBROADCASTSS %s, %s", k.x.at(t, record+scaleAt), k.s)
			k.p("VFMADD231PS %s, %s, %s", k.s, z, k.sums[t][h])
		}
	}
}

func (k *half) pairs(codes int, block func(w, scale, record int)) {
	k.zero(k.sums)
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

// halfScale reads eight scales in half precision.
func (k *half) halfScale(h, at int, z string) {
	k.p("VCVTPH2PS %s, %s", k.w.at(h/2, at+h%2*16), z)
}

func (f *file) q8_0half(s shape) {
	k := f.half("q8_0y", "Q8_0", s)
	k.pairs(512, func(w, scale, record int) {
		k.begin(record, -1, 0)
		for q := range 8 {
			k.quad(record+4*q, true, func(h int) {
				k.p("VMOVDQU %s, %s", k.line(k.w, h, w+64*q), k.b)
				k.p("VPABSB %s, %s", k.b, k.a)
			})
		}
		k.end(record, func(h int) { k.halfScale(h, scale, k.a) }, false)
	})
}

func (k *half) nibbles(w rowsOf, at, record int) {
	for q := range 4 {
		k.quad(record+4*q, false, func(h int) {
			k.p("VMOVDQU %s, %s", k.line(w, h, at+64*q), k.a)
			k.p("VPAND low<>(SB), %s, %s", k.a, k.a)
		})
		k.quad(record+16+4*q, false, func(h int) {
			k.p("VMOVDQU %s, %s", k.line(w, h, at+64*q), k.a)
			k.p("VPSRLW $4, %s, %s", k.a, k.a)
			k.p("VPAND low<>(SB), %s, %s", k.a, k.a)
		})
	}
}

func (f *file) q4_0half(s shape) {
	k := f.half("q4_0y", "Q4_0", s)
	k.pairs(256, func(w, scale, record int) {
		k.begin(record, 3, -1)
		k.nibbles(k.w, w, record)
		k.end(record, func(h int) { k.halfScale(h, scale, k.a) }, false)
	})
}

// superblocks writes the loops over superblocks of four parts; AX points at the part.
func (k *half) superblocks(bytes int, part func(w rowsOf)) {
	k.zero(k.sums)
	w := k.w
	w.base = "AX"
	k.label("loop")
	k.p("LEAQ 64(DI), AX")
	k.p("MOVQ $4, R15")
	k.label("inner")
	part(w)
	k.p("ADDQ $%d, AX", bytes)
	k.p("ADDQ $%d, SI", 2*recordBytes)
	k.p("SUBQ $1, R15")
	k.p("JNE inner")
	k.p("ADDQ $%d, DI", 64+4*bytes)
	k.p("SUBQ $1, CX")
	k.p("JNE loop")
	k.store(k.sums)
}

func (f *file) q4_Khalf(s shape) {
	k := f.half("q4_Ky", "Q4_K", s)
	k.superblocks(576, func(w rowsOf) {
		for sub := range 2 {
			record := sub * recordBytes
			k.begin(record, -1, 0)
			k.nibbles(w, 64+256*sub, record)
			k.end(record, func(h int) {
				k.p("VPMOVZXBD %s, %s", w.at(h/2, 32*sub+16+h%2*8), k.b)
				k.p("VCVTDQ2PS %s, %s", k.b, k.b)
				k.halfScale(h, 32, k.s)
				k.p("VMULPS %s, %s, %s", k.s, k.b, k.b)
				k.p("VPMOVZXBD %s, %s", w.at(h/2, 32*sub+h%2*8), k.a)
				k.p("VCVTDQ2PS %s, %s", k.a, k.a)
				k.halfScale(h, 0, k.s)
				k.p("VMULPS %s, %s, %s", k.s, k.a, k.a)
			}, true)
		}
	})
}

func (f *file) q6_Khalf(s shape) {
	k := f.half("q6_Ky", "Q6_K", s)
	k.superblocks(832, func(w rowsOf) {
		for sub := range 4 {
			record := sub / 2 * recordBytes
			k.begin(record, 5, sub%2)
			for i := range 4 {
				k.quad(record+sub%2*16+4*i, false, func(h int) {
					k.p("VMOVDQU %s, %s", k.line(w, h, 64+512+64*i), k.b)
					switch sub {
					case 0:
						k.p("VPSLLD $4, %s, %s", k.b, k.b)
					case 1:
						k.p("VPSLLD $2, %s, %s", k.b, k.b)
					case 3:
						k.p("VPSRLD $2, %s, %s", k.b, k.b)
					}
					k.p("VPAND high<>(SB), %s, %s", k.b, k.b)
					k.p("VMOVDQU %s, %s", k.line(w, h, 64+64*(sub%2*4+i)), k.a)
					if sub >= 2 {
						k.p("VPSRLW $4, %s, %s", k.a, k.a)
					}
					k.p("VPAND low<>(SB), %s, %s", k.a, k.a)
					k.p("VPOR %s, %s, %s", k.b, k.a, k.a)
				})
			}
			k.end(record, func(h int) {
				k.p("VPMOVSXBD %s, %s", w.at(h/2, 16*sub+h%2*8), k.a)
				k.p("VCVTDQ2PS %s, %s", k.a, k.a)
				k.halfScale(h, 0, k.b)
				k.p("VMULPS %s, %s, %s", k.b, k.a, k.a)
			}, false)
		}
	})
}

// floatHalf is file.float on half panels.
func (f *file) floatHalf(name, doc string, s shape, step, bytes int, load func(k *half, h, i int, y string)) {
	k := &half{kernel: f.kernel(name, doc, s)}
	sums := k.grid()
	byWeight := 2*s.t*s.r+s.t+1 <= 16 // registers hold the activations of all rows
	var held []string
	n := 2 * s.r
	if byWeight {
		n = s.t
	}
	for range n {
		held = append(held, k.reg())
	}
	moving := k.reg()
	k.zero(sums)
	value := func(i int) {
		if byWeight {
			for t, y := range held {
				k.p("VBROADCASTSS %s, %s", k.x.at(t, 4*i), y)
			}
			for h := range 2 * s.r {
				load(k, h, i, moving)
				for t, y := range held {
					k.p("VFMADD231PS %s, %s, %s", moving, y, sums[t][h])
				}
			}
			return
		}
		for h, y := range held {
			load(k, h, i, y)
		}
		for t := range s.t {
			k.p("VBROADCASTSS %s, %s", k.x.at(t, 4*i), moving)
			for h, y := range held {
				k.p("VFMADD231PS %s, %s, %s", y, moving, sums[t][h])
			}
		}
	}
	if step > 1 {
		k.p("SUBQ $%d, CX", step)
		k.p("JLT last")
	}
	k.label("loop")
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

// repeated writes a constant of 32 bytes.
func (f *file) repeated(name string, word uint32) {
	f.table(name, word, word, word, word, word, word, word, word)
}

func linearAVX2() {
	f := newFile("linear2_amd64")
	f.repeated("ones", 0x00010001)
	f.repeated("low", 0x0f0f0f0f)
	f.repeated("high", 0x30303030)
	f.repeated("upper", 0xffff0000)
	for _, s := range avx2Int8Shapes {
		f.q8_0half(s)
		f.q4_0half(s)
		f.q4_Khalf(s)
		f.q6_Khalf(s)
	}
	for _, s := range avx2FloatShapes {
		f.floatHalf("f32y", "F32", s, 1, 64, func(k *half, h, i int, y string) {
			k.p("VMOVUPS %s, %s", k.line(k.w, h, 64*i), y)
		})
		f.floatHalf("f16y", "F16", s, 1, 32, func(k *half, h, i int, y string) { k.halfScale(h, 32*i, y) })
		f.floatHalf("bf16y", "BF16", s, 2, 64, func(k *half, h, i int, y string) {
			k.p("VMOVDQU %s, %s", k.line(k.w, h, 0), y)
			if i == 0 {
				k.p("VPSLLD $16, %s, %s", y, y)
			} else {
				k.p("VPAND upper<>(SB), %s, %s", y, y)
			}
		})
	}
	for _, name := range []string{"q8_0y", "q4_0y", "q4_Ky", "q6_Ky"} {
		f.dispatch(name, avx2Int8Shapes)
	}
	for _, name := range []string{"f32y", "f16y", "bf16y"} {
		f.dispatch(name, avx2FloatShapes)
	}
	f.write()
}
