#include "textflag.h"

// func xsaveSize() uint32
TEXT ·xsaveSize(SB), NOSPLIT, $0-4
	XORL AX, AX
	CPUID
	CMPL AX, $0xd
	JB   none
	MOVL $0xd, AX
	XORL CX, CX
	CPUID
	MOVL BX, ret+0(FP)
	RET
none:
	MOVL $0, ret+0(FP)
	RET
