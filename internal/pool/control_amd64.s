//go:build !noasm

#include "textflag.h"

// func pause()
TEXT ·pause(SB), NOSPLIT, $0-0
	PAUSE
	RET

// func setControl(new uint64) (old uint64)
TEXT ·setControl(SB), NOSPLIT, $8-16
	STMXCSR tmp-8(SP)
	MOVL    tmp-8(SP), AX
	MOVQ    AX, old+8(FP)
	MOVQ    new+0(FP), CX
	CMPL    AX, CX
	JEQ     done
	MOVL    CX, tmp-8(SP)
	LDMXCSR tmp-8(SP)

done:
	RET
