package main

import "math"

// Kernels on single rows for arm64, on whole registers of four: the callers pad what is left.

func (k *neon) fadd(d, n, m int)  { k.op("fadd", 0x4e20d400, d, n, m) }
func (k *neon) fsub(d, n, m int)  { k.op("fsub", 0x4ea0d400, d, n, m) }
func (k *neon) fdiv(d, n, m int)  { k.op("fdiv", 0x6e20fc00, d, n, m) }
func (k *neon) fmla(d, n, m int)  { k.op("fmla", 0x4e20cc00, d, n, m) }
func (k *neon) fmls(d, n, m int)  { k.op("fmls", 0x4ea0cc00, d, n, m) }
func (k *neon) fmax(d, n, m int)  { k.op("fmax", 0x4e20f400, d, n, m) }
func (k *neon) fmin(d, n, m int)  { k.op("fmin", 0x4ea0f400, d, n, m) }
func (k *neon) fcmgt(d, n, m int) { k.op("fcmgt", 0x6ea0e400, d, n, m) }
func (k *neon) bic(d, n, m int)   { k.op("bic", 0x4e601c00, d, n, m) }
func (k *neon) frintn(d, n int)   { k.op("frintn", 0x4e218800, d, n, 0) }
func (k *neon) fcvtns(d, n int)   { k.op("fcvtns", 0x4e21a800, d, n, 0) }
func (k *neon) mov(d, n int)      { k.p("VMOV V%d.B16, V%d.B16", n, d) }

// float fills a register with a number.
func (k *neon) float(d int, v float32) {
	k.p("MOVD $0x%08x, R13", math.Float32bits(v))
	k.p("VDUP R13, V%d.S4", d)
}

// loadExp fills registers 16 to 26 with the constants of exp.
func (k *neon) loadExp() {
	for i, v := range []float32{1.44269504, 0.693359375, -2.12194440e-4, -87.3, 0.5, 0.16666577, 0.041666556, 0.008363203, 0.0013926213, 1, 88.3} {
		k.float(16+i, v)
	}
}

// exp replaces register 1 by its exponential; 2 to 6 are scratch.
func (k *neon) exp() {
	k.fcmgt(6, 19, 1) // below the least argument; not for NaN
	k.fmin(1, 1, 26)
	k.fmax(1, 1, 19)
	k.fmul(2, 1, 16)
	k.frintn(2, 2)
	k.fmls(1, 2, 17)
	k.fmls(1, 2, 18)
	k.mov(3, 23)
	k.fmla(3, 24, 1)
	for i, c := range []int{22, 21, 20} {
		k.mov(4-i%2, c)
		k.fmla(4-i%2, 3+i%2, 1)
	}
	k.fmul(4, 4, 1)
	k.mov(3, 1)
	k.fmla(3, 4, 1)
	k.fadd(3, 3, 25)
	k.fcvtns(2, 2)
	k.p("VSHL $23, V2.S4, V2.S4")
	k.p("VADD V2.S4, V3.S4, V1.S4")
	k.bic(1, 1, 6)
}

func rowsNEON() {
	f := newFile("rows_arm64")
	k := &neon{file: f}
	ptr := []string{"R0", "R1", "R2", "R3"}
	// loop runs body on four lanes at a time; the count is in R12.
	loop := func(pointers int, body func()) {
		f.label("loop")
		body()
		for _, p := range ptr[:pointers] {
			f.p("ADD $16, %s", p)
		}
		f.p("SUBS $4, R12")
		f.p("BNE loop")
	}
	args := func(names ...string) {
		for i, n := range names {
			if n == "n" {
				f.argNEON(n, i, "R12")
			} else if n != "" {
				f.argNEON(n, i, ptr[i])
			}
		}
	}

	f.fn("addNEON", "adds n values of src to dst.", "dst:*float32", "src:*float32", "n:int")
	args("dst", "src", "n")
	loop(2, func() {
		k.load("R0", 0, 0)
		k.load("R1", 0, 1)
		k.fadd(0, 0, 1)
		k.store(0, "R0", 0)
	})
	f.p("RET")

	f.fn("squaresNEON", "adds the squares of n values to four sums.", "sums:*[4]float32", "src:*float32", "n:int")
	args("", "src", "n")
	f.argNEON("sums", 0, "R4")
	k.load("R4", 0, 0)
	f.p("MOVD R1, R0")
	loop(1, func() {
		k.load("R0", 0, 1)
		k.fmla(0, 1, 1)
	})
	k.store(0, "R4", 0)
	f.p("RET")

	f.fn("scaleNEON", "writes src * *factor * gain to dst, n values.", "dst:*float32", "src:*float32", "gain:*float32", "factor:*float32", "n:int")
	args("dst", "src", "gain", "factor")
	f.argNEON("n", 4, "R12")
	f.p("FMOVS (R3), F2")
	loop(3, func() {
		k.load("R1", 0, 0)
		k.load("R2", 0, 1)
		k.lane("fmul", 0x4f809000, 0, 0, 2, 0)
		k.fmul(0, 0, 1)
		k.store(0, "R0", 0)
	})
	f.p("RET")

	f.fn("blendNEON", "sets acc to acc*ab[0] + part*ab[1], n values.", "acc:*float32", "part:*float32", "ab:*[2]float32", "n:int")
	args("acc", "part", "ab", "n")
	f.p("FMOVD (R2), F2")
	loop(2, func() {
		k.load("R0", 0, 0)
		k.load("R1", 0, 1)
		k.lane("fmul", 0x4f809000, 0, 0, 2, 0)
		k.fmlaLane(0, 1, 2, 1)
		k.store(0, "R0", 0)
	})
	f.p("RET")

	f.fn("rotateNEON", "turns n pairs (a, b).", "a:*float32", "b:*float32", "cos:*float32", "sin:*float32", "n:int")
	args("a", "b", "cos", "sin")
	f.argNEON("n", 4, "R12")
	loop(4, func() {
		for i, p := range ptr {
			k.load(p, 0, i)
		}
		k.fmul(4, 0, 2)
		k.fmls(4, 1, 3)
		k.fmul(5, 0, 3)
		k.fmla(5, 1, 2)
		k.store(4, "R0", 0)
		k.store(5, "R1", 0)
	})
	f.p("RET")

	f.fn("siluNEON", "multiplies up by gate/(1+exp(-gate)), n values.", "up:*float32", "gate:*float32", "n:int")
	args("up", "gate", "n")
	k.loadExp()
	k.zero(7)
	loop(2, func() {
		k.load("R1", 0, 0)
		k.fsub(1, 7, 0)
		k.exp()
		k.fadd(1, 1, 25)
		k.fdiv(0, 0, 1)
		k.load("R0", 0, 1)
		k.fmul(0, 0, 1)
		k.store(0, "R0", 0)
	})
	f.p("RET")

	f.fn("largestNEON", "raises four values to the largest of *scale * x, n values.", "out:*[4]float32", "x:*float32", "scale:*float32", "n:int")
	args("", "x", "scale", "n")
	f.argNEON("out", 0, "R4")
	f.p("FMOVS (R2), F2")
	k.load("R4", 0, 0)
	f.p("MOVD R1, R0")
	loop(1, func() {
		k.load("R0", 0, 1)
		k.lane("fmul", 0x4f809000, 1, 1, 2, 0)
		k.fmax(0, 0, 1)
	})
	k.store(0, "R4", 0)
	f.p("RET")

	for _, store := range []bool{true, false} {
		name, doc := "expSumNEON", "adds exp(st[0]*x - st[1]) of n values to four sums."
		if store {
			name, doc = "expStoreNEON", "replaces n values by exp(st[0]*x - st[1]) and adds them to four sums."
		}
		f.fn(name, doc, "out:*[4]float32", "x:*float32", "st:*[2]float32", "n:int")
		args("", "x", "st", "n")
		f.argNEON("out", 0, "R4")
		k.loadExp()
		f.p("MOVWU (R2), R13")
		f.p("VDUP R13, V7.S4")
		f.p("MOVWU 4(R2), R13")
		f.p("VDUP R13, V8.S4")
		k.load("R4", 0, 0)
		f.p("MOVD R1, R0")
		loop(1, func() {
			k.load("R0", 0, 1)
			k.fmul(1, 1, 7)
			k.fsub(1, 1, 8)
			k.exp()
			k.fadd(0, 0, 1)
			if store {
				k.store(1, "R0", 0)
			}
		})
		k.store(0, "R4", 0)
		f.p("RET")
	}
	f.write()
}
