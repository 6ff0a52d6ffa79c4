#include "go_asm.h"
#include "textflag.h"

// What the registers hold in commonAssembled.
#define RECORD SI  // the next one of the log
#define STORE  DI  // where what is made of it goes
#define END    R8  // behind the last that there is room for
#define FORMS  R9
#define MASK   R10
#define NEAR   R11 // the zone of the last store that is wanted
#define ZONES  R12
#define OTHERS R13

// Where the fields of a trace.StoreRec lie, and its size.
#define storeSite  0
#define storeAddr  8
#define storeBase  16
#define storeValue 24
#define storeSize  32

// func commonAssembled(r, to unsafe.Pointer, most uintptr, forms unsafe.Pointer, mask uintptr, o *others) (on unsafe.Pointer, at, left uintptr)
TEXT ·commonAssembled(SB), NOSPLIT, $0-72
	MOVQ r+0(FP), RECORD
	MOVQ to+8(FP), STORE
	MOVQ most+16(FP), END
	ADDQ STORE, END
	MOVQ forms+24(FP), FORMS
	MOVQ mask+32(FP), MASK
	MOVQ o+40(FP), OTHERS
	LEAQ others_none(OTHERS), NEAR
	MOVQ others_zones(OTHERS), ZONES

next:
	CMPQ       STORE, END
	JAE        over
	MOVL       (RECORD), AX // its tag
	PREFETCHT0 768(RECORD)  // never faults
	MOVL       AX, BX
	SHRL       $(const_siteShift-const_formShift), BX
	ANDQ       MASK, BX
	ADDQ       FORMS, BX    // its form
	CMPL       AX, plainForm_tag(BX)
	JNE        over
	MOVLQSX    plainForm_disp(BX), CX
	ADDQ       const_addrAt(RECORD), CX
	MOVQ       CX, DX
	SUBQ       zone_lo(NEAR), DX
	CMPQ       DX, zone_room(NEAR)
	JAE        elsewhere

wanted:
	MOVQ CX, storeAddr(STORE)
	MOVQ const_valueAt(RECORD), CX
	MOVQ plainForm_mask(BX), BX
	ANDQ BX, CX
	MOVQ CX, storeValue(STORE)
	MOVL AX, DX
	SHRL $const_siteShift, DX
	MOVL DX, storeSite(STORE)
	XORL DX, DX
	MOVQ DX, storeBase(STORE)
	ADDQ $storeSize, STORE
	ANDL $const_wordsMask, AX
	CMPL AX, $const_usualWords
	JNE  other
	ADDQ $(4*const_usualWords), RECORD
	JMP  next

other:
	LEAQ  (RECORD)(AX*4), RECORD // the flags are as they were
	JB    next
	TESTQ BX, BX
	JEQ   pair
	MOVQ  -8(RECORD), CX         // a base, behind all else
	MOVQ  CX, (storeBase-storeSize)(STORE)
	JMP   next

pair:
	MOVQ  others_used(OTHERS), CX
	MOVQ  CX, (storeValue-storeSize)(STORE)
	MOVQ  others_wide(OTHERS), DX
	MOVOU -const_pair(RECORD), X0
	MOVOU X0, (DX)(CX*1)
	ADDQ  $const_pair, CX
	MOVQ  CX, others_used(OTHERS)
	JMP   next

elsewhere:
	MOVQ CX, DX
	SHRQ $const_zoneShift, DX
	ANDL $(const_numZones-1), DX
	SHLL $5, DX // the size of a zone
	ADDQ ZONES, DX
	MOVQ CX, R14
	SUBQ zone_lo(DX), R14
	CMPQ R14, zone_room(DX)
	JAE  over
	CMPB zone_wanted(DX), $0
	JEQ  unwanted
	MOVQ DX, NEAR
	JMP  wanted

unwanted:
	ANDL $const_wordsMask, AX
	LEAQ (RECORD)(AX*4), RECORD
	SUBQ $storeSize, END
	JMP  next

over:
	MOVQ RECORD, on+48(FP)
	SUBQ to+8(FP), STORE
	MOVQ STORE, at+56(FP)
	SUBQ to+8(FP), END
	MOVQ END, left+64(FP)
	RET
