package x86

// effectRows is the table of effects: one line for instructions that are alike.
//
//	map opcodes conditions : what it does
//
// Maps: 1 (one byte), 0f, 38, 3a, m5, m6. Opcodes in hexadecimal, with ranges.
//
// Conditions, all of which must hold; of those of one kind, one must:
//
//	leg vex evex           the encoding; without any: leg
//	np 66 f3 f2            the mandatory prefix; without any: all of them
//	/0 … /7                ModRM.reg
//	rm0 … rm7              ModRM.rm
//	mem reg                ModRM names memory, or a register
//	w0 w1                  the W bit
//	b0                     no extension of the opcode's register
//
// Operands are an access, a place and a width: "xEv" is read and written.
//
//	r w x    read, written, both (first read)
//	m        may keep its value; a 32-bit one is widened all the same
//	o        may be left alone altogether
//	l        only the address is computed, and is data
//	E G Z N  general: ModRM.rm (or memory), ModRM.reg, opcode, vvvv
//	A C D B  rax, rcx, rdx, rbx; h: ah
//	V H W L  vector: ModRM.reg, vvvv, ModRM.rm (or memory), immediate; Y: xmm0
//	         H of a legacy encoding is V
//	P Q      MMX: ModRM.reg, ModRM.rm (or memory)
//	K I J    opmask: ModRM.reg, vvvv, ModRM.rm (or memory)
//	O        memory at the absolute address
//
// Widths: bytes, or
//
//	s  1 if the opcode is even, else v        v  2, 4, 8 by 66 and W
//	y  4, 8 by W                              p  8, or 2 with 66 (push, pop)
//	u  half of v                              t  2 with 66, else 4
//	x  the vector; h f g its half, quarter, eighth
//	P  the vector, or 4 with F3, 8 with F2 (2 with F3 in map 5)
//	S  4, or 8 with 66                        j  8 for 128 bits, else the vector
//	T  bytes 8 to 15
//	k  2, 1 with 66; with W 8, 4 with 66 (kmov)
//
// Flags: =cpazsod written, ?cpazsod may be written (or are undefined), <cpazsod read.
//
// Everything else is a word, which effects_words.go explains.
const effectRows = `
1 00-01                : xEs rGs =cpazso
1 02-03                : xGs rEs =cpazso
1 04-05,2c-2d          : xAs =cpazso
1 08-09,20-21          : xEs rGs =cpzso ?a
1 0a-0b,22-23          : xGs rEs =cpzso ?a
1 0c-0d,24-25,34-35    : xAs =cpzso ?a
1 10-11                : xEs rGs <c =cpazso
1 12-13                : xGs rEs <c =cpazso
1 14-15,1c-1d          : xAs <c =cpazso
1 18-19                : xEs rGs <c =cpazso zero
1 1a-1b                : xGs rEs <c =cpazso zero
1 28-29                : xEs rGs =cpazso zero
1 2a-2b                : xGs rEs =cpazso zero
1 30-31                : xEs rGs =cpzso ?a zero
1 32-33                : xGs rEs =cpzso ?a zero
1 38-39                : rEs rGs =cpazso zero
1 3a-3b                : rGs rEs =cpazso zero
1 3c-3d                : rAs =cpazso
1 50-57                : rZp push
1 58-5f                : pop wZp
1 63                   : wGv rEt
1 68,6a                : push
1 69,6b                : wGv rEv =co ?pazs
1 6c-6f                : unknown
1 70-7f                : cond
1 80-81,83 /0,5        : xEs =cpazso
1 80-81,83 /1,4        : xEs =cpzso ?a constant
1 80-81,83 /2,3        : xEs <c =cpazso
1 80-81,83 /6          : xEs =cpzso ?a
1 80-81,83 /7          : rEs =cpazso
1 84-85                : rEs rGs =cpzso ?a
1 86-87                : xEs xGs
1 88-89                : wEs rGs
1 8a-8b                : wGs rEs
1 8c mem               : wE2 other
1 8c reg               : wEv other
1 8d mem               : wGv lEv
1 8e                   : rE2 segment
1 8f /0                : pop wEp
1 90 b0                :
1 90-97                : xAv xZv
1 98 66 w0             : rA1 wh
1 98                   : rAu wAv
1 99                   : rAv wDv
1 9b                   :
1 9c                   : flags push
1 9d                   : pop popf
1 9e                   : rh =cpazs
1 9f                   : wh <cpazs
1 a0-a1                : wAs rOs
1 a2-a3                : wOs rAs
1 a4-a7,aa-af          : string
1 a8-a9                : rAs =cpzso ?a
1 b0-b7                : wZ1
1 b8-bf                : wZv
1 c0-c1 /0,1           : xEs =co count
1 c0-c1 /2,3           : xEs <c =co count
1 c0-c1 /4-7           : xEs =cpzso ?a count
1 d0-d1 /0,1           : xEs =co
1 d0-d1 /2,3           : xEs <c =co
1 d0-d1 /4-7           : xEs =cpzso ?a
1 d2-d3 /0,1           : xEs rC1 ?co
1 d2-d3 /2,3           : xEs rC1 <c ?co
1 d2-d3 /4-7           : xEs rC1 ?cpazso
1 c2-c3                : ret
1 c6-c7 /0             : wEs
1 c6 /7 reg            : other
1 c7 /7 reg            : oA8 other
1 c8                   : enter
1 c9                   : leave
1 cc,f1,f4             :
1 cd                   : interrupt
1 d7                   : xlat
1 e0-e1                : <z loop
1 e2                   : loop
1 e3                   : count-zero
1 e8                   : call
1 e9,eb                :
1 f5                   : <c =c
1 f8-f9                : =c
1 fc-fd                : =d
1 f6-f7 /0,1           : rEs =cpzso ?a
1 f6-f7 /2             : xEs
1 f6-f7 /3             : xEs =cpazso
1 f6 /4,5              : rE1 rA1 wA2 =co ?pazs
1 f7 /4,5              : rEv rAv wAv wDv =co ?pazs
1 f6 /6,7              : rE1 xA2 ?cpazso
1 f7 /6,7              : rEv xAv xDv ?cpazso
1 fe-ff /0,1           : xEs =pazso
1 ff /2                : rE8 call
1 ff /4                : rE8
1 ff /6                : rEp push

1 d8 mem               : rE4 fpu
1 dc mem               : rE8 fpu
1 da mem               : rE4 fpu
1 de mem               : rE2 fpu
1 d8,dc reg            : fpu
1 d9 mem /0            : rE4 fpu
1 d9 mem /2,3          : wE4 fpu
1 d9 mem /4 66         : rE14 fpuenv
1 d9 mem /4            : rE28 fpuenv
1 d9 mem /5            : rE2 fpucontrol
1 d9 mem /6 66         : wE14 fpustore
1 d9 mem /6            : wE28 fpustore
1 d9 mem /7            : wE2 fpucw
1 d9 reg /2 rm0        :
1 d9 reg /0,1,4-7      : fpu
1 db mem /0            : rE4 fpu
1 db mem /1-3          : wE4 fpu
1 db mem /5            : rE10 fpu
1 db mem /7            : wE10 fpu
1 da,db reg /0         : <c fpu
1 da,db reg /1         : <z fpu
1 da,db reg /2         : <cz fpu
1 da,db reg /3         : <p fpu
1 da reg /5 rm1        : fpu
1 db reg /4 rm2        : fpuclear
1 db reg /4 rm3        : fpuenv
1 db reg /5,6          : =cpz ?aso fpu
1 dd mem /0            : rE8 fpu
1 dd mem /1-3          : wE8 fpu
1 dd mem /4 66         : rE94 fpuload
1 dd mem /4            : rE108 fpuload
1 dd mem /6 66         : wE94 fpustore fpuload
1 dd mem /6            : wE108 fpustore fpuload
1 dd mem /7            : wE2 fpusw
1 dd reg /0,2-5        : fpu
1 de reg /0,1,4-7      : fpu
1 de reg /3 rm1        : fpu
1 df mem /0            : rE2 fpu
1 df mem /1-3          : wE2 fpu
1 df mem /4            : rE10 fpu
1 df mem /5            : rE8 fpu
1 df mem /6            : wE10 fpu
1 df mem /7            : wE8 fpu
1 df reg /0            : fpu
1 df reg /4 rm0        : wA2 fpusw
1 df reg /5,6          : =cpz ?aso fpu

0f 05                  : syscall
0f 0b,b9,ff            :
0f 0d,18-19,1c,1d,1f mem : nE1
0f 0d,18-19,1c,1d,1f reg :
0f 1e np,66,f2         : nE1
0f 1e f3 reg /1        : oEy other
0f 1e f3               : nE1
0f 0e np leg           : fpu
0f 00 /0,1 mem         : wE2 other
0f 00 /0,1 reg         : wEv other
0f 01 mem /0,1         : wE10 other
0f 01 mem /4           : wE2 other
0f 01 reg /4           : wEv other
0f 01 reg /2 rm0       : rC4 wA4 wD4 other
0f 01 reg /2 rm5       : other
0f 01 reg /2 rm6       : other =cpazso
0f 01 reg /7 rm1       : wA4 wD4 wC4 other
0f 01 reg /5 rm6       : rdpkru
0f 01 reg /5 rm7       : wrpkru
0f 01 f3 reg /5 rm0    : other
0f 31                  : wA4 wD4 other
0f 33                  : rC4 wA4 wD4 other
0f 40-4f               : mGv rEv cond
0f 80-8f               : cond
0f 90-9f               : wE1 cond
0f a0,a8               : other push
0f a1,a9               : pop segment
0f a2                  : cpuid
0f a3 reg              : rEv rGv =c ?paso
0f a3 mem              : bit =c ?paso
0f ab,b3,bb reg        : xEv rGv =c ?paso
0f ab,b3,bb mem        : bit =c ?paso
0f ba /4               : rEv =c ?paso
0f ba /5-7             : xEv =c ?paso
0f a4,ac               : xEv rGv =cpzso ?a count
0f a5,ad               : xEv rGv rC1 ?cpazso
0f af                  : xGv rEv =co ?pazs
0f b0-b1               : cmpxchg
0f b6,be               : wGv rE1
0f b7,bf               : wGv rE2
0f b8 f3               : wGv rEv =cpazso
0f bc-bd f3            : wGv rEv =cz ?paso
0f bc-bd np,66,f2      : oGv rEv =z ?cpaso
0f c0-c1               : xEs xGs =cpazso
0f c3 np mem           : wEy rGy
0f c7 /1 mem           : cmpxchg8
0f c7 /6 reg           : wEv other =cpazso
0f c7 /7 np,66 reg     : wEv other =cpazso
0f c7 /7 f3 reg        : wE8 other
0f c7 /4 mem           : xsave
0f c7 /3 mem           : xrstor
0f c8-cf               : xZv
0f ae mem /0 np        : fxsave
0f ae mem /1 np        : fxrstor
0f ae mem /2 np leg    : rE4 ldmxcsr
0f ae mem /3 np leg    : wE4 stmxcsr
0f ae mem /2 vex       : rE4 ldmxcsr
0f ae mem /3 vex       : wE4 stmxcsr
0f ae mem /4 np        : xsave
0f ae mem /5 np        : xrstor
0f ae mem /6 np        : xsave
0f ae mem /6-7 66      : nE1
0f ae mem /7 np        : nE1
0f ae reg /5-7 np      :
0f ae reg /6 66        : other
0f ae reg /0 f3        : rdbase
0f ae reg /1 f3        : rdbase
0f ae reg /2 f3        : wrbase
0f ae reg /3 f3        : wrbase
0f ae reg /5 f3        : rEy other
0f ae reg /6 f3,f2     : rEy other

0f 10 np,66 leg vex evex        : wVx rWx
0f 10 f3,f2 mem leg             : wV16 rWP
0f 10 f3,f2 mem vex evex        : wVP rWP
0f 10 f3,f2 reg leg vex evex    : wVP rWP u
0f 11 np,66 leg vex evex        : wWx rVx
0f 11 f3,f2 mem leg vex evex    : wWP rVP
0f 11 f3,f2 reg leg vex evex    : wWP rVP u
0f 12 np reg leg vex evex       : wV8 rWT u
0f 12 np,66 mem leg vex evex    : wV8 rW8 u
0f 12 f3 leg vex evex           : wVx rWx
0f 12 f2 leg vex evex           : wVx rWj
0f 13 np,66 mem leg vex evex    : wW8 rV8
0f 14,15 np,66 leg vex evex     : wVx rHx rWx
0f 16 np,66 mem leg vex evex    : wVT rW8 ul
0f 16 np reg leg vex evex       : wVT rW8 ul
0f 16 f3 leg vex evex           : wVx rWx
0f 17 np,66 mem leg vex evex    : wW8 rVT
0f 28 np,66 leg vex evex        : wVx rWx
0f 29 np,66 leg vex evex        : wWx rVx
0f 2a np leg                    : wV8 rQ8 fp mmx
0f 2a 66 leg                    : wV16 rQ8 fp mmx
0f 2a f3,f2 leg vex evex        : wVP rEy u fp
0f 2b np,66 mem leg vex evex    : wWx rVx
0f 2b f3,f2 mem leg             : wWP rVP
0f 2c-2d np leg                 : wP8 rW8 fp mmx
0f 2c-2d 66 leg                 : wP8 rW16 fp mmx
0f 2c-2d f3,f2 leg vex evex     : wGy rWP fp
0f 2e-2f np,66 leg vex evex     : rVS rWS =cpazso fp
0f 50 np,66 reg leg vex         : wG4 rWx
0f 51 leg vex evex              : wVP rWP u fp
0f 52-53 np leg vex             : wVx rWx fp
0f 52-53 f3 leg vex             : wVP rWP u fp
0f 54,56 np,66 leg vex evex     : wVx rHx rWx
0f 55,57 np,66 leg vex evex     : wVx rHx rWx zero
0f 58-59,5c-5f leg vex evex     : wVP rHP rWP u fp
0f 5a np leg vex evex           : wVx rWh fp
0f 5a 66 leg vex evex           : wVx rWx fp
0f 5a f3 leg vex evex           : wV8 rW4 u fp
0f 5a f2 leg vex evex           : wV4 rW8 u fp
0f 5b np,66,f3 leg vex evex     : wVx rWx fp
0f 60-62 np leg                 : xP8 rQ4 mmx
0f 63,67-6b np leg              : xP8 rQ8 mmx
0f 64-66 np leg                 : xP8 rQ8 mmx
0f 60-63,67-6d 66 leg vex evex  : wVx rHx rWx
0f 64-66 66 leg vex             : wVx rHx rWx zero
0f 64-66,74-76 66 evex          : wK8 rHx rWx
0f 6e np leg                    : wP8 rEy mmx
0f 6e 66 leg vex evex           : wV16 rEy
0f 6f np leg                    : wP8 rQ8 mmx
0f 6f 66,f3 leg vex evex        : wVx rWx
0f 6f f2 evex                   : wVx rWx
0f 70 np leg                    : wP8 rQ8 mmx
0f 70 66,f3,f2 leg vex evex     : wVx rWx
0f 71-73 np leg reg             : xQ8 mmx
0f 71-73 66 leg reg             : xWx
0f 71-73 66 vex reg             : wHx rWx
0f 71-73 66 evex                : wHx rWx
0f 74-76 np leg                 : xP8 rQ8 mmx
0f 74-76 66 leg vex             : wVx rHx rWx zero
0f 77 np leg                    : fpu
0f 77 vex                       : vzero
0f 78 66 leg reg /0             : xV16
0f 78 f2 leg reg                : xV16 rW16
0f 79 66,f2 leg reg             : xV16 rW16
0f 78-79 np evex                : wVx rWx fp
0f 78-7b 66 w0 evex             : wVx rWh fp
0f 78-7b 66 w1 evex             : wVx rWx fp
0f 78-79 f3,f2 evex             : wGy rWP fp
0f 7a f3 w0 evex                : wVx rWh fp
0f 7a f3 w1 evex                : wVx rWx fp
0f 7a f2 evex                   : wVx rWx fp
0f 7b f3,f2 evex                : wVP rEy u fp
0f 7c-7d 66,f2 leg vex          : wVx rHx rWx fp
0f 7e np leg                    : wEy rP8 mmx
0f 7e 66 leg vex evex           : wEy rV8
0f 7e f3 leg vex evex           : wV16 rW8
0f 7f np leg                    : wQ8 rP8 mmx
0f 7f 66,f3 leg vex evex        : wWx rVx
0f 7f f2 evex                   : wWx rVx
0f c2 leg vex                   : wVP rHP rWP u fp
0f c2 evex                      : wK8 rHP rWP fp
0f c4 np leg                    : xP8 rE2 mmx
0f c4 66 leg                    : mV16 rE2
0f c4 66 vex evex               : wV16 rH16 rE2
0f c5 np leg reg                : wG4 rQ8 mmx
0f c5 66 leg vex evex reg       : wG4 rW16
0f c6 np,66 leg vex evex        : wVx rHx rWx
0f d0 66,f2 leg vex             : wVx rHx rWx fp
0f d1-d3,e1-e2,f1-f3 np leg     : xP8 rQ8 mmx
0f d1-d3,e1-e2,f1-f3 66 leg vex evex : wVx rHx rW16
0f d4-d5,da-de,e0,e3-e5,ea-ee,f4-f6,fc-fe np leg : xP8 rQ8 mmx
0f d8-d9,df,e8-e9,ef,f8-fb np leg : xP8 rQ8 mmx
0f d4-d5,da-de,e0,e3-e5,ea-ee,f4-f6,fc-fe 66 leg vex evex : wVx rHx rWx
0f d8-d9,df,e8-e9,ef,f8-fb 66 leg vex evex : wVx rHx rWx zero
0f d6 66 mem leg vex evex       : wW8 rV8
0f d6 66 reg leg vex evex       : wW16 rV8
0f d6 f3 reg leg                : wV16 rQ8 mmx
0f d6 f2 reg leg                : wP8 rW8 mmx
0f d7 np leg reg                : wG4 rQ8 mmx
0f d7 66 leg vex reg            : wG4 rWx
0f e6 66,f2 leg vex evex        : wVx rWx fp
0f e6 f3 w0 leg vex evex        : wVx rWh fp
0f e6 f3 w1 leg vex             : wVx rWh fp
0f e6 f3 w1 evex                : wVx rWx fp
0f e7 np mem leg                : wQ8 rP8 mmx
0f e7 66 mem leg vex evex       : wWx rVx
0f f0 f2 mem leg vex            : wVx rWx
0f f7 np reg leg                : maskmove
0f f7 66 reg leg vex            : maskmove

0f 41-42,45-47,4a-4b reg vex    : wK8 rI8 rJ8
0f 44 reg vex                   : wK8 rJ8
0f 90 np,66 vex                 : wK8 rJk
0f 91 np,66 mem vex             : wJk rK8
0f 92 np,66,f2 reg vex          : wK8 rEy
0f 93 np,66,f2 reg vex          : wG8 rJ8
0f 98-99 np,66 reg vex          : rK8 rJ8 =cpazso

38 00-0b np leg                 : xP8 rQ8 mmx
38 00-0b 66 leg vex evex        : wVx rHx rWx
38 1c-1e np leg                 : wP8 rQ8 mmx
38 10,14-15 66 leg              : mVx rWx rYx
38 17 66 leg vex                : rVx rWx =cpazso
38 1c-1e 66 leg vex evex        : wVx rWx
38 20,23,25 66 leg vex evex     : wVx rWh
38 21,24 66 leg vex evex        : wVx rWf
38 22 66 leg vex evex           : wVx rWg
38 30,33,35 66 leg vex evex     : wVx rWh
38 31,34 66 leg vex evex        : wVx rWf
38 32 66 leg vex evex           : wVx rWg
38 28,2b 66 leg vex evex        : wVx rHx rWx
38 29,37 66 leg vex             : wVx rHx rWx zero
38 29,37 66 evex                : wK8 rHx rWx
38 2a 66 mem leg vex evex       : wVx rWx
38 38-40 66 leg vex evex        : wVx rHx rWx
38 41 66 leg vex                : wV16 rW16
38 c8-ca,cc-cd np leg           : xV16 rW16
38 cb np leg                    : xV16 rW16 rY16
38 cf 66 leg vex evex           : wVx rHx rWx
38 db 66 leg vex                : wV16 rW16
38 dc-df 66 leg vex evex        : wVx rHx rWx
38 f0 np,66 mem leg             : wGv rEv
38 f1 np,66 mem leg             : wEv rGv
38 f0 f2 leg                    : xGy rE1
38 f1 f2 leg                    : xGy rEv
38 f6 66 leg                    : xGy rEy <c =c
38 f6 f3 leg                    : xGy rEy <o =o
38 f8 66 mem leg                : movdir
38 f9 np mem leg                : wEy rGy
38 fc mem leg                   : xEy rGy

38 0c-0d 66 vex evex            : wVx rHx rWx
38 0e-0f 66 vex                 : rVx rWx =cpazso
38 13 66 vex evex               : wVx rWh fp
38 16,36 66 vex evex            : wVx rHx rWx
38 18 66 vex evex               : wVx rW4
38 19 66 vex evex               : wVx rW8
38 1a,5a 66 mem vex             : wVx rW16
38 1a,5a 66 mem evex            : wVx rW16
38 1b,5b 66 mem evex            : wVx rW32
38 2c-2d 66 mem vex             : wVx rHx rWx masked
38 2e-2f 66 mem vex             : wWx rHx rVx masked
38 8c 66 mem vex                : wVx rHx rWx masked
38 8e 66 mem vex                : wWx rHx rVx masked
38 45-47 66 vex evex            : wVx rHx rWx
38 50-53 66 vex evex            : xVx rHx rWx
38 50-51 np,f3,f2 vex           : xVx rHx rWx
38 d2-d3 np,66,f3 vex           : xVx rHx rWx
38 58 66 vex evex               : wVx rW4
38 59 66 vex evex               : wVx rW8
38 78 66 vex evex               : wVx rW1
38 79 66 vex evex               : wVx rW2
38 90-93 66 mem vex             : gather
38 90-93 66 mem evex            : gather
38 96-98,9a,9c,9e,a6-a8,aa,ac,ae,b6-b8,ba,bc,be 66 vex evex : xVx rHx rWx fp
38 99,9b,9d,9f,a9,ab,ad,af,b9,bb,bd,bf 66 vex evex : xVy rHy rWy keep fp
38 b4-b5 66 vex evex            : xVx rHx rWx
38 f2 np vex                    : wGy rNy rEy =czso ?pa
38 f3 np /1-3 vex               : wNy rEy =czso ?pa
38 f5 np vex                    : wGy rEy rN1 =czso ?pa
38 f5 f3,f2 vex                 : wGy rNy rEy
38 f6 f2 vex                    : wNy rDy rEy wGy
38 f7 np vex                    : wGy rEy rN2 =czo ?pas
38 f7 66,f3,f2 vex              : wGy rEy rN1

38 72 f3 vex                    : wVx rWx fp
38 b0 mem vex                   : wVx rWx fp
38 b1 66,f3 mem vex             : wVx rW2 fp
38 cb f2 reg vex                : xV32 rH32 rW16
38 cc f2 reg vex                : xV32 rW16
38 cd f2 reg vex                : xV32 rW32
38 da np,66 vex                 : xV16 rH16 rW16
38 da f3,f2 vex                 : wVx rHx rWx
38 e0-ef 66 mem vex             : rNy rGy compare-add wGy =cpazso
3a de 66 vex                    : xV16 rH16 rW16

38 10-12,14-15 66 evex          : wVx rHx rWx
38 10,13,15,20,23,25,30,33,35 f3 evex : wWh rVx
38 11,14,21,24,31,34 f3 evex    : wWf rVx
38 12,22,32 f3 evex             : wWg rVx
38 1f 66 evex                   : wVx rWx
38 26-27 66,f3 evex             : wK8 rHx rWx
38 28,38 f3 reg evex            : wVx rJ8
38 29,39 f3 reg evex            : wK8 rWx
38 2a,3a f3 reg evex            : wVx rJ8
38 2c 66 evex                   : wVx rHx rWx fp
38 2d 66 evex                   : wVy rHy rWy u fp
38 42 66 evex                   : wVx rWx fp
38 43,4d,4f 66 evex             : wVy rHy rWy u fp
38 44,4c,4e,54-55,c4 66 evex    : wVx rWx fp
38 52 f3 evex                   : xVx rHx rWx fp
38 62,88-89 66 evex             : wVx rWx element
38 63,8a-8b 66 evex             : wWx rVx element
38 64-66 66 evex                : wVx rHx rWx select
38 68 f2 evex                   : rHx rWx intersect
38 70-73 66 evex                : xVx rHx rWx
38 72 f3 evex                   : wVx rWx fp
38 72 f2 evex                   : wVx rHx rWx fp
38 75-77,7d-7f 66 evex          : xVx rHx rWx
38 7a 66 reg evex               : wVx rE1
38 7b 66 reg evex               : wVx rE2
38 7c 66 reg evex               : wVx rEy
38 83,8d 66 evex                : wVx rHx rWx
38 8f 66 evex                   : wK8 rHx rWx
38 a0-a3 66 mem evex            : scatter
38 c8,ca,cc 66 evex             : wVx rWx fp
38 cb,cd 66 evex                : wVy rHy rWy u fp

3a 08-09 66 leg vex evex        : wVx rWx fp
3a 0a 66 leg vex evex           : wV4 rW4 u fp
3a 0b 66 leg vex evex           : wV8 rW8 u fp
3a 0c-0e 66 leg vex             : wVx rHx rWx
3a 0f np leg                    : xP8 rQ8 mmx
3a 0f 66 leg vex evex           : wVx rHx rWx
3a 14 66 mem leg vex evex       : wE1 rV16
3a 14 66 reg leg vex evex       : wE4 rV16
3a 15 66 mem leg vex evex       : wE2 rV16
3a 15 66 reg leg vex evex       : wE4 rV16
3a 16 66 leg vex evex           : wEy rV16
3a 17 66 leg vex evex           : wE4 rV16
3a 20 66 leg                    : mV16 rE1
3a 20 66 vex evex               : wV16 rH16 rE1
3a 21 66 mem leg vex evex       : wV16 rH16 rW4
3a 21 66 reg leg vex evex       : wV16 rH16 rW16
3a 22 66 leg                    : mV16 rEy
3a 22 66 vex evex               : wV16 rH16 rEy
3a 40 66 leg vex                : wVx rHx rWx fp
3a 41 66 leg vex                : wV16 rH16 rW16 fp
3a 42 66 leg vex evex           : wVx rHx rWx
3a 44 66 leg vex evex           : wVx rHx rWx
3a 60 66 leg vex                : rV16 rW16 rAy rDy wY16 =cpazso
3a 61 66 leg vex                : rV16 rW16 rAy rDy wC4 =cpazso
3a 62 66 leg vex                : rV16 rW16 wY16 =cpazso
3a 63 66 leg vex                : rV16 rW16 wC4 =cpazso
3a cc np leg                    : xV16 rW16
3a ce-cf 66 leg vex evex        : wVx rHx rWx
3a df 66 leg vex                : wV16 rW16
3a f0 f2 vex                    : wGy rEy
3a 00-01 66 vex evex            : wVx rWx
3a 02 66 vex                    : wVx rHx rWx
3a 04-05 66 vex evex            : wVx rWx
3a 06,46 66 vex                 : wVx rHx rWx
3a 18,38 66 vex evex            : wVx rHx rW16
3a 19,39 66 vex evex            : wW16 rVx
3a 1a,3a 66 evex                : wVx rHx rW32
3a 1b,3b 66 evex                : wW32 rVx
3a 1d 66 vex evex               : wWh rVx fp
3a 30-33 66 reg vex             : wK8 rJ8
3a 4a-4c 66 vex                 : wVx rHx rWx rLx
3a 5c-5f,68-69,6c-6d,78-79,7c-7d 66 vex : wVx rHx rWx rLx fp
3a 6a,6e,7a,7e 66 vex           : wV16 rH16 rW4 rL16 fp
3a 6b,6f,7b,7f 66 vex           : wV16 rH16 rW8 rL16 fp

3a 03 66 evex                   : wVx rHx rWx
3a 1e-1f,3e-3f 66 evex          : wK8 rHx rWx
3a 23,43 66 evex                : wVx rHx rWx
3a 25 66 evex                   : xVx rHx rWx ternary
3a 26,56 66 evex                : wVx rWx fp
3a 27,57 66 evex                : wVy rHy rWy u fp
3a 50 66 evex                   : wVx rHx rWx fp
3a 51 66 evex                   : wVy rHy rWy u fp
3a 54 66 evex                   : xVx rHx rWx fp
3a 55 66 evex                   : xVy rHy rWy u fp
3a 66 66 evex                   : wK8 rWx fp
3a 67 66 evex                   : wK8 rWy fp
3a 70-73 66 evex                : wVx rHx rWx
3a c2 np evex                   : wK8 rHx rWx fp
3a c2 f3 evex                   : wK8 rH2 rW2 fp
3a 08,26,56 np evex             : wVx rWx fp
3a 0a,27,57 np evex             : wV2 rH2 rW2 u fp
3a 66 np evex                   : wK8 rWx fp
3a 67 np evex                   : wK8 rW2 fp

m5 10 f3 mem evex               : wV2 rW2
m5 10 f3 reg evex               : wV2 rW2 u
m5 11 f3 mem evex               : wW2 rV2
m5 11 f3 reg evex               : wW2 rV2 u
m5 2a f3 evex                   : wV2 rEy u fp
m5 2c-2d f3 evex                : wGy rW2 fp
m5 2e-2f np evex                : rV2 rW2 =cpazso fp
m5 51 np,f3 evex                : wVP rWP u fp
m5 58-59,5c-5f np,f3 evex       : wVP rHP rWP u fp
m5 5a np evex                   : wVx rWf fp
m5 5a 66 evex                   : wVx rWx fp dwords
m5 5a f3 evex                   : wV8 rW2 u fp
m5 5a f2 evex                   : wV2 rW8 u fp
m5 1d 66 evex                   : wVx rWx fp dwords
m5 1d np evex                   : wV2 rW4 u fp
m5 5b np evex                   : wVx rWx fp dwords
m5 5b 66,f3 evex                : wVx rWh fp
m5 6e 66 evex                   : wV16 rE2
m5 7e 66 mem evex               : wE2 rV2
m5 7e 66 reg evex               : wE4 rV2
m5 78-79 np evex                : wVx rWh fp
m5 78-7b 66 evex                : wVx rWf fp
m5 78-79 f3 evex                : wGy rW2 fp
m5 7a f2 evex                   : wVx rWx fp dwords
m5 7b f3 evex                   : wV2 rEy u fp
m5 7c-7d np,66 evex             : wVx rWx fp
m5 7d f3,f2 evex                : wVx rWx fp
m6 13 66 evex                   : wVx rWh fp
m6 13 np evex                   : wV4 rW2 u fp
m6 2c 66 evex                   : wVx rHx rWx fp
m6 42,4c,4e 66 evex             : wVx rWx fp
m6 2d,43,4d,4f 66 evex          : wV2 rH2 rW2 u fp
m6 56 f3,f2 evex                : xVx rHx rWx fp dwords
m6 57 f3,f2 evex                : xV4 rH4 rW4 u fp
m6 d6 f3,f2 evex                : wVx rHx rWx fp dwords
m6 d7 f3,f2 evex                : wV4 rH4 rW4 u fp
m6 96-98,9a,9c,9e,a6-a8,aa,ac,ae,b6-b8,ba,bc,be 66 evex : xVx rHx rWx fp
m6 99,9b,9d,9f,a9,ab,ad,af,b9,bb,bd,bf 66 evex : xV2 rH2 rW2 keep fp
`
