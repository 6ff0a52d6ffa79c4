package emit

// forms are the instructions that write memory, in Intel syntax. {m} is a memory
// operand, {b} {w} {d} {q} a general register of 1, 2, 4, 8 bytes, {h} one of
// AH, CH, DH, BH, {o} a register that holds a small bit number, {x} {y} {z} a
// vector register, {X} one of the first sixteen, {k} an opmask.
var forms = `
mov byte ptr {m}, {b}
mov byte ptr {m}, {h}
mov word ptr {m}, {w}
mov dword ptr {m}, {d}
mov qword ptr {m}, {q}
mov qword ptr {m}, rsp
mov dword ptr {m}, esp
mov byte ptr {m}, spl
mov qword ptr {m}, rbp
mov byte ptr {m}, 0x5a
mov word ptr {m}, 0x1234
mov dword ptr {m}, 0xdeadbeef
mov qword ptr {m}, -2
mov qword ptr {m}, 0x7fffffff
mov word ptr {m}, ds
movnti dword ptr {m}, {d}
movnti qword ptr {m}, {q}
movbe word ptr {m}, {w}
movbe dword ptr {m}, {d}
movbe qword ptr {m}, {q}
movdiri dword ptr {m}, {d}
movdiri qword ptr {m}, {q}
add byte ptr {m}, {b}
add byte ptr {m}, {h}
or word ptr {m}, {w}
adc dword ptr {m}, {d}
sbb qword ptr {m}, {q}
and qword ptr {m}, 0x55
sub dword ptr {m}, 0x12345678
xor word ptr {m}, 0x1234
add byte ptr {m}, 7
inc byte ptr {m}
dec word ptr {m}
inc dword ptr {m}
dec qword ptr {m}
neg dword ptr {m}
not qword ptr {m}
shl dword ptr {m}, cl
sar qword ptr {m}, 5
shr byte ptr {m}, 1
rol word ptr {m}, 3
rcr qword ptr {m}, 1
shld dword ptr {m}, {d}, 4
shrd qword ptr {m}, {q}, cl
setc byte ptr {m}
setg byte ptr {m}
xchg byte ptr {m}, {b}
xchg byte ptr {m}, {h}
xchg word ptr {m}, {w}
xchg dword ptr {m}, {d}
xchg qword ptr {m}, {q}
xadd byte ptr {m}, {b}
xadd byte ptr {m}, {h}
xadd word ptr {m}, {w}
xadd dword ptr {m}, {d}
xadd qword ptr {m}, {q}
lock xadd byte ptr {m}, {b}
lock xadd byte ptr {m}, {h}
lock xadd word ptr {m}, {w}
lock xadd dword ptr {m}, {d}
lock xadd qword ptr {m}, {q}
lock add byte ptr {m}, {b}
lock or word ptr {m}, {w}
lock adc dword ptr {m}, {d}
lock sub qword ptr {m}, {q}
lock and qword ptr {m}, 0x55
lock inc dword ptr {m}
lock dec qword ptr {m}
lock neg word ptr {m}
lock not byte ptr {m}
lock bts dword ptr {m}, 7
lock btc qword ptr {m}, 33
bts word ptr {m}, 3
btr qword ptr {m}, 60
cmpxchg byte ptr {m}, {b}
cmpxchg byte ptr {m}, {h}
cmpxchg word ptr {m}, {w}
cmpxchg dword ptr {m}, {d}
cmpxchg qword ptr {m}, {q}
lock cmpxchg byte ptr {m}, {b}
lock cmpxchg byte ptr {m}, {h}
lock cmpxchg word ptr {m}, {w}
lock cmpxchg dword ptr {m}, {d}
lock cmpxchg qword ptr {m}, {q}
cmpxchg8b qword ptr {m}
lock cmpxchg8b qword ptr {m}
cmpxchg16b xmmword ptr {m}
lock cmpxchg16b xmmword ptr {m}
pop qword ptr {m}
pop word ptr {m}
movups xmmword ptr {m}, {X}
movaps xmmword ptr {m}, {X}
movdqa xmmword ptr {m}, {X}
movdqu xmmword ptr {m}, {X}
movntdq xmmword ptr {m}, {X}
movss dword ptr {m}, {X}
movsd qword ptr {m}, {X}
movd dword ptr {m}, {X}
movq qword ptr {m}, {X}
movq qword ptr {m}, mm2
movhps qword ptr {m}, {X}
movlpd qword ptr {m}, {X}
pextrb byte ptr {m}, {X}, 3
pextrw word ptr {m}, {X}, 3
pextrd dword ptr {m}, {X}, 1
pextrq qword ptr {m}, {X}, 1
extractps dword ptr {m}, {X}, 2
vmovups ymmword ptr {m}, {y}
vmovdqa ymmword ptr {m}, {y}
vmovntps ymmword ptr {m}, {y}
vmovss dword ptr {m}, {X}
vextractf128 xmmword ptr {m}, {y}, 1
vcvtps2ph xmmword ptr {m}, {y}, 0
vmovups zmmword ptr {m}, {z}
vmovdqa64 zmmword ptr {m}, {z}
vmovdqu8 xmmword ptr {m}, {x}
vmovntdq zmmword ptr {m}, {z}
vextracti64x4 ymmword ptr {m}, {z}, 1
vpmovqb qword ptr {m}, {z}
vpmovdw ymmword ptr {m}, {z}
movupd xmmword ptr {m}, {X}
movapd xmmword ptr {m}, {X}
movntps xmmword ptr {m}, {X}
movntq qword ptr {m}, mm3
movd dword ptr {m}, mm1
movlps qword ptr {m}, {X}
vmovdqu ymmword ptr {m}, {y}
vmovntdq ymmword ptr {m}, {y}
vmovd dword ptr {m}, {X}
vmovq qword ptr {m}, {X}
vmovhps qword ptr {m}, {X}
vmovsd qword ptr {m}, {x}
vmovss dword ptr {m}, {x}
vmovd dword ptr {m}, {x}
vmovq qword ptr {m}, {x}
vmovlps qword ptr {m}, {x}
vmovapd zmmword ptr {m}, {z}
vmovups xmmword ptr {m}, {x}
vmovdqu16 zmmword ptr {m}, {z}
vmovdqu64 zmmword ptr {m}, {z}
vmovdqa32 zmmword ptr {m}, {z}
vmovntpd zmmword ptr {m}, {z}
kmovw word ptr {m}, {k}
kmovq qword ptr {m}, {k}
movdir64b rdi, zmmword ptr {m}
fst dword ptr {m}
fst qword ptr {m}
fstp dword ptr {m}
fstp qword ptr {m}
fstp tbyte ptr {m}
fbstp tbyte ptr {m}
fist word ptr {m}
fistp dword ptr {m}
fistp qword ptr {m}
fisttp qword ptr {m}
fnstcw word ptr {m}
fnstsw word ptr {m}
stmxcsr dword ptr {m}
vstmxcsr dword ptr {m}
bts dword ptr {m}, {o}
lock btr qword ptr {m}, {o}
vmovups zmmword ptr {m}{{k}}, {z}
vmovdqu8 ymmword ptr {m}{{k}}, {y}
vmaskmovps ymmword ptr {m}, {y}, {y}
vcompressps zmmword ptr {m}{{k}}, {z}
stosb
stosq
movsb
movsq
rep stosb
rep stosd
rep movsb
rep movsq
maskmovdqu {X}, {X}
`
