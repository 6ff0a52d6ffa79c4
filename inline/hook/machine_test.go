package hook_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mgtrace/capture"
	"mgtrace/inline/hook"
	"mgtrace/inline/layout"
	"mgtrace/inline/log"
	"mgtrace/inline/matter"
	"mgtrace/probe"
	"mgtrace/trace"
)

// Where things lie in the driver.
const (
	codeAt    = 0x1000_0000
	blockAt   = 0x2000_0000
	processAt = 0x2001_0000
	sitesAt   = 0x2002_0000
	storesAt  = 0x2003_0000
	funcsAt   = 0x2004_0000
	callsAt   = 0x2005_0000
	verdictAt = 0x2006_0000
	regsAt    = 0x2007_0000
	bufferAt  = 0x2100_0000
	firstAt   = 0x2200_0000 // of machine.offer
	heapAt    = 0x3000_0000 // of the program
	heapSize  = 0x4_0000    // nothing is mapped behind it
	stackAt   = 0x3010_0000
	stackSize = 0x1_0000
	shadowAt  = 0x4000_0000 // the table's byte 0; the heap's part is mapped
	lengthsAt = 0x5000_0000

	progCode = 0x40_0000 // return addresses of the program
	libCode  = 0x7000_0000
	thread   = 7
)

// The registers by ModRM number.
const (
	rax = iota
	rcx
	rdx
	rbx
	rsp
	rbp
	rsi
	rdi
	r8
	r9
	r10
	flags = 16 // RFLAGS
)

// driverDir holds the compiled driver.
var driverDir string

func TestMain(m *testing.M) {
	var err error
	if driverDir, err = os.MkdirTemp("", "driver"); err != nil {
		panic(err)
	}
	status := m.Run()
	os.RemoveAll(driverDir)
	os.Exit(status)
}

var driver = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(driverDir, "driver")
	out, err := exec.Command("gcc", "-O1", "-Wall", "-pthread", "-o", bin, "testdata/driver.c").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("gcc: %w\n%s", err, out)
	}
	return bin, nil
})

// machine is a process in which the routine runs.
type machine struct {
	t       testing.TB
	in      *bufio.Writer
	out     *bufio.Reader
	plan    *probe.Plan
	sites   []capture.Site
	tables  *hook.Tables
	numbers []int // hook site of each site
	next    int   // hook site of the next system call
	regs    [18]uint64
	merger  *log.Merger
	got     []string
	data    []byte
	swaps   uint64
	faults  uint64
}

// newMachine starts one with a buffer of size bytes.
func newMachine(t testing.TB, plan *probe.Plan, tails map[uint64]bool, size int, members ...matter.Member) *machine {
	t.Helper()
	bin, err := driver()
	if err != nil {
		t.Skipf("no driver: %v", err)
	}
	cmd := exec.Command(bin)
	var errs strings.Builder
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil || errs.Len() > 0 {
			t.Errorf("driver: %v %s", err, errs.String())
		}
	})
	m := &machine{t: t, in: bufio.NewWriter(in), out: bufio.NewReader(out), plan: plan, sites: capture.Sites(plan)}
	for i := range m.sites {
		m.sites[i].Tail = tails[m.sites[i].Offset]
	}
	m.tables = hook.New(plan, func(int) (lo, hi uint64) { return libCode, libCode + 0x100_0000 }, members)
	for i := range m.sites {
		m.numbers = append(m.numbers, m.tables.Add(m.sites, i, m.pc(i), false))
	}
	m.next = m.tables.AddSyscall(progCode + 0x9002)
	m.setUp(size)
	m.merger = log.NewMerger(log.NewTable(plan, false), log.Options{}, m)
	m.merger.Start(thread, 0, log.Range{})
	return m
}

func (m *machine) pc(site int) uint64 {
	s := &m.sites[site]
	return m.plan.Images[s.Image].Bias + s.Addr
}

func (m *machine) setUp(size int) {
	const rw, rwx = 3, 7
	m.mmap(codeAt, 0x1_0000, rwx)
	m.write(codeAt, hook.Code)
	m.mmap(blockAt, 0x8_0000, rw)
	m.mmap(heapAt, heapSize, rw)
	m.mmap(stackAt, stackSize, rw)
	m.mmap(shadowAt+heapAt>>4, heapSize>>4, rw)
	m.mmap(lengthsAt+heapAt>>4, heapSize>>4, rw)
	buffer := uint64(bufferAt - size&0xfff) // it ends at the end of a page
	m.mmap(buffer&^0xfff, (uint64(size)+0x1fff)&^0xfff, rw)
	buffer = (buffer&^0xfff + (uint64(size)+0x1fff)&^0xfff) - uint64(size)
	var fix []uint64
	for off := range uint64(len(hook.Code)) { // the table, by what it says
		if on, ok := hook.Fixup(off); ok {
			fix = append(fix, off, off+1, on)
		}
	}
	n := len(fix) / 3
	m.command('c', append([]uint64{codeAt, hook.SwapAt, hook.SwapEnd, uint64(n)}, fix...)...)
	m.poke(blockAt+layout.Cursor, buffer)
	m.poke(blockAt+layout.End, buffer+uint64(size))
	m.poke(blockAt+layout.Process, processAt)
	m.poke(blockAt+layout.HookSP, blockAt+layout.BlockSize+layout.HookStack)
	m.poke(blockAt+layout.StackLo, stackAt)
	m.poke(blockAt+layout.StackHi, stackAt+stackSize)
	m.poke(processAt+layout.Funcs, funcsAt)
	m.poke(processAt+layout.Sites, sitesAt)
	m.poke(processAt+layout.Stores, storesAt)
	m.poke(processAt+layout.Syscalls, callsAt)
	m.poke(processAt+layout.StackBytes, 64)
	m.poke(processAt+layout.MaxData, 0x8000)
	m.write(funcsAt, m.tables.Funcs)
	m.write(sitesAt, m.tables.Sites)
	m.write(storesAt, m.tables.Stores)
	m.write(callsAt, hook.Syscalls())
	m.command('g', blockAt, buffer, uint64(size))
}

func (m *machine) command(c byte, numbers ...uint64) {
	m.in.WriteByte(c)
	for _, n := range numbers {
		m.in.Write(binary.LittleEndian.AppendUint64(nil, n))
	}
}

func (m *machine) mmap(addr, size, prot uint64) { m.command('m', addr, size, prot) }

func (m *machine) write(addr uint64, b []byte) {
	m.command('w', addr, uint64(len(b)))
	m.in.Write(b)
}

func (m *machine) text(addr uint64, s string) { m.write(addr, []byte(s+"\x00")) }

func (m *machine) poke(addr, v uint64) { m.write(addr, binary.LittleEndian.AppendUint64(nil, v)) }

func (m *machine) read(addr uint64, n int) []byte {
	m.command('r', addr, uint64(n))
	m.in.Flush()
	b := make([]byte, n)
	if _, err := io.ReadFull(m.out, b); err != nil {
		m.t.Fatal(err)
	}
	return b
}

func (m *machine) peek(addr uint64) uint64 { return binary.LittleEndian.Uint64(m.read(addr, 8)) }

// hook runs the routine with the registers as they are.
func (m *machine) hook(number, phase int) {
	m.writeRegs()
	m.command('h', regsAt, uint64(number), uint64(phase))
}

func (m *machine) writeRegs() {
	b := make([]byte, layout.RegsSize)
	for i, r := range m.regs {
		binary.LittleEndian.PutUint64(b[8*i:], r)
	}
	m.write(regsAt, b)
}

// at is the site at an address of the program or the library.
func (m *machine) at(addr uint64) int {
	for i := range m.sites {
		if m.sites[i].Offset == addr {
			return i
		}
	}
	m.t.Fatalf("no site at %#x", addr)
	return 0
}

// call enters function f from an address of the program, with the return address
// at sp.
func (m *machine) call(f int, sp, from uint64, args ...uint64) {
	m.poke(sp, from)
	m.jump(f, sp, args...)
}

// jump enters function f as it is entered by a jump.
func (m *machine) jump(f int, sp uint64, args ...uint64) {
	m.regs[rsp] = sp
	for i, a := range args {
		m.regs[[...]int{rdi, rsi, rdx, rcx, r8, r9}[i]] = a
	}
	m.hook(m.numbers[m.at(m.plan.Funcs[f].Entry.Offset)], 0)
}

// ret returns from function f by its return n.
func (m *machine) ret(f, n int, sp, result uint64) {
	m.regs[rsp], m.regs[rax] = sp, result
	m.hook(m.numbers[m.at(m.plan.Funcs[f].Returns[n].Offset)], 0)
}

// malloc has an allocator be called from an address, and give out a block.
func (m *machine) malloc(from, addr, size uint64) {
	m.call(fMalloc, sp0, from, size)
	m.ret(fMalloc, 0, sp0, addr)
}

func (m *machine) free(from, addr uint64) {
	m.call(fFree, sp0, from, addr)
	m.ret(fFree, 0, sp0, 0)
}

func (m *machine) realloc(from, addr, size, to uint64) {
	m.call(fRealloc, sp0, from, addr, size)
	m.ret(fRealloc, 0, sp0, to)
}

// copied has memcpy write n bytes.
func (m *machine) copied(from, to, n uint64) {
	m.call(fMemcpy, sp0, from, to, 0, n)
	m.ret(fMemcpy, 0, sp0, to)
}

// syscall executes one that gives result, writing memory by effect.
func (m *machine) syscall(nr, result uint64, effect func(), args ...uint64) {
	for i, a := range args {
		m.regs[[...]int{rdi, rsi, rdx, r10, r8, r9}[i]] = a
	}
	m.regs[rax] = nr
	m.hook(m.next, 0)
	if effect != nil {
		effect()
	}
	m.regs[rax] = result
	m.hook(m.next, 1)
}

// store executes the complex store i of the plan.
func (m *machine) store(i int, effect func()) {
	n := m.numbers[m.at(m.plan.Stores[i].Offset)]
	m.hook(n, 0)
	if effect != nil {
		effect()
	}
	m.hook(n, 1)
}

// log reads what the routine has recorded and returns it in words.
func (m *machine) log() []string {
	m.t.Helper()
	m.command('l')
	m.in.Flush()
	var head [24]byte
	if _, err := io.ReadFull(m.out, head[:]); err != nil {
		m.t.Fatal(err)
	}
	m.swaps, m.faults = binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(head[8:])
	buf := make([]byte, binary.LittleEndian.Uint64(head[16:]))
	if _, err := io.ReadFull(m.out, buf); err != nil {
		m.t.Fatal(err)
	}
	return m.told(buf)
}

// told returns what a log says, in words.
func (m *machine) told(buf []byte) []string {
	m.t.Helper()
	m.got = nil
	if err := m.merger.Add(thread, buf, false); err != nil {
		m.t.Fatal(err)
	}
	if err := m.merger.Cut(0); err != nil {
		m.t.Fatalf("%v\n%x", err, buf)
	}
	return m.got
}

// offer has the routine begin in a buffer before the usual one, of size bytes, which it is
// to leave for that when it has written turn of them.
func (m *machine) offer(size, turn uint64) {
	m.mmap(firstAt, (size+0xfff)&^0xfff, 3)
	m.poke(blockAt+layout.Next, m.peek(blockAt+layout.Cursor))
	m.poke(blockAt+layout.NextEnd, m.peek(blockAt+layout.End))
	m.poke(blockAt+layout.Turn, firstAt+turn)
	m.poke(blockAt+layout.Cursor, firstAt)
	m.poke(blockAt+layout.End, firstAt+size)
}

// first is what the routine has written to that buffer before it left it.
func (m *machine) first() []byte {
	m.t.Helper()
	if m.peek(blockAt+layout.Next) != 0 {
		m.t.Fatal("it has not left the first buffer")
	}
	return m.read(firstAt, int(m.peek(blockAt+layout.Left)-firstAt))
}

func (m *machine) Stores(s *trace.Stores) error {
	return fmt.Errorf("%d stores, where the routine writes none", len(s.Recs))
}

// Hit takes a hit. The chunks of a write are joined: where a buffer ends must
// not matter.
func (m *machine) Hit(h *capture.Hit) error {
	if h.Thread != thread {
		return fmt.Errorf("thread %d", h.Thread)
	}
	var data []byte
	switch h.Op {
	case capture.Store, capture.Bulk, capture.Syscall, capture.Found:
		if h.Flags&capture.Unread != 0 {
			m.say(h, fmt.Sprintf("%x and %d unread", m.data, len(h.Data)))
			m.data = nil
			return nil
		}
		if h.Offset != uint64(len(m.data)) {
			return fmt.Errorf("a chunk at %d, %d bytes came before", h.Offset, len(m.data))
		}
		m.data = append(m.data, h.Data...)
		if h.Flags&capture.More != 0 {
			return nil
		}
		data, m.data = m.data, nil
	}
	m.say(h, fmt.Sprintf("%x", data))
	return nil
}

var opNames = map[capture.Op]string{
	capture.Store: "store", capture.Bulk: "bulk", capture.Syscall: "syscall", capture.Stop: "stop",
	capture.Return: "return", capture.Map: "map", capture.Unmap: "unmap", capture.Break: "break", capture.Lost: "lost", capture.Alloc: "alloc", capture.Found: "found",
}

func (m *machine) say(h *capture.Hit, data string) {
	var b strings.Builder
	b.WriteString(opNames[h.Op])
	switch h.Op {
	case capture.Stop:
		s := &m.sites[h.Index]
		fmt.Fprintf(&b, " %x pc %x sp %x = %x from %x (%x %x)", s.Offset, h.PC, h.SP, h.Result, h.Regs.Ret, h.Regs.Args[0], h.Regs.Args[5])
		if h.Base != 0 {
			fmt.Fprintf(&b, " block %x", h.Base)
		}
		if len(h.Stack) > 0 {
			fmt.Fprintf(&b, " stack %d %x", len(h.Stack), h.Stack[:8])
		}
	case capture.Alloc:
		fmt.Fprintf(&b, " %s sp %x from %x (%x %x) = %x", m.plan.Funcs[h.Index].Name, h.SP, h.Regs.Ret, h.Addr, h.Size, h.Result)
		if len(h.Stack) > 0 {
			fmt.Fprintf(&b, " stack %d %x rbp %x", len(h.Stack), h.Stack[:8], h.Regs.BP)
		}
		if h.Calls != nil {
			fmt.Fprintf(&b, " known %x", h.Calls[1])
		}
	case capture.Bulk, capture.Return:
		fmt.Fprintf(&b, " %s", m.plan.Funcs[h.Index].Name)
	default:
		fmt.Fprintf(&b, " %d", h.Index)
	}
	switch h.Op {
	case capture.Return:
		fmt.Fprintf(&b, " sp %x = %x", h.SP, h.Result)
	case capture.Store, capture.Bulk, capture.Syscall, capture.Found:
		fmt.Fprintf(&b, " %x+%d base %x pc %x: %s", h.Addr, h.Size, h.Base, h.PC, data)
	case capture.Map, capture.Unmap, capture.Break, capture.Lost:
		fmt.Fprintf(&b, " %x+%d base %x", h.Addr, h.Size, h.Base)
	}
	for _, f := range []struct {
		flag capture.HitFlags
		name string
	}{
		{capture.Late, "late"}, {capture.Masked, "masked"}, {capture.Nested, "nested"}, {capture.Partial, "partial"}, {capture.Whole, "whole"},
	} {
		if h.Flags&f.flag != 0 {
			b.WriteString(" " + f.name)
		}
	}
	m.got = append(m.got, b.String())
}
