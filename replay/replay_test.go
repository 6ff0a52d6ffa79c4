package replay

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// file is a program that does not run: its code and what memory it begins with.
type file struct {
	elf   *elf.File
	funcs map[string]uint64
	stubs map[uint64]string
}

// Read implements World.
func (f *file) Read(addr uint64, data []byte, known []bool) {
	for _, p := range f.elf.Progs {
		for i := range data {
			if at := addr + uint64(i) - p.Vaddr; p.Type == elf.PT_LOAD && at < p.Memsz {
				known[i] = true
				if at < p.Filesz {
					p.ReadAt(data[i:i+1], int64(at))
				}
			}
		}
	}
}

// Code implements World.
func (f *file) Code(pc uint64) []byte {
	b, known := make([]byte, 16), make([]bool, 16)
	if f.Read(pc, b, known); !known[0] {
		return nil
	}
	return b
}

// Import implements World.
func (f *file) Import(pc uint64) string { return f.stubs[pc] }

// Function implements World.
func (f *file) Function(string) (uint64, bool) { return 0, false }

// compile builds a program of testdata with stubs of the plain kind.
func compile(t testing.TB, name string, flags ...string) (*file, string) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "prog")
	args := append([]string{"-w", "-fcf-protection=none", "-Wl,-z,lazy", "-fno-math-errno", "-o", bin, filepath.Join("testdata", name)}, flags...)
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip(err)
	}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	x, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	f := &file{elf: x, funcs: map[string]uint64{}, stubs: map[uint64]string{}}
	symbols, err := x.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		f.funcs[s.Name] = s.Value
	}
	f.readStubs()
	return f, bin
}

// readStubs finds the stubs of the procedure linkage table: each jumps through a slot (x86-64 psABI, 5.2).
func (f *file) readStubs() {
	dynamic, _ := f.elf.DynamicSymbols()
	slots := map[uint64]string{}
	rela, _ := f.elf.Section(".rela.plt").Data()
	for ; len(rela) >= 24; rela = rela[24:] {
		if sym := binary.LittleEndian.Uint64(rela[8:]) >> 32; sym > 0 {
			slots[binary.LittleEndian.Uint64(rela)] = dynamic[sym-1].Name
		}
	}
	plt := f.elf.Section(".plt")
	code, _ := plt.Data()
	for i := 0; i+6 <= len(code); i += 16 {
		if code[i] == 0xff && code[i+1] == 0x25 {
			at := plt.Addr + uint64(i)
			f.stubs[at] = slots[at+6+uint64(int32(binary.LittleEndian.Uint32(code[i+2:])))]
		}
	}
}

// TestProcessor: a call returns what it returns on the processor.
func TestProcessor(t *testing.T) {
	for _, flags := range []string{"-O0", "-O1", "-O2 -D_FORTIFY_SOURCE=2", "-O3"} {
		t.Run(flags, func(t *testing.T) {
			f, bin := compile(t, "sums.c", strings.Fields(flags)...)
			out, err := exec.Command(bin).Output()
			if err != nil {
				t.Fatal(err)
			}
			m := New(f)
			calls := 0
			for in := bufio.NewScanner(bytes.NewReader(out)); in.Scan(); calls++ {
				var name string
				var a, b, want int64
				if _, err := fmt.Sscan(in.Text(), &name, &a, &b, &want); err != nil {
					t.Fatal(err)
				}
				run := m.Run(Call{Entry: f.funcs[name], Args: []uint64{uint64(a), uint64(b)}, MaxSteps: 100_000})
				if run.Err != nil || int64(run.Result) != want {
					t.Errorf("%s(%d, %d) = %d, %v; want %d", name, a, b, int64(run.Result), run.Err, want)
				}
			}
			if calls < 400 {
				t.Errorf("%d calls", calls)
			}
		})
	}
}

// TestFlip: a decision that goes the other way, and one that goes the other way each time.
func TestFlip(t *testing.T) {
	f, _ := compile(t, "sums.c", "-O0")
	m := New(f)
	call := Call{Entry: f.funcs["bigger"], Args: []uint64{9, 4}, MaxSteps: 1000}
	if r := m.Run(call); r.Result != 5 || len(r.Decisions) != 1 {
		t.Fatalf("bigger(9, 4) = %d with %d decisions", r.Result, len(r.Decisions))
	}
	call.Flip = func(n int, _ uint64) bool { return n == 0 }
	if r := m.Run(call); r.Result != 13 { // not a > b, and not a < b
		t.Errorf("the other way: %d, want 13", r.Result)
	}
	loop := Call{Entry: f.funcs["chain"], Args: []uint64{3, 1}, MaxSteps: 10_000}
	was := m.Run(loop)
	births := func(r *Run) (n int) {
		for _, e := range r.Effects {
			if e.Kind == Alloc {
				n++
			}
		}
		return n
	}
	if births(was) != 3 {
		t.Fatalf("%d allocations, want 3", births(was))
	}
	loop.Flip = func(n int, _ uint64) bool { return n == 0 } // before the first time round
	if r := m.Run(loop); births(r) != 0 {
		t.Errorf("%d allocations without the loop", births(r))
	}
}

// TestAlter: a value that is another one.
func TestAlter(t *testing.T) {
	f, _ := compile(t, "sums.c", "-O0")
	m := New(f)
	call := Call{Entry: f.funcs["deep"], Args: []uint64{0, 40}, MaxSteps: 1000}
	was := m.Run(call)
	n := -1
	for i, v := range was.Values {
		if v.Value == 40 {
			n = i
		}
	}
	call.Alter = func(i int, _, v uint64) uint64 {
		if i == n {
			return 41
		}
		return v
	}
	if r := m.Run(call); was.Result != 40 || n < 0 || r.Result != 41 {
		t.Errorf("%d, and with another value %d; want 40 and 41", was.Result, r.Result)
	}
}

// TestEnds: what a run can not go on from ends it, and no more.
func TestEnds(t *testing.T) {
	f, _ := compile(t, "sums.c", "-O0")
	m := New(f)
	for _, c := range []Call{
		{Entry: f.funcs["loops"], Args: []uint64{63, 15}, MaxSteps: 50},
		{Entry: 0x10, MaxSteps: 50},
		{Entry: f.funcs["main"], MaxSteps: 100_000, Flip: func(n int, _ uint64) bool { return n%3 == 0 }},
	} {
		if r := m.Run(c); c.Entry != f.funcs["main"] && r.Err == nil {
			t.Errorf("%#x: no error", c.Entry)
		}
	}
}

// shared is a program beside a library, of which no code is executed.
type shared struct{ *file }

const labs = 0x7000_0000_1000

func (s shared) Import(pc uint64) string {
	if pc == labs {
		return "labs"
	}
	return s.file.Import(pc)
}

// TestThrough: a call by an address of the library is one of the function that begins there.
func TestThrough(t *testing.T) {
	for _, level := range []string{"-O0", "-O2"} {
		f, _ := compile(t, "through.c", level)
		m := New(shared{f})
		if run := m.Run(Call{Entry: f.funcs["through"], Args: []uint64{labs, ^uint64(6)}, MaxSteps: 100}); run.Err != nil || run.Result != 8 {
			t.Errorf("%s: %d, %v; want 8", level, run.Result, run.Err)
		}
		if run := m.Run(Call{Entry: f.funcs["through"], Args: []uint64{labs + 16, 7}, MaxSteps: 100}); !errors.Is(run.Err, ErrCode) {
			t.Errorf("%s: %v where no function begins", level, run.Err)
		}
		if run := m.Run(Call{Entry: f.funcs["through"], Args: []uint64{0, 7}, MaxSteps: 100}); !errors.Is(run.Err, ErrFault) {
			t.Errorf("%s: %v where the function is NULL", level, run.Err)
		}
	}
}

// beside is a program beside a library whose code is executed, where executes: its function "sum", at another address.
type beside struct {
	*file
	executes bool
}

func (b beside) Import(pc uint64) string {
	if pc == b.funcs["sum"] {
		return "sum"
	}
	return b.file.Import(pc)
}

// Code implements World: that of "sum" lies in the library alone.
func (b beside) Code(pc uint64) []byte {
	if pc == b.funcs["sum"] {
		return nil
	}
	if pc >= aside {
		return b.file.Code(pc - aside)
	}
	return b.file.Code(pc)
}

const aside = 0x7100_0000_0000

func (b beside) Function(name string) (uint64, bool) {
	return b.funcs["sum"] + aside, b.executes && name == "sum"
}

// TestForeign: a library function that is not known is executed where its code is there. No experiments are to be made
// with its decisions and values, as with none of what it does not say.
func TestForeign(t *testing.T) {
	for _, level := range []string{"-O0", "-O1"} {
		f, _ := compile(t, "foreign.c", level, "-fno-inline")
		numbers := []uint64{3, ^uint64(0), 4}
		data := make([]byte, 0, 24)
		for _, n := range numbers {
			data = binary.LittleEndian.AppendUint64(data, n)
		}
		const at = 0x6500_0000_0000
		call := Call{Entry: f.funcs["foreign"], Args: []uint64{at, 3}, MaxSteps: 1000, Sites: true}
		known := memory{World: beside{f, true}, at: at, data: data}
		run := New(known).Run(call)
		if run.Err != nil || run.Result != 8 {
			t.Errorf("%s: %d, %v; want 8", level, run.Result, run.Err)
		}
		if n := len(run.Decisions); n != 1 {
			t.Errorf("%s: %d decisions, want that of the program alone", level, n)
		}
		for _, v := range run.Values {
			if v.PC >= aside {
				t.Errorf("%s: a value of the library: %+v", level, v)
			}
		}
		for _, s := range run.Sites {
			if s.PC >= aside {
				t.Errorf("%s: an instruction of the library: %+v", level, s)
			}
		}
		known.World = beside{f, false}
		if run := New(known).Run(call); !errors.Is(run.Err, ErrLibrary) {
			t.Errorf("%s: %v where there is no code", level, run.Err)
		}
	}
}

// memory is a world with some bytes at an address.
type memory struct {
	World
	at   uint64
	data []byte
}

func (m memory) Read(addr uint64, data []byte, known []bool) {
	m.World.Read(addr, data, known)
	for i := range data {
		if off := addr + uint64(i) - m.at; off < uint64(len(m.data)) {
			data[i], known[i] = m.data[off], true
		}
	}
}

// TestFaultInLibrary: a call in which a library function reads where no memory is ends at the call.
func TestFaultInLibrary(t *testing.T) {
	f, _ := compile(t, "foreign.c", "-O0")
	run := New(f).Run(Call{Entry: f.funcs["faulty"], Args: []uint64{8}, MaxSteps: 100})
	if begin := f.funcs["faulty"]; !errors.Is(run.Err, ErrFault) || run.PC < begin || run.PC > begin+64 {
		t.Errorf("%v at %#x, want a fault in the function at %#x", run.Err, run.PC, begin)
	}
}

func BenchmarkRun(b *testing.B) {
	f, _ := compile(b, "sums.c", "-O0")
	m := New(f)
	steps := 0
	for b.Loop() {
		r := m.Run(Call{Entry: f.funcs["sorted"], Args: []uint64{12345, 678}, MaxSteps: 100_000, Brief: true})
		steps += r.Steps
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/instruction")
}
