#include "go_asm.h"
#include "textflag.h"

// What the registers hold in codeStores.
#define STORE SI   // the next one
#define C     R12  // the encoder
#define FORMS BX
#define CODES R8   // where the next number of each column goes
#define SITES R9
#define ADDRS R10
#define VALUES R11
#define LAST  R13  // the prediction of the store before
#define ADDR  R14  // its address

// func hasLeadingZeros() bool
TEXT ·hasLeadingZeros(SB), NOSPLIT, $0-1
	MOVB $0, ret+0(FP)
	MOVL $0x80000000, AX
	CPUID
	CMPL AX, $0x80000001
	JB   none
	MOVL $0x80000001, AX
	CPUID
	SHRL $5, CX
	ANDL $1, CX
	MOVB CX, ret+0(FP)
none:
	RET

// func codeStores(c *storeEncoder, recs *StoreRec, n int, more *byte, wide *byte, pairs uint64) (done, used int)
TEXT ·codeStores(SB), NOSPLIT, $32-64
	MOVQ c+0(FP), C
	MOVQ recs+8(FP), STORE
	MOVQ n+16(FP), AX
	SHLQ $5, AX
	ADDQ STORE, AX
	MOVQ AX, end-8(SP)
	MOVQ more+24(FP), AX
	MOVQ AX, more-16(SP)
	MOVQ storeEncoder_table(C), AX
	MOVQ siteTable_forms(AX), FORMS
	MOVQ siteTable_forms+8(AX), AX
	MOVQ AX, sites-24(SP)
	MOVQ storeEncoder_number(C), AX
	MOVQ AX, number-32(SP)
	MOVQ storeEncoder_n(C), AX
	LEAQ storeEncoder_codes(C)(AX*1), CODES
	MOVQ storeEncoder_nSites(C), AX
	LEAQ storeEncoder_sites(C)(AX*1), SITES
	MOVQ storeEncoder_nAddrs(C), AX
	LEAQ storeEncoder_addrs(C)(AX*1), ADDRS
	MOVQ storeEncoder_nValues(C), AX
	LEAQ storeEncoder_values(C)(AX*1), VALUES
	MOVQ storeEncoder_addr(C), ADDR
	MOVL storeEncoder_site(C), AX
	MOVL AX, DX // the last site, if there is no store
	ANDL $(const_slots-1), AX
	SHLL $5, AX
	LEAQ (C)(AX*1), LAST

next:
	CMPQ    STORE, end-8(SP)
	JAE     over
	MOVL    StoreRec_Site(STORE), AX
	CMPQ    AX, sites-24(SP)
	JAE     over
	MOVBLZX (FORMS)(AX*1), DX
	MOVQ    StoreRec_Value(STORE), CX
	ANDL    $(const_formWide|const_formBase|const_formPair|const_formAlloc), DX
	JNE     special

code: // AX: the site, CX: the value or its first word
	MOVL  AX, (SITES)
	XORL  DX, DX
	CMPL  AX, prediction_next(LAST)
	SETNE DX
	MOVL  AX, prediction_next(LAST)
	NEGQ  DX // all ones if the site was missed, or 0
	MOVQ  DX, DI
	ANDQ  number-32(SP), DI
	ADDQ  DI, SITES
	ANDL  $81, DX
	ANDL  $(const_slots-1), AX
	SHLL  $5, AX
	LEAQ  (C)(AX*1), LAST

	MOVQ   StoreRec_Addr(STORE), AX
	MOVQ   AX, DI
	SUBQ   ADDR, DI // the offset
	MOVQ   AX, ADDR
	SHRQ   $const_pageShift, AX
	ANDL   $(1<<const_pageBits-1), AX
	MOVB   $1, storeEncoder_touched(C)(AX*1)
	MOVQ   DI, AX
	SUBQ   prediction_offset(LAST), AX
	MOVQ   DI, prediction_offset(LAST)
	LEAQ   (AX)(AX*1), DI
	SARQ   $63, AX
	XORQ   DI, AX
	MOVQ   AX, (ADDRS)
	LZCNTQ AX, AX
	SHRL   $3, AX // the bytes that it does not have
	SUBQ   AX, ADDRS
	ADDQ   $8, ADDRS
	SUBL   AX, DX

	MOVQ   prediction_value(LAST), AX
	MOVQ   CX, prediction_value(LAST)
	XORQ   CX, AX
	MOVQ   AX, (VALUES)
	LZCNTQ AX, AX
	SHRL   $3, AX
	SUBQ   AX, VALUES
	ADDQ   $8, VALUES
	LEAL   (AX)(AX*8), AX
	SUBL   AX, DX
	ADDL   $80, DX // 8 + 9*8
	MOVB   DX, (CODES)
	INCQ   CODES
	ADDQ   $32, STORE
	JMP    next

special:
	CMPL DX, $const_formBase
	JEQ  base
	CMPL DX, $const_formAlloc
	JEQ  block
	CMPL DX, $(const_formWide|const_formPair)
	JNE  over

	// 16 bytes: their first word is the value, the other one goes to the last column.
	CMPQ CX, pairs+40(FP)
	JAE  over
	MOVQ wide+32(FP), DX
	ADDQ CX, DX
	MOVQ (DX), CX
	MOVQ 8(DX), DI
	XORQ CX, DI
	JMP  more

block: // if it lies in one page
	MOVL StoreRec_Addr(STORE), DX
	ANDL $(1<<const_pageShift-1), DX
	CMPQ CX, $(1<<const_pageShift)
	JHI  over
	ADDL CX, DX
	CMPL DX, $(1<<const_pageShift)
	JHI  over
	JMP  code

base:
	MOVL AX, DX
	ANDL $(const_slots-1), DX
	SHLL $5, DX
	MOVQ StoreRec_Base(STORE), DI
	MOVQ DI, R15
	SUBQ prediction_base(C)(DX*1), DI
	MOVQ R15, prediction_base(C)(DX*1)
	LEAQ (DI)(DI*1), DX
	SARQ $63, DI
	XORQ DX, DI

more: // DI: a number of the last column
	MOVQ   more-16(SP), DX
	MOVQ   DI, 1(DX)
	LZCNTQ DI, DI
	SHRL   $3, DI
	NEGQ   DI
	ADDQ   $8, DI
	MOVB   DI, (DX)
	LEAQ   1(DX)(DI*1), DX
	MOVQ   DX, more-16(SP)
	JMP    code

over:
	MOVQ STORE, AX
	SUBQ recs+8(FP), AX
	SHRQ $5, AX
	MOVQ AX, done+48(FP)
	JEQ  none
	MOVL (StoreRec_Site-32)(STORE), DX
	MOVL DX, storeEncoder_site(C)
none:
	MOVQ more-16(SP), DX
	SUBQ more+24(FP), DX
	MOVQ DX, used+56(FP)
	MOVQ ADDR, storeEncoder_addr(C)
	LEAQ storeEncoder_codes(C), AX
	SUBQ AX, CODES
	MOVQ CODES, storeEncoder_n(C)
	LEAQ storeEncoder_sites(C), AX
	SUBQ AX, SITES
	MOVQ SITES, storeEncoder_nSites(C)
	LEAQ storeEncoder_addrs(C), AX
	SUBQ AX, ADDRS
	MOVQ ADDRS, storeEncoder_nAddrs(C)
	LEAQ storeEncoder_values(C), AX
	SUBQ AX, VALUES
	MOVQ VALUES, storeEncoder_nValues(C)
	RET
