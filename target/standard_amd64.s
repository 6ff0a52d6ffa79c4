#include "textflag.h"

// entry is where mgtrace begins (-ldflags=-E=mgtrace/target.entry): it asks for the
// flags of the standard descriptors, and goes on to Go's own entry.
TEXT ·entry(SB), NOSPLIT|NOFRAME, $0
	MOVL $2, BX
next:
	MOVL $72, AX // fcntl
	MOVL BX, DI
	MOVL $1, SI  // F_GETFD
	XORL DX, DX
	SYSCALL
	SHLQ $1, ·closedAtStart(SB)
	TESTQ AX, AX
	JGE  open
	ORQ  $1, ·closedAtStart(SB)
open:
	DECL BX
	JGE  next
	JMP  _rt0_amd64_linux(SB)
