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

// func opmaskAt() uint32
TEXT ·opmaskAt(SB), NOSPLIT, $0-4
	XORL AX, AX
	CPUID
	CMPL AX, $0xd
	JB   nothing
	MOVL $0xd, AX
	MOVL $5, CX
	CPUID
	MOVL BX, ret+0(FP)
	RET
nothing:
	MOVL $0, ret+0(FP)
	RET
