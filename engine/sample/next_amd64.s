//go:build !noasm

#include "textflag.h"

// func nextBlocks(p *float32, n int, low float32) int
TEXT ·nextBlocks(SB), NOSPLIT, $0-32
	MOVQ   p+0(FP), SI
	MOVQ   n+8(FP), CX
	MOVSS  low+16(FP), X0
	SHUFPS $0, X0, X0
	XORQ   AX, AX
	SUBQ   $16, CX
	JLT    done

loop:
	MOVUPS   (SI)(AX*4), X1
	MOVUPS   16(SI)(AX*4), X2
	MOVUPS   32(SI)(AX*4), X3
	MOVUPS   48(SI)(AX*4), X4
	CMPPS    X0, X1, $6           // not (v <= low): above, or NaN
	CMPPS    X0, X2, $6
	CMPPS    X0, X3, $6
	CMPPS    X0, X4, $6
	MOVAPS   X1, X5
	MOVAPS   X3, X6
	ORPS     X2, X5
	ORPS     X4, X6
	ORPS     X6, X5
	MOVMSKPS X5, DX
	TESTL    DX, DX
	JNE      hit
	ADDQ     $16, AX
	CMPQ     AX, CX
	JLE      loop

done:
	MOVQ AX, ret+24(FP)
	RET

hit:
	MOVMSKPS X1, DX
	MOVMSKPS X2, BX
	SHLL     $4, BX
	ORL      BX, DX
	MOVMSKPS X3, BX
	SHLL     $8, BX
	ORL      BX, DX
	MOVMSKPS X4, BX
	SHLL     $12, BX
	ORL      BX, DX
	BSFL     DX, DX
	ADDQ     DX, AX
	MOVQ     AX, ret+24(FP)
	RET
