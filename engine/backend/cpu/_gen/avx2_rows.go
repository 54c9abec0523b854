package main

import "math"

// Kernels on single rows with 256-bit registers. Y15 masks the lanes past the end of a row.

func exp2(f *file) {
	// Y1 becomes its exponential; Y2 to Y5 are scratch.
	f.p("VCMPPS $5, expMin2<>(SB), Y1, Y5") // not below the least argument; also true for NaN
	f.p("VMOVUPS expMax2<>(SB), Y2")
	f.p("VMINPS Y1, Y2, Y1") // a NaN stays
	f.p("VMOVUPS expMin2<>(SB), Y2")
	f.p("VMAXPS Y1, Y2, Y1")
	f.p("VMULPS log2E2<>(SB), Y1, Y2")
	f.p("VROUNDPS $8, Y2, Y2")
	f.p("VFNMADD231PS ln2Hi2<>(SB), Y2, Y1")
	f.p("VFNMADD231PS ln2Lo2<>(SB), Y2, Y1")
	f.p("VMOVUPS expC62<>(SB), Y3")
	f.p("VFMADD213PS expC52<>(SB), Y1, Y3")
	f.p("VFMADD213PS expC42<>(SB), Y1, Y3")
	f.p("VFMADD213PS expC32<>(SB), Y1, Y3")
	f.p("VFMADD213PS expC22<>(SB), Y1, Y3")
	f.p("VMULPS Y1, Y3, Y3")
	f.p("VFMADD213PS Y1, Y1, Y3")
	f.p("VADDPS one2<>(SB), Y3, Y3")
	f.p("VCVTPS2DQ Y2, Y2")
	f.p("VPSLLD $23, Y2, Y2")
	f.p("VPADDD Y2, Y3, Y1")
	f.p("VANDPS Y5, Y1, Y1")
}

func lanes2(f *file, op string) {
	f.p("VEXTRACTF128 $1, Y0, X1")
	f.p("%s X1, X0, X0", op)
	f.p("VPERMILPD $1, X0, X1")
	f.p("%s X1, X0, X0", op)
	f.p("VPSHUFD $1, X0, X1")
	f.p("%s X1, X0, X0", op)
}

// loop2 runs body on eight lanes at a time, masked by Y15; pointers are advanced.
func (f *file) loop2(name string, body func(), pointers ...string) {
	f.p("LEAQ lanes2<>+32(SB), R15")
	f.label("%s", name)
	f.p("MOVL $8, BX")
	f.p("CMPQ CX, BX")
	f.p("CMOVQLT CX, BX")
	f.p("SHLQ $2, BX")
	f.p("NEGQ BX")
	f.p("VMOVDQU (R15)(BX*1), Y15") // as many set words as lanes, then clear ones
	body()
	for _, p := range pointers {
		f.p("ADDQ $32, %s", p)
	}
	f.p("SUBQ $8, CX")
	f.p("JGT %s", name)
}

func rowsAVX2() {
	f := newFile("rows2_amd64")
	b := math.Float32bits
	for _, c := range []struct {
		name string
		v    float32
	}{
		{"log2E2", 1.44269504}, {"ln2Hi2", 0.693359375}, {"ln2Lo2", -2.12194440e-4}, {"expMin2", -87.3}, {"expMax2", 88.3},
		{"expC22", 0.5}, {"expC32", 0.16666577}, {"expC42", 0.041666556}, {"expC52", 0.008363203}, {"expC62", 0.0013926213}, {"one2", 1},
		{"negInf2", float32(math.Inf(-1))},
	} {
		f.repeated(c.name, b(c.v))
	}
	all := ^uint32(0)
	f.table("lanes2", all, all, all, all, all, all, all, all, 0, 0, 0, 0, 0, 0, 0, 0)

	f.fn("addAVX2", "adds n values of src to dst.", "dst:*float32", "src:*float32", "n:int")
	f.arg("dst", 0, "DI")
	f.arg("src", 1, "SI")
	f.arg("n", 2, "CX")
	f.loop2("loop", func() {
		f.p("VMASKMOVPS (DI), Y15, Y0")
		f.p("VMASKMOVPS (SI), Y15, Y1")
		f.p("VADDPS Y1, Y0, Y0")
		f.p("VMASKMOVPS Y0, Y15, (DI)")
	}, "DI", "SI")
	done(f)

	f.fn("squaresAVX2", "writes the sum of the squares of n values to sum.", "sum:*float32", "src:*float32", "n:int")
	f.arg("src", 1, "SI")
	f.arg("n", 2, "CX")
	f.p("VPXOR Y0, Y0, Y0")
	f.loop2("loop", func() {
		f.p("VMASKMOVPS (SI), Y15, Y1")
		f.p("VFMADD231PS Y1, Y1, Y0")
	}, "SI")
	lanes2(f, "VADDPS")
	f.arg("sum", 0, "DI")
	f.p("VMOVSS X0, (DI)")
	done(f)

	f.fn("scaleAVX2", "writes src * *factor * gain to dst, n values.", "dst:*float32", "src:*float32", "gain:*float32", "factor:*float32", "n:int")
	f.arg("dst", 0, "DI")
	f.arg("src", 1, "SI")
	f.arg("gain", 2, "DX")
	f.arg("factor", 3, "AX")
	f.p("VBROADCASTSS (AX), Y2")
	f.arg("n", 4, "CX")
	f.loop2("loop", func() {
		f.p("VMASKMOVPS (SI), Y15, Y0")
		f.p("VMASKMOVPS (DX), Y15, Y1")
		f.p("VMULPS Y2, Y0, Y0")
		f.p("VMULPS Y1, Y0, Y0")
		f.p("VMASKMOVPS Y0, Y15, (DI)")
	}, "DI", "SI", "DX")
	done(f)

	f.fn("siluAVX2", "multiplies up by gate/(1+exp(-gate)), n values.", "up:*float32", "gate:*float32", "n:int")
	f.arg("up", 0, "DI")
	f.arg("gate", 1, "SI")
	f.arg("n", 2, "CX")
	f.p("VPXOR Y6, Y6, Y6")
	f.loop2("loop", func() {
		f.p("VMASKMOVPS (SI), Y15, Y0")
		f.p("VSUBPS Y0, Y6, Y1")
		exp2(f)
		f.p("VADDPS one2<>(SB), Y1, Y1")
		f.p("VDIVPS Y1, Y0, Y0")
		f.p("VMASKMOVPS (DI), Y15, Y1")
		f.p("VMULPS Y1, Y0, Y0")
		f.p("VMASKMOVPS Y0, Y15, (DI)")
	}, "DI", "SI")
	done(f)

	f.fn("blendAVX2", "sets acc to acc*ab[0] + part*ab[1], n values.", "acc:*float32", "part:*float32", "ab:*[2]float32", "n:int")
	f.arg("acc", 0, "DI")
	f.arg("part", 1, "SI")
	f.arg("ab", 2, "AX")
	f.p("VBROADCASTSS (AX), Y2")
	f.p("VBROADCASTSS 4(AX), Y3")
	f.arg("n", 3, "CX")
	f.loop2("loop", func() {
		f.p("VMASKMOVPS (DI), Y15, Y0")
		f.p("VMASKMOVPS (SI), Y15, Y1")
		f.p("VMULPS Y2, Y0, Y0")
		f.p("VFMADD231PS Y3, Y1, Y0")
		f.p("VMASKMOVPS Y0, Y15, (DI)")
	}, "DI", "SI")
	done(f)

	f.fn("rotateAVX2", "turns n pairs (a, b).", "a:*float32", "b:*float32", "cos:*float32", "sin:*float32", "n:int")
	f.arg("a", 0, "DI")
	f.arg("b", 1, "SI")
	f.arg("cos", 2, "R8")
	f.arg("sin", 3, "R9")
	f.arg("n", 4, "CX")
	f.loop2("loop", func() {
		f.p("VMASKMOVPS (DI), Y15, Y0")
		f.p("VMASKMOVPS (SI), Y15, Y1")
		f.p("VMASKMOVPS (R8), Y15, Y2")
		f.p("VMASKMOVPS (R9), Y15, Y3")
		f.p("VMULPS Y2, Y0, Y4")
		f.p("VFNMADD231PS Y3, Y1, Y4")
		f.p("VMULPS Y3, Y0, Y5")
		f.p("VFMADD231PS Y2, Y1, Y5")
		f.p("VMASKMOVPS Y4, Y15, (DI)")
		f.p("VMASKMOVPS Y5, Y15, (SI)")
	}, "DI", "SI", "R8", "R9")
	done(f)

	// The largest of scale*x lies in Y8, in all lanes; Y7 holds the scale.
	largest := func() {
		f.p("VMOVUPS negInf2<>(SB), Y0")
		f.loop2("max", func() {
			f.p("VMASKMOVPS (SI), Y15, Y1")
			f.p("VMULPS Y7, Y1, Y1")
			f.p("VMOVUPS negInf2<>(SB), Y2")
			f.p("VBLENDVPS Y15, Y1, Y2, Y1")
			f.p("VMAXPS Y1, Y0, Y0")
		}, "SI")
		lanes2(f, "VMAXPS")
		f.p("VBROADCASTSS X0, Y8")
	}
	sums := func(store bool) {
		f.p("VPXOR Y0, Y0, Y0")
		f.loop2("sum", func() {
			f.p("VMASKMOVPS (SI), Y15, Y1")
			f.p("VMULPS Y7, Y1, Y1")
			f.p("VSUBPS Y8, Y1, Y1")
			exp2(f)
			f.p("VANDPS Y15, Y1, Y1")
			f.p("VADDPS Y1, Y0, Y0")
			if store {
				f.p("VMOVUPS Y1, (SI)")
			}
		}, "SI")
		lanes2(f, "VADDPS")
	}
	f.fn("softmaxAVX2", "turns n scores into weights, with zeros up to a whole register, and writes scale times the largest score, and the sum of the weights, to out; scale is out[0].",
		"x:*float32", "n:int", "out:*[2]float32")
	f.fnSoftmax(largest, func() { sums(true) })
	f.fn("sumExpAVX2", "writes the largest of n values, and the sum of exp(value - largest), to out; out[0] is 1.",
		"x:*float32", "n:int", "out:*[2]float32")
	f.fnSoftmax(largest, func() { sums(false) })

	quantize2(f)
	f.write()
}

func (f *file) fnSoftmax(largest, sums func()) {
	f.arg("x", 0, "SI")
	f.arg("n", 1, "CX")
	f.arg("out", 2, "DI")
	f.p("VBROADCASTSS (DI), Y7")
	largest()
	f.p("VMOVSS X8, (DI)")
	f.arg("x", 0, "SI")
	f.arg("n", 1, "CX")
	sums()
	f.p("VMOVSS X0, 4(DI)")
	done(f)
}

// quantize2: see quantize.
func quantize2(f *file) {
	f.repeated("magnitude2", 0x7fffffff)
	f.table("quantTable2", math.Float32bits(127), 0x7fc00000)
	f.fn("quantizeAVX2", "rounds n blocks of 32 values into records.", "dst:*byte", "src:*float32", "n:int")
	f.arg("dst", 0, "DI")
	f.arg("src", 1, "SI")
	f.arg("n", 2, "CX")
	f.p("VMOVSS quantTable2<>+0(SB), X11")
	f.p("VMOVDQU magnitude2<>(SB), Y10")
	f.label("loop")
	for i := range 4 {
		f.p("VMOVUPS %d(SI), Y%d", 32*i, 2+i)
		f.p("VPAND Y10, Y%d, Y%d", 2+i, 6+i)
	}
	f.p("VPMAXUD Y7, Y6, Y6")
	f.p("VPMAXUD Y9, Y8, Y8")
	f.p("VPMAXUD Y8, Y6, Y0")
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
	f.p("VDIVSS X11, X0, X6")
	f.p("VMOVSS X6, %d(DI)", scaleAt)
	f.p("VDIVSS X0, X11, X6")
	f.p("VBROADCASTSS X6, Y6")
	for i := range 4 {
		f.p("VMULPS Y6, Y%d, Y%d", 2+i, 2+i)
		f.p("VCVTPS2DQ Y%d, Y%d", 2+i, 2+i)
	}
	for i := range 2 { // 16 codes
		a, c := 2+2*i, 3+2*i
		f.p("VPACKSSDW Y%d, Y%d, Y0", c, a)
		f.p("VPERMQ $0xd8, Y0, Y0")
		f.p("VEXTRACTI128 $1, Y0, X1")
		f.p("VPACKSSWB X1, X0, X0")
		f.p("VMOVDQU X0, %d(DI)", 16*i)
		f.p("VPADDD Y%d, Y%d, Y%d", c, a, a)
		f.p("VEXTRACTI128 $1, Y%d, X1", a)
		f.p("VPADDD X1, X%d, X%d", a, a)
	}
	f.p("VPHADDD X4, X2, X2")
	f.p("VPHADDD X2, X2, X2")
	f.p("VMOVD X2, AX")
	f.p("VPEXTRD $1, X2, BX")
	f.p("NEGL AX")
	f.p("MOVL AX, %d(DI)", halfAt)
	f.p("SUBL BX, AX")
	f.p("MOVL AX, %d(DI)", sumAt)
	f.p("VXORPS X6, X6, X6")
	f.p("VCVTSI2SSL AX, X6, X6")
	f.p("VMOVSS X6, %d(DI)", floatSumAt)
	f.label("next")
	f.p("ADDQ $128, SI")
	f.p("ADDQ $%d, DI", recordBytes)
	f.p("SUBQ $1, CX")
	f.p("JNE loop")
	done(f)
	f.label("nan")
	f.p("MOVL quantTable2<>+4(SB), AX")
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
