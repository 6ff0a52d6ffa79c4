package bpf

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mgtrace/capture"
	"mgtrace/objfile"
	"mgtrace/probe"
	"mgtrace/target"
	"mgtrace/trace"
)

// memory replays a recording: what the bytes of live blocks must be.
type memory struct {
	blocks map[trace.Addr]uint64       // sizes
	bytes  map[trace.Addr]map[int]byte // what was written to a block, by offset
	pages  map[trace.Addr][]trace.Addr // blocks that touch a page
	pc     map[trace.Addr]trace.Addr   // who asked for them
	who    map[trace.Addr]string       // how blocks came to be
	wild   int                         // writes outside all blocks
	// stores of the program that the plan says it does not capture
	unprobed int
}

func newMemory() *memory {
	return &memory{
		blocks: make(map[trace.Addr]uint64),
		pc:     make(map[trace.Addr]trace.Addr),
		who:    make(map[trace.Addr]string),
		bytes:  make(map[trace.Addr]map[int]byte),
		pages:  make(map[trace.Addr][]trace.Addr),
	}
}

func (m *memory) take(e *trace.Event) error {
	switch e.Kind {
	case trace.KindAlloc:
		m.pc[e.Addr] = e.PC
		m.who[e.Addr] = fmt.Sprintf("%s %d at %#x, thread %d", e.Name, e.Size, e.Stack, e.Thread)
		m.birth(e.Addr, e.Size, nil, e.Flags&trace.FlagZeroed != 0)
	case trace.KindFree:
		delete(m.blocks, e.Addr)
		delete(m.bytes, e.Addr)
	case trace.KindRealloc:
		m.pc[e.Addr] = e.PC
		m.who[e.Addr] = fmt.Sprintf("%s %d at %#x, thread %d", e.Name, e.Size, e.Stack, e.Thread)
		old := m.bytes[trace.Addr(e.Aux)]
		delete(m.blocks, trace.Addr(e.Aux))
		delete(m.bytes, trace.Addr(e.Aux))
		m.birth(e.Addr, e.Size, old, false)
	case trace.KindSignal:
		m.who[0] = fmt.Sprintf("signal %d at %#x addr %#x", e.Aux, e.PC, e.Addr)
	case trace.KindStore, trace.KindBulk, trace.KindSyscall:
		m.write(e.Addr, e.Data)
	}
	return nil
}

func (m *memory) birth(at trace.Addr, size uint64, old map[int]byte, zero bool) {
	b := make(map[int]byte)
	for i, v := range old {
		if uint64(i) < size {
			b[i] = v
		}
	}
	if zero {
		for i := range int(size) {
			b[i] = 0
		}
	}
	m.blocks[at], m.bytes[at] = size, b
	for p := at >> 12; p <= (at+trace.Addr(size))>>12; p++ {
		m.pages[p] = append(m.pages[p], at)
	}
}

func (m *memory) write(at trace.Addr, data []byte) {
	for i, v := range data {
		a, ok := at+trace.Addr(i), false
		for _, b := range m.pages[a>>12] {
			if size, live := m.blocks[b]; live && uint64(a-b) < size {
				m.bytes[b][int(a-b)] = v
				ok = true
				break
			}
		}
		if !ok {
			m.wild++
		}
	}
}

// audit compares the blocks that the program asked for itself with real memory:
// how many bytes are known and how many of them differ.
func (m *memory) audit(t *testing.T, own func(trace.Addr) bool, read func([]byte, uint64) (int, error)) (known, differ int) {
	for at, size := range m.blocks {
		if !own(m.pc[at]) {
			continue
		}
		buf := make([]byte, size)
		if _, err := read(buf, uint64(at)); err != nil {
			t.Errorf("block %#x: %v", uint64(at), err)
			continue
		}
		for i, v := range m.bytes[at] {
			known++
			if buf[i] != v {
				if differ++; differ < 10 {
					t.Logf("block %#x (%s), offset %d: memory has %#x, the history %#x", uint64(at), m.who[at], i, buf[i], v)
				}
			}
		}
	}
	return known, differ
}

// audited runs a program under a plan of package probe and compares the bytes of
// all live blocks at its end with what was recorded.
func audited(t *testing.T, path string, args ...string) (m *memory, known, differ int, s capture.Stats) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	p, err := target.Launch(ctx, target.Command{Path: path, Args: args, Stdout: null})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.RunToLoaded(ctx); err != nil {
		t.Fatal(err)
	}
	if at := lastResolver(t, path); at != 0 {
		if _, err := p.RunTo(ctx, at); err != nil {
			t.Fatal(err)
		}
	}
	plan, unwind := planFor(t, p)
	e, err := Attach(plan, p.PID(), Options{Unwind: unwind})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, u := range e.Unprobed() {
		t.Errorf("unprobed: %+v", u)
	}
	m = newMemory()
	maps, err := readMaps(p.PID())
	if err != nil {
		t.Fatal(err)
	}
	program, err := findImage(p.PID(), plan.Images[0].Path, maps)
	if err != nil {
		t.Fatal(err)
	}
	own := func(pc trace.Addr) bool {
		if uint64(pc) < program.code.Lo || uint64(pc) >= program.code.Hi {
			return false
		}
		fn, ok := plan.Images[0].File.FuncAt(uint64(pc) - 1 - program.bias)
		return !ok || fn.File != "" || !plan.Images[0].File.Static() // a static program holds the C library
	}
	for _, u := range plan.Unprobed {
		if fn, ok := plan.Images[0].File.FuncAt(u.Addr); ok && fn.File != "" {
			t.Logf("unprobed: %s in %s: %s", u.Instruction, fn.Name, u.Reason)
			m.unprobed++
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx, m.take) }()
	status, err := p.Run(ctx, target.Handlers{OnExit: func(target.Exit) {
		if err := e.Sync(ctx); err != nil {
			t.Error(err)
		}
		known, differ = m.audit(t, own, p.ReadMemory)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if status.Code != 0 || status.Signal != 0 {
		t.Errorf("status %v: %s", status, m.who[0])
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return m, known, differ, e.Stats()
}

// lastResolver returns the IFUNC resolver that a static program (not PIE) calls
// last, 0 if there is none. A resolver tells the truth only when the program has
// looked at its processor, which it has by then.
func lastResolver(t *testing.T, path string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(".rela.plt")
	if s == nil || f.Type != elf.ET_EXEC || f.Section(".interp") != nil {
		return 0
	}
	b, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	at := uint64(0)
	for ; len(b) >= 24; b = b[24:] {
		if elf.R_X86_64(binary.LittleEndian.Uint64(b[8:])&0xffffffff) == elf.R_X86_64_IRELATIVE {
			at = binary.LittleEndian.Uint64(b[16:])
		}
	}
	return at
}

// planFor plans the capture of a process that has its libraries loaded.
func planFor(t *testing.T, p *target.Process) (*probe.Plan, capture.Unwinder) {
	t.Helper()
	maps, err := readMaps(p.PID())
	if err != nil {
		t.Fatal(err)
	}
	exe, err := p.Exe()
	if err != nil {
		t.Fatal(err)
	}
	var images []*probe.Image
	seen := make(map[string]bool)
	add := func(path string) {
		if seen[path] || !strings.HasPrefix(path, "/") {
			return
		}
		seen[path] = true
		im, err := findImage(p.PID(), path, maps)
		if err != nil {
			return
		}
		f, err := objfile.Open(path, objfile.Options{NoSeparate: true})
		if err != nil {
			return
		}
		images = append(images, &probe.Image{Path: path, File: f, Bias: im.bias})
	}
	add(exe)
	for _, m := range maps {
		if m.exec {
			add(m.path)
		}
	}
	plan, err := probe.Build(probe.Request{}, images, probe.Options{
		Resolve: func(im *probe.Image, resolver uint64) (uint64, error) {
			v, err := p.Call(im.Bias + resolver)
			return v - im.Bias, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan, unwinder(plan, p.PID(), maps)
}

// Nothing is missed: at the end, memory is what the recording says, however the
// program was built.
func TestAudit(t *testing.T) {
	needEngine(t)
	for _, flags := range [][]string{
		{"-O0"}, {"-O2"}, {"-O3", "-march=x86-64-v3"}, {"-O2", "-no-pie"}, {"-O2", "-static"}, {"-O2", "-fno-plt", "-fcf-protection=full"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			if flags[0] == "-O3" && !hasAVX2() {
				t.Skip("no AVX2")
			}
			m, known, differ, s := audited(t, build(t, "churn.c", flags...))
			t.Logf("%d blocks, %d bytes known, %d writes outside blocks, %+v", len(m.blocks), known, m.wild, s)
			if differ != 0 && m.unprobed == 0 {
				t.Errorf("%d of %d bytes differ", differ, known)
			}
			if known < 5000 {
				t.Errorf("only %d bytes are known", known)
			}
			if s.Dropped != 0 || s.Hits != s.Delivered {
				t.Errorf("%+v", s)
			}
		})
	}
}

func hasAVX2() bool {
	b, err := os.ReadFile("/proc/cpuinfo")
	return err == nil && strings.Contains(string(b), " avx2 ")
}

// A program that nobody here wrote.
func TestRealProgram(t *testing.T) {
	needEngine(t)
	if unix.Access("/bin/ls", unix.X_OK) != nil {
		t.Skip("no ls")
	}
	m, known, differ, s := audited(t, "/bin/ls", "-lR", "/usr/include/linux")
	t.Logf("%d blocks, %d bytes known, %d writes outside blocks, %+v", len(m.blocks), known, m.wild, s)
	if s.Dropped != 0 || s.Hits != s.Delivered {
		t.Errorf("%+v", s)
	}
	// The C library writes to its own blocks by itself: files, locales.
	if differ > known/20 {
		t.Errorf("%d of %d bytes differ", differ, known)
	}
}
