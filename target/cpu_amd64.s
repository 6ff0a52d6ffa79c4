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

// func stateAt(component uint32) uint32
TEXT ·stateAt(SB), NOSPLIT, $0-12
	XORL AX, AX
	CPUID
	CMPL AX, $0xd
	JB   nothing
	MOVL $0xd, AX
	MOVL component+0(FP), CX
	CPUID
	MOVL BX, ret+8(FP)
	RET
nothing:
	MOVL $0, ret+8(FP)
	RET
