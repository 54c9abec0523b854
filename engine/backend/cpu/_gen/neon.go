package main

import "fmt"

// The kernels for arm64 with the dot product extension. Go's assembler lacks most of the vector
// instructions: they are written as words, by the encoders below.

// neon is a kernel under construction; vectors are numbered.
type neon struct {
	*file
	next int
}

func (k *neon) vec() int {
	if k.next > 31 {
		panic("out of registers")
	}
	k.next++
	return k.next - 1
}

func (k *neon) vecs(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = k.vec()
	}
	return v
}

// op writes an instruction with up to three register fields.
func (k *neon) op(name string, base uint32, d, n, m int) {
	k.p("WORD $0x%08x // %s v%d, v%d, v%d", base|uint32(m)<<16|uint32(n)<<5|uint32(d), name, d, n, m)
}

// lane writes an instruction on one 32-bit lane of m.
func (k *neon) lane(name string, base uint32, d, n, m, i int) {
	k.p("WORD $0x%08x // %s v%d, v%d, v%d[%d]", base|uint32(i&1)<<21|uint32(m)<<16|uint32(i>>1)<<11|uint32(n)<<5|uint32(d), name, d, n, m, i)
}

func (k *neon) fmlaLane(d, n, m, i int) { k.lane("fmla", 0x4f801000, d, n, m, i) }
func (k *neon) sdotLane(d, n, m, i int) { k.lane("sdot", 0x4f80e000, d, n, m, i) }
func (k *neon) fmul(d, n, m int)        { k.op("fmul", 0x6e20dc00, d, n, m) }
func (k *neon) scvtf(d, n int)          { k.op("scvtf", 0x4e21d800, d, n, 0) }
func (k *neon) fcvtl(d, n int)          { k.op("fcvtl", 0x0e217800, d, n, 0) }
func (k *neon) fcvtl2(d, n int)         { k.op("fcvtl2", 0x4e217800, d, n, 0) }
func (k *neon) sxtl8(d, n int)          { k.op("sxtl 8h", 0x0f08a400, d, n, 0) }
func (k *neon) sxtl16(d, n int)         { k.op("sxtl 4s", 0x0f10a400, d, n, 0) }
func (k *neon) sxtl16high(d, n int)     { k.op("sxtl2 4s", 0x4f10a400, d, n, 0) }
func (k *neon) sxtl8high(d, n int)      { k.op("sxtl2 8h", 0x4f08a400, d, n, 0) }

func (k *neon) zero(v ...int) {
	for _, d := range v {
		k.p("VEOR V%d.B16, V%d.B16, V%d.B16", d, d, d)
	}
}

func (k *neon) load(reg string, at, d int)      { k.p("FMOVQ %d(%s), F%d", at, reg, d) }
func (k *neon) store(d int, reg string, at int) { k.p("FMOVQ F%d, %d(%s)", d, at, reg) }

func (f *file) argNEON(name string, i int, reg string) { f.p("MOVD %s+%d(FP), %s", name, 8*i, reg) }

// pointers fills registers with base, base+stride, and so on.
func (f *file) pointers(base, stride string, regs []string) {
	f.p("MOVD %s, %s", base, regs[0])
	for i := 1; i < len(regs); i++ {
		f.p("ADD %s, %s, %s", stride, regs[i-1], regs[i])
	}
}

var (
	neonInt8Shapes  = []shape{{1, 2}, {1, 1}, {2, 1}, {3, 1}}
	neonFloatShapes = []shape{{1, 4}, {1, 1}, {2, 2}, {2, 1}, {4, 1}}

	panelRegs = []string{"R4", "R5", "R6", "R7"}
	rowRegs   = []string{"R8", "R9", "R10", "R11"}
)

func (f *file) kernelNEON(name, doc string, s shape) *neon {
	f.fn(fmt.Sprintf("%s%dx%d", name, s.t, s.r), fmt.Sprintf("multiplies %d rows with %d panels of %s", s.t, s.r, doc), linearParams...)
	k := &neon{file: f}
	f.argNEON("w", 0, "R0")
	f.argNEON("panel", 1, "R1")
	f.argNEON("x", 2, "R2")
	f.argNEON("stride", 3, "R3")
	f.pointers("R0", "R1", panelRegs[:s.r])
	f.pointers("R2", "R3", rowRegs[:s.t])
	f.argNEON("blocks", 4, "R12")
	return k
}

// storeSums writes the sums, four registers for each row and panel, to y.
func (k *neon) storeSums(s shape, sums [][]int) {
	k.argNEON("y", 5, "R0")
	k.argNEON("ld", 6, "R1")
	k.pointers("R0", "R1", rowRegs[:s.t])
	for t := range s.t {
		for i, v := range sums[t] {
			k.store(v, rowRegs[t], 16*i)
		}
	}
	k.p("RET")
}

func (k *neon) grid(s shape) [][]int {
	g := make([][]int, s.t)
	for t := range g {
		g[t] = k.vecs(4 * s.r)
		k.zero(g[t]...)
	}
	return g
}

// int8NEON is a kernel on integer activations.
type int8NEON struct {
	*neon
	shape
	sums, ints [][]int
	x          []int // 16 codes of each row
	w, s       int
	low, high  int
}

func (f *file) int8NEON(name, doc string, s shape) *int8NEON {
	k := &int8NEON{neon: f.kernelNEON(name, doc, s), shape: s}
	k.sums, k.ints = k.grid(s), k.grid(s)
	k.x = k.vecs(s.t)
	k.w, k.s = k.vec(), k.vec()
	return k
}

// begin sets the integer sums to the negative sum of codes at a field of the record, shifted; a
// field of -1 means zero.
func (k *int8NEON) begin(record, field, minus, shift int) {
	for t := range k.t {
		first := k.ints[t][0]
		if field < 0 {
			k.zero(k.ints[t]...)
			continue
		}
		k.p("MOVW %d(%s), R13", record+field, rowRegs[t])
		if minus >= 0 {
			k.p("MOVW %d(%s), R14", record+minus, rowRegs[t])
			k.p("SUB R14, R13")
		}
		k.p("LSL $%d, R13", shift)
		k.p("VDUP R13, V%d.S4", first)
		for _, v := range k.ints[t][1:] {
			k.p("VMOV V%d.B16, V%d.B16", first, v)
		}
	}
}

// codes loads 16 codes of each row.
func (k *int8NEON) codes(record, at int) {
	for t, v := range k.x {
		k.load(rowRegs[t], record+at, v)
	}
}

// dot multiplies the weights in w, of quarter q of panel r, with quad i of the loaded codes.
func (k *int8NEON) dot(r, q, i int) {
	for t, v := range k.x {
		k.sdotLane(k.ints[t][4*r+q], k.w, v, i)
	}
}

// end adds the integer sums to the sums: scale puts the panel's scales of a quarter in register w.
// minimum tells that register s holds those of the negative sums.
func (k *int8NEON) end(record int, scale func(r, q int), minimum bool) {
	for t := range k.t {
		k.load(rowRegs[t], record+32, k.x[t]) // scale, sums
	}
	for r := range k.r {
		for q := range 4 {
			scale(r, q)
			for t := range k.t {
				v := k.ints[t][4*r+q]
				k.scvtf(v, v)
				k.fmul(v, v, k.w)
				if minimum {
					k.fmlaLane(v, k.s, k.x[t], (floatSumAt-32)/4)
				}
				k.fmlaLane(k.sums[t][4*r+q], v, k.x[t], 0)
			}
		}
	}
}

// halfScale reads four scales in half precision.
func (k *neon) halfScale(reg string, at, d int) {
	k.p("FMOVD %d(%s), F%d", at, reg, d)
	k.fcvtl(d, d)
}

func (k *int8NEON) advance(panel, row int) {
	for r := range k.r {
		k.p("ADD $%d, %s", panel, panelRegs[r])
	}
	for t := range k.t {
		k.p("ADD $%d, %s", row, rowRegs[t])
	}
}

func (k *int8NEON) pairs(codes int, block func(w, scale, record int)) {
	k.p("SUBS $2, R12")
	k.p("BLT last")
	k.label("loop")
	block(64, 0, 0)
	block(64+codes, 32, recordBytes)
	k.advance(64+2*codes, 2*recordBytes)
	k.p("SUBS $2, R12")
	k.p("BGE loop")
	k.label("last")
	k.p("ADDS $2, R12")
	k.p("BEQ done")
	block(64, 0, 0)
	k.label("done")
	k.storeSums(k.shape, k.sums)
}

func (f *file) q8_0NEON(s shape) {
	k := f.int8NEON("q8_0n", "Q8_0", s)
	k.pairs(512, func(w, scale, record int) {
		k.begin(record, -1, -1, 0)
		for quad := range 8 {
			if quad%4 == 0 {
				k.codes(record, 4*quad)
			}
			for r := range k.r {
				for q := range 4 {
					k.load(panelRegs[r], w+64*quad+16*q, k.w)
					k.dot(r, q, quad%4)
				}
			}
		}
		k.end(record, func(r, q int) { k.halfScale(panelRegs[r], scale+8*q, k.w) }, false)
	})
}

// nibbles multiplies a block of 32.
func (k *int8NEON) nibbles(at, record int) {
	for half := range 2 {
		k.codes(record, 16*half)
		for quad := range 4 {
			for r := range k.r {
				for q := range 4 {
					k.load(panelRegs[r], at+64*quad+16*q, k.w)
					if half == 0 {
						k.p("VAND V%d.B16, V%d.B16, V%d.B16", k.low, k.w, k.w)
					} else {
						k.p("VUSHR $4, V%d.B16, V%d.B16", k.w, k.w)
					}
					k.dot(r, q, quad)
				}
			}
		}
	}
}

func (k *int8NEON) bytes(v int) int {
	d := k.vec()
	k.p("MOVD $%d, R13", v)
	k.p("VDUP R13, V%d.B16", d)
	return d
}

func (f *file) q4_0NEON(s shape) {
	k := f.int8NEON("q4_0n", "Q4_0", s)
	k.low = k.bytes(15)
	k.pairs(256, func(w, scale, record int) {
		k.begin(record, sumAt, -1, 3)
		k.nibbles(w, record)
		k.end(record, func(r, q int) { k.halfScale(panelRegs[r], scale+8*q, k.w) }, false)
	})
}

// superblocks writes the loops over superblocks of four parts; the registers of rowRegs past the
// rows hold the panel pointers of the part.
func (k *int8NEON) superblocks(bytes int, part func()) {
	saved := []string{"R15", "R16"}[:k.r] // of the superblock
	k.label("loop")
	for r := range k.r {
		k.p("MOVD %s, %s", panelRegs[r], saved[r])
		k.p("ADD $64, %s", panelRegs[r])
	}
	k.p("MOVD $4, R17")
	k.label("inner")
	part()
	k.advance(bytes, 2*recordBytes)
	k.p("SUBS $1, R17")
	k.p("BNE inner")
	k.p("SUBS $1, R12")
	k.p("BNE loop")
	k.storeSums(k.shape, k.sums)
}

func (f *file) q4_KNEON(s shape) {
	k := f.int8NEON("q4_Kn", "Q4_K", s)
	k.low = k.bytes(15)
	t := k.low // free while scales are read
	k.superblocks(576, func() {
		for sub := range 2 {
			record := sub * recordBytes
			k.begin(record, -1, -1, 0)
			k.nibbles(64+256*sub, record)
			k.end(record, func(r, q int) {
				saved := []string{"R15", "R16"}[r]
				for i, d := range []int{k.w, k.s} { // scales, then minima
					k.p("FMOVS %d(%s), F%d", 32*sub+16*i+4*q, panelRegs[r], d)
					k.p("VUSHLL $0, V%d.B8, V%d.H8", d, d)
					k.p("VUSHLL $0, V%d.H4, V%d.S4", d, d)
					k.scvtf(d, d)
					k.halfScale(saved, 32*i+8*q, t)
					k.fmul(d, d, t)
				}
			}, true)
			k.p("MOVD $15, R13")
			k.p("VDUP R13, V%d.B16", k.low)
		}
	})
}

func (f *file) q6_KNEON(s shape) {
	k := f.int8NEON("q6_Kn", "Q6_K", s)
	k.low, k.high = k.bytes(15), k.bytes(0x30)
	k.superblocks(832, func() {
		for sub := range 4 {
			record := sub / 2 * recordBytes
			if sub%2 == 0 {
				k.begin(record, halfAt, -1, 5)
			} else {
				k.begin(record, sumAt, halfAt, 5)
			}
			k.codes(record, sub%2*16)
			for i := range 4 {
				for r := range k.r {
					for q := range 4 {
						k.load(panelRegs[r], 64+512+64*i+16*q, k.s)
						switch sub {
						case 0:
							k.p("VSHL $4, V%d.B16, V%d.B16", k.s, k.s)
						case 1:
							k.p("VSHL $2, V%d.B16, V%d.B16", k.s, k.s)
						case 3:
							k.p("VUSHR $2, V%d.B16, V%d.B16", k.s, k.s)
						}
						k.p("VAND V%d.B16, V%d.B16, V%d.B16", k.high, k.s, k.s)
						k.load(panelRegs[r], 64+64*(sub%2*4+i)+16*q, k.w)
						if sub < 2 {
							k.p("VAND V%d.B16, V%d.B16, V%d.B16", k.low, k.w, k.w)
						} else {
							k.p("VUSHR $4, V%d.B16, V%d.B16", k.w, k.w)
						}
						k.p("VORR V%d.B16, V%d.B16, V%d.B16", k.s, k.w, k.w)
						k.dot(r, q, i)
					}
				}
			}
			k.end(record, func(r, q int) {
				k.p("FMOVS %d(%s), F%d", 16*sub+4*q, panelRegs[r], k.w)
				k.sxtl8(k.w, k.w)
				k.sxtl16(k.w, k.w)
				k.scvtf(k.w, k.w)
				k.halfScale([]string{"R15", "R16"}[r], 8*q, k.s)
				k.fmul(k.w, k.w, k.s)
			}, false)
		}
	})
}

// floatNEON is a kernel on float32 activations: line loads the four registers of a panel's weights
// for value i of four. Values that fill no four are taken one by one.
func (f *file) floatNEON(name, doc string, s shape, bytes int, line func(k *neon, reg string, i int, w []int)) {
	k := f.kernelNEON(name, doc, s)
	sums := k.grid(s)
	x, w := k.vecs(s.t), k.vecs(4)
	value := func(i, lane int) {
		for r := range s.r {
			line(k, panelRegs[r], i, w)
			for t := range s.t {
				for q := range 4 {
					k.fmlaLane(sums[t][4*r+q], w[q], x[t], lane)
				}
			}
		}
	}
	k.p("SUBS $4, R12")
	k.p("BLT last")
	k.label("loop")
	for t := range s.t {
		k.load(rowRegs[t], 0, x[t])
	}
	for i := range 4 {
		value(i, i)
	}
	for r := range s.r {
		k.p("ADD $%d, %s", 4*bytes, panelRegs[r])
	}
	for t := range s.t {
		k.p("ADD $16, %s", rowRegs[t])
	}
	k.p("SUBS $4, R12")
	k.p("BGE loop")
	k.label("last")
	for i := range 3 {
		k.p("CMP $%d, R12", i-4)
		k.p("BEQ done")
		for t := range s.t {
			k.p("FMOVS %d(%s), F%d", 4*i, rowRegs[t], x[t])
		}
		value(i, 0)
	}
	k.label("done")
	k.storeSums(s, sums)
}

func linearNEON() {
	f := newFile("linear_arm64")
	for _, s := range neonInt8Shapes {
		f.q8_0NEON(s)
		f.q4_0NEON(s)
		f.q4_KNEON(s)
		f.q6_KNEON(s)
	}
	for _, s := range neonFloatShapes {
		f.floatNEON("f32n", "F32", s, 64, func(k *neon, reg string, i int, w []int) {
			for q, v := range w {
				k.load(reg, 64*i+16*q, v)
			}
		})
		f.floatNEON("f16n", "F16", s, 32, func(k *neon, reg string, i int, w []int) {
			for q, v := range w {
				k.halfScale(reg, 32*i+8*q, v)
			}
		})
		f.floatNEON("bf16n", "BF16", s, 32, func(k *neon, reg string, i int, w []int) {
			for q, v := range w {
				k.load(reg, i/2*64+16*q, v)
				k.upper(v, i%2 == 1)
			}
		})
	}
	for _, name := range []string{"q8_0n", "q4_0n", "q4_Kn", "q6_Kn"} {
		f.dispatch(name, neonInt8Shapes)
	}
	for _, name := range []string{"f32n", "f16n", "bf16n"} {
		f.dispatch(name, neonFloatShapes)
	}
	f.write()
}

// upper makes float32 of the lower or upper bfloat16 of each lane.
func (k *neon) upper(v int, upper bool) {
	if upper {
		k.p("VUSHR $16, V%d.S4, V%d.S4", v, v)
	}
	k.p("VSHL $16, V%d.S4, V%d.S4", v, v)
}

// cache reads 16 values of a cache format, at a register's address.
func (k *neon) cache(v kvFormat, reg string, at int, odd bool, w []int) {
	for q, d := range w {
		switch v.name {
		case "F32":
			k.load(reg, 2*at+16*q, d)
		case "F16":
			k.halfScale(reg, at+8*q, d)
		default:
			k.load(reg, 2*at+16*q, d)
			k.upper(d, odd)
		}
	}
}

func (f *file) scoresNEON(v kvFormat, rows int) {
	f.fn(fmt.Sprintf("scores%s%dx1", v.name, rows), fmt.Sprintf("multiplies %d queries with the keys of a tile", rows),
		"out:*float32", "q:*float32", "dim:int", "tiles:**byte")
	k := &neon{file: f}
	f.argNEON("q", 1, "R2")
	f.argNEON("dim", 2, "R12")
	f.argNEON("tiles", 3, "R4")
	f.p("LSL $2, R12, R3")
	f.pointers("R2", "R3", rowRegs[:rows])
	f.p("MOVD (R4), R4")
	sums := k.grid(shape{rows, 1})
	q, w := k.vecs(rows), k.vecs(4)
	f.label("loop")
	for r := range rows {
		k.load(rowRegs[r], 0, q[r])
		k.p("ADD $16, %s", rowRegs[r])
	}
	for i := range 4 {
		k.cache(v, "R4", i/v.step()*16*v.step()*v.size/cacheUnit(v), i%v.step() == 1, w)
		for r := range rows {
			for c := range 4 {
				k.fmlaLane(sums[r][c], w[c], q[r], i)
			}
		}
	}
	k.p("ADD $%d, R4", 4*16*v.size)
	k.p("SUBS $4, R12")
	k.p("BNE loop")
	f.argNEON("out", 0, "R0")
	for r := range rows {
		for c, s := range sums[r] {
			k.store(s, "R0", r*partitionBytes+16*c)
		}
	}
	k.p("RET")
}

// cacheUnit is what cache multiplies its offset with.
func cacheUnit(v kvFormat) int {
	if v.name == "F16" {
		return 1
	}
	return 2
}

func (f *file) valuesNEON(v kvFormat, rows, n int) {
	f.fn(fmt.Sprintf("values%s%dx%d", v.name, rows, n), fmt.Sprintf("adds weighted values to %d columns of %d rows; data is offset bytes into each tile", 16*n, rows),
		"out:*float32", "weights:*float32", "dim:int", "tiles:**byte", "offset:int", "lo:int", "hi:int")
	k := &neon{file: f}
	f.argNEON("out", 0, "R0")
	f.argNEON("weights", 1, "R2")
	f.argNEON("dim", 2, "R1")
	f.argNEON("tiles", 3, "R4")
	f.argNEON("offset", 4, "R5")
	f.argNEON("lo", 5, "R6")
	f.argNEON("hi", 6, "R7")
	f.p("MOVD $%d, R13", v.step()*v.size)
	f.p("MUL R1, R13, R13") // bytes of a row of values
	f.p("LSL $2, R1")
	f.pointers("R0", "R1", rowRegs[:rows])
	sums := k.grid(shape{rows, n})
	for r := range rows {
		for c, s := range sums[r] {
			k.load(rowRegs[r], 16*c, s)
		}
	}
	x, w := k.vecs(rows), k.vecs(4)
	f.p("ADD R6<<2, R2, R2")
	position := func(i int) {
		for r := range rows {
			f.p("FMOVS %d(R2), F%d", r*partitionBytes+4*i, x[r])
		}
		for c := range n {
			k.cache(v, "R14", 16*c*v.step()*v.size/cacheUnit(v), i == 1, w)
			for r := range rows {
				for q := range 4 {
					k.fmlaLane(sums[r][4*c+q], w[q], x[r], 0)
				}
			}
		}
	}
	// A tile after another: R14 is the row of values, R12 how many positions of the tile are left.
	f.label("tile")
	f.p("LSR $4, R6, R12")
	f.p("ADD R12<<3, R4, R14")
	f.p("MOVD (R14), R14")
	f.p("ADD R5, R14")
	f.p("AND $15, R6, R12")
	f.p("LSR $%d, R12, R15", v.step()-1)
	f.p("MUL R13, R15, R15")
	f.p("ADD R15, R14")
	f.p("MOVD $16, R15")
	f.p("SUB R12, R15, R12")
	f.p("SUB R6, R7, R15")
	f.p("CMP R15, R12")
	f.p("BLE whole")
	f.p("MOVD R15, R12")
	f.label("whole")
	f.p("ADD R12, R6")
	if v.pair {
		f.p("SUBS $2, R12")
		f.p("BLT odd")
	}
	f.label("loop")
	for i := range v.step() {
		position(i)
	}
	f.p("ADD R13, R14")
	f.p("ADD $%d, R2", 4*v.step())
	f.p("SUBS $%d, R12", v.step())
	if v.pair {
		f.p("BGE loop")
		f.label("odd")
		f.p("ADDS $2, R12")
		f.p("BEQ next")
		position(0)
		f.label("next")
	} else {
		f.p("BNE loop")
	}
	f.p("CMP R7, R6")
	f.p("BLT tile")
	for r := range rows {
		for c, s := range sums[r] {
			k.store(s, rowRegs[r], 16*c)
		}
	}
	k.p("RET")
}

func attentionNEON() {
	f := newFile("attention_arm64")
	scores := map[int][]int{1: {1}, 2: {1}, 4: {1}}
	values := map[int][]int{1: {4, 1}, 2: {2, 1}, 4: {1}}
	for _, v := range kvFormats {
		for _, rows := range []int{1, 2, 4} {
			f.scoresNEON(v, rows)
			for _, n := range values[rows] {
				f.valuesNEON(v, rows, n)
			}
		}
	}
	for _, v := range kvFormats {
		f.dispatchAttention(v.name, scores, values)
	}
	f.write()
}
