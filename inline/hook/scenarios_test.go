package hook_test

import (
	"strings"

	"mgtrace/inline/layout"
)

// Where the tests' frames lie, and their callers.
const (
	sp0    = stackAt + 0x8000
	caller = progCode + 0x500
	heap   = heapAt + 0x1000
)

// scenarios are runs of a program and what the routine records of them.
var scenarios = []struct {
	name string
	run  func(m *machine)
	want string
}{
	{"malloc", func(m *machine) {
		m.call(fMalloc, sp0, caller, 32)
		m.ret(fMalloc, 0, sp0, heap)
	}, `
		alloc malloc sp 30108000 from 400500 (0 20) = 30001000 stack 64 0005400000000000 rbp 0`},

	{"calloc inside operator new, which jumps to malloc", func(m *machine) {
		m.call(fNew, sp0, caller, 8)
		m.regs[rsp] = sp0
		m.ret(fNew, 1, sp0, 0)
		m.jump(fMalloc, sp0, 8)
		m.call(fCalloc, sp0-64, libCode+5, 1, 8)
		m.ret(fCalloc, 0, sp0-64, heap)
		m.ret(fMalloc, 0, sp0, heap)
	}, `
		alloc new sp 30108000 from 400500 (0 8) = 30001000 stack 64 0005400000000000 rbp 0`},

	{"a declared allocator that calls malloc", func(m *machine) {
		m.call(fGet, sp0, caller)
		m.call(fMalloc, sp0-64, caller+9, 0x1000)
		m.ret(fMalloc, 0, sp0-64, heap)
		m.ret(fGet, 0, sp0, heap+24)
		m.call(fMalloc, sp0-64, caller+9, 0x2000)
		m.ret(fMalloc, 0, sp0-64, 0)
	}, `
		stop 8000 pc 408000 sp 30108000 = 0 from 400500 (0 0) stack 64 0005400000000000
		stop 1000 pc 70001000 sp 30107fc0 = 0 from 400509 (1000 0) nested
		stop 1010 pc 70001010 sp 30107fc0 = 30001000 from 400509 (1000 0)
		stop 8010 pc 408010 sp 30108000 = 30001018 from 400500 (1000 0)
		found 0 30001018+24 base 30001018 pc 400500: 000000000000000000000000000000000000000000000000
		alloc malloc sp 30107fc0 from 400509 (0 2000) = 0 stack 64 0905400000000000 rbp 0`},

	{"a declared allocator that resizes where a block is, and moves one", func(m *machine) {
		m.call(fResize, sp0, caller, heap, 16)
		m.ret(fResize, 0, sp0, heap)
		m.call(fResize, sp0, caller, heap, 8)
		m.ret(fResize, 0, sp0, heap+32)
	}, `
		stop 1b000 pc 41b000 sp 30108000 = 0 from 400500 (30001000 0) stack 64 0005400000000000
		stop 1b010 pc 41b010 sp 30108000 = 30001000 from 400500 (30001000 0)
		stop 1b000 pc 41b000 sp 30108000 = 30001000 from 400500 (30001000 0) stack 64 0005400000000000
		stop 1b010 pc 41b010 sp 30108000 = 30001020 from 400500 (30001000 0)
		found 0 30001020+8 base 30001020 pc 400500: 0000000000000000`},

	{"realloc and free", func(m *machine) {
		m.regs[rbp] = 0x77
		m.call(fRealloc, sp0, caller, heap, 40)
		m.call(fFree, sp0-64, libCode+5, heap)
		m.ret(fFree, 0, sp0-64, 0)
		m.ret(fRealloc, 0, sp0, heap+0x100)
		m.call(fFree, sp0, caller, heap+0x100)
		m.call(fMemcpy, sp0-64, caller, heap+16, 0, 4) // its own business
		m.ret(fMemcpy, 0, sp0-64, 0)
		m.ret(fFree, 0, sp0, 0)
		m.call(fFree, sp0, caller, 0) // nothing
		m.ret(fFree, 0, sp0, 0)
	}, `
		alloc realloc sp 30108000 from 400500 (30001000 28) = 30001100 stack 64 0005400000000000 rbp 77
		alloc free sp 30108000 from 400500 (30001100 0) = 0 stack 64 0005400000000000 rbp 77`},

	{"posix_memalign", func(m *machine) {
		m.call(fPosix, sp0, caller, heap, 16, 100)
		m.poke(heap, heap+0x100)
		m.ret(fPosix, 0, sp0, 0)
		m.call(fPosix, sp0, caller, heap, 16, 100)
		m.ret(fPosix, 0, sp0, 12)
	}, `
		alloc posix_memalign sp 30108000 from 400500 (30001000 64) = 30001100 stack 64 0005400000000000 rbp 0
		bulk posix_memalign 30001000+8 base 30001000 pc 400500: 0011003000000000
		alloc posix_memalign sp 30108000 from 400500 (30001000 64) = 0 stack 64 0005400000000000 rbp 0`},

	{"strdup jumps to memcpy, which returns in its place", func(m *machine) {
		m.call(fStrdup, sp0, caller, heap)
		m.call(fMalloc, sp0-32, libCode+9, 4)
		m.ret(fMalloc, 0, sp0-32, heap+64)
		m.ret(fStrdup, 1, sp0, 0)
		m.jump(fMemcpy, sp0, heap+64, heap, 4)
		m.text(heap+64, "abc")
		m.ret(fMemcpy, 0, sp0, heap+64)
		m.call(fStrcpy, sp0, caller, heap+64) // all is closed again
		m.ret(fStrcpy, 0, sp0, heap+64)
	}, `
		stop 5000 pc 70005000 sp 30108000 = 0 from 400500 (30001000 0) stack 64 0005400000000000
		stop 1000 pc 70001000 sp 30107fe0 = 0 from 70000009 (4 0) nested
		stop 1010 pc 70001010 sp 30107fe0 = 30001040 from 70000009 (4 0)
		stop 5020 pc 70005020 sp 30108000 = 0 from 400500 (4 0)
		return strdup sp 30108000 = 30001040
		bulk strdup 30001040+4 base 30001040 pc 400500: 61626300
		bulk strcpy 30001040+4 base 30001040 pc 400500: 61626300`},

	{"extents", func(m *machine) {
		m.text(heap, "twelve bytes")
		m.call(fMemcpy, sp0, caller, heap, 0, 5)
		m.ret(fMemcpy, 0, sp0, 0)
		m.call(fStrcpy, sp0, caller, heap)
		m.ret(fStrcpy, 0, sp0, heap)
		m.call(fStrcpy, sp0, caller, heap) // fgets: NULL and an old string
		m.ret(fStrcpy, 0, sp0, 0)
		m.call(fStrcat, sp0, caller, heap)
		m.text(heap+12, "!!")
		m.ret(fStrcat, 0, sp0, heap)
		m.call(fRead, sp0, caller, 3, heap)
		m.ret(fRead, 0, sp0, 2)
		m.call(fRead, sp0, caller, 3, heap)
		m.ret(fRead, 0, sp0, ^uint64(0))
		m.call(fFread, sp0, caller, heap, 2)
		m.ret(fFread, 0, sp0, 3)
		m.call(fStpcpy, sp0, caller, heap+12)
		m.ret(fStpcpy, 0, sp0, heap+14)
		m.call(fSnprintf, sp0, caller, heap, 4)
		m.ret(fSnprintf, 0, sp0, 100)
		m.call(fSnprintf, sp0, caller, heap, 4)
		m.ret(fSnprintf, 0, sp0, 1)
		m.call(fSnprintf, sp0, caller, heap, 4)
		m.ret(fSnprintf, 0, sp0, 0xffffffff)
		m.call(fMutex, sp0, caller, heap+0x100)
		m.ret(fMutex, 0, sp0, 0)
		m.call(fMutex, sp0, caller, 0)
		m.ret(fMutex, 0, sp0, 0)
		m.call(fQsort, sp0, caller, heap, 3, 4)
		m.ret(fQsort, 0, sp0, 0)
	}, `
		bulk memcpy 30001000+5 base 30001000 pc 400500: 7477656c76
		bulk strcpy 30001000+13 base 30001000 pc 400500: 7477656c766520627974657300
		bulk strcat 3000100c+3 base 30001000 pc 400500: 212100
		bulk get 30001000+2 base 30001000 pc 400500: 7477
		bulk fread 30001000+6 base 30001000 pc 400500: 7477656c7665
		bulk stpcpy 3000100c+3 base 3000100c pc 400500: 212100
		bulk snprintf 30001000+4 base 30001000 pc 400500: 7477656c
		bulk snprintf 30001000+2 base 30001000 pc 400500: 7477
		bulk mutex 30001100+40 base 30001100 pc 400500: ` + strings.Repeat("00", 40) + `
		bulk qsort 30001000+12 base 30001000 pc 400500: 7477656c7665206279746573`},

	{"formats", func(m *machine) {
		to := func(i uint64) uint64 { return heap + 0x100*i }
		scan := func(format string, assigned uint64) {
			m.text(heap+0x1000, format)
			for i := range uint64(3) {
				m.poke(sp0+8+8*i, to(5+i))
			}
			m.call(fSscanf, sp0, caller, heap, heap+0x1000, to(1), to(2), to(3), to(4))
			m.ret(fSscanf, 0, sp0, assigned)
		}
		m.text(to(1), "one")
		m.text(to(5), "five")
		scan("%3s%hhd %hi%lld %[^]x]%lf%Lf", 7)
		scan("%*d%*[]^]%% %2$p", 1)
		scan("%d%d", 0xffffffff) // EOF
		scan("%d %n,%n%d", 1)    // the second may not have been reached
		scan("%d,%n%d", 2)
		scan("%c%lc%5c%ls%f", 5)
		scan("%d%y%d", 2) // not known, nor what follows
		m.poke(to(1), to(7))
		m.text(to(7), "block")
		scan("%ms", 1)

		m.poke(heap+0x40, 0x1234_0000_0028) // gp_offset; then the two addresses
		m.poke(heap+0x48, heap+0xa0)
		m.poke(heap+0x50, heap+0x58)
		m.poke(heap+0x58+40, to(2))
		m.poke(heap+0xa0, to(3))
		m.text(heap+0x1000, "%d%hd")
		m.call(fVscanf, sp0, caller, heap+0x1000, heap+0x40)
		m.ret(fVscanf, 0, sp0, 2)
	}, `
		bulk sscanf 30001100+4 base 30001100 pc 400500: 6f6e6500
		bulk sscanf 30001200+1 base 30001200 pc 400500: 00
		bulk sscanf 30001300+2 base 30001300 pc 400500: 0000
		bulk sscanf 30001400+8 base 30001400 pc 400500: 0000000000000000
		bulk sscanf 30001500+5 base 30001500 pc 400500: 6669766500
		bulk sscanf 30001600+8 base 30001600 pc 400500: 0000000000000000
		bulk sscanf 30001700+10 base 30001700 pc 400500: 00000000000000000000
		bulk sscanf 30001200+8 base 30001200 pc 400500: 0000000000000000
		bulk sscanf 30001100+4 base 30001100 pc 400500: 6f6e6500
		bulk sscanf 30001200+4 base 30001200 pc 400500: 00000000
		bulk sscanf 30001100+4 base 30001100 pc 400500: 6f6e6500
		bulk sscanf 30001200+4 base 30001200 pc 400500: 00000000
		bulk sscanf 30001300+4 base 30001300 pc 400500: 00000000
		bulk sscanf 30001100+1 base 30001100 pc 400500: 6f
		bulk sscanf 30001200+4 base 30001200 pc 400500: 00000000
		bulk sscanf 30001300+5 base 30001300 pc 400500: 0000000000
		bulk sscanf 30001500+4 base 30001500 pc 400500: 66697665
		bulk sscanf 30001100+4 base 30001100 pc 400500: 6f6e6500
		bulk sscanf 30001100+8 base 30001100 pc 400500: 0017003000000000
		bulk sscanf 30001700+6 base 30001700 pc 400500: 626c6f636b00
		bulk vscanf 30001200+4 base 30001200 pc 400500: 00000000
		bulk vscanf 30001300+2 base 30001300 pc 400500: 0000`},

	{"tokens", func(m *machine) {
		split := func(to, token uint64) {
			m.call(fSplit, sp0, caller, 0, 0, heap)
			m.poke(heap, to)
			m.ret(fSplit, 0, sp0, token)
		}
		m.text(heap+0x100, "one\x00two")
		split(heap+0x104, heap+0x100)
		split(heap+0x107, heap+0x104) // the string ends where the token does
		split(heap+0x107, 0)
		split(0, heap+0x107)
	}, `
		bulk strtok_r 30001000+8 base 30001000 pc 400500: 0411003000000000
		bulk strtok_r 30001103+1 base 30001103 pc 400500: 00
		bulk strtok_r 30001000+8 base 30001000 pc 400500: 0711003000000000
		bulk strtok_r 30001000+8 base 30001000 pc 400500: 0000000000000000`},

	{"lines", func(m *machine) {
		line := func(buffer, size, result uint64) {
			m.call(fGetline, sp0, caller, heap, heap+8, 3)
			m.poke(heap, buffer)
			m.poke(heap+8, size)
			m.ret(fGetline, 0, sp0, result)
		}
		m.text(heap+0x100, "a line\n")
		line(heap+0x100, 120, 7)
		line(heap+0x100, 120, 2)
		line(heap+0x100, 240, 1) // it grew where it was
		line(heap+0x200, 240, ^uint64(0))
	}, `
		bulk getline 30001000+8 base 30001000 pc 400500: 0011003000000000
		bulk getline 30001008+8 base 30001008 pc 400500: 7800000000000000
		bulk getline 30001100+8 base 30001100 pc 400500: 61206c696e650a00
		bulk getline 30001100+3 base 30001100 pc 400500: 61206c
		bulk getline 30001008+8 base 30001008 pc 400500: f000000000000000
		bulk getline 30001100+2 base 30001100 pc 400500: 6120
		bulk getline 30001000+8 base 30001000 pc 400500: 0012003000000000`},

	{"writers inside writers", func(m *machine) {
		m.call(fMemcpy, sp0, libCode+4, heap, 0, 4) // the library for itself
		m.ret(fMemcpy, 0, sp0, 0)
		m.call(fMemcpyChk, sp0, caller, heap, 0, 4)
		m.jump(fMemcpy, sp0, heap, 0, 4)
		m.ret(fMemcpy, 0, sp0, 0)
		m.call(fQsort, sp0, caller, heap, 2, 2)
		m.call(fMemcpy, sp0-64, libCode+4, heap+32, 0, 1) // by qsort
		m.ret(fMemcpy, 0, sp0-64, 0)
		m.call(fMemcpy, sp0-64, caller+8, heap+64, 0, 1) // by the comparison function
		m.ret(fMemcpy, 0, sp0-64, 0)
		m.ret(fQsort, 0, sp0, 0)
		m.call(fOwn, sp0, caller, heap, 2)
		m.call(fMemcpy, sp0-64, caller+8, heap, 0, 1) // of a traced one: part of it
		m.ret(fMemcpy, 0, sp0-64, 0)
		m.ret(fOwn, 0, sp0, 0)
		m.call(fStrcpy, sp0, caller, heap) // left unseen
		m.call(fMemcpy, sp0, caller, heap+16, 0, 3)
		m.ret(fMemcpy, 0, sp0, 0)
	}, `
		bulk memcpy_chk 30001000+4 base 30001000 pc 400500: 00000000
		bulk memcpy 30001040+1 base 30001040 pc 400508: 00
		bulk qsort 30001000+4 base 30001000 pc 400500: 00000000
		bulk own 30001000+2 base 30001000 pc 400500: 0000
		bulk memcpy 30001010+3 base 30001010 pc 400500: 000000`},

	{"writers that their trampolines noted", func(m *machine) {
		for _, from := range []uint64{caller, libCode + 4} { // the library's own call is nobody's
			m.poke(sp0, from)
			w := uint64(blockAt + layout.WriterAt)
			m.poke(w+layout.WriterSP, sp0)
			m.poke(w+layout.WriterPC, from)
			m.poke(w+layout.WriterDst, heap)
			m.poke(w+layout.WriterLen, 4)
			m.poke(w+layout.WriterFunc, fMemcpy)
			m.poke(blockAt+layout.Writers, 1)
			m.poke(blockAt+layout.OpenWriter, 1<<64-sp0)
			m.ret(fMemcpy, 0, sp0, 0)
		}
		m.call(fMemcpy, sp0, caller, heap, 0, 2)
		m.ret(fMemcpy, 0, sp0, 0)
		for _, to := range []uint64{heap, 0} { // one that writes nowhere
			w := uint64(blockAt + layout.WriterAt)
			m.poke(w+layout.WriterSP, sp0)
			m.poke(w+layout.WriterPC, caller)
			m.poke(w+layout.WriterDst, to)
			m.poke(w+layout.WriterFunc, fStrcpy)
			m.poke(blockAt+layout.Writers, 1)
			m.poke(blockAt+layout.OpenWriter, 1<<64-sp0)
			m.ret(fStrcpy, 0, sp0, heap)
		}
	}, `
		bulk memcpy 30001000+4 base 30001000 pc 400500: 00000000
		bulk memcpy 30001000+2 base 30001000 pc 400500: 0000
		bulk strcpy 30001000+1 base 30001000 pc 400500: 00`},

	{"a writer left by longjmp", func(m *machine) {
		m.call(fQsort, sp0, caller, heap, 2, 2)
		m.call(fWatch, sp0+128, caller)
		m.ret(fQsort, 0, sp0, 0)
	}, `
		bulk qsort 30001000+4 base 30001000 pc 400500: 00000000 late
		stop 9000 pc 409000 sp 30108080 = 0 from 400500 (30001000 0)`},

	{"more open writers than there is room for", func(m *machine) {
		for i := range uint64(10) {
			m.call(fQsort, sp0-64*i, caller+i, heap+16*i, 1, 1)
		}
		for i := uint64(10); i > 0; i-- {
			m.ret(fQsort, 0, sp0-64*(i-1), 0)
		}
	}, `
		lost 0 0+1 base 0
		lost 0 0+1 base 0
		bulk qsort 30001090+1 base 30001090 pc 400509: 00
		bulk qsort 30001080+1 base 30001080 pc 400508: 00
		bulk qsort 30001070+1 base 30001070 pc 400507: 00
		bulk qsort 30001060+1 base 30001060 pc 400506: 00
		bulk qsort 30001050+1 base 30001050 pc 400505: 00
		bulk qsort 30001040+1 base 30001040 pc 400504: 00
		bulk qsort 30001030+1 base 30001030 pc 400503: 00
		bulk qsort 30001020+1 base 30001020 pc 400502: 00`},

	{"string instructions", func(m *machine) {
		m.regs[rsp] = sp0
		m.regs[rdi], m.regs[rcx] = heap, 2
		m.store(sMovs, func() { m.poke(heap, 1); m.poke(heap+8, 2) })
		m.regs[flags] = 0x400 // downwards
		m.store(sMovs, func() { m.poke(heap, 3); m.poke(heap-8, 4) })
		m.regs[flags], m.regs[rcx] = 0, 0
		m.store(sMovs, nil)
		m.regs[rcx], m.regs[rdi] = 5, 0xffff0000_00000000+heap
		m.store(sStosb, func() { m.write(heap, []byte{9}) })
		m.regs[rdi], m.regs[rcx] = sp0-64, 8 // in the red zone and the stack
		m.store(sMovs, nil)
	}, `
		store 0 30001000+16 base 30001000 pc 400100: 01000000000000000200000000000000
		store 0 30000ff8+16 base 30001000 pc 400100: 04000000000000000300000000000000
		store 1 30001000+1 base ffff000030001000 pc 400200: 09`},

	{"masked, conditional and bit stores", func(m *machine) {
		m.regs[rsp] = sp0
		m.regs[rbx], m.regs[rcx] = heap-20, 1
		m.store(sMask, func() { m.write(heap+4, []byte{1, 2, 3, 4}) })
		m.regs[rbx] = heapAt + heapSize - 24 // its end is not there
		m.store(sMask, nil)
		m.regs[rbx], m.regs[rax] = heap, 0xffffffff_ffffffff // bit -1
		m.store(sBit, func() { m.write(heap-4, []byte{0, 0, 0, 0x80}) })
		m.store(sCond, nil)
		m.store(sCond, func() { m.poke(heap, 5) })
	}, `
		store 2 30001000+32 base 30000fec pc 400300: ` +
		"00000000" + "01020304" + strings.Repeat("00", 24) + strings.Repeat("00", 32) + ` masked
		store 2 3003fffc+32 base 3003ffe8 pc 400300: ` + strings.Repeat("00", 64) + ` masked
		store 3 30000ffc+4 base 30001000 pc 400400: 00000080
		store 4 30001000+8 base 30001000 pc 400500: 0500000000000000`},

	{"a signal handler inside a string instruction", func(m *machine) {
		outer, inner := m.numbers[m.at(0x100)], m.numbers[m.at(0x200)]
		m.regs[rsp], m.regs[rdi], m.regs[rcx] = sp0, heap, 1
		m.hook(outer, 0)
		m.regs[rsp], m.regs[rdi] = sp0-1024, heap+32
		m.hook(inner, 0)
		m.hook(inner, 1)
		m.regs[rsp] = sp0
		m.hook(outer, 1)
		m.hook(outer, 1) // a thread that begins behind one
		m.regs[rdi] = heap + 64
		m.hook(outer, 0) // faults
		m.regs[rdi] = heap + 96
		m.hook(inner, 0)
		m.hook(inner, 1)
	}, `
		store 1 30001020+1 base 30001020 pc 400200: 00
		store 0 30001000+8 base 30001000 pc 400100: 0000000000000000
		store 1 30001060+1 base 30001060 pc 400200: 00`},

	{"a system call is told of the caller of the library's function that makes it", func(m *machine) {
		m.text(heap, "hello")
		m.call(fRecv, sp0, caller, 3, heap, 5)
		m.regs[rsp] = sp0 - 32
		m.syscall(0, 5, nil, 3, heap, 5)
		m.ret(fRecv, 0, sp0, 5)
		m.syscall(0, 4, nil, 3, heap, 4) // the program's own
		m.call(fRecv, sp0-64, caller, 3, heap, 3)
		m.regs[rsp] = sp0 // longjmp out of it
		m.syscall(0, 3, nil, 3, heap, 3)
		m.call(fRecv, sp0, libCode+4, 3, heap, 2) // the library for itself
		m.syscall(0, 2, nil, 3, heap, 2)
		m.ret(fRecv, 0, sp0, 2)
		m.call(fQsort, sp0, caller, heap, 1, 1) // which has called back
		m.regs[rsp] = sp0 - 64
		m.syscall(0, 1, nil, 3, heap, 1)
	}, `
		syscall 0 30001000+5 base 30001000 pc 400500: 68656c6c6f
		syscall 0 30001000+4 base 30001000 pc 409002: 68656c6c
		syscall 0 30001000+3 base 30001000 pc 409002: 68656c
		syscall 0 30001000+2 base 30001000 pc 409002: 6865
		syscall 0 30001000+1 base 30001000 pc 409002: 68
	`},
	{"system calls", func(m *machine) {
		m.regs[rsp] = sp0
		m.text(heap, "hello")
		m.syscall(0, 5, nil, 3, heap, 100)                                          // read
		m.syscall(0, ^uint64(8), nil, 3, heap, 100)                                 // read: an error
		m.syscall(1, 5, nil, 3, heap, 100)                                          // write
		m.syscall(22, 0, nil, heap)                                                 // pipe
		m.syscall(271, 1, nil, heap, 2)                                             // ppoll
		m.syscall(9, heapAt, nil, 0, 0x2000)                                        // mmap
		m.syscall(11, 0, func() { m.call(fWatch, sp0-64, caller) }, heapAt, 0x2000) // munmap: told before it is done
		m.syscall(11, ^uint64(21), nil, heapAt+1, 0x2000)                           // munmap: refused
		m.syscall(25, heapAt+0x5000, nil, heapAt, 0x1000, 0x2000)                   // mremap
		m.syscall(12, 0x7000, nil, 0)                                               // brk
		m.syscall(12, 0x9000, nil, 0x9000)
		m.syscall(12, 0x8000, nil, 0x8000)
		vec := uint64(heap + 0x200)
		for i, v := range []uint64{heap, 2, heap + 3, 10, heap + 32, 5} {
			m.poke(vec+8*uint64(i), v)
		}
		m.syscall(19, 7, nil, 3, vec, 3) // readv
		m.poke(heap+0x310, vec)
		m.poke(heap+0x318, 1)
		m.syscall(47, 7, nil, 3, heap+0x300) // recvmsg
		m.syscall(0, 0, nil, 3, heap, 9)
		m.syscall(57, 99, nil) // fork
	}, `
		syscall 0 30001000+5 base 30001000 pc 409002: 68656c6c6f
		syscall 22 30001000+8 base 30001000 pc 409002: 68656c6c6f000000
		syscall 271 30001000+16 base 30001000 pc 409002: 68656c6c6f0000000000000000000000
		map 0 30000000+8192 base 0
		unmap 0 30000000+8192 base 0
		stop 9000 pc 409000 sp 30107fc0 = b from 400500 (30000000 0)
		unmap 0 30000000+4096 base 0
		map 0 30005000+8192 base 0
		break 0 9000+0 base 7000
		break 0 8000+0 base 9000
		syscall 19 30001000+2 base 30001000 pc 409002: 6865
		syscall 19 30001003+5 base 30001003 pc 409002: 6c6f000000
		syscall 47 30001000+2 base 30001000 pc 409002: 6865`},

	{"stores of an allocator and of a writer in the program", func(m *machine) {
		movs := func(sp, addr uint64) {
			m.regs[rsp], m.regs[rdi], m.regs[rcx] = sp, addr, 1
			m.store(sMovs, nil)
		}
		m.call(fNew, sp0, caller, 8)
		movs(sp0-64, heap+8)
		m.call(fMemcpy, sp0-64, caller, heap+16, 0, 4)
		m.ret(fMemcpy, 0, sp0-64, 0)
		m.ret(fNew, 0, sp0, heap)
		movs(sp0, heap+24)
		m.call(fOwn, sp0, caller, heap, 64)
		movs(sp0-64, heap+32)
		movs(sp0-64, heap+64)
		m.ret(fOwn, 0, sp0, 0)
		movs(sp0, heap+40)
		m.call(fNew, sp0, caller, 8)
		movs(sp0-64, heap+48)
		movs(sp0+64, heap+56) // it was left by an exception
	}, `
		alloc new sp 30108000 from 400500 (0 8) = 30001000 stack 64 0005400000000000 rbp 0
		store 0 30001018+8 base 30001018 pc 400100: 0000000000000000
		store 0 30001040+8 base 30001040 pc 400100: 0000000000000000
		bulk own 30001000+64 base 30001000 pc 400500: ` + strings.Repeat("00", 64) + `
		store 0 30001028+8 base 30001028 pc 400100: 0000000000000000
		store 0 30001038+8 base 30001038 pc 400100: 0000000000000000`},

	{"more open stores than there is room for", func(m *machine) {
		movs := m.numbers[m.at(0x100)]
		for i := range uint64(9) {
			m.regs[rsp], m.regs[rdi], m.regs[rcx] = sp0-1024*i, heap+16*i, 1
			m.hook(movs, 0)
		}
		for i := uint64(9); i > 6; i-- {
			m.regs[rsp] = sp0 - 1024*(i-1)
			m.hook(movs, 1)
		}
		m.regs[rsp] = sp0
		m.hook(movs, 1) // the one that made room
		m.regs[rsp] = sp0 - 1024
		m.hook(movs, 1)
	}, `
		lost 0 0+1 base 0
		store 0 30001080+8 base 30001080 pc 400100: 0000000000000000
		store 0 30001070+8 base 30001070 pc 400100: 0000000000000000
		store 0 30001060+8 base 30001060 pc 400100: 0000000000000000
		store 0 30001010+8 base 30001010 pc 400100: 0000000000000000`},

	{"memory that is gone", func(m *machine) {
		end := uint64(heapAt + heapSize)
		m.write(end-4, []byte("tail"))
		m.call(fMemcpy, sp0, caller, end-4, 0, 16)
		m.ret(fMemcpy, 0, sp0, 0)
		m.call(fMemcpy, sp0, caller, end, 0, 16)
		m.ret(fMemcpy, 0, sp0, 0)
		m.call(fStrcpy, sp0, caller, end-4)
		m.ret(fStrcpy, 0, sp0, end-4)
		m.jump(fMalloc, stackAt+stackSize-16, 5) // the stack's end
		m.ret(fMalloc, 0, stackAt+stackSize-16, heap)
		m.jump(fWatch, end)
		m.syscall(19, 7, nil, 3, end, 3) // readv
	}, `
		bulk memcpy 3003fffc+16 base 3003fffc pc 400500: 7461696c and 12 unread
		bulk memcpy 30040000+16 base 30040000 pc 400500:  and 16 unread
		bulk strcpy 3003fffc+5 base 3003fffc pc 400500: 7461696c and 1 unread
		alloc malloc sp 3010fff0 from 0 (0 5) = 30001000 stack 16 0000000000000000 rbp 0
		stop 9000 pc 409000 sp 30040000 = 30001000 from 0 (5 0)`},
}
