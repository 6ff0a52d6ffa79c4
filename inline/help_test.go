package inline

import (
	"bytes"
	"context"
	"errors"
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
)

// patience bounds every run: a test that needs it fails. It is far more than anything takes on a busy machine.
const patience = 8 * time.Minute

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

// run is one recording of a program.
type run struct {
	options Options
	modules []string // traced files beside the program
	late    []string // those that are not mapped at the start
	limit   string   // of ulimit(1), for the program
	follow  string   // the program that is meant, if another is started
	keep    bool     // events, for the test to look at
	failing bool     // event fails: the program is to go on without the engine
	// attached is called before the program goes on.
	attached func(e *Engine, p *target.Process)
	// during is called beside the running program.
	during func(e *Engine, p *target.Process)
	event  func(*trace.Event) error

	events []trace.Event
	count  map[trace.Kind]int
	memory *memory
	engine *Engine
	plan   *probe.Plan
	output string
	status target.ExitStatus
	stats  capture.Stats
	pid    int
	// At the program's end: bytes of live blocks that are known, and of those
	// the ones that memory has otherwise.
	audited       bool
	known, differ int
}

// record runs a program under the engine. The recording must be whole and agree
// with memory at the program's end.
func (r *run) record(t testing.TB, path string, args ...string) {
	t.Helper()
	if err := r.try(t, path, args...); err != nil {
		t.Fatal(err)
	}
	if r.differ != 0 {
		t.Errorf("%d of %d bytes differ", r.differ, r.known)
	}
	for _, u := range r.engine.Unprobed() {
		t.Errorf("unprobed: %#x %s: %s", u.Addr, u.Instruction, u.Reason)
	}
}

// launch starts a program whose output can be read, and runs it until its libraries are loaded. The
// caller closes both.
func launch(t testing.TB, ctx context.Context, c target.Command) (*target.Process, *os.File) {
	t.Helper()
	rd, wr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = wr, wr
	p, err := target.Launch(ctx, c)
	wr.Close()
	if err == nil {
		if err = p.RunToLoaded(ctx); err != nil {
			p.Close()
		}
	}
	if err != nil {
		rd.Close()
		t.Fatal(err)
	}
	return p, rd
}

// try runs a program under the engine; err is that of the engine or the tracer.
func (r *run) try(t testing.TB, path string, args ...string) (err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if r.limit != "" {
		args = append([]string{"-c", "ulimit " + r.limit + ` && exec "$@"`, "sh", path}, args...)
		path = "/bin/sh"
	}
	follow := r.follow
	if r.limit != "" {
		follow = args[3]
	}
	p, rd := launch(t, ctx, target.Command{Path: path, Args: args, Follow: follow})
	defer rd.Close()
	defer p.Close()
	r.prepare(t, ctx, p)
	if r.options.Unwind == nil {
		r.options.Unwind = unwinder(r.plan)
	}
	e, err := Attach(r.plan, p, r.options)
	if err != nil {
		return err
	}
	defer e.Close()
	r.engine, r.pid = e, p.PID()
	r.memory, r.count = newMemory(), make(map[trace.Kind]int)
	if r.attached != nil {
		r.attached(e, p)
	}
	var out bytes.Buffer
	var wg sync.WaitGroup
	var runErr error
	over := make(chan struct{})
	wg.Go(func() { io.Copy(&out, rd) })
	wg.Go(func() {
		defer close(over)
		runErr = e.Run(ctx, capture.Events(r.take))
		switch {
		case runErr != nil && r.failing:
			runErr = e.Close() // the target goes on
		case runErr != nil:
			cancel() // ends the target
		}
	})
	if r.during != nil {
		wg.Go(func() { r.during(e, p) })
	}
	r.status, err = p.Run(ctx, target.Handlers{OnCrash: func(c target.Crash) {
		var code [16]byte
		n, _ := p.ReadMemory(code[:], c.Regs.RIP)
		t.Logf("%v at %#x (% x), address %#x, %+v", c.Signal, c.Regs.RIP, code[:n], c.Addr, c.Regs)
	}, OnExit: func(target.Exit) {
		if err := e.Sync(ctx); err != nil {
			if ctx.Err() == nil { // else the recording has failed, and try says how
				t.Errorf("sync: %v", err)
			}
			return
		}
		if r.count[trace.KindExec] > 0 {
			return // another program
		}
		if e.removed {
			return // with nothing to compare
		}
		r.audited = true
		r.known, r.differ = r.memory.audit(t, r.own(), p.ReadMemory)
	}})
	e.Ended(r.status.Wait())
	wg.Wait()
	r.output, r.stats = out.String(), e.Stats()
	return errors.Join(runErr, err, e.Close())
}

func (r *run) take(ev *trace.Event) error {
	r.count[ev.Kind]++
	if r.keep {
		c := *ev
		c.Data, c.Args, c.Stack = slices.Clone(ev.Data), slices.Clone(ev.Args), slices.Clone(ev.Stack)
		r.events = append(r.events, c)
	}
	r.memory.take(ev)
	if r.event != nil {
		return r.event(ev)
	}
	return nil
}

// prepare makes the plan of a process that has its libraries loaded.
func (r *run) prepare(t testing.TB, ctx context.Context, p *target.Process) {
	t.Helper()
	exe, err := p.Exe()
	if err != nil {
		t.Fatal(err)
	}
	maps, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	var images []*probe.Image
	seen := make(map[string]bool)
	add := func(path string) *probe.Image {
		f, err := objfile.Open(path, objfile.Options{NoSeparate: true})
		if err != nil {
			return nil
		}
		t.Cleanup(func() { f.Close() })
		im := &probe.Image{Path: path, File: f, Traced: slices.ContainsFunc(r.modules, func(m string) bool { return strings.HasPrefix(filepath.Base(path), m) })}
		images = append(images, im)
		return im
	}
	place := func(im *probe.Image) {
		for _, m := range maps {
			if m.Path == im.Path {
				if b, ok := im.File.Bias(m.Lo, m.Offset, m.Size(), m.Exec); ok {
					im.Bias = b
					return
				}
			}
		}
	}
	for _, path := range append([]string{exe}, mappedFiles(maps)...) {
		if seen[path] {
			continue
		}
		seen[path] = true
		if im := add(path); im != nil {
			place(im)
		}
	}
	for _, path := range r.late {
		if im := add(path); im != nil {
			im.Traced = true
		} else {
			t.Fatalf("no library %s", path)
		}
	}
	if at, ok := images[0].File.LastResolver(); ok && images[0].File.Static() {
		if _, err := p.RunTo(ctx, images[0].Bias+at); err != nil {
			t.Fatal(err)
		}
	}
	r.plan, err = probe.Build(probe.Request{}, images, probe.Options{
		InProcess: true,
		Resolve: func(im *probe.Image, resolver uint64) (uint64, error) {
			v, err := p.Call(im.Bias + resolver)
			return v - im.Bias, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// own says whether the code at an address is the program's own: it asked for a
// block itself.
func (r *run) own() func(trace.Addr) bool {
	return func(pc trace.Addr) bool {
		for _, im := range r.engine.images {
			if im == nil || !im.Traced || im.at(uint64(pc)) == nil {
				continue
			}
			fn, ok := im.File.FuncAt(uint64(pc) - 1 - im.bias)
			return !ok || fn.File != "" || !im.File.Static() // a static program holds the C library
		}
		return false
	}
}

func unwinder(plan *probe.Plan) *capture.CallFrames {
	return capture.CFI(func(pc uint64) (*objfile.File, uint64, bool) {
		for _, im := range plan.Images {
			lo, hi := im.File.LoadRange()
			if im.Bias+lo <= pc && pc < im.Bias+hi {
				return im.File, im.Bias, true
			}
		}
		return nil, 0, false
	}, 8)
}

// native runs a program by itself.
func native(t testing.TB, path string, args ...string) (output string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		return string(out), exit.ExitCode()
	}
	return string(out), 0
}

// same records a program and compares what it does with what it does alone.
func (r *run) same(t testing.TB, path string, args ...string) {
	t.Helper()
	output, code := native(t, path, args...)
	r.record(t, path, args...)
	if r.output != output {
		t.Errorf("output:\n%s\nwithout mgtrace:\n%s", r.output, output)
	}
	if r.status.Signal != 0 || r.status.Code != code {
		t.Errorf("%v, without mgtrace %d", r.status, code)
	}
	t.Logf("%d bytes known; %+v", r.known, r.stats)
}
