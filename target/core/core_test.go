package core

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mgtrace/target/mem"
	"mgtrace/target/mem/memtest"
)

// dump is a program that died, its core file, and what it said before.
type dump struct {
	core  string
	prog  string
	live  map[uint64]uint64 // block → usable size
	freed map[uint64]bool
	names map[string]uint64
}

// crash compiles and runs a program that leaves a core file.
func crash(t *testing.T, flags []string, args ...string) *dump {
	t.Helper()
	dir := t.TempDir()
	d := &dump{prog: filepath.Join(dir, "prog"), live: map[uint64]uint64{}, freed: map[uint64]bool{}, names: map[string]uint64{}}
	compile := append([]string{"-g", "-O1", "-pthread", "-o", d.prog, "testdata/heap.c"}, flags...)
	if out, err := exec.Command("gcc", compile...).CombinedOutput(); err != nil {
		t.Skipf("gcc: %v\n%s", err, out)
	}
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -c unlimited; exec ./prog "$@"`, "sh"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("the program ended with %v", err)
	}
	cores, _ := filepath.Glob(filepath.Join(dir, "core*"))
	if len(cores) == 0 {
		t.Skip("the kernel writes no core file here (kernel.core_pattern, ulimit)")
	}
	d.core = cores[0]
	d.parse(t, out)
	return d
}

func (d *dump) parse(t *testing.T, out []byte) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		var what string
		var addr, size uint64
		fmt.Sscanf(lines.Text(), "%s 0x%x %d", &what, &addr, &size)
		switch what {
		case "live":
			d.live[addr] = size
		case "freed":
			d.freed[addr] = true
		default:
			d.names[what] = addr
		}
	}
	for addr := range d.live {
		delete(d.freed, addr) // given out again
	}
	if len(d.live) == 0 || len(d.freed) == 0 {
		t.Fatal("the program told nothing")
	}
}

func open(t *testing.T, path string, opt Options) *File {
	t.Helper()
	f, err := Open(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestCore(t *testing.T) {
	d := crash(t, nil)
	f := open(t, d.core, Options{})
	if len(f.Missing) != 0 {
		t.Errorf("missing: %q", f.Missing)
	}
	if f.Program != "prog" || f.Args != "./prog" || f.PID == 0 || f.Signal != 6 {
		t.Errorf("program %q %q, process %d, signal %d", f.Program, f.Args, f.PID, f.Signal)
	}
	if !f.Info.Known || f.Info.Signal != 6 {
		t.Errorf("signal info %+v", f.Info)
	}
	if len(f.Threads) != 3 || f.Threads[0].TID != f.PID || f.Threads[0].Regs.RIP == 0 {
		t.Errorf("threads %+v", f.Threads)
	}
	for _, th := range f.Threads {
		if m, ok := mem.FindMap(f.Maps, th.Regs.RIP); !ok || !m.Exec || !strings.Contains(m.Path, "libc.so") {
			t.Errorf("thread %d is at %#x in %+v", th.TID, th.Regs.RIP, m)
		}
	}
	if entry, ok := mem.FindMap(f.Maps, f.Auxv[mem.AuxEntry]); !ok || filepath.Base(entry.Path) != "prog" {
		t.Errorf("the entry point is in %+v", entry)
	}
	hole := uint64(0)
	for i, m := range f.Maps[:len(f.Maps)-1] {
		if m.Write && f.Maps[i+1].Lo != m.Hi && hole == 0 {
			hole = m.Hi
		}
	}
	t.Run("variable", func(t *testing.T) {
		memtest.Run(t, f, memtest.Case{Addr: d.names["variable"], Data: []byte("a variable, in the core"), Hole: hole})
	})
	t.Run("constant", func(t *testing.T) {
		memtest.Run(t, f, memtest.Case{Addr: d.names["constant"], Data: []byte("a constant in the file"), Hole: hole})
	})
}

// gdb is the outside judge of registers and memory.
func TestAgainstGDB(t *testing.T) {
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Skip(err)
	}
	d := crash(t, nil)
	f := open(t, d.core, Options{})
	out, err := exec.Command("gdb", "-nx", "-batch", d.prog, d.core,
		"-ex", `printf "%lu %lu %lu\n", $rip, $rsp, $rbx`,
		"-ex", fmt.Sprintf(`printf "%%lu\n", *(unsigned long*)%d`, d.names["main"])).CombinedOutput()
	if err != nil {
		t.Skipf("gdb: %v\n%s", err, out)
	}
	code, err := mem.ReadUint64(f, d.names["main"])
	if err != nil {
		t.Fatal(err)
	}
	r := f.Threads[0].Regs
	if want := fmt.Sprintf("%d %d %d\n%d\n", r.RIP, r.RSP, r.RBX, code); !strings.HasSuffix(string(out), want) {
		t.Errorf("we read\n%sgdb says\n%s", want, out)
	}
}

func TestMappedFileGoneOrChanged(t *testing.T) {
	d := crash(t, nil)
	for name, opt := range map[string]Options{
		"gone": {Open: func(string) (io.ReaderAt, error) { return nil, errors.New("not on this machine") }},
		"changed": {Open: func(path string) (io.ReaderAt, error) {
			b, err := os.ReadFile(path)
			if err == nil && len(b) > 100 {
				b[100] ^= 1
			}
			return bytes.NewReader(b), err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t, d.core, opt)
			var b [8]byte
			if _, err := f.ReadMemory(b[:], d.names["main"]); !errors.Is(err, mem.ErrUnreadable) {
				t.Errorf("code of a file that is %s was read: %v", name, err)
			}
			if _, err := f.ReadMemory(b[:], d.names["variable"]); err != nil {
				t.Error(err)
			}
			if len(f.Missing) == 0 || !strings.Contains(strings.Join(f.Missing, "\n"), "prog") {
				t.Errorf("missing: %q", f.Missing)
			}
		})
	}
}

func TestTruncated(t *testing.T) {
	d := crash(t, nil)
	whole, err := os.ReadFile(d.core)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 10, 64, 100, 700, 3000, 20000, len(whole) / 2, len(whole) - 1} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			f, err := New(bytes.NewReader(whole[:size]), int64(size), Options{})
			if err != nil {
				if size >= 64 {
					t.Errorf("not read: %v", err)
				}
				return
			}
			defer f.Close()
			if len(f.Missing) == 0 {
				t.Error("nothing is said to be missing")
			}
			Blocks(f, f.Maps)
			for _, m := range f.Maps {
				var b [1]byte
				if n, err := f.ReadMemory(b[:], m.Hi-1); (n == 1) != (err == nil) {
					t.Errorf("read of %#x: %d, %v", m.Hi-1, n, err)
				}
			}
		})
	}
}

func TestNotACore(t *testing.T) {
	elf32 := append([]byte("\x7fELF\x01\x01\x01"), make([]byte, 100)...)
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"empty":  {nil, ErrNotCore},
		"text":   {bytes.Repeat([]byte("text\n"), 100), ErrNotCore},
		"32-bit": {elf32, ErrForeign},
	} {
		if _, err := New(bytes.NewReader(c.data), int64(len(c.data)), Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	if _, err := Open(exe, Options{}); !errors.Is(err, ErrNotCore) {
		t.Errorf("a program: %v", err)
	}
	if _, err := Open(t.TempDir(), Options{}); !errors.Is(err, ErrNotCore) {
		t.Errorf("a directory: %v", err)
	}
}

// The blocks that were found are those that the program had.
func TestBlocks(t *testing.T) {
	for name, flags := range map[string][]string{"pie": nil, "no-pie": {"-no-pie"}, "static": {"-static"}} {
		t.Run(name, func(t *testing.T) {
			d := crash(t, flags)
			f := open(t, d.core, Options{})
			heap := Blocks(f, f.Maps)
			if len(heap.Problems) != 0 {
				t.Errorf("problems: %q", heap.Problems)
			}
			used := make(map[uint64]uint64)
			others := 0
			for _, b := range heap.InUse() {
				used[b.Addr] = b.Size
				if _, ok := d.live[b.Addr]; !ok {
					others++
				}
			}
			for addr, size := range d.live {
				if got, ok := used[addr]; !ok || got != size {
					t.Errorf("block %#x of %d bytes: found %v, of %d", addr, size, ok, got)
				}
			}
			for addr := range d.freed {
				if _, ok := used[addr]; ok {
					t.Errorf("freed block %#x counts as in use", addr)
				}
			}
			// libc's own: buffers, the threads' control blocks.
			if others > 20 {
				t.Errorf("%d blocks in use that the program does not have", others)
			}
			t.Logf("%d blocks, %d in use, %d others", len(heap.Blocks), len(used), others)
		})
	}
}

// An overwritten header is reported, and only what it hides is lost.
func TestBrokenHeader(t *testing.T) {
	d := crash(t, nil, "overrun")
	f := open(t, d.core, Options{})
	heap := Blocks(f, f.Maps)
	if len(heap.Problems) != 1 || !strings.Contains(heap.Problems[0], "0x4141414141414141") {
		t.Errorf("problems: %q", heap.Problems)
	}
	used := make(map[uint64]bool)
	for _, b := range heap.InUse() {
		used[b.Addr] = true
	}
	lost := 0
	for addr := range d.live {
		if !used[addr] {
			lost++
		}
	}
	if lost > 1 {
		t.Errorf("%d blocks lost to one broken header", lost)
	}
}

// A heap that is several mappings, as a forked process's is, has the same blocks.
func TestBlocksOfSeveralMappings(t *testing.T) {
	f := open(t, crash(t, nil).core, Options{})
	want := Blocks(f, f.Maps)
	at := want.Blocks[slices.IndexFunc(want.Blocks, func(b Block) bool { return b.Where == Main })].Addr
	i := slices.IndexFunc(f.Maps, func(m mem.Map) bool { return m.Lo <= at && at < m.Hi })
	for _, name := range []string{"[heap]", ""} {
		low := f.Maps[i]
		low.Path = name
		high := low
		low.Hi = low.Lo + low.Size()/2&^0xfff
		high.Lo = low.Hi
		got := Blocks(f, slices.Concat(f.Maps[:i], []mem.Map{low, high}, f.Maps[i+1:]))
		if !slices.Equal(got.Blocks, want.Blocks) || len(got.Problems) != 0 {
			t.Errorf("%q: %d blocks of %d, problems %q", name, len(got.Blocks), len(want.Blocks), got.Problems)
		}
	}
}

// A process may be met where malloc has moved the program break, and has not written the header of what it got: nothing was
// overwritten then, be it the first of the heap or more of it.
func TestBlocksBeingMade(t *testing.T) {
	f := open(t, crash(t, nil).core, Options{})
	want := Blocks(f, f.Maps)
	i := slices.IndexFunc(f.Maps, func(m mem.Map) bool { return m.Lo <= want.Blocks[0].Addr && want.Blocks[0].Addr < m.Hi })
	heap := f.Maps[i]
	heap.Path = "[heap]"
	more := mem.Map{Lo: heap.Hi, Hi: heap.Hi + 0x21000, Read: true, Write: true, Path: "[heap]"}
	got := Blocks(&counted{Memory: f, file: more}, slices.Concat(f.Maps[:i], []mem.Map{heap, more}, f.Maps[i+1:]))
	if !slices.Equal(got.Blocks, want.Blocks) || len(got.Problems) != 0 {
		t.Errorf("%d blocks of %d, problems %q", len(got.Blocks), len(want.Blocks), got.Problems)
	}
	if first := Blocks(&counted{Memory: f, file: more}, []mem.Map{more}); len(first.Blocks) != 0 || len(first.Problems) != 0 {
		t.Errorf("%d blocks, problems %q", len(first.Blocks), first.Problems)
	}
}

// Variables are sought in what is private: a shared file may have gigabytes.
func TestBlocksBesideSharedFile(t *testing.T) {
	f := open(t, crash(t, nil).core, Options{})
	want := Blocks(f, f.Maps)
	for _, shared := range []bool{true, false} {
		file := mem.Map{Lo: 0x10000, Hi: 0x110000, Read: true, Write: true, Shared: shared, Path: "/tmp/db"}
		m := &counted{Memory: f, file: file}
		if got := Blocks(m, append([]mem.Map{file}, f.Maps...)); !slices.Equal(got.Blocks, want.Blocks) {
			t.Errorf("shared %v: %d blocks, %d without the file", shared, len(got.Blocks), len(want.Blocks))
		}
		if (m.reads == 0) != shared {
			t.Errorf("shared %v: %d reads", shared, m.reads)
		}
	}
}

// counted is a memory with one more mapping, of zeros, whose reads it counts.
type counted struct {
	mem.Memory
	file  mem.Map
	reads int
}

func (c *counted) ReadMemory(b []byte, addr uint64) (int, error) {
	if addr < c.file.Lo || addr >= c.file.Hi {
		return c.Memory.ReadMemory(b, addr)
	}
	c.reads++
	clear(b)
	return len(b), nil
}

// A program may reserve terabytes.
func TestBlocksOfHugeMapping(t *testing.T) {
	zero := mem.NewFake(mem.Segment{Addr: 0x10000, Data: make([]byte, 1<<16)})
	maps := []mem.Map{{Lo: 0x10000, Hi: 1 << 47, Read: true, Write: true}}
	if h := Blocks(zero, maps); len(h.Blocks) != 0 || len(h.Problems) != 1 {
		t.Errorf("found %+v", h)
	}
}

func TestBlocksOfNothing(t *testing.T) {
	zero := mem.NewFake(mem.Segment{Addr: 0x10000, Data: make([]byte, 1<<20)})
	maps := []mem.Map{{Lo: 0x10000, Hi: 0x110000, Read: true, Write: true},
		{Lo: 0x200000, Hi: 0x300000, Read: true, Write: true, Path: "[heap]"}}
	if h := Blocks(zero, maps); len(h.Blocks) != 0 || len(h.Problems) != 0 {
		t.Errorf("found %+v", h)
	}
}

func FuzzCore(f *testing.F) {
	f.Add(minimal())
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, data []byte) {
		none := func(string) (io.ReaderAt, error) { return nil, os.ErrNotExist }
		c, err := New(bytes.NewReader(data), int64(len(data)), Options{Open: none})
		if err != nil {
			return
		}
		for _, m := range c.Maps {
			for _, at := range []uint64{m.Lo, m.Hi - 1} {
				b := make([]byte, 16)
				if n, err := c.ReadMemory(b, at); (err == nil) != (n == len(b)) {
					t.Fatalf("read %d bytes with %v", n, err)
				}
			}
		}
		Blocks(c, c.Maps)
	})
}

// minimal is a core with one page of heap, a thread and a file.
func minimal() []byte {
	note := func(kind uint32, desc []byte) []byte {
		b := le.AppendUint32(nil, 5)
		b = le.AppendUint32(b, uint32(len(desc)))
		b = append(le.AppendUint32(b, kind), "CORE\x00\x00\x00\x00"...)
		return append(b, desc...)
	}
	files := le.AppendUint64(le.AppendUint64(nil, 1), pageSize)
	for _, v := range []uint64{0x400000, 0x401000, 0} {
		files = le.AppendUint64(files, v)
	}
	notes := append(note(ntPRStatus, make([]byte, 336)), note(ntPRPSInfo, make([]byte, psSize))...)
	notes = append(notes, note(ntAuxv, make([]byte, 16))...)
	notes = append(notes, note(ntSigInfo, make([]byte, 128))...)
	notes = append(notes, note(ntFile, append(files, "/bin/x\x00\x00"...))...)

	head := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, ehdrSize-7)...)
	le.PutUint16(head[16:], etCore)
	le.PutUint16(head[18:], emX86_64)
	le.PutUint64(head[32:], ehdrSize)
	le.PutUint16(head[54:], phdrSize)
	le.PutUint16(head[56:], 3)
	program := func(kind uint32, offset, addr, fileSize, memSize uint64) []byte {
		b := le.AppendUint32(le.AppendUint32(nil, kind), 6)
		for _, v := range []uint64{offset, addr, 0, fileSize, memSize, 1} {
			b = le.AppendUint64(b, v)
		}
		return b
	}
	at := uint64(ehdrSize + 3*phdrSize)
	heap := make([]byte, pageSize)
	for off, size := range map[int]uint64{0: 0x291, 0x290: 0x31, 0x2c0: pageSize - 0x2c0 | 1} {
		le.PutUint64(heap[off+8:], size)
	}
	head = append(head, program(ptNote, at, 0, uint64(len(notes)), 0)...)
	head = append(head, program(ptLoad, at+uint64(len(notes)), 0x10000, pageSize, pageSize)...)
	head = append(head, program(ptLoad, 0, 0x400000, 0, pageSize)...)
	return append(append(head, notes...), heap...)
}

func TestMinimal(t *testing.T) {
	b := minimal()
	f, err := New(bytes.NewReader(b), int64(len(b)), Options{Open: func(string) (io.ReaderAt, error) { return nil, os.ErrNotExist }})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Threads) != 1 || len(f.Maps) != 2 || f.Maps[1].Path != "/bin/x" {
		t.Errorf("got %+v", f)
	}
	used := Blocks(f, f.Maps).InUse()
	if len(used) != 1 || used[0].Addr != 0x102a0 || used[0].Size != 0x28 {
		t.Errorf("blocks in use: %+v", used)
	}
}
