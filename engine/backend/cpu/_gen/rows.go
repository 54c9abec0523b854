package main

import "math"

// Kernels on single rows. Lanes past the end of a row are masked off and run the same code.

// expTable holds the constants of exp: see math_generic.go.
func expTable(f *file) {
	b := math.Float32bits
	f.table("expTable", b(1.44269504), b(0.693359375), b(-2.12194440e-4), b(-87.3),
		b(0.5), b(0.16666577), b(0.041666556), b(0.008363203), b(0.0013926213), b(1))
}

// loadExp fills registers 16 to 25 with the constants.
func loadExp(f *file) {
	for i := range 10 {
		f.p("VBROADCASTSS expTable<>+%d(SB), Z%d", 4*i, 16+i)
	}
}

// exp replaces register x by its exponential; n, r and p are scratch, as is K2.
func exp(f *file, x, n, r, p string) {
	f.p("VCMPPS $5, Z19, %s, K2", x) // not below the least argument; also true for NaN
	f.p("VMULPS Z16, %s, %s", x, n)
	f.p("VRNDSCALEPS $8, %s, %s", n, n)
	f.p("VMOVAPS %s, %s", x, r)
	f.p("VFNMADD231PS Z17, %s, %s", n, r)
	f.p("VFNMADD231PS Z18, %s, %s", n, r)
	f.p("VMOVAPS Z24, %s", p)
	f.p("VFMADD213PS Z23, %s, %s", r, p)
	f.p("VFMADD213PS Z22, %s, %s", r, p)
	f.p("VFMADD213PS Z21, %s, %s", r, p)
	f.p("VFMADD213PS Z20, %s, %s", r, p)
	f.p("VMULPS %s, %s, %s", r, p, p)
	f.p("VFMADD213PS %s, %s, %s", r, r, p)
	f.p("VADDPS Z25, %s, %s", p, p)
	f.p("VSCALEFPS.Z %s, %s, K2, %s", n, p, x)
}

// tail sets K1 to the lanes below CX, at most 16.
func tail(f *file) {
	f.p("MOVL $-1, AX")
	f.p("MOVL $16, BX")
	f.p("CMPQ CX, BX")
	f.p("CMOVQLT CX, BX")
	f.p("BZHIL BX, AX, AX")
	f.p("KMOVW AX, K1")
}

// lanes folds the 16 lanes of Z0 into lane 0 with an operation; Z1 is scratch.
func lanes(f *file, op string) {
	f.p("VEXTRACTF64X4 $1, Z0, Y1")
	f.p("%s Y1, Y0, Y0", op)
	f.p("VEXTRACTF128 $1, Y0, X1")
	f.p("%s X1, X0, X0", op)
	f.p("VPERMILPD $1, X0, X1")
	f.p("%s X1, X0, X0", op)
	f.p("VPSHUFD $1, X0, X1")
	f.p("%s X1, X0, X0", op)
}

// loop runs body on 16 lanes at a time, the last ones masked by K1; pointers are advanced.
func (f *file) loop(name string, body func(), pointers ...string) {
	f.label("%s", name)
	tail(f)
	body()
	for _, p := range pointers {
		f.p("ADDQ $64, %s", p)
	}
	f.p("SUBQ $16, CX")
	f.p("JGT %s", name)
}

func done(f *file) {
	f.p("VZEROUPPER")
	f.p("RET")
}

func rows() {
	f := newFile("rows_amd64")
	expTable(f)

	f.fn("addAVX512", "adds n values of src to dst.", "dst:*float32", "src:*float32", "n:int")
	f.arg("dst", 0, "DI")
	f.arg("src", 1, "SI")
	f.arg("n", 2, "CX")
	f.loop("loop", func() {
		f.p("VMOVUPS.Z (DI), K1, Z0")
		f.p("VMOVUPS.Z (SI), K1, Z1")
		f.p("VADDPS Z1, Z0, Z0")
		f.p("VMOVUPS Z0, K1, (DI)")
	}, "DI", "SI")
	done(f)

	f.fn("squaresAVX512", "writes the sum of the squares of n values to sum.", "sum:*float32", "src:*float32", "n:int")
	f.arg("src", 1, "SI")
	f.arg("n", 2, "CX")
	f.p("VPXORD Z0, Z0, Z0")
	f.loop("loop", func() {
		f.p("VMOVUPS.Z (SI), K1, Z1")
		f.p("VFMADD231PS Z1, Z1, Z0")
	}, "SI")
	lanes(f, "VADDPS")
	f.arg("sum", 0, "DI")
	f.p("VMOVSS X0, (DI)")
	done(f)

	f.fn("scaleAVX512", "writes src * *factor * gain to dst, n values.", "dst:*float32", "src:*float32", "gain:*float32", "factor:*float32", "n:int")
	f.arg("dst", 0, "DI")
	f.arg("src", 1, "SI")
	f.arg("gain", 2, "DX")
	f.arg("factor", 3, "AX")
	f.p("VBROADCASTSS (AX), Z2")
	f.arg("n", 4, "CX")
	f.loop("loop", func() {
		f.p("VMOVUPS.Z (SI), K1, Z0")
		f.p("VMOVUPS.Z (DX), K1, Z1")
		f.p("VMULPS Z2, Z0, Z0")
		f.p("VMULPS Z1, Z0, Z0")
		f.p("VMOVUPS Z0, K1, (DI)")
	}, "DI", "SI", "DX")
	done(f)

	f.fn("siluAVX512", "multiplies up by gate/(1+exp(-gate)), n values.", "up:*float32", "gate:*float32", "n:int")
	f.arg("up", 0, "DI")
	f.arg("gate", 1, "SI")
	f.arg("n", 2, "CX")
	loadExp(f)
	f.p("VPXORD Z5, Z5, Z5")
	f.loop("loop", func() {
		f.p("VMOVUPS.Z (SI), K1, Z0")
		f.p("VSUBPS Z0, Z5, Z1")
		exp(f, "Z1", "Z2", "Z3", "Z4")
		f.p("VADDPS Z25, Z1, Z1")
		f.p("VDIVPS Z1, Z0, Z0")
		f.p("VMOVUPS.Z (DI), K1, Z1")
		f.p("VMULPS Z1, Z0, Z0")
		f.p("VMOVUPS Z0, K1, (DI)")
	}, "DI", "SI")
	done(f)

	f.fn("blendAVX512", "sets acc to acc*ab[0] + part*ab[1], n values.", "acc:*float32", "part:*float32", "ab:*[2]float32", "n:int")
	f.arg("acc", 0, "DI")
	f.arg("part", 1, "SI")
	f.arg("ab", 2, "AX")
	f.p("VBROADCASTSS (AX), Z2")
	f.p("VBROADCASTSS 4(AX), Z3")
	f.arg("n", 3, "CX")
	f.loop("loop", func() {
		f.p("VMOVUPS.Z (DI), K1, Z0")
		f.p("VMOVUPS.Z (SI), K1, Z1")
		f.p("VMULPS Z2, Z0, Z0")
		f.p("VFMADD231PS Z3, Z1, Z0")
		f.p("VMOVUPS Z0, K1, (DI)")
	}, "DI", "SI")
	done(f)

	f.fn("rotateAVX512", "turns n pairs (a, b).", "a:*float32", "b:*float32", "cos:*float32", "sin:*float32", "n:int")
	f.arg("a", 0, "DI")
	f.arg("b", 1, "SI")
	f.arg("cos", 2, "R8")
	f.arg("sin", 3, "R9")
	f.arg("n", 4, "CX")
	f.loop("loop", func() {
		f.p("VMOVUPS.Z (DI), K1, Z0")
		f.p("VMOVUPS.Z (SI), K1, Z1")
		f.p("VMOVUPS.Z (R8), K1, Z2")
		f.p("VMOVUPS.Z (R9), K1, Z3")
		f.p("VMULPS Z2, Z0, Z4")
		f.p("VFNMADD231PS Z3, Z1, Z4")
		f.p("VMULPS Z3, Z0, Z5")
		f.p("VFMADD231PS Z2, Z1, Z5")
		f.p("VMOVUPS Z4, K1, (DI)")
		f.p("VMOVUPS Z5, K1, (SI)")
	}, "DI", "SI", "R8", "R9")
	done(f)

	f.fn("rotateAdjacentAVX512", "turns n pairs of neighbours, n a multiple of 8.", "x:*float32", "cos:*float32", "sin:*float32", "n:int")
	f.arg("x", 0, "DI")
	f.arg("cos", 1, "R8")
	f.arg("sin", 2, "R9")
	f.arg("n", 3, "CX")
	f.label("loop")
	f.p("VMOVUPS (DI), Z0")
	f.p("VPMOVZXDQ (R8), Z1")
	f.p("VMOVSLDUP Z1, Z1")
	f.p("VPMOVZXDQ (R9), Z2")
	f.p("VMOVSLDUP Z2, Z2")
	f.p("VPERMILPS $0xb1, Z0, Z3")
	f.p("VMULPS Z2, Z3, Z3")
	f.p("VFMADDSUB213PS Z3, Z1, Z0")
	f.p("VMOVUPS Z0, (DI)")
	f.p("ADDQ $64, DI")
	f.p("ADDQ $32, R8")
	f.p("ADDQ $32, R9")
	f.p("SUBQ $8, CX")
	f.p("JNE loop")
	done(f)

	// The largest of scale*x lies in Z6 after the first pass, in all lanes.
	largest := func() {
		f.p("VBROADCASTSS negInf<>(SB), Z0")
		f.loop("max", func() {
			f.p("VMULPS (SI), Z7, K1, Z8")
			f.p("VMAXPS Z8, Z0, K1, Z0")
		}, "SI")
		lanes(f, "VMAXPS")
		f.p("VBROADCASTSS X0, Z6")
	}
	f.table("negInf", math.Float32bits(float32(math.Inf(-1))))
	sums := func(store bool) {
		loadExp(f)
		f.p("VPXORD Z0, Z0, Z0")
		f.loop("sum", func() {
			f.p("VMULPS.Z (SI), Z7, K1, Z1")
			f.p("VSUBPS Z6, Z1, Z1")
			exp(f, "Z1", "Z2", "Z3", "Z4")
			f.p("VADDPS Z1, Z0, K1, Z0")
			if store {
				f.p("VMOVUPS.Z Z1, K1, Z1")
				f.p("VMOVUPS Z1, (SI)")
			}
		}, "SI")
		lanes(f, "VADDPS")
	}
	f.fn("softmaxAVX512", "turns n scores into weights, with zeros up to a whole register, and writes scale times the largest score, and the sum of the weights, to out; scale is out[0].",
		"x:*float32", "n:int", "out:*[2]float32")
	f.arg("x", 0, "SI")
	f.arg("n", 1, "CX")
	f.arg("out", 2, "DI")
	f.p("VBROADCASTSS (DI), Z7")
	largest()
	f.p("VMOVSS X6, (DI)")
	f.arg("x", 0, "SI")
	f.arg("n", 1, "CX")
	sums(true)
	f.p("VMOVSS X0, 4(DI)")
	done(f)

	f.fn("sumExpAVX512", "writes the largest of n values, and the sum of exp(value - largest), to out; out[0] is 1.",
		"x:*float32", "n:int", "out:*[2]float32")
	f.arg("x", 0, "SI")
	f.arg("n", 1, "CX")
	f.arg("out", 2, "DI")
	f.p("VBROADCASTSS (DI), Z7")
	largest()
	f.p("VMOVSS X6, (DI)")
	f.arg("x", 0, "SI")
	f.arg("n", 1, "CX")
	sums(false)
	f.p("VMOVSS X0, 4(DI)")
	done(f)

	quantize(f)
	f.write()
}

// quantize: see quant.Int8Row.Quantize; a record holds codes, scale and negative sums.
func quantize(f *file) {
	f.table("quantTable", 0x7fffffff, math.Float32bits(127), 0x7fc00000)
	f.fn("quantizeAVX512", "rounds n blocks of 32 values into records.", "dst:*byte", "src:*float32", "n:int")
	f.arg("dst", 0, "DI")
	f.arg("src", 1, "SI")
	f.arg("n", 2, "CX")
	f.p("VPBROADCASTD quantTable<>+0(SB), Z10")
	f.p("VMOVSS quantTable<>+4(SB), X11")
	f.label("loop")
	f.p("VMOVUPS (SI), Z2")
	f.p("VMOVUPS 64(SI), Z3")
	f.p("VPANDD Z10, Z2, Z0")
	f.p("VPANDD Z10, Z3, Z1")
	f.p("VPMAXUD Z1, Z0, Z0")
	f.p("VEXTRACTI64X4 $1, Z0, Y1")
	f.p("VPMAXUD Y1, Y0, Y0")
	f.p("VEXTRACTI128 $1, Y0, X1")
	f.p("VPMAXUD X1, X0, X0")
	f.p("VPSHUFD $0x4e, X0, X1")
	f.p("VPMAXUD X1, X0, X0")
	f.p("VPSHUFD $1, X0, X1")
	f.p("VPMAXUD X1, X0, X0")
	f.p("VMOVD X0, AX")
	f.p("CMPL AX, $0x%08x", math.Float32bits(1.0/(1<<60)/(1<<50)))
	f.p("JCS zero")
	f.p("CMPL AX, $0x7f800000")
	f.p("JCC nan")
	f.p("VDIVSS X11, X0, X4") // amax / 127
	f.p("VMOVSS X4, %d(DI)", scaleAt)
	f.p("VDIVSS X0, X11, X4")
	f.p("VBROADCASTSS X4, Z4")
	f.p("VMULPS Z4, Z2, Z2")
	f.p("VMULPS Z4, Z3, Z3")
	f.p("VCVTPS2DQ Z2, Z2")
	f.p("VCVTPS2DQ Z3, Z3")
	f.p("VPMOVDB Z2, X5")
	f.p("VPMOVDB Z3, X6")
	f.p("VMOVDQU X5, (DI)")
	f.p("VMOVDQU X6, 16(DI)")
	// Both sums side by side: Z2 and Z3 fold into the lanes of one register.
	f.p("VEXTRACTI64X4 $1, Z2, Y0")
	f.p("VPADDD Y0, Y2, Y2")
	f.p("VEXTRACTI64X4 $1, Z3, Y0")
	f.p("VPADDD Y0, Y3, Y3")
	f.p("VPHADDD Y3, Y2, Y2")
	f.p("VPHADDD Y2, Y2, Y2")
	f.p("VEXTRACTI128 $1, Y2, X0")
	f.p("VPADDD X0, X2, X2")
	f.p("VMOVD X2, AX")
	f.p("VPEXTRD $1, X2, BX")
	f.p("NEGL AX")
	f.p("MOVL AX, %d(DI)", halfAt)
	f.p("SUBL BX, AX")
	f.p("MOVL AX, %d(DI)", sumAt)
	f.p("VXORPS X4, X4, X4")
	f.p("VCVTSI2SSL AX, X4, X4")
	f.p("VMOVSS X4, %d(DI)", floatSumAt)
	f.label("next")
	f.p("ADDQ $128, SI")
	f.p("ADDQ $%d, DI", recordBytes)
	f.p("SUBQ $1, CX")
	f.p("JNE loop")
	done(f)
	f.label("nan")
	f.p("MOVL quantTable<>+8(SB), AX")
	f.p("JMP fill")
	f.label("zero")
	f.p("XORL AX, AX")
	f.label("fill")
	f.p("VPXOR X0, X0, X0")
	f.p("VMOVDQU X0, (DI)")
	f.p("VMOVDQU X0, 16(DI)")
	f.p("VMOVDQU X0, 32(DI)")
	f.p("MOVL AX, %d(DI)", scaleAt)
	f.p("JMP next")
}
