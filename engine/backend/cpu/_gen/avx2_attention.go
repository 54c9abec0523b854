package main

import "fmt"

// Attention on 256-bit registers: two for the 16 positions of a tile, two for 16 columns.

// halves reads eight values of a cache format, from offset at of the address in a register.
func (v kvFormat) halves(f *file, reg string, at int, odd bool, y string) {
	switch v.name {
	case "F32":
		f.p("VMOVUPS %d(%s), %s", 2*at, reg, y)
	case "F16":
		f.p("VCVTPH2PS %d(%s), %s", at, reg, y)
	default:
		f.p("VMOVDQU %d(%s), %s", 2*at, reg, y)
		if odd {
			f.p("VPAND upper2<>(SB), %s, %s", y, y)
		} else {
			f.p("VPSLLD $16, %s, %s", y, y)
		}
	}
}

// scoresTiles is the number of tiles that a number of rows takes at once, beside one.
func scoresTiles(rows int) int {
	switch rows {
	case 1:
		return 4
	case 2, 3:
		return 2
	}
	return 1
}

func valuesColumns(rows int) int {
	switch rows {
	case 1:
		return 4
	case 2:
		return 2
	}
	return 1
}

func (f *file) scores2(v kvFormat, rows, n int) {
	f.fn(fmt.Sprintf("scoresHalf%s%dx%d", v.name, rows, n), fmt.Sprintf("multiplies %d queries with the keys of %d tiles", rows, n),
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
	y := func(i int) string { return fmt.Sprintf("Y%d", i) }
	sum := func(r, t, h int) string { return y((r*n+t)*2 + h) }
	sums := 2 * rows * n
	for i := range sums {
		f.p("VPXOR %s, %s, %s", y(i), y(i), y(i))
	}
	byKey := sums+rows+1 <= 16
	f.label("loop")
	for i := range v.step() {
		if byKey {
			for r := range rows {
				f.p("VBROADCASTSS %s, %s", q.at(r, 4*i), y(sums+r))
			}
			for t, k := range keys {
				for h := range 2 {
					v.halves(f, k, 16*h, i == 1, y(sums+rows))
					for r := range rows {
						f.p("VFMADD231PS %s, %s, %s", y(sums+rows), y(sums+r), sum(r, t, h))
					}
				}
			}
			continue
		}
		for h := range 2 { // one tile
			v.halves(f, keys[0], 16*h, i == 1, y(sums+h))
		}
		for r := range rows {
			f.p("VBROADCASTSS %s, %s", q.at(r, 4*i), y(sums+2))
			for h := range 2 {
				f.p("VFMADD231PS %s, %s, %s", y(sums+h), y(sums+2), sum(r, 0, h))
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
			for h := range 2 {
				f.p("VMOVUPS %s, %d(AX)", sum(r, t, h), r*partitionBytes+64*t+32*h)
			}
		}
	}
	f.p("VZEROUPPER")
	f.p("RET")
}

func (f *file) values2(v kvFormat, rows, n int) {
	f.fn(fmt.Sprintf("valuesHalf%s%dx%d", v.name, rows, n), fmt.Sprintf("adds weighted values to %d columns of %d rows; data is offset bytes into each tile", 16*n, rows),
		"out:*float32", "weights:*float32", "dim:int", "tiles:**byte", "offset:int", "lo:int", "hi:int")
	y := func(i int) string { return fmt.Sprintf("Y%d", i) }
	cols := 2 * n
	sum := func(r, c int) string { return y(r*cols + c) }
	f.valuesLoop(v, rows, func(out rowsOf, load bool) {
		for r := range rows {
			for c := range cols {
				if load {
					f.p("VMOVUPS %s, %s", out.at(r, 32*c), sum(r, c))
				} else {
					f.p("VMOVUPS %s, %s", sum(r, c), out.at(r, 32*c))
				}
			}
		}
	}, func(i int) {
		if rows*cols+rows+1 <= 16 {
			for r := range rows {
				f.p("VBROADCASTSS %d(SI), %s", r*partitionBytes+4*i, y(rows*cols+r))
			}
			for c := range cols {
				v.halves(f, "R11", 16*c, i == 1, y(rows*cols+rows))
				for r := range rows {
					f.p("VFMADD231PS %s, %s, %s", y(rows*cols+rows), y(rows*cols+r), sum(r, c))
				}
			}
			return
		}
		for c := range cols {
			v.halves(f, "R11", 16*c, i == 1, y(rows*cols+c))
		}
		for r := range rows {
			f.p("VBROADCASTSS %d(SI), %s", r*partitionBytes+4*i, y(rows*cols+cols))
			for c := range cols {
				f.p("VFMADD231PS %s, %s, %s", y(rows*cols+c), y(rows*cols+cols), sum(r, c))
			}
		}
	})
}

func attentionAVX2() {
	f := newFile("attention2_amd64")
	f.repeated("upper2", 0xffff0000)
	scores, values := map[int][]int{}, map[int][]int{}
	for rows := 1; rows <= 6; rows++ {
		scores[rows], values[rows] = []int{1}, []int{1}
		if n := scoresTiles(rows); n > 1 {
			scores[rows] = []int{n, 1}
		}
		if n := valuesColumns(rows); n > 1 {
			values[rows] = []int{n, 1}
		}
	}
	for _, v := range kvFormats {
		for rows := 1; rows <= 6; rows++ {
			for _, n := range scores[rows] {
				f.scores2(v, rows, n)
			}
			for _, n := range values[rows] {
				f.values2(v, rows, n)
			}
		}
	}
	for _, v := range kvFormats {
		f.dispatchAttention("Half"+v.name, scores, values)
	}
	f.write()
}
