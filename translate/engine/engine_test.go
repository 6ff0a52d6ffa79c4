package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mgtrace/flow"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/x86"
)

// TestMain runs the tests without address space randomisation, which programs
// inherit: two runs of one have the same addresses.
func TestMain(m *testing.M) {
	const keep, noRandom = 0xffffffff, 0x0040000 // personality(2)
	runtime.LockOSThread()
	if old, _, err := unix.Syscall(unix.SYS_PERSONALITY, keep, 0, 0); err == 0 && old&noRandom == 0 {
		if _, _, err := unix.Syscall(unix.SYS_PERSONALITY, old|noRandom, 0, 0); err == 0 {
			self, err := os.Executable()
			if err == nil {
				err = unix.Exec(self, os.Args, os.Environ())
			}
			fmt.Fprintln(os.Stderr, "run the tests again without randomisation:", err)
		}
	}
	runtime.UnlockOSThread()
	os.Exit(m.Run())
}

// build compiles a program of testdata.
func build(t *testing.T, name string, flags ...string) string {
	t.Helper()
	cc := "gcc"
	if strings.HasSuffix(name, ".cc") {
		cc = "g++"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skip("needs a compiler:", err)
	}
	out := filepath.Join(t.TempDir(), strings.ReplaceAll(name, ".", "-"))
	args := append([]string{"-O1", "-g", "-o", out, "testdata/" + name}, flags...)
	if b, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return out
}

// outcome is what a run of a program shows.
type outcome struct {
	out    string
	status string
}

// under runs a program under the engine.
func under(t *testing.T, sink Sink, o Options, c target.Command) (outcome, Stats) {
	t.Helper()
	ctx := context.Background()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c.Stdout, c.Stderr = file, file
	p, err := target.Launch(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	e, err := Attach(p, sink, o)
	if err != nil {
		t.Fatal(err)
	}
	status, err := p.Run(ctx, target.Handlers{})
	if err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	out, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return outcome{string(out), status.String()}, e.Stats()
}

// native runs a program as it is.
func native(t *testing.T, c target.Command) outcome {
	t.Helper()
	ctx := context.Background()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c.Stdout, c.Stderr = file, file
	p, err := target.Launch(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	status, err := p.Run(ctx, target.Handlers{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return outcome{string(out), status.String()}
}

// step is one executed instruction and the addresses it touched.
type step struct {
	pc  uint64
	mem [2]flow.Mem
	n   int
}

func (s step) String() string { return fmt.Sprintf("%#x %#x", s.pc, s.mem[:s.n]) }

// steps is a Sink that keeps every instruction.
type steps struct {
	t      *testing.T
	blocks []flow.Block
	all    []step
}

func (s *steps) Block(b flow.Block) (flow.BlockID, error) {
	s.blocks = append(s.blocks, b)
	return flow.BlockID(len(s.blocks)), nil
}

func (s *steps) Exec(_ trace.ThreadID, id flow.BlockID, from, n int, mem []flow.Mem) (trace.Instant, error) {
	b := &s.blocks[id-1]
	for i := from; i < from+n; i++ {
		st := step{pc: uint64(b.PC(i)), n: int(b.Insts[i].NMem)}
		copy(st.mem[:], mem[:st.n])
		mem = mem[st.n:]
		s.all = append(s.all, st)
	}
	if len(mem) != 0 {
		s.t.Errorf("block at %#x: %d accesses too many", b.Start, len(mem))
	}
	return 0, nil
}

func (s *steps) Other(*flow.Record) error { return nil }

// hideTimes has the dynamic linker not find two functions in the vDSO, as in a program that mgtrace launches.
func hideTimes(t *testing.T, pid int) {
	t.Helper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	maps, err := mem.ParseMaps(file)
	if err != nil {
		t.Fatal(err)
	}
	linked := slices.ContainsFunc(maps, func(m mem.Map) bool { return strings.Contains(m.Path, "/ld-") })
	for _, m := range maps {
		if m.Path != "[vdso]" || !linked {
			continue
		}
		image := make([]byte, m.Size())
		if _, err := unix.PtracePeekText(pid, uintptr(m.Lo), image); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"__vdso_time", "__vdso_gettimeofday"} {
			i := bytes.Index(image, []byte("\x00"+name+"\x00"))
			if i < 0 {
				continue
			}
			if _, err := unix.PtracePokeText(pid, uintptr(m.Lo)+uintptr(i)+1, []byte("-")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// stepped runs a program by single steps: the outside judge. The addresses are
// computed here from the registers before each instruction.
func stepped(t *testing.T, path string, env []string) (all []step) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(path)
	out, err := os.Create(filepath.Join(t.TempDir(), "out")) // as with the engine: stdio asks what it is
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = env
	cmd.SysProcAttr = &unix.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		t.Skip("can not trace a program of one's own:", err)
	}
	pid := cmd.Process.Pid
	var ws unix.WaitStatus
	wait := func() {
		if _, err := unix.Wait4(pid, &ws, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	wait()
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_EXITKILL); err != nil {
		t.Fatal(err)
	}
	hideTimes(t, pid)
	var code [15]byte
	for {
		var r unix.PtraceRegs
		if err := unix.PtraceGetRegs(pid, &r); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.PtracePeekText(pid, uintptr(r.Rip), code[:]); err != nil {
			t.Fatal(err)
		}
		in, err := x86.Decode(code[:], r.Rip)
		if err != nil {
			t.Fatalf("%#x: % x: %v", r.Rip, code, err)
		}
		repeated := len(all) > 0 && all[len(all)-1].pc == r.Rip && isRep(code[:in.Len])
		st := step{pc: r.Rip}
		var e x86.Effects
		in.Effects(&e)
		st.n = e.NMem
		for i := range e.Mem[:e.NMem] {
			st.mem[i] = effective(&r, &e.Mem[i], in.Len)
			if e.Mem[i].Rep && r.Rcx == 0 {
				st.mem[i].Size = 0
			}
		}
		switch {
		case repeated:
			last := &all[len(all)-1]
			for i := range last.mem[:last.n] {
				last.mem[i].Size += uint32(e.Mem[i].Size)
			}
		default:
			all = append(all, st)
		}
		if code[0] == 0x0f && code[1] == 0xa2 { // cpuid
			over(t, pid, &r, in.Len, wait)
		} else if err := unix.PtraceSingleStep(pid); err != nil {
			t.Fatal(err)
		} else if wait(); ws.Exited() {
			return all
		}
		if !repeated {
			stated(t, pid, &e, &all[len(all)-1])
		}
	}
}

// over executes an instruction that the hypervisor of a virtual machine does for the processor, by a breakpoint
// behind it: some of these give the trap of a single step one instruction late.
func over(t *testing.T, pid int, r *unix.PtraceRegs, length int, wait func()) {
	t.Helper()
	next := uintptr(r.Rip) + uintptr(length)
	var was [1]byte
	poke := func(b byte) {
		if _, err := unix.PtracePokeText(pid, next, []byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := unix.PtracePeekText(pid, next, was[:]); err != nil {
		t.Fatal(err)
	}
	poke(0xcc)
	if err := unix.PtraceCont(pid, 0); err != nil {
		t.Fatal(err)
	}
	wait()
	poke(was[0])
	if err := unix.PtraceGetRegs(pid, r); err != nil {
		t.Fatal(err)
	}
	if r.Rip != uint64(next)+1 {
		t.Fatalf("stopped at %#x, not behind %#x", r.Rip, next)
	}
	r.Rip--
	if err := unix.PtraceSetRegs(pid, r); err != nil {
		t.Fatal(err)
	}
}

// stated says how long vector states are that an instruction has written or read.
func stated(t *testing.T, pid int, e *x86.Effects, st *step) {
	t.Helper()
	for i := range e.Mem[:e.NMem] {
		if e.Mem[i].Shape != x86.MemState {
			continue
		}
		var h [16]byte
		if _, err := unix.PtracePeekText(pid, uintptr(st.mem[i].Addr)+x86.StateHeader, h[:]); err != nil {
			t.Fatal(err)
		}
		st.mem[i].Size = x86.StateSize(binary.LittleEndian.Uint64(h[:]), binary.LittleEndian.Uint64(h[8:]), target.XsaveSize())
	}
}

func isRep(code []byte) bool {
	if code[0] != 0xf3 && code[0] != 0xf2 {
		return false
	}
	op := code[len(code)-1]
	return op >= 0xa4 && op <= 0xa7 || op >= 0xaa && op <= 0xaf
}

func effective(r *unix.PtraceRegs, m *x86.MemAccess, length int) flow.Mem {
	value := [16]uint64{r.Rax, r.Rcx, r.Rdx, r.Rbx, r.Rsp, r.Rbp, r.Rsi, r.Rdi, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15}
	a := uint64(m.Disp)
	if m.RIPRelative {
		a += r.Rip + uint64(length)
	}
	if m.Base != x86.NoReg {
		a += value[m.Base]
	}
	if m.Index != x86.NoReg {
		a += value[m.Index] * uint64(m.Scale)
	}
	if m.Addr32 {
		a = uint64(uint32(a))
	}
	if m.Segment == 'f' {
		a += r.Fs_base
	}
	if m.Shape == x86.MemBit {
		bits := uint(m.Size * 8)
		v := int64(value[m.Value])
		if m.Size == 4 {
			v = int64(int32(v))
		}
		a += uint64(v/int64(bits)) * uint64(m.Size)
	}
	return flow.Mem{Addr: trace.Addr(a), Size: uint32(m.Size)}
}

// TestAgainstSteps: the same instructions with the same addresses as single steps
// of the same program see, from the dynamic linker's first to the last.
func TestAgainstSteps(t *testing.T) {
	for _, c := range [][]string{{"small.c", "-static"}, {"small.c", "-no-pie", "-Wl,-z,now"}, {"changing.c", "-w", "-static"}} {
		t.Run(strings.Join(c, " "), func(t *testing.T) {
			path := build(t, c[0], c[1:]...)
			env := []string{"A=1"}
			want := stepped(t, path, env)
			s := &steps{t: t}
			under(t, s, Options{Buffer: 4096}, target.Command{Path: path, Env: env})
			t.Logf("%d instructions, %d blocks", len(s.all), len(s.blocks))
			same(t, s.all, want)

			// And through the file.
			var file bytes.Buffer
			w := flow.NewWriter(&file, flow.Head{})
			under(t, w, Options{}, target.Command{Path: path, Env: env})
			if err := w.Finish(flow.Trailer{Complete: true}); err != nil {
				t.Fatal(err)
			}
			r, err := flow.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
			if err != nil {
				t.Fatal(err)
			}
			s = &steps{t: t}
			for i := range r.Blocks() {
				s.blocks = append(s.blocks, *r.Block(flow.BlockID(i + 1)))
			}
			if err := r.Scan(0, func(rec *flow.Record) error {
				if rec.Kind != flow.Exec {
					return nil
				}
				_, err := s.Exec(rec.Thread, rec.Block, int(rec.From), int(rec.N), rec.Mem)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			same(t, s.all, want)
		})
	}
}

func same(t *testing.T, got, want []step) {
	t.Helper()
	for i := range want {
		if i >= len(got) || want[i] != got[i] {
			is := "the end"
			if i < len(got) {
				is = got[i].String()
			}
			t.Fatalf("instruction %d of %d: %v, want %v, after %v", i, len(want), is, want[i], want[max(i-1, 0)])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d instructions, want %d", len(got), len(want))
	}
}

// TestPrograms: programs do what they do without the engine.
func TestPrograms(t *testing.T) {
	for _, args := range [][]string{
		{"ls", "-l", "/usr/lib"},
		{"bash", "-c", "for i in 1 2 3; do echo $i; done; (echo sub; exit 2); echo $?; x=$(echo hi | tr h H); echo $x; trap 'echo got' USR1; kill -USR1 $$; ls / | head -2; exit 5"},
		{"perl", "-e", "my %h; $h{$_%17} += $_ for 1..1000; print join(',', map { $h{$_} } 0..16), qq(\n); eval { die qq(x\n) }; print $@; $SIG{ALRM} = sub { print qq(alarm\n); exit 3 }; alarm 1; 1 while 1"},
		{"python3", "-c", "import json, re, subprocess; print(json.dumps({'a': [1, 2, 3]})); print(sum(i * i for i in range(3000))); print(subprocess.run(['echo', 'x'], capture_output=True).stdout)"},
		{"sqlite3", ":memory:", "create table t(a, b); insert into t values (1, 2), (3, 4); select sum(a * b), hex(a) from t;"},
		{"sort", "-r", "/etc/passwd"},
		{"sh", "-c", "kill -SEGV $$"},
	} {
		t.Run(args[0], func(t *testing.T) {
			path, err := exec.LookPath(args[0])
			if err != nil {
				t.Skip(err)
			}
			if args[0] == "python3" { // what is found first may be a script
				path = "/usr/bin/python3"
			}
			c := target.Command{Path: path, Args: args[1:]}
			want := native(t, c)
			got, stats := under(t, new(count), Options{}, c)
			if got != want {
				t.Errorf("%q\nwant %q", got, want)
			}
			t.Logf("%+v", stats)
			if stats.Fetches > 0 {
				t.Errorf("%d times a thread got to the program's own code", stats.Fetches)
			}
		})
	}
}

// TestFlow: exceptions, longjmp, signals that are sent and raised, a wild jump.
func TestFlow(t *testing.T) {
	c := target.Command{Path: build(t, "flow.cc", "-fno-builtin")}
	want := native(t, c)
	for _, o := range []Options{{}, {Buffer: 4096, Ahead: 1}} {
		s := new(count)
		got, stats := under(t, s, o, c)
		if got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
		if stats.Signals < 40 || s.kinds[flow.Signal] < 40 {
			t.Errorf("%d signals, %d recorded", stats.Signals, s.kinds[flow.Signal])
		}
	}
}

// TestAligned: a program may have alignment checked; the engine's records have none.
func TestAligned(t *testing.T) {
	path := build(t, "aligned.c")
	for _, args := range [][]string{nil, {"not"}} {
		c := target.Command{Path: path, Args: args}
		want := native(t, c)
		if got, _ := under(t, new(count), Options{}, c); got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}

// TestTransaction: a transaction is aborted before it begins.
func TestTransaction(t *testing.T) {
	c := target.Command{Path: build(t, "transaction.c")}
	want := outcome{"42, carry 1, status 0\n", native(t, target.Command{Path: "/bin/true"}).status}
	if got, _ := under(t, new(count), Options{}, c); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestMappedTwice: code that is written by way of another mapping is what it was changed to.
func TestMappedTwice(t *testing.T) {
	path := build(t, "twice.c")
	for _, args := range [][]string{nil, {"protect"}} {
		c := target.Command{Path: path, Args: args}
		want := native(t, c)
		if got, _ := under(t, new(count), Options{}, c); got != want || got.out != "40 41 42\n" {
			t.Errorf("%s: %q\nwant %q", args, got, want)
		}
	}
}

// TestGap: what can not be recorded is executed, and a gap says so.
func TestGap(t *testing.T) {
	c := target.Command{Path: build(t, "gap.c")}
	want := native(t, c)
	s := new(count)
	got, _ := under(t, s, Options{}, c)
	if got != want || s.kinds[flow.Gap] != 3 {
		t.Errorf("%q, %d gaps\nwant %q, 3 gaps", got, s.kinds[flow.Gap], want)
	}
}

// count is a Sink that counts.
type count struct {
	blocks flow.BlockID
	insts  int
	kinds  [16]int
}

func (c *count) Block(flow.Block) (flow.BlockID, error) { c.blocks++; return c.blocks, nil }

func (c *count) Exec(_ trace.ThreadID, _ flow.BlockID, _, n int, _ []flow.Mem) (trace.Instant, error) {
	c.insts += n
	return 0, nil
}

func (c *count) Other(r *flow.Record) error { c.kinds[r.Kind]++; return nil }
