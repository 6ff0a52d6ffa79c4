package bpf

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mgtrace/capture"
	"mgtrace/objfile"
	"mgtrace/probe"
	"mgtrace/target"
	"mgtrace/trace"
	"mgtrace/x86"
)

// patience bounds every run: a test that needs it fails. It is far more than anything takes on a busy machine.
const patience = 8 * time.Minute

// needEngine skips where the engine can not run, with its own reason.
func needEngine(t testing.TB) {
	t.Helper()
	if err := Check(); err != nil {
		t.Skip(err)
	}
}

// build compiles testdata/NAME with the C or C++ compiler.
func build(t testing.TB, name string, flags ...string) string {
	t.Helper()
	cc := "gcc"
	if strings.HasSuffix(name, ".cc") {
		cc = "g++"
	}
	out := filepath.Join(t.TempDir(), strings.TrimSuffix(name, filepath.Ext(name)))
	args := append([]string{"-g", "-O1", "-pthread", "-o", out, filepath.Join("testdata", name)}, flags...)
	if msg, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Skipf("%s %v: %v\n%s", cc, args, err, msg)
	}
	return out
}

// planner makes plans for tests without the help of package probe: all stores
// of the program's own functions, and functions by symbol.
type planner struct {
	t    testing.TB
	plan probe.Plan
	elfs []*elf.File
}

func newPlanner(t testing.TB, paths ...string) *planner {
	t.Helper()
	p := &planner{t: t}
	for i, path := range paths {
		path, err := filepath.EvalSymlinks(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		of, err := objfile.Open(path, objfile.Options{NoSeparate: true})
		if err != nil {
			t.Fatal(err)
		}
		p.plan.Images = append(p.plan.Images, &probe.Image{Path: path, File: of, Traced: i == 0})
		p.elfs = append(p.elfs, f)
	}
	return p
}

func (p *planner) symbols(image int) []elf.Symbol {
	syms, _ := p.elfs[image].Symbols()
	dyn, _ := p.elfs[image].DynamicSymbols()
	return append(syms, dyn...)
}

func (p *planner) find(name string) (int, elf.Symbol) {
	for i := range p.elfs {
		for _, s := range p.symbols(i) {
			if s.Name == name && elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value != 0 {
				return i, s
			}
		}
	}
	p.t.Fatalf("no function %s", name)
	return 0, elf.Symbol{}
}

func (p *planner) site(image int, addr uint64) probe.Site {
	for _, g := range p.elfs[image].Progs {
		if g.Type == elf.PT_LOAD && g.Vaddr <= addr && addr < g.Vaddr+g.Filesz {
			return probe.Site{Image: image, Addr: addr, Offset: addr - g.Vaddr + g.Off}
		}
	}
	p.t.Fatalf("no code at %#x", addr)
	return probe.Site{}
}

// each calls f for each instruction of a function.
func (p *planner) each(image int, s elf.Symbol, f func(pc uint64, code []byte, in x86.Inst)) {
	text := p.plan.Images[image].File.Code(s.Value, int(s.Size))
	for at := 0; at < len(text); {
		in, err := x86.Decode(text[at:], s.Value+uint64(at))
		if err != nil {
			p.t.Fatalf("%s+%#x: %v", s.Name, at, err)
		}
		f(s.Value+uint64(at), text[at:], in)
		at += in.Len
	}
}

// stores plans all stores of the functions named, or of all in the program.
func (p *planner) stores(names ...string) *planner {
	seen := make(map[uint64]bool)
	for _, s := range p.symbols(0) {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 || seen[s.Value] ||
			len(names) > 0 && !slices.Contains(names, s.Name) || strings.HasPrefix(s.Name, "_") {
			continue
		}
		seen[s.Value] = true
		p.each(0, s, func(pc uint64, code []byte, in x86.Inst) {
			if in.Effect != x86.EffectStore || in.Kind == x86.KindCall {
				return
			}
			st := probe.Store{Site: p.site(0, pc), Effect: in.Store}
			st.Effect.Text = x86.Text(code, pc)
			if st.Effect.Source == x86.SourceMemory || st.Effect.Shape != x86.ShapeFixed {
				st.After = p.site(0, pc+uint64(in.Len))
			}
			if ok, _ := in.KernelProbeable(); !ok {
				if st.Effect.Shape == x86.ShapeString || st.Effect.Shape == x86.ShapeMasked {
					p.t.Fatalf("%s can not be captured", st.Effect.Text)
				}
				st.AfterOnly = true
				st.After = p.site(0, pc+uint64(in.Len))
			}
			p.plan.Stores = append(p.plan.Stores, st)
		})
	}
	return p
}

// function plans a function with its RET instructions.
func (p *planner) function(name string, f probe.Func) *planner {
	image, s := p.find(name)
	f.Name = name
	f.Entry = p.site(image, s.Value)
	if !f.Uretprobe {
		p.each(image, s, func(pc uint64, code []byte, in x86.Inst) {
			tail := in.Kind == x86.KindJmp && in.Direct && (in.Target < s.Value || in.Target >= s.Value+s.Size)
			if in.Kind == x86.KindRet || tail {
				f.Returns = append(f.Returns, p.site(image, pc))
			}
		})
	}
	p.plan.Funcs = append(p.plan.Funcs, f)
	return p
}

// allocators plans those of libc.
func (p *planner) allocators() *planner {
	p.function("malloc", probe.Func{Role: probe.RoleMalloc, Size: 1, Uretprobe: true})
	p.function("calloc", probe.Func{Role: probe.RoleCalloc, Count: 1, Size: 2, Uretprobe: true})
	p.function("realloc", probe.Func{Role: probe.RoleRealloc, Ptr: 1, Size: 2, Uretprobe: true})
	p.function("posix_memalign", probe.Func{Role: probe.RolePosix, Ptr: 1, Size: 3, Uretprobe: true})
	p.function("strdup", probe.Func{Role: probe.RoleStrdup, Uretprobe: true})
	return p.function("free", probe.Func{Role: probe.RoleFree, Ptr: 1, Uretprobe: true})
}

// watch plans a watched function.
func (p *planner) watch(name string) *planner {
	n := 0
	for _, f := range p.plan.Funcs {
		if f.Role == probe.RoleWatch {
			n++
		}
	}
	return p.function(name, probe.Func{Role: probe.RoleWatch, ID: trace.FuncID(n + 1)})
}

const libc = "/lib/x86_64-linux-gnu/libc.so.6"

// result is what a run gave.
type result struct {
	events []trace.Event
	stats  capture.Stats
	output string
	status target.ExitStatus
	plan   *probe.Plan
	pid    int
}

// record runs a program under the engine and collects all events.
func record(t testing.TB, path string, plan *probe.Plan, opts Options, args ...string) *result {
	t.Helper()
	r := &result{plan: plan}
	err := recordInto(t, path, plan, opts, r, func(e *trace.Event) error {
		c := *e
		c.Data, c.Args, c.Stack = slices.Clone(e.Data), slices.Clone(e.Args), slices.Clone(e.Stack)
		r.events = append(r.events, c)
		return nil
	}, args...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// recordInto runs a program under the engine.
func recordInto(t testing.TB, path string, plan *probe.Plan, opts Options, r *result,
	sink func(*trace.Event) error, args ...string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	rd, wr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	p, err := target.Launch(ctx, target.Command{Path: path, Args: args, Stdout: wr})
	wr.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.RunToLoaded(ctx); err != nil {
		t.Fatal(err)
	}
	if opts.Unwind == nil {
		maps, err := readMaps(p.PID())
		if err != nil {
			t.Fatal(err)
		}
		opts.Unwind = unwinder(plan, p.PID(), maps)
	}
	e, err := Attach(plan, p.PID(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, u := range e.Unprobed() {
		t.Errorf("unprobed: %#x %s: %s", u.Addr, u.Instruction, u.Reason)
	}
	var out bytes.Buffer
	var wg sync.WaitGroup
	var runErr error
	wg.Go(func() { io.Copy(&out, rd) })
	wg.Go(func() {
		runErr = e.Run(ctx, sink)
		if runErr != nil {
			cancel() // ends the target
		}
	})
	r.status, err = p.Run(ctx, target.Handlers{})
	wg.Wait()
	r.pid = p.PID()
	r.output = out.String()
	r.stats = e.Stats()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if s := r.stats; runErr == nil && s.Hits != s.Delivered+s.Dropped {
		t.Errorf("hits are not delivered + dropped: %+v", s)
	}
	return errors.Join(runErr, err)
}

// heapWrites formats the writes to the heap: from the program's own events, in
// order.
func (r *result) heapWrites() []string {
	var out []string
	for _, e := range r.events {
		switch e.Kind {
		case trace.KindStore, trace.KindBulk, trace.KindSyscall:
			out = append(out, fmt.Sprintf("%#x %x", uint64(e.Addr), e.Data))
		case trace.KindUnread:
			out = append(out, fmt.Sprintf("%#x unread", uint64(e.Addr)))
		}
	}
	return out
}

// of returns the events of some kinds.
func (r *result) of(kinds ...trace.Kind) []trace.Event {
	var out []trace.Event
	for _, e := range r.events {
		if slices.Contains(kinds, e.Kind) {
			out = append(out, e)
		}
	}
	return out
}
