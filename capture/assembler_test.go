package capture

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/objfile"
	"mgtrace/probe"
	"mgtrace/trace"
)

func TestAssembler(t *testing.T) {
	for _, c := range []struct {
		name string
		play func(m *machine)
		want string
	}{
		{"malloc", func(m *machine) {
			m.call(fMalloc, 900, 24)
			m.uret(fMalloc, 900, 5000)
		}, "alloc malloc 5000 size 24 pc 9007"},
		{"malloc refused", func(m *machine) {
			m.call(fMalloc, 900, 24)
			m.ret(fMalloc, 900, 0)
		}, "refused malloc 0 size 24 pc 9007"},
		{"calloc", func(m *machine) {
			m.call(fCalloc, 900, 3, 7)
			m.ret(fCalloc, 900, 5000)
			m.call(fCalloc, 900, 1<<40, 1<<40)
			m.ret(fCalloc, 900, 0)
		}, "alloc calloc 5000 size 21 pc 9007 zeroed\nrefused calloc 0 size 18446744073709551615 pc 9007"},
		{"realloc", func(m *machine) {
			m.call(fRealloc, 900, 0, 8)
			m.ret(fRealloc, 900, 5000)
			m.call(fRealloc, 900, 5000, 16)
			m.ret(fRealloc, 900, 5000)
			m.call(fRealloc, 900, 5000, 32)
			m.ret(fRealloc, 900, 6000)
			m.call(fRealloc, 900, 6000, 1<<60)
			m.ret(fRealloc, 900, 0)
			m.call(fRealloc, 900, 6000, 0)
			m.ret(fRealloc, 900, 0)
		}, `
alloc realloc 5000 size 8 pc 9007
realloc realloc 5000 → 5000 size 16 pc 9007
realloc realloc 5000 → 6000 size 32 pc 9007
refused realloc 6000 size 1152921504606846976 pc 9007
free realloc 6000 size 0 pc 9007`},
		{"realloc calls malloc and free", func(m *machine) {
			m.call(fRealloc, 900, 5000, 32)
			m.call(fMalloc, 800, 32)
			m.uret(fMalloc, 800, 6000)
			m.call(fFree, 800, 5000)
			m.ret(fFree, 800, 0)
			m.ret(fRealloc, 900, 6000)
		}, "realloc realloc 5000 → 6000 size 32 pc 9007"},
		{"posix_memalign", func(m *machine) {
			m.call(fPosix, 900, 4000, 64, 77)
			m.stop((fPosix+1)*0x1000+0x10, Hit{SP: 900, Result: 0, Base: 6400})
			m.call(fPosix, 900, 4000, 3, 77)
			m.stop((fPosix+1)*0x1000+0x10, Hit{SP: 900, Result: 22, Base: 6400})
		}, "alloc posix_memalign 6400 size 77 pc 9007\nrefused posix_memalign 0 size 77 pc 9007"},
		{"strdup takes the size of the malloc inside", func(m *machine) {
			m.call(fStrdup, 900, 4000)
			m.call(fMalloc, 800, 6)
			m.uret(fMalloc, 800, 5000)
			m.ret(fStrdup, 900, 5000)
		}, "alloc strdup 5000 size 6 pc 9007"},
		{"free at its entry, of NULL nothing", func(m *machine) {
			m.call(fFree, 900, 5000)
			m.store(800, 1, 1)
			m.ret(fFree, 900, 0)
			m.call(fFree, 900, 0)
			m.ret(fFree, 900, 0)
		}, "free free 5000 size 0 pc 9007\nstore 1 size 1 01"},
		{"operator new[] jumps to new, which calls malloc", func(m *machine) {
			m.call(fNewA, 900, 40)
			m.jump(fNewA, 900)
			m.call(fNew, 900, 40)
			m.call(fMalloc, 800, 40)
			m.uret(fMalloc, 800, 5000)
			m.ret(fNew, 900, 5000)
		}, "alloc operator new[] 5000 size 40 pc 9007"},
		{"a uretprobed function jumps to another", func(m *machine) {
			m.call(fMalloc, 900, 40)
			m.call(fNew, 900, 40)
			m.uret(fNew, 900, 5000)
			m.uret(fMalloc, 900, 5000)
		}, "alloc malloc 5000 size 40 pc 9007"},
		{"new throws, and is called again from the same place", func(m *machine) {
			m.call(fNew, 900, 40)
			m.call(fNew, 900, 20)
			m.ret(fNew, 900, 5000)
		}, "alloc operator new 5000 size 20 pc 9007"},
		{"new throws past its caller", func(m *machine) {
			m.call(fNew, 900, 40)
			m.store(1000, 1, 1)
			m.call(fMalloc, 800, 8)
			m.uret(fMalloc, 800, 5000)
		}, "store 1 size 1 01\nalloc malloc 5000 size 8 pc 8007"},
		{"calls that the engine has followed", func(m *machine) {
			m.whole(fMalloc, 900, 0, 24, 5000)
			m.whole(fMalloc, 900, 0, 24, 0)
			m.whole(fCalloc, 900, 0, 21, 5000)
			m.whole(fPosix, 900, 4000, 77, 6400)
			m.whole(fPosix, 900, 4000, 77, 0)
			m.whole(fRealloc, 900, 0, 8, 5000)
			m.whole(fRealloc, 900, 5000, 32, 6000)
			m.whole(fRealloc, 900, 6000, 1<<60, 0)
			m.whole(fRealloc, 900, 6000, 0, 0)
			m.whole(fFree, 900, 5000, 0, 0)
		}, `
alloc malloc 5000 size 24 pc 9007
refused malloc 0 size 24 pc 9007
alloc calloc 5000 size 21 pc 9007 zeroed
alloc posix_memalign 6400 size 77 pc 9007
refused posix_memalign 0 size 77 pc 9007
alloc realloc 5000 size 8 pc 9007
realloc realloc 5000 → 6000 size 32 pc 9007
refused realloc 6000 size 1152921504606846976 pc 9007
free realloc 6000 size 0 pc 9007
free free 5000 size 0 pc 9007`},
		{"a site whose allocators are told by calls", func(m *machine) {
			m.stop((fMalloc+1)*0x1000, Hit{SP: 900, Flags: Whole, Regs: Regs{Ret: 9007, Args: [6]uint64{24}}})
			m.stop((fMalloc+1)*0x1000+0x10, Hit{SP: 900, Flags: Whole, Result: 5000})
			m.whole(fMalloc, 900, 0, 24, 5000)
		}, "alloc malloc 5000 size 24 pc 9007"},
		{"a call in the place of a watched one that never returned", func(m *machine) {
			m.call(fInsert, 900, 1)
			m.whole(fMalloc, 900, 0, 24, 5000)
		}, "call 1(1) sp 900\nreturn 1 = 0 sp 900 unwound\nalloc malloc 5000 size 24 pc 9007"},
		{"two threads at once", func(m *machine) {
			m.call(fMalloc, 900, 1)
			m.h.Thread = 2
			m.call(fMalloc, 900, 2)
			m.uret(fMalloc, 900, 6000)
			m.h.Thread = 1
			m.uret(fMalloc, 900, 5000)
		}, "[2] alloc malloc 6000 size 2 pc 9007\nalloc malloc 5000 size 1 pc 9007"},
		{"declared allocator that clears its arena first", func(m *machine) {
			m.call(fMalloc, 900, 8)
			m.uret(fMalloc, 900, 3000)
			m.call(fGet, 900, 1)
			m.store(850, 3000, 1)
			m.store(850, 5000, 9) // so early that it is forgotten
			for i := range uint64(2 * maxHeld) {
				m.store(850, 10000+i, 0)
			}
			m.store(850, 5000, 2)
			m.store(850, 3000, 3)
			m.ret(fGet, 900, 5000)
		}, `
alloc malloc 3000 size 8 pc 9007
store 3000 size 1 01
store 3000 size 1 03
alloc pool_get 5000 size 16 pc 9007
store 5000 size 1 02`},
		{"declared allocator", func(m *machine) {
			m.call(fMalloc, 900, 8)
			m.uret(fMalloc, 900, 3000) // the pool's header: a live block
			m.call(fGet, 900, 1)
			m.call(fMalloc, 800, 160) // its arena: hidden
			m.uret(fMalloc, 800, 5000)
			m.store(850, 5000, 0xaa)     // into the block to be returned
			m.store(850, 5016, 0xbb)     // into another free one
			m.store(850, 3000, 1)        // the header
			m.store(850, 5008, 0xcc, 16) // into the block
			m.ret(fGet, 900, 5000)
			m.store(1000, 5000, 2)
			m.call(fPut, 900, 5000)
			m.store(850, 5000, 3) // its list
			m.store(850, 3000, 0)
			m.ret(fPut, 900, 0)
			m.store(1000, 5000, 4) // the program's use after free
		}, `
alloc malloc 3000 size 8 pc 9007
store 3000 size 1 01
unmap 5000 size 160
alloc pool_get 5000 size 16 pc 9007
store 5000 size 1 aa
store 5008 size 2 cc10
store 5000 size 1 02
free pool_put 5000 size 0 pc 9007
store 3000 size 1 00
store 5000 size 1 04`},
		{"a chunk that a declared allocator took ends with its pieces", func(m *machine) {
			m.call(fGet, 900, 1)
			m.call(fMalloc, 800, 160) // of 5000 on; its return may not be told
			m.ret(fGet, 900, 5016)
			m.call(fGet, 900, 1)
			m.ret(fGet, 900, 5048)
			m.call(fGet, 900, 1)
			m.ret(fGet, 900, 5160) // of another one
			m.call(fPut, 900, 5016)
			m.ret(fPut, 900, 0)
			m.call(fFree, 900, 4000) // something else
			m.ret(fFree, 900, 0)
			m.call(fFree, 900, 5000)
			m.ret(fFree, 900, 0)
		}, `
alloc pool_get 5016 size 16 pc 9007
alloc pool_get 5048 size 16 pc 9007
alloc pool_get 5160 size 16 pc 9007
free pool_put 5016 size 0 pc 9007
free free 4000 size 0 pc 9007
free free 5048 size 0 pc 9007
unmap 5000 size 160`},
		{"a chunk is not taken for one that begins in the block before it", func(m *machine) {
			m.call(fGet, 900, 1)
			m.call(fMalloc, 800, 16)
			m.uret(fMalloc, 800, 5000)
			m.ret(fGet, 900, 5000) // all of it
			m.call(fGet, 900, 1)
			m.call(fMalloc, 800, 160)
			m.uret(fMalloc, 800, 5032)
			m.ret(fGet, 900, 5032)
			m.call(fRealloc, 900, 5000, 64) // which moves a block, and no chunk
			m.ret(fRealloc, 900, 7000)
			m.call(fGet, 900, 1)
			m.call(fMalloc, 800, 16)
			m.uret(fMalloc, 800, 5000)
			m.ret(fGet, 900, 5000)
			m.call(fPut, 900, 5000)
			m.call(fFree, 800, 5000)
			m.uret(fFree, 800, 0)
			m.ret(fPut, 900, 0)
		}, `
alloc pool_get 5000 size 16 pc 9007
unmap 5032 size 160
alloc pool_get 5032 size 16 pc 9007
realloc realloc 5000 → 7000 size 64 pc 9007
alloc pool_get 5000 size 16 pc 9007
free pool_put 5000 size 0 pc 9007`},
		{"what is taken beside a piece is not its chunk: it may lie in the one before, as a deque's last element there", func(m *machine) {
			m.call(fGet, 900, 1)
			m.call(fMalloc, 800, 160)
			m.uret(fMalloc, 800, 5000)
			m.ret(fGet, 900, 5000)
			m.call(fGet, 900, 1)
			m.call(fMalloc, 800, 160) // the next chunk
			m.uret(fMalloc, 800, 6000)
			m.ret(fGet, 900, 5016)
			m.call(fGet, 900, 1)
			m.call(fFree, 800, 4900) // the deque's table, of which nothing was told
			m.uret(fFree, 800, 0)
			m.ret(fGet, 900, 6000)
			m.call(fFree, 900, 5000)
			m.ret(fFree, 900, 0)
		}, `
unmap 5000 size 160
alloc pool_get 5000 size 16 pc 9007
alloc malloc 6000 size 160 pc 8007
alloc pool_get 5016 size 16 pc 9007
unmap 6000 size 160
alloc pool_get 6000 size 16 pc 9007
free free 5016 size 0 pc 9007
free free 5000 size 0 pc 9007`},
		{"a chunk that moves leaves its pieces, and is not one of them", func(m *machine) {
			m.call(fGet, 900, 1)
			m.call(fMalloc, 800, 160)
			m.uret(fMalloc, 800, 5000)
			m.ret(fGet, 900, 5000)
			m.call(fGet, 900, 1)
			m.ret(fGet, 900, 5016)
			m.call(fRealloc, 900, 5000, 320)
			m.ret(fRealloc, 900, 7000)
		}, `
unmap 5000 size 160
alloc pool_get 5000 size 16 pc 9007
alloc pool_get 5016 size 16 pc 9007
free realloc 5000 size 0 pc 9007
free realloc 5016 size 0 pc 9007
alloc realloc 7000 size 320 pc 9007`},
		{"a chunk ends whose first piece was freed before", func(m *machine) {
			m.call(fGet, 900, 1)
			m.call(fMalloc, 800, 160)
			m.ret(fGet, 900, 5000)
			m.call(fGet, 900, 1)
			m.ret(fGet, 900, 5016)
			m.call(fPut, 900, 5000)
			m.ret(fPut, 900, 0)
			m.call(fFree, 900, 5000)
			m.ret(fFree, 900, 0)
		}, `
alloc pool_get 5000 size 16 pc 9007
alloc pool_get 5016 size 16 pc 9007
free pool_put 5000 size 0 pc 9007
free free 5016 size 0 pc 9007
unmap 5000 size 160`},
		{"a block that a declared allocator divides is none, and ends with its pieces", func(m *machine) {
			m.call(fMalloc, 900, 160)
			m.uret(fMalloc, 900, 5000)
			m.call(fMalloc, 900, 160)
			m.uret(fMalloc, 900, 6000)
			m.call(fGet, 900, 1)
			m.ret(fGet, 900, 5000)
			m.call(fGet, 900, 1)
			m.ret(fGet, 900, 5016)
			m.call(fFree, 900, 6000)
			m.ret(fFree, 900, 0)
			m.call(fFree, 900, 5000)
			m.ret(fFree, 900, 0)
		}, `
alloc malloc 5000 size 160 pc 9007
alloc malloc 6000 size 160 pc 9007
unmap 5000 size 160
alloc pool_get 5000 size 16 pc 9007
alloc pool_get 5016 size 16 pc 9007
free free 6000 size 0 pc 9007
free free 5016 size 0 pc 9007
free free 5000 size 0 pc 9007`},
		{"a declared allocator writes to what the program has", func(m *machine) {
			m.plan.Globals = []probe.Global{{Name: "last", Addr: 0x8000, Size: 16}}
			m.start(nil)
			m.call(fMalloc, 900, 8)
			m.uret(fMalloc, 900, 3000)
			m.call(fGet, 900, 1)
			m.store(850, 3000, 1)                           // a count: at once
			m.store(850, 0x8000, 0, 0x50, 0, 0, 0, 0, 0, 0) // the block that is to come: when it is there
			m.store(850, 0x8008, 1)                         // beside it: at once
			m.store(850, 0x8004, 0)                         // in it: behind it
			m.ret(fGet, 900, 0x5000)
			m.call(fGet, 900, 1)
			m.store(850, 0x8000, 0, 0x50, 0, 0, 0, 0, 0, 0) // one that is there
			m.ret(fGet, 900, 0x6000)
			m.call(fGet, 900, 1)
			m.ret(fGet, 900, 0x8000) // it is a chunk
			m.call(fPut, 900, 0x8000)
			m.store(850, 0x8000, 7) // the list of free ones
			m.store(850, 0x800f, 8)
			m.ret(fPut, 900, 0)
		}, `
alloc malloc 3000 size 8 pc 9007
store 3000 size 1 01
store 32776 size 1 01
alloc pool_get 20480 size 16 pc 9007
store 32768 size 8 0050000000000000
store 32772 size 1 00
store 32768 size 8 0050000000000000
alloc pool_get 24576 size 16 pc 9007
alloc pool_get 32768 size 16 pc 9007
free pool_put 32768 size 0 pc 9007`},
		{"what one thread's allocator has written another one's gives out", func(m *machine) {
			m.call(fGet, 900, 1)
			m.store(850, 5000, 1)
			m.store(850, 6000, 2)
			m.h.Thread = 2
			m.call(fGet, 900, 1)
			m.store(850, 5001, 3)
			m.ret(fGet, 900, 5000)
			m.store(950, 5000, 4)
			m.h.Thread = 1
			m.ret(fGet, 900, 6000)
		}, `
[2] alloc pool_get 5000 size 16 pc 9007
store 5000 size 1 01
[2] store 5001 size 1 03
[2] store 5000 size 1 04
alloc pool_get 6000 size 16 pc 9007
store 6000 size 1 02`},
		{"a declared free calls itself, and frees what is no piece", func(m *machine) {
			m.call(fMalloc, 900, 8)
			m.uret(fMalloc, 900, 3000)
			for _, p := range []uint64{5000, 6000} {
				m.call(fGet, 900, 1)
				m.ret(fGet, 900, p)
			}
			m.call(fPut, 900, 5000)
			m.call(fPut, 800, 6000)
			m.store(750, 6000, 1)
			m.call(fFree, 700, 3000)
			m.ret(fFree, 700, 0)
			m.ret(fPut, 800, 0)
			m.call(fPut, 800, 5000) // itself
			m.ret(fPut, 800, 0)
			m.ret(fPut, 900, 0)
		}, `
alloc malloc 3000 size 8 pc 9007
alloc pool_get 5000 size 16 pc 9007
alloc pool_get 6000 size 16 pc 9007
free pool_put 5000 size 0 pc 9007
free pool_put 6000 size 0 pc 8007
free free 3000 size 0 pc 7007`},
		{"a declared allocator evicts what is oldest", func(m *machine) {
			for _, p := range []uint64{0x5000, 0x6000} {
				m.call(fGet, 900, 1)
				m.ret(fGet, 900, p)
			}
			m.call(fGet, 900, 1)
			m.store(850, 0x6000, 0, 0x90, 0, 0, 0, 0, 0, 0) // leads to who knows what
			m.call(fPut, 800, 0x5000)
			m.store(750, 0x5000, 1)
			m.ret(fPut, 800, 0)
			m.ret(fGet, 900, 0x5000)
		}, `
alloc pool_get 20480 size 16 pc 9007
alloc pool_get 24576 size 16 pc 9007
store 24576 size 8 0090000000000000
free pool_put 20480 size 0 pc 8007
alloc pool_get 20480 size 16 pc 9007
store 20480 size 1 01`},
		{"what is given out inside of a declared allocator is a block of its own", func(m *machine) {
			m.call(fMalloc, 900, 8)
			m.uret(fMalloc, 900, 3000)
			m.call(fGet, 900, 1)
			m.call(fRealloc, 800, 3000, 16)
			m.ret(fRealloc, 800, 4000)
			m.call(fCalloc, 800, 3, 2) // a part of it
			m.ret(fCalloc, 800, 7000)
			m.store(850, 7000, 1)
			m.call(fCalloc, 800, 100, 1)
			m.jump(fCalloc, 800)
			m.hit(Hit{Op: Bulk, Index: fCopy, SP: 800, PC: 8007, Addr: 7100, Size: 104, Data: make([]byte, 100), Flags: More}) // memset, in fact
			m.hit(Hit{Op: Bulk, Index: fCopy, SP: 800, PC: 8007, Addr: 7100, Size: 104, Data: make([]byte, 4), Offset: 100})
			m.call(fMalloc, 800, 8) // which is freed again
			m.uret(fMalloc, 800, 8000)
			m.call(fFree, 800, 8000)
			m.ret(fFree, 800, 0)
			m.call(fGet, 800, 1) // which it gives out itself
			m.ret(fGet, 800, 5000)
			m.ret(fGet, 900, 5000)
		}, `
alloc malloc 3000 size 8 pc 9007
realloc realloc 3000 → 4000 size 16 pc 8007
alloc calloc 7000 size 6 pc 8007 zeroed
alloc calloc 7100 size 100 pc 8007 zeroed
alloc pool_get 5000 size 16 pc 9007
store 7000 size 1 01`},
		{"a declared allocator resizes by what it is made of", func(m *machine) {
			m.call(fResize, 900, 0, 16)
			m.call(fRealloc, 800, 0, 32)
			m.ret(fRealloc, 800, 5000)
			m.ret(fResize, 900, 5016) // behind a header
			m.call(fResize, 900, 5016, 24)
			m.call(fRealloc, 800, 5000, 40)
			m.ret(fRealloc, 800, 6000)
			m.store(850, 6000, 24)         // the header
			m.store(850, 6024, 9, 1, 2, 3) // of what was there
			m.store(850, 6031, 9, 8, 8)    // the first of these three bytes, too
			m.store(850, 6040, 9)          // behind the block
			m.ret(fResize, 900, 6016)
			m.call(fResize, 900, 6016, 1<<40)
			m.call(fRealloc, 800, 6000, 1<<40)
			m.ret(fRealloc, 800, 0)
			m.ret(fResize, 900, 0)
			m.call(fResize, 900, 6016, 0)
			m.call(fFree, 800, 6000)
			m.ret(fFree, 800, 0)
			m.ret(fResize, 900, 0)
			m.call(fResize, 900, 0, 0)
			m.ret(fResize, 900, 0)
		}, `
unmap 5000 size 32
alloc pool_resize 5016 size 16 pc 9007
unmap 6000 size 40
realloc pool_resize 5016 → 6016 size 24 pc 9007
store 6032 size 2 0808
refused pool_resize 6016 size 1099511627776 pc 9007
free pool_resize 6016 size 0 pc 9007`},
		{"a declared allocator resizes by others of its own", func(m *machine) {
			for _, p := range []uint64{5000, 7000} {
				m.call(fGet, 900, 1)
				m.ret(fGet, 900, p)
			}
			m.call(fResize, 900, 5000, 24)
			m.call(fGet, 800, 1)
			m.ret(fGet, 800, 6000)
			m.store(850, 6000, 1)
			m.store(850, 7000, 2) // another one of the program's
			m.call(fPut, 800, 5000)
			m.store(750, 5000, 3) // its list
			m.ret(fPut, 800, 0)
			m.store(850, 6016, 4)
			m.ret(fResize, 900, 6000)
			m.call(fResize, 900, 6000, 32) // in place
			m.store(850, 6008, 5)
			m.store(850, 6024, 6)
			m.ret(fResize, 900, 6000)
			m.call(fPut, 900, 6000)
			m.ret(fPut, 900, 0)
		}, `
alloc pool_get 5000 size 16 pc 9007
alloc pool_get 7000 size 16 pc 9007
store 7000 size 1 02
realloc pool_resize 5000 → 6000 size 24 pc 9007
store 6016 size 1 04
realloc pool_resize 6000 → 6000 size 32 pc 9007
store 6024 size 1 06
free pool_put 6000 size 0 pc 9007`},
		{"another thread is given what a declared allocator has given up", func(m *machine) {
			m.call(fGet, 900, 1)
			m.ret(fGet, 900, 5000)
			m.call(fResize, 900, 5000, 24)
			m.store(850, 6000, 1) // of what was there
			m.h.Thread = 2
			m.call(fGet, 2900, 1)
			m.ret(fGet, 2900, 5000)
			m.store(1000, 5000, 2)
			m.h.Thread = 1
			m.ret(fResize, 900, 6000)
		}, `
alloc pool_get 5000 size 16 pc 9007
free pool_resize 5000 size 0 pc 9007
[2] alloc pool_get 5000 size 16 pc 29007
[2] store 5000 size 1 02
alloc pool_resize 6000 size 24 pc 9007
store 6000 size 1 01`},
		{"a declared allocator takes over a block of the library's, and gives it back", func(m *machine) {
			m.call(fMalloc, 900, 8)
			m.uret(fMalloc, 900, 5000)
			m.call(fResize, 900, 5000, 16)
			m.call(fMalloc, 800, 16)
			m.uret(fMalloc, 800, 6000)
			m.call(fFree, 800, 5000)
			m.ret(fFree, 800, 0)
			m.ret(fResize, 900, 6000)
			m.call(fFree, 900, 6000)
			m.ret(fFree, 900, 0)
		}, `
alloc malloc 5000 size 8 pc 9007
realloc pool_resize 5000 → 6000 size 16 pc 9007
free free 6000 size 0 pc 9007`},
		{"watched calls nest and return", func(m *machine) {
			m.call(fInsert, 900, 1)
			m.call(fInsert, 800, 2)
			m.ret(fInsert, 800, 20)
			m.call(fBalance, 800, 3)
			m.ret(fBalance, 800, 30)
			m.ret(fInsert, 900, 10)
		}, `
call 1(1) sp 900
call 1(2) sp 800
return 1 = 20 sp 800
call 2(3) sp 800
return 2 = 30 sp 800
return 1 = 10 sp 900`},
		{"a return from before recording", func(m *machine) {
			m.ret(fInsert, 900, 1)
			m.call(fInsert, 800, 2)
			m.ret(fInsert, 1000, 3)
		}, "call 1(2) sp 800\nreturn 1 = 0 sp 800 unwound"},
		{"frames left by an exception", func(m *machine) {
			m.call(fInsert, 900, 1)
			m.call(fBalance, 800, 2)
			m.store(850, 1, 1) // in insert
			m.ret(fInsert, 900, 10)
		}, `
call 1(1) sp 900
call 2(2) sp 800
return 2 = 0 sp 800 unwound
store 1 size 1 01
return 1 = 10 sp 900`},
		{"called again from the same place", func(m *machine) {
			m.call(fInsert, 900, 1)
			m.call(fInsert, 900, 2)
			m.ret(fInsert, 900, 10)
		}, "call 1(1) sp 900\nreturn 1 = 0 sp 900 unwound\ncall 1(2) sp 900\nreturn 1 = 10 sp 900"},
		{"a jump to a watched function", func(m *machine) {
			m.call(fInsert, 900, 1)
			m.jump(fInsert, 900)
			m.call(fBalance, 900, 2)
			m.ret(fBalance, 900, 10)
		}, "call 1(1) sp 900\ncall 2(2) sp 900\nreturn 2 = 10 sp 900\nreturn 1 = 10 sp 900"},
		{"a jump to another function is left when the caller goes on", func(m *machine) {
			m.call(fInsert, 900, 1)
			m.jump(fInsert, 900)
			m.store(880, 1, 1)
			m.store(1000, 2, 2)
		}, "call 1(1) sp 900\nstore 1 size 1 01\nreturn 1 = 0 sp 900 unwound\nstore 2 size 1 02"},
		{"such a function in a loop", func(m *machine) {
			for range 3 {
				m.call(fInsert, 900, 1)
				m.jump(fInsert, 900)
			}
		}, `
call 1(1) sp 900
return 1 = 0 sp 900 unwound
call 1(1) sp 900
return 1 = 0 sp 900 unwound
call 1(1) sp 900`},
		{"a coroutine's stack is another one", func(m *machine) {
			m.call(fInsert, 900, 1)
			m.store(1<<40, 1, 1)
			m.ret(fInsert, 900, 10)
		}, "call 1(1) sp 900\nstore 1 size 1 01\nreturn 1 = 10 sp 900"},
		{"points", func(m *machine) {
			m.stop(0x500, Hit{SP: 900, Regs: Regs{BX: 7, Args: [6]uint64{1, 40}}})
		}, "line 1\nline 2 sp 916 inline"},
		{"an inlined call begins", func(m *machine) {
			m.stop(0x510, Hit{SP: 900, Stack: []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}, Result: 5, Regs: Regs{Args: [6]uint64{11, 12, 13, 14, 15, 16}, BX: 17, BP: 18, R12: 19, R13: 20, R14: 6, R15: 21}})
		}, "passed registers 5 13 14 17 12 11 18 900 15 16 0 0 19 20 6 21 1296 1\nline 3 sp 900 inline"},
		{"flags of a store", func(m *machine) {
			m.hit(Hit{Op: Store, Index: 1, SP: 900, Addr: 1, Size: 1, Data: []byte{1}, Flags: Late})
		}, "store 1 size 1 01 late atomic"},
		{"chunks", func(m *machine) {
			m.hit(Hit{Op: Bulk, Index: fCopy, Addr: 100, Size: 6, Data: []byte{1, 2}, Flags: More})
			m.hit(Hit{Op: Bulk, Index: fCopy, Addr: 100, Size: 6, Data: []byte{3, 4}, Flags: More, Offset: 2})
			m.hit(Hit{Op: Bulk, Index: fCopy, Addr: 100, Size: 6, Data: []byte{5, 6}, Offset: 4})
		}, "bulk memcpy 100 size 6 010203040506"},
		{"a chunk that can not be read", func(m *machine) {
			m.hit(Hit{Op: Bulk, Index: fCopy, Addr: 100, Size: 6, Data: []byte{1, 2}, Flags: More})
			m.hit(Hit{Op: Bulk, Index: fCopy, Addr: 100, Size: 6, Data: []byte{0, 0}, Flags: More | Unread, Offset: 2})
			m.hit(Hit{Op: Bulk, Index: fCopy, Addr: 100, Size: 6, Data: []byte{5, 6}, Offset: 4})
		}, "bulk memcpy 100 size 2 0102\nunread memcpy 102 size 2\nbulk memcpy 104 size 2 0506"},
		{"a chunk that was lost", func(m *machine) {
			m.hit(Hit{Op: Bulk, Index: fCopy, Addr: 100, Size: 6, Data: []byte{1, 2}, Flags: More})
			m.hit(Hit{Op: Bulk, Index: fCopy, Addr: 100, Size: 6, Data: []byte{5, 6}, Offset: 4})
		}, "bulk memcpy 100 size 2 0102\nunread memcpy 102 size 2\nbulk memcpy 104 size 2 0506"},
		{"the last chunks were lost", func(m *machine) {
			m.hit(Hit{Op: Bulk, Index: fCopy, Addr: 100, Size: 6, Data: []byte{1, 2}, Flags: More})
			m.store(900, 1, 1)
		}, "bulk memcpy 100 size 2 0102\nunread memcpy 102 size 4\nstore 1 size 1 01"},
		{"a write too large to read whole", func(m *machine) {
			m.hit(Hit{Op: Bulk, Index: fCopy, Addr: 100, Size: 6, Data: []byte{1, 2}, Flags: Partial})
		}, "bulk memcpy 100 size 6 0102 partial"},
		{"an unreadable store", func(m *machine) {
			m.hit(Hit{Op: Store, SP: 900, Addr: 100, Size: 4, Data: make([]byte, 4), Flags: Unread})
		}, "unread memory could not be read 100 size 4"},
		{"a masked store", func(m *machine) {
			m.hit(Hit{Op: Store, SP: 900, Addr: 100, Size: 4, Flags: Masked, Data: []byte{1, 2, 3, 4, 9, 9, 9, 9, 1, 0, 0, 4, 9, 9, 9, 9}})
			m.hit(Hit{Op: Store, SP: 900, Addr: 100, Size: 4, Flags: Masked, Data: []byte{1, 2, 3, 4, 1, 2, 3, 4}})
			m.hit(Hit{Op: Store, SP: 900, Addr: 100, Size: 4, Flags: Masked, Data: []byte{0, 2, 3, 0, 1, 2, 3, 4}})
		}, "store 101 size 2 0203\nstore 100 size 1 00\nstore 103 size 1 00"},
		{"the rest", func(m *machine) {
			m.hit(Hit{Op: Thread, Thread: 1})
			m.hit(Hit{Op: Syscall, Index: 0, Addr: 100, Size: 1, Data: []byte{1}})
			m.hit(Hit{Op: Map, Addr: 4096, Size: 4096})
			m.hit(Hit{Op: Unmap, Addr: 4096, Size: 4096})
			m.hit(Hit{Op: Break, Addr: 300, Base: 100})
			m.hit(Hit{Op: Break, Addr: 100, Base: 300})
			m.hit(Hit{Op: Fork, Index: 77})
			m.hit(Hit{Op: Fork, Index: 78, Flags: Shares})
			m.hit(Hit{Op: Lost, Size: 5})
			m.hit(Hit{Op: Signal, Index: 11, Addr: 4})
			m.hit(Hit{Op: ThreadExit})
			m.hit(Hit{Op: Exit, Index: 256})
			m.hit(Hit{Op: Exec})
		}, `
thread-start
syscall 100 size 1 01
map 4096 size 4096
unmap 4096 size 4096
map 100 size 200
unmap 100 size 200
fork 77
fork 78 shares
lost 5
signal 11
thread-exit
exit 256
exec`},
		{"a hit that does not fit the plan", func(m *machine) {
			m.hit(Hit{Op: Store, Index: 99})
		}, "error: hit of kind 1: no index 99 in 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(nil)
			c.play(m)
			want := strings.TrimSpace(c.want)
			if got := strings.Join(m.got, "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// The unwinder sees the stack with the return addresses that uretprobes
// replaced, and registers as they are after the return. Where a watched function
// is not left through one, nothing was replaced.
func TestBacktrace(t *testing.T) {
	var words []uint64
	m := newMachine(func(regs *objfile.Regs, stack *Window) []trace.Addr {
		if regs.PC() != 77 || regs.SP() != 808 || regs.R[3] != 33 || regs.R[12] != 12 {
			t.Errorf("registers %+v", regs)
		}
		var b [8]byte
		for a := uint64(800); stack.Read(a, b[:]); a += 8 {
			words = append(words, uint64(b[0]))
		}
		return []trace.Addr{77, 78}
	})
	m.stop((fInsert+1)*0x1000, Hit{SP: 824, Regs: Regs{Ret: 5}})
	m.stop((fBalance+1)*0x1000, Hit{SP: 808, Regs: Regs{Ret: 7}})
	m.asm.plan.Funcs[fInsert].Uretprobe = true
	stack := make([]byte, 40)
	for i := range 5 {
		stack[8*i] = byte(100 + i)
	}
	m.asm.sink = func(e *trace.Event) error {
		if diff := cmp.Diff([]trace.Addr{77, 78}, e.Stack); diff != "" {
			t.Error(diff)
		}
		return nil
	}
	m.stop((fFree+1)*0x1000, Hit{
		SP: 800, Stack: stack, Size: 832, Base: 6,
		Regs: Regs{Ret: 77, Args: [6]uint64{5000}, BX: 33, R12: 12},
	})
	if diff := cmp.Diff([]uint64{100, 101, 102, 5, 6}, words); diff != "" {
		t.Error(diff)
	}
}

func TestAround(t *testing.T) {
	at := probe.Site{Addr: 0x600, Offset: 0x600}
	plan := testPlan()
	plan.Stacks = []probe.Site{at}
	sites := Sites(plan)
	var got []string
	asm := New(plan, sites, func(regs *objfile.Regs, _ *Window) []trace.Addr {
		if regs.PC() != 0x601 || regs.SP() != 800 || regs.R[objfile.RegBP] != 840 {
			t.Errorf("registers %+v", regs)
		}
		return []trace.Addr{0x601, 77}
	}, func(e *trace.Event) error {
		got = append(got, fmt.Sprintf("%v %#x %x", e.Kind, e.PC, e.Stack))
		return nil
	})
	for i := range sites {
		if sites[i].Offset == at.Offset {
			h := Hit{Op: Stop, Index: i, Thread: 1, PC: 0x600, SP: 800, Stack: make([]byte, 64), Regs: Regs{BP: 840}}
			for _, h.Stack = range [][]byte{h.Stack, nil} { // inside an allocator there is none
				if err := asm.Hit(&h); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if diff := cmp.Diff([]string{"around 0x600 [601 4d]"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSites(t *testing.T) {
	at := func(off uint64) probe.Site { return probe.Site{Addr: off, Offset: off} }
	p := &probe.Plan{
		Images: []*probe.Image{{}},
		Stores: []probe.Store{
			{Site: at(20), After: at(24)},
			{Site: at(24)},
			{Site: at(30), After: at(34), AfterOnly: true},
		},
		Funcs:  []probe.Func{{Entry: at(10), Returns: []probe.Site{at(34)}}, {Entry: at(10)}},
		Points: []probe.Point{{Site: at(10)}, {Site: at(24)}},
	}
	want := []Site{
		{Site: at(10), Store: -1, Locked: -1, Enter: []int{0, 1}, Points: []int{0}},
		{Site: at(20), Store: 0, Locked: -1},
		{Site: at(24), Store: 1, Locked: -1, After: true, Points: []int{1}},
		{Site: at(34), Store: -1, Locked: 2, Leave: []int{0}},
	}
	if diff := cmp.Diff(want, Sites(p)); diff != "" {
		t.Error(diff)
	}
}

func TestBlocks(t *testing.T) {
	b := newBlocks()
	b.add(4000, 200, 0) // over a page boundary
	b.add(10, 0, 0)
	for _, c := range []struct {
		addr uint64
		want bool
	}{{3999, false}, {4000, true}, {4199, true}, {4200, false}, {10, false}} {
		if got := b.contains(c.addr); got != c.want {
			t.Errorf("contains(%d) = %v", c.addr, got)
		}
	}
	b.add(4000, 8, 0)
	if b.contains(4100) {
		t.Error("a smaller block took the place of a larger one")
	}
	b.removeRange(0, 1<<20)
	if len(b.at) != 0 || len(b.pages) != 0 {
		t.Errorf("left: %v %v", b.at, b.pages)
	}
}

// A hit costs no allocation of memory once its thread is known.
func BenchmarkStore(b *testing.B) {
	m := newMachine(nil)
	m.asm.sink = func(*trace.Event) error { return nil }
	h := Hit{Op: Store, Thread: 1, SP: 900, Addr: 100, Size: 8, Data: make([]byte, 8)}
	b.ReportAllocs()
	for b.Loop() {
		if err := m.asm.Hit(&h); err != nil {
			b.Fatal(err)
		}
	}
}

// Calls that recording finds open return like others; the returns of those that
// it does not know of are ignored, allocators' too.
func TestOpen(t *testing.T) {
	m := newMachine(nil)
	m.plan.Open = []probe.OpenCall{{Thread: 1, Func: fInsert, SP: 900, Ret: 7}, {Thread: 1, Func: fBalance, SP: 800}, {Thread: 2, Func: fInsert, SP: 500}}
	m.asm = New(m.plan, m.sites, nil, func(e *trace.Event) error {
		m.got = append(m.got, show(e))
		return nil
	})
	m.uret(fMalloc, 700, 5000) // its entry was not seen
	m.ret(fFree, 700, 0)
	m.ret(fBalance, 700, 1) // nor was this call found
	m.call(fInsert, 600, 3)
	m.ret(fInsert, 600, 4)
	m.ret(fBalance, 800, 5)
	m.ret(fInsert, 900, 6)
	m.h.Thread = 2
	m.ret(fInsert, 500, 8)
	want := []string{"call 1(3) sp 600", "return 1 = 4 sp 600", "return 2 = 5 sp 800", "return 1 = 6 sp 900", "[2] return 1 = 8 sp 500"}
	if d := cmp.Diff(want, m.got); d != "" {
		t.Error(d)
	}
}

// TestBeside: calls of functions that nobody named are told so many times. Then those that are open end, and no more are told.
func TestBeside(t *testing.T) {
	m := newMachine(nil)
	m.plan.Operations = []string{"insert", "balance"}
	for i := range m.plan.Funcs {
		m.plan.Funcs[i].Beside = m.plan.Funcs[i].Role == probe.RoleWatch
	}
	m.asm = New(m.plan, m.sites, nil, func(e *trace.Event) error {
		m.got = append(m.got, show(e))
		return nil
	})
	m.h.Thread = 2
	m.call(fInsert, 500, 1)
	m.h.Thread = 1
	for i := range probe.MaxCalls - 2 {
		m.call(fInsert, 600, uint64(i))
		m.ret(fInsert, 600, 0)
	}
	m.call(fInsert, 600, 7)
	if m.asm.Quiet() {
		t.Error("quiet too early")
	}
	m.got = nil
	m.call(fBalance, 500, 8)
	m.ret(fBalance, 500, 0)
	m.ret(fInsert, 600, 0)
	m.h.Thread = 2
	m.ret(fInsert, 500, 0)
	want := []string{"return 1 = 0 sp 600 unwound", "[2] return 1 = 0 sp 500 unwound", "quiet"}
	if d := cmp.Diff(want, m.got); d != "" || !m.asm.Quiet() {
		t.Error(d)
	}
}

// An allocator that is watched, too, returns when its block is there, and is called to free one that is.
func TestWatchedAllocator(t *testing.T) {
	m := newMachine(nil)
	both := func(alloc int) {
		f := m.plan.Funcs[alloc]
		f.Role, f.ID, f.Declared = probe.RoleWatch, 9, false
		m.plan.Funcs = slices.Insert(m.plan.Funcs, 0, f) // before the allocator
	}
	both(fPut)
	both(fGet + 1)
	m.sites = Sites(m.plan)
	m.start(nil)
	m.call(fGet, 900, 1)
	m.ret(fGet, 900, 5000)
	m.call(fPut, 900, 5000)
	m.ret(fPut, 900, 0)
	want := []string{
		"call 9(1) sp 900", "alloc pool_get 5000 size 16 pc 9007", "return 9 = 5000 sp 900",
		"call 9(5000) sp 900", "free pool_put 5000 size 0 pc 9007", "return 9 = 0 sp 900",
	}
	if diff := cmp.Diff(want, m.got); diff != "" {
		t.Error(diff)
	}
}
