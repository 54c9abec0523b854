package main

import "fmt"

const partitionBytes = 4 * 256 // of a row of scores or weights

// kvFormat reads keys and values of a cache format as float32.
type kvFormat struct {
	name string
	pair bool // neighbours share 32 bits
	size int
}

var kvFormats = []kvFormat{{"BF16", true, 2}, {"F16", false, 2}, {"F32", false, 4}}

func (v kvFormat) load(f *file, addr string, odd bool, z, mask string) {
	switch {
	case v.name == "F32":
		f.p("VMOVUPS %s, %s", addr, z)
	case v.name == "F16":
		f.p("VCVTPH2PS %s, %s", addr, z)
	case odd:
		f.p("VPANDD %s, %s, %s", addr, mask, z)
	default:
		f.p("VPSLLD $16, %s, %s", addr, z)
	}
}

// step is how many values one line of keys, or positions one row of values, holds.
func (v kvFormat) step() int {
	if v.pair {
		return 2
	}
	return 1
}

func (v kvFormat) mask(f *file, z string) {
	if v.pair {
		f.p("MOVL $0xffff0000, AX")
		f.p("VPBROADCASTD AX, %s", z)
	}
}

// scores: products of rows of queries with the keys of n tiles.
func (f *file) scores(v kvFormat, rows, n int) {
	f.fn(fmt.Sprintf("scores%s%dx%d", v.name, rows, n), fmt.Sprintf("multiplies %d queries with the keys of %d tiles", rows, n),
		"out:*float32", "q:*float32", "dim:int", "tiles:**byte")
	q := rowsOf{"SI", "R12", "R13", "DX", "BX"}
	keys := []string{"R8", "R9", "R10", "R11"}[:n]
	f.arg("q", 1, "SI")
	f.arg("dim", 2, "CX")
	f.arg("tiles", 3, "DI")
	f.p("LEAQ (CX*4), R12")
	f.multiples(q, rows)
	for i, k := range keys {
		f.p("MOVQ %d(DI), %s", 8*i, k)
	}
	z := func(i int) string { return fmt.Sprintf("Z%d", i) }
	sum := func(r, t int) string { return z(r*n + t) }
	key := func(t int) string { return z(rows*n + t) }
	query := func(r int) string { return z(rows*n + n + r%2) }
	mask := z(31)
	v.mask(f, mask)
	for i := range rows * n {
		f.p("VPXORD %s, %s, %s", z(i), z(i), z(i))
	}
	f.label("loop")
	for i := range v.step() {
		for t, k := range keys {
			v.load(f, fmt.Sprintf("(%s)", k), i == 1, key(t), mask)
		}
		for r := range rows {
			f.p("VBROADCASTSS %s, %s", q.at(r, 4*i), query(r))
			for t := range n {
				f.p("VFMADD231PS %s, %s, %s", key(t), query(r), sum(r, t))
			}
		}
	}
	for _, k := range keys {
		f.p("ADDQ $%d, %s", 16*v.step()*v.size, k)
	}
	f.p("ADDQ $%d, SI", 4*v.step())
	f.p("SUBQ $%d, CX", v.step())
	f.p("JNE loop")
	f.arg("out", 0, "AX")
	for r := range rows {
		for t := range n {
			f.p("VMOVUPS %s, %d(AX)", sum(r, t), r*partitionBytes+64*t)
		}
	}
	f.p("VZEROUPPER")
	f.p("RET")
}

// values: adds the weighted values of positions lo to hi-1 of some tiles to n registers of columns
// of some rows. lo is even.
func (f *file) values(v kvFormat, rows, n int) {
	f.fn(fmt.Sprintf("values%s%dx%d", v.name, rows, n), fmt.Sprintf("adds weighted values to %d columns of %d rows; data is offset bytes into each tile", 16*n, rows),
		"out:*float32", "weights:*float32", "dim:int", "tiles:**byte", "offset:int", "lo:int", "hi:int")
	z := func(i int) string { return fmt.Sprintf("Z%d", i) }
	sum := func(r, c int) string { return z(r*n + c) }
	value := func(c int) string { return z(rows*n + c) }
	weight := func(r int) string { return z(rows*n + n + r%2) }
	mask := z(31)
	v.mask(f, mask)
	f.valuesLoop(v, rows, func(out rowsOf, load bool) {
		for r := range rows {
			for c := range n {
				if load {
					f.p("VMOVUPS %s, %s", out.at(r, 64*c), sum(r, c))
				} else {
					f.p("VMOVUPS %s, %s", sum(r, c), out.at(r, 64*c))
				}
			}
		}
	}, func(i int) {
		for c := range n {
			v.load(f, fmt.Sprintf("%d(R11)", 16*c*v.step()*v.size), i == 1, value(c), mask)
		}
		for r := range rows {
			f.p("VBROADCASTSS %d(SI), %s", r*partitionBytes+4*i, weight(r))
			for c := range n {
				f.p("VFMADD231PS %s, %s, %s", value(c), weight(r), sum(r, c))
			}
		}
	})
}

// valuesLoop writes the loops over tiles and their positions. move loads or stores the sums;
// position adds position i of the row of values at R11, with the weights at SI.
func (f *file) valuesLoop(v kvFormat, rows int, move func(out rowsOf, load bool), position func(i int)) {
	out := rowsOf{"AX", "R12", "R13", "DX", "BX"}
	f.arg("weights", 1, "SI")
	f.arg("dim", 2, "R12")
	f.arg("tiles", 3, "DI")
	f.arg("lo", 5, "R8")
	f.arg("hi", 6, "R9")
	f.p("MOVQ R12, R10")
	f.p("IMULQ $%d, R10", v.step()*v.size) // bytes of a row of values
	address := func() {
		f.arg("out", 0, "AX")
		f.arg("dim", 2, "R12")
		f.p("SHLQ $2, R12")
		f.multiples(out, rows)
	}
	address()
	move(out, true)
	f.p("LEAQ (SI)(R8*4), SI")
	// A tile after another: R11 is the row of values, CX how many positions of the tile are left.
	f.label("tile")
	f.p("MOVQ R8, CX")
	f.p("SHRQ $4, CX")
	f.p("MOVQ (DI)(CX*8), R11")
	f.p("ADDQ offset+32(FP), R11")
	f.p("MOVQ R8, CX")
	f.p("ANDQ $15, CX")
	f.p("MOVQ CX, R15")
	if v.pair {
		f.p("SHRQ $1, R15")
	}
	f.p("IMULQ R10, R15")
	f.p("ADDQ R15, R11")
	f.p("NEGQ CX")
	f.p("ADDQ $16, CX")
	f.p("MOVQ R9, R15")
	f.p("SUBQ R8, R15")
	f.p("CMPQ CX, R15")
	f.p("JLE whole")
	f.p("MOVQ R15, CX")
	f.label("whole")
	f.p("ADDQ CX, R8")
	if v.pair {
		f.p("SUBQ $2, CX")
		f.p("JLT odd")
	}
	f.label("loop")
	for i := range v.step() {
		position(i)
	}
	f.p("ADDQ R10, R11")
	f.p("ADDQ $%d, SI", 4*v.step())
	f.p("SUBQ $%d, CX", v.step())
	if v.pair {
		f.p("JGE loop")
		f.label("odd")
		f.p("ADDQ $2, CX")
		f.p("JEQ next")
		position(0)
		f.label("next")
	} else {
		f.p("JNE loop")
	}
	f.p("CMPQ R8, R9")
	f.p("JLT tile")
	address()
	move(out, false)
	f.p("VZEROUPPER")
	f.p("RET")
}

// dispatchAttention writes Go functions that call the kernels of a number of rows, and of tiles or
// columns.
func (f *file) dispatchAttention(name string, scores, values map[int][]int) {
	for _, d := range []struct {
		kind, params, args string
		shapes             map[int][]int
	}{
		{"scores", "out, q *float32, dim int, tiles **byte", "out, q, dim, tiles", scores},
		{"values", "out, weights *float32, dim int, tiles **byte, offset, lo, hi int", "out, weights, dim, tiles, offset, lo, hi", values},
	} {
		fmt.Fprintf(&f.decl, "\nfunc %s%s(rows, n int, %s) {\nswitch rows<<8|n {\n", d.kind, name, d.params)
		for rows := 1; rows <= 6; rows++ {
			for _, n := range d.shapes[rows] {
				fmt.Fprintf(&f.decl, "case %d<<8|%d:\n%s%s%dx%d(%s)\n", rows, n, d.kind, name, rows, n, d.args)
			}
		}
		f.decl.WriteString("}\n}\n")
	}
}

func attention() {
	f := newFile("attention_amd64")
	scores, values := map[int][]int{}, map[int][]int{}
	for rows := 1; rows <= 6; rows++ {
		scores[rows], values[rows] = []int{4, 1}, []int{4, 1}
		if rows <= 2 {
			values[rows] = []int{8, 4, 1}
		}
	}
	for _, v := range kvFormats {
		for rows := 1; rows <= 6; rows++ {
			for _, n := range scores[rows] {
				f.scores(v, rows, n)
			}
			for _, n := range values[rows] {
				f.values(v, rows, n)
			}
		}
	}
	for _, v := range kvFormats {
		f.dispatchAttention(v.name, scores, values)
	}
	f.write()
}
