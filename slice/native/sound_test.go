package native

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mgtrace/flow"
	"mgtrace/slice"
	"mgtrace/target"
	"mgtrace/translate/engine"
)

var seeds = flag.Int("seeds", 2, "random programs of TestSound for each way to compile")

// magic is what input i is in the program's code: it is written to in[i] by a
// statement of its own, and found in the file to be changed.
func magic(i int) uint32 { return 0x5eed0000 + 0x10203*uint32(i+1) }

const inputs = 10

// cgen writes random C programs without library: values of many types, in variables,
// arrays and bytes of others; branches, switches and loops; calls.
type cgen struct {
	*rand.Rand
	branches bool
	fn       int // functions that can still be called begin here
	b        strings.Builder
}

func (g *cgen) x() string { return fmt.Sprintf("x%d", g.IntN(6)) }
func (g *cgen) y() string { return fmt.Sprintf("y%d", g.IntN(4)) }
func (g *cgen) d() string { return fmt.Sprintf("d%d", g.IntN(3)) }

func (g *cgen) line(format string, args ...any) { fmt.Fprintf(&g.b, "\t"+format+"\n", args...) }

func (g *cgen) pick(of ...string) string { return of[g.IntN(len(of))] }

func (g *cgen) statement() {
	switch g.IntN(26) {
	case 0, 1, 2:
		g.line("%s = %s %s %s);", g.x(), g.x(), g.pick("+ (", "- (", "^ (", "+ 3 * (", "* (1 | ", "- (1 & ", "+ (7 | "), g.x())
	case 3:
		g.line("%s += %s %s (%s & 31);", g.x(), g.x(), g.pick("<<", ">>"), g.x())
	case 4:
		g.line("%s -= %s %s (%s >> 20 | %d);", g.x(), g.x(), g.pick("/", "%"), g.x(), 1+g.IntN(9))
	case 5:
		g.line("%s = (%s)%s;", g.x(), g.pick("u8", "u16", "signed char", "short"), g.x())
	case 6:
		g.line("%s = (u64)%s * %s + %s;", g.y(), g.x(), g.x(), g.y())
	case 7:
		g.line("%s = %s(%s);", g.y(), g.pick("__builtin_bswap64", "__builtin_popcountll", "1 | ~"), g.y())
	case 8:
		g.line("%s = %s << %d | %s >> %d;", g.y(), g.y(), 13, g.y(), 51)
	case 9:
		g.line("%s += %s %s %s;", g.x(), g.y(), g.pick("<", "==", ">="), g.y())
	case 10:
		g.line("%s = (int)%s < (int)%s ? %s : %s;", g.x(), g.x(), g.x(), g.x(), g.x())
	case 11:
		g.line("%s = %s %s %s + (double)(%s & 0xffff);", g.d(), g.d(), g.pick("+", "-", "*"), g.d(), g.x())
	case 12:
		g.line("%s = (u32)(long long)(%s > 1e9 || %s < -1e9 ? 7.5 : %s);", g.x(), "d1", "d1", "d1")
	case 13:
		g.line("f[%d] = (float)%s / 3; %s = f[%d] < 2 ? (double)f[%d] : 2;", g.IntN(4), g.d(), g.d(), g.IntN(4), g.IntN(4))
	case 14:
		g.line("a[%d] = %s;", g.IntN(16), g.x())
	case 15, 16:
		g.line("%s = a[%d] + m[%d];", g.x(), g.IntN(16), g.IntN(8))
	case 17:
		g.line("%s = a[%s & 15];", g.x(), g.x())
	case 18:
		g.line("m[%s & 7] = %s;", g.x(), g.y())
	case 19:
		g.line("((u8 *)&%s)[%d] = %s;", g.y(), g.IntN(8), g.x())
	case 20:
		g.line("%s = *(u32 *)((u8 *)m + %d);", g.x(), g.IntN(60))
	case 21:
		g.line("for (int k = 0; k < 16; k++) a[k] = a[k] %s (b[k] %s %s);", g.pick("+", "^", "-"), g.pick("&", "+"), g.x())
	case 22:
		g.line("copy(b + %d, a + %d, %d);", g.IntN(6), g.IntN(6), 4+g.IntN(30))
	case 23:
		g.line("b[%d] = %s; %s += b[%d];", g.IntN(16), g.x(), g.y(), g.IntN(16))
	case 24:
		if g.fn < 3 {
			g.line("%s = f%d(%s, %s, %s);", g.x(), g.fn+g.IntN(3-g.fn), g.x(), g.y(), g.d())
		}
	case 25:
		g.line("%s = (u64)((unsigned __int128)%s * %s >> 64) %s %s;", g.y(), g.y(), g.y(), g.pick("-", "+"), g.y())
	}
}

func (g *cgen) body(n, depth int) {
	for range n {
		if !g.branches || depth == 0 || g.IntN(5) > 0 {
			g.statement()
			continue
		}
		switch g.IntN(4) {
		case 0, 1:
			g.line("if (%s & %d) {", g.x(), 1<<g.IntN(5))
			g.body(1+g.IntN(3), depth-1)
			g.line("} else {")
			g.body(1+g.IntN(3), depth-1)
			g.line("}")
		case 2:
			g.line("for (u32 n%d = 1 + (%s & 3); n%d > 0; n%d--) {", depth, g.x(), depth, depth)
			g.body(1+g.IntN(3), depth-1)
			g.line("}")
		case 3:
			g.line("switch (%s & 7) {", g.x())
			for k := range 6 {
				g.line("case %d:", k)
				g.statement()
				g.line("break;")
			}
			g.line("default:")
			g.statement()
			g.line("}")
		}
	}
}

const prelude = `
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned u32; typedef unsigned long u64;
volatile u32 in[%d], out;
u32 a[16], b[16]; u64 m[8]; float f[4];
static inline void copy(void *to, const void *from, u64 n) { asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory"); }
asm(".text; .globl _start; _start: and $-16, %%rsp; call body; mov $1, %%edi; lea out(%%rip), %%rsi; mov $4, %%edx; mov $1, %%eax; syscall; xor %%edi, %%edi; mov $60, %%eax; syscall");
`

// randomC writes a program whose result depends on some of its inputs.
func randomC(seed uint64, branches bool) string {
	g := &cgen{Rand: rand.New(rand.NewPCG(seed, 7)), branches: branches}
	fmt.Fprintf(&g.b, prelude, inputs)
	locals := func(x, y, d string) {
		for i := range 6 {
			g.line("u32 x%d = %s;", i, strings.ReplaceAll(x, "#", fmt.Sprint(i)))
		}
		for i := range 4 {
			g.line("u64 y%d = %s;", i, strings.ReplaceAll(y, "#", fmt.Sprint(i+6)))
		}
		for i := range 3 {
			g.line("double d%d = %s;", i, strings.ReplaceAll(d, "#", fmt.Sprint(i)))
		}
	}
	for n := 2; n >= 0; n-- {
		g.fn = n + 1
		fmt.Fprintf(&g.b, "__attribute__((noinline)) u32 f%d(u32 x, u64 y, double d) {\n", n)
		locals("x + #", "y ^ #", "d + #")
		g.body(4+g.IntN(5), 1)
		g.line("return x%d + (u32)y%d;", g.IntN(6), g.IntN(4))
		g.line("}")
	}
	g.fn = 0
	fmt.Fprintf(&g.b, "void body(void) {\n")
	for i := range inputs {
		g.line("in[%d] = %#x;", i, magic(i))
	}
	locals("in[#]", "in[#] * 0x100000001ul", "in[9 - #] % 1000")
	g.body(20+g.IntN(20), 2)
	g.line("out = %s + %s;", g.pick(g.x(), "a[3]", "b[5]", "(u32)m[2]"), g.pick(g.x(), "(u32)"+g.y(), "(u32)(long long)"+g.d()))
	g.line("}")
	return g.b.String()
}

// TestSound proves slices of real machine code: random programs are compiled, recorded
// and sliced from their result. Then each input's value is changed in the program's
// file. An input whose statement is not in the slice must not change the result,
// unless the program went another way or stored elsewhere: what was not executed is in
// no dynamic slice. Those in the slice are counted: how many change it.
func TestSound(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc:", err)
	}
	var n tally
	for _, flags := range []string{"-O0", "-O1", "-O2", "-O3 -mavx2 -mfma -mbmi2"} {
		for seed := range uint64(*seeds) {
			for _, branches := range []bool{false, true} {
				sound(t, &n, flags, seed, branches)
			}
		}
	}
	t.Logf("outside the slice: %d inputs changed %d times, none mattered but %d times by going another way; inside: %d inputs change the result, %d were not seen to",
		n.outside, n.tries, n.omitted, n.changing, n.silent)
	if n.outside == 0 || n.changing == 0 || n.omitted*4 > n.outside || n.silent > 2*n.changing { // an and, a shift or a comparison hides what its operand was
		t.Error("too little was seen")
	}
}

type tally struct{ outside, tries, omitted, changing, silent int }

func sound(t *testing.T, n *tally, flags string, seed uint64, branches bool) {
	t.Helper()
	name := fmt.Sprintf("%s, seed %d, branches %v", flags, seed, branches)
	dir := t.TempDir()
	source, program := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	if err := os.WriteFile(source, []byte(randomC(seed, branches)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(strings.Fields(flags), "-w", "-mpopcnt", "-nostdlib", "-static", "-no-pie", "-fno-pie", "-fno-stack-protector", "-fwrapv",
		"-fno-builtin", "-fno-tree-loop-distribute-patterns", "-o", program, source)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	image, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	run := recordProgram(t, program)
	if len(run.way) == 0 {
		t.Fatalf("%s: nothing was recorded; it printed %x", name, run.out)
	}
	in := run.slice(t)
	r := rand.New(rand.NewPCG(seed, 8))
	for i := range inputs {
		at := bytes.Index(image, binary.LittleEndian.AppendUint32(nil, magic(i)))
		if at < 0 {
			t.Fatalf("%s: input %d is not in the code", name, i)
		}
		inside, changes := in[run.pcOf(t, magic(i))], false
		for k := range 6 {
			v := r.Uint32()
			if k == 0 {
				v = magic(i) ^ 1<<r.IntN(12)
			}
			changed := slices.Clone(image)
			binary.LittleEndian.PutUint32(changed[at:], v)
			path := filepath.Join(dir, "changed")
			os.Remove(path)
			if err := os.WriteFile(path, changed, 0o700); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(path).Output()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			n.tries++
			if bytes.Equal(out, run.out) {
				continue
			}
			changes = true
			if inside {
				break
			}
			if other := recordProgram(t, path); slices.Equal(other.way, run.way) {
				t.Errorf("%s: input %d is not in the slice; as %#x it changes the result from %x to %x on the same way", name, i, v, run.out, out)
			} else {
				n.omitted++
			}
		}
		switch {
		case !inside:
			n.outside++
		case changes:
			n.changing++
		default:
			n.silent++
		}
	}
}

// recorded is a run of a program.
type recorded struct {
	path   string
	file   *elf.File
	reader *flow.Reader
	out    []byte
	way    []uint64 // instructions, and where they stored
}

func recordProgram(t *testing.T, path string) *recorded {
	t.Helper()
	ctx := context.Background()
	output, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	p, err := target.Launch(ctx, target.Command{Path: path, Stdout: output})
	if err != nil {
		t.Skip("needs ptrace: ", err)
	}
	defer p.Close()
	var buf bytes.Buffer
	w := flow.NewWriter(&buf, flow.Head{})
	e, err := engine.Attach(p, w, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	status, err := p.Run(ctx, target.Handlers{})
	if err != nil {
		t.Fatal(err)
	}
	if status.String() != "exit status 0" {
		t.Errorf("%s: %s", path, status)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(flow.Trailer{Complete: true}); err != nil {
		t.Fatal(err)
	}
	r := &recorded{path: path}
	if r.out, err = os.ReadFile(output.Name()); err != nil {
		t.Fatal(err)
	}
	if r.reader, err = flow.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len())); err != nil {
		t.Fatal(err)
	}
	if r.file, err = elf.Open(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.file.Close() })
	err = r.reader.Scan(1, func(rec *flow.Record) error {
		if rec.Kind != flow.Exec {
			return nil
		}
		b, mem := r.reader.Block(rec.Block), rec.Mem
		for i := int(rec.From); i < int(rec.From)+int(rec.N); i++ {
			r.way = append(r.way, uint64(b.PC(i)))
			for _, a := range b.Accesses[b.Insts[i].Access:][:b.Insts[i].NMem] {
				if a.Flags&flow.Writes != 0 && a.Flags&flow.Stack == 0 {
					r.way = append(r.way, uint64(mem[0].Addr))
				}
				mem = mem[1:]
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Code implements Files.
func (r *recorded) Code(pc uint64, n int) []byte {
	for _, s := range r.file.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Type == elf.SHT_PROGBITS && pc >= s.Addr && pc < s.Addr+s.Size {
			code := make([]byte, min(uint64(n), s.Addr+s.Size-pc))
			if _, err := s.ReadAt(code, int64(pc-s.Addr)); err == nil {
				return code
			}
		}
	}
	return nil
}

// Linker implements Files: the program has none.
func (r *recorded) Linker(uint64) bool { return false }

// Function implements Files.
func (r *recorded) Function(pc uint64) (entry uint64, returns, ok bool) {
	all, _ := r.file.Symbols()
	for _, s := range all {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && pc >= s.Value && pc < s.Value+s.Size {
			return s.Value, true, true
		}
	}
	return 0, false, false
}

// slice returns the instructions of the slice of what was stored to out.
func (r *recorded) slice(t *testing.T) map[uint64]bool {
	t.Helper()
	all, err := r.file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	out := all[slices.IndexFunc(all, func(s elf.Symbol) bool { return s.Name == "out" })].Value
	s := New(r.reader, r)
	p, err := slice.NewProgram(s)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := slice.BuildIndex(&file, p, slice.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	x, err := slice.OpenIndex(bytes.NewReader(file.Bytes()), int64(file.Len()), s)
	if err != nil {
		t.Fatal(err)
	}
	goal := uint64(0)
	err = r.reader.Scan(1, func(rec *flow.Record) error {
		if rec.Kind != flow.Exec {
			return nil
		}
		b := r.reader.Block(rec.Block)
		k := 0
		for i := int(rec.From); i < int(rec.From)+int(rec.N); i++ {
			for _, a := range b.Accesses[b.Insts[i].Access:][:b.Insts[i].NMem] {
				if a.Flags&flow.Writes != 0 && uint64(rec.Mem[k].Addr) == out {
					goal = uint64(rec.Instant) + uint64(i) - uint64(rec.From)
				}
				k++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n, err := x.Find(goal)
	if err != nil {
		t.Fatal(err)
	}
	sl, err := x.Backward(context.Background(), slice.Criteria{n}, slice.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in := map[uint64]bool{}
	for _, st := range sl.Stats() {
		in[st.PC()] = true
	}
	return in
}

// pcOf finds the instruction that was executed and has a value in it.
func (r *recorded) pcOf(t *testing.T, v uint32) uint64 {
	t.Helper()
	for id := flow.BlockID(1); int(id) <= r.reader.Blocks(); id++ {
		b := r.reader.Block(id)
		for i := range b.Insts {
			if bytes.Contains(b.Bytes(i), binary.LittleEndian.AppendUint32(nil, v)) {
				return uint64(b.PC(i))
			}
		}
	}
	t.Fatalf("no instruction writes %#x", v)
	return 0
}
