//go:build !noasm

#include "textflag.h"

// func pause()
TEXT ·pause(SB), NOSPLIT, $0-0
	YIELD
	RET

// func setControl(new uint64) (old uint64)
TEXT ·setControl(SB), NOSPLIT, $0-16
	MOVD FPCR, R0
	MOVD R0, old+8(FP)
	MOVD new+0(FP), R1
	CMP  R0, R1
	BEQ  done
	MOVD R1, FPCR

done:
	RET
