package bpf

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/probe"
	"mgtrace/target"
	"mgtrace/trace"
)

// Calls and returns of watched functions in order, frames left by exceptions,
// longjmp and tail calls included.
func TestCalls(t *testing.T) {
	needEngine(t)
	path := build(t, "calls.cc")
	cxx := "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
	p := newPlanner(t, path, libc, cxx).stores("touch").allocators()
	for _, f := range []string{"middle", "leaf", "depth", "tail"} {
		p.watch(f)
	}
	p.function("_Znwm", probe.Func{Role: probe.RoleMalloc, Size: 1})
	p.function("_Znam", probe.Func{Role: probe.RoleMalloc, Size: 1})
	p.function("_ZdaPv", probe.Func{Role: probe.RoleFree, Ptr: 1})
	r := record(t, path, &p.plan, Options{})
	names := []string{"", "middle", "leaf", "depth", "tail"}
	var got []string
	for _, e := range r.events {
		switch e.Kind {
		case trace.KindCall:
			got = append(got, fmt.Sprintf("call %s(%d)", names[e.Aux], int32(e.Args[0])))
		case trace.KindReturn:
			s := fmt.Sprintf("return %s = %d", names[e.Aux], int32(e.Ret))
			if e.Flags&trace.FlagUnwound != 0 {
				s = "left " + names[e.Aux]
			}
			got = append(got, s)
		case trace.KindStore:
			got = append(got, "store")
		case trace.KindAlloc, trace.KindFree, trace.KindRefused:
			// Those of the C++ runtime, for the exception, come between.
			if strings.HasPrefix(e.Name, "_Z") {
				got = append(got, e.Kind.String()+" "+e.Name)
			}
		}
	}
	want := strings.Split(strings.TrimSpace(`
alloc _Znam
call middle(1)
call leaf(1)
return leaf = 2
return middle = 3
store
call depth(2)
call depth(1)
call depth(0)
return depth = 0
return depth = 1
return depth = 2
store
call middle(3)
call leaf(3)
left leaf
left middle
store
call middle(4)
call leaf(4)
left leaf
left middle
store
call tail(5)
call leaf(10)
return leaf = 11
return tail = 11
store
free _ZdaPv`), "\n")
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestDeclaredAllocator(t *testing.T) {
	needEngine(t)
	path := build(t, "pool.c")
	p := newPlanner(t, path, libc).stores("main", "pool_get", "pool_put").allocators()
	p.function("pool_get", probe.Func{Role: probe.RoleMalloc, Fixed: 16, Declared: true})
	p.function("pool_put", probe.Func{Role: probe.RoleFree, Ptr: 1, Declared: true})
	record(t, path, &p.plan, Options{}).compare(t)
}

// blocks reads the addresses that the program prints.
func (r *result) blocks(t *testing.T) []trace.Addr {
	t.Helper()
	var out []trace.Addr
	for f := range strings.FieldsSeq(r.output) {
		v, err := strconv.ParseUint(strings.TrimPrefix(f, "0x"), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, trace.Addr(v))
	}
	return out
}

// checkThreads checks that each block got its stores: all, in order, from one
// thread.
func (r *result) checkThreads(t *testing.T, rounds uint64) {
	t.Helper()
	next := make(map[trace.Addr]uint64)
	by := make(map[trace.Addr]trace.ThreadID)
	for _, e := range r.of(trace.KindStore) {
		b := e.Addr &^ 63
		for _, at := range r.blocks(t) {
			if at <= e.Addr && e.Addr < at+64 {
				b = at
			}
		}
		if v := binary.LittleEndian.Uint64(e.Data); v != next[b] || e.Addr != b+trace.Addr(v&7*8) {
			t.Fatalf("block %#x: store of %d at %#x, want %d", uint64(b), v, uint64(e.Addr), next[b])
		}
		next[b]++
		if by[b] != 0 && by[b] != e.Thread {
			t.Fatalf("block %#x: threads %d and %d", uint64(b), by[b], e.Thread)
		}
		by[b] = e.Thread
	}
	for _, b := range r.blocks(t) {
		if next[b] != rounds {
			t.Errorf("block %#x: %d stores, want %d", uint64(b), next[b], rounds)
		}
	}
	if r.stats.Dropped != 0 || len(r.of(trace.KindLost)) != 0 {
		t.Errorf("lost: %+v", r.stats)
	}
}

func TestThreads(t *testing.T) {
	needEngine(t)
	path := build(t, "threads.c")
	p := newPlanner(t, path, libc).stores("fill", "crash").allocators()
	r := record(t, path, &p.plan, Options{}, "500")
	r.checkThreads(t, 500)
	if n := len(r.of(trace.KindThreadStart)); n != 4 {
		t.Errorf("%d threads began", n)
	}
	if n := len(r.of(trace.KindThreadExit)); n != 5 {
		t.Errorf("%d threads ended", n)
	}
	exits := r.of(trace.KindExit)
	if len(exits) != 1 || exits[0].Aux != 3<<8 {
		t.Errorf("exit: %+v", exits)
	}
}

// A ring far too small for the stores: the program is held, and none is lost.
func TestBackPressure(t *testing.T) {
	needEngine(t)
	path := build(t, "threads.c")
	for _, freeze := range []bool{false, true} {
		t.Run(fmt.Sprintf("freeze=%v", freeze), func(t *testing.T) {
			p := newPlanner(t, path, libc).stores("fill").allocators()
			r := &result{plan: &p.plan}
			n := 0
			err := recordInto(t, path, &p.plan, Options{Ring: 128 << 10, Freeze: freeze}, r, func(e *trace.Event) error {
				c := *e
				c.Data, c.Stack, c.Args = slices.Clone(e.Data), nil, nil
				r.events = append(r.events, c)
				if n++; n == 100 {
					// A slow reader: wait until the program has
					// stopped by itself.
					waitStopped(t, e.Thread)
				}
				return nil
			}, "4000")
			if err != nil {
				t.Fatal(err)
			}
			r.checkThreads(t, 4000)
			if r.stats.Stops == 0 {
				t.Errorf("never held: %+v", r.stats)
			}
			if s := r.status; s.Code != 3 {
				t.Errorf("status %v", s)
			}
			t.Logf("%+v", r.stats)
		})
	}
}

// waitStopped waits until a thread runs no more.
func waitStopped(t *testing.T, id trace.ThreadID) {
	last, same := "", 0
	for same < 20 {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", id, id))
		if err != nil {
			return
		}
		f := strings.Fields(string(b))
		now := f[2] + f[13] + f[14]
		if now == last && f[2] != "R" { // who is runnable only waits for a processor
			same++
		} else {
			last, same = now, 0
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 5e6}, nil)
	}
}

func TestCrash(t *testing.T) {
	needEngine(t)
	path := build(t, "threads.c")
	p := newPlanner(t, path, libc).stores("fill", "crash").allocators()
	r := record(t, path, &p.plan, Options{}, "5", "crash")
	sig := r.of(trace.KindSignal)
	if len(sig) != 1 || sig[0].Aux != uint64(unix.SIGSEGV) || sig[0].Addr != 0x1234 {
		t.Fatalf("signals: %+v", sig)
	}
	stores := r.of(trace.KindStore)
	if last := stores[len(stores)-1]; last.PC != sig[0].PC || last.Addr != 0x1234 {
		t.Errorf("the last store %+v is not where the signal %+v struck", last, sig[0])
	}
	exits := r.of(trace.KindExit)
	if len(exits) != 1 || exits[0].Aux&0x7f != uint64(unix.SIGSEGV) {
		t.Errorf("exit: %+v", exits)
	}
}

// The child of a fork runs on unharmed and is not recorded.
func TestFork(t *testing.T) {
	needEngine(t)
	path := build(t, "threads.c")
	p := newPlanner(t, path, libc).stores("fill").allocators()
	r := record(t, path, &p.plan, Options{}, "20", "fork")
	r.checkThreads(t, 20)
	forks := r.of(trace.KindFork)
	if len(forks) != 1 || forks[0].Aux == 0 || forks[0].Aux == uint64(r.pid) {
		t.Errorf("forks: %+v", forks)
	}
	if r.status.Code != 3 {
		t.Errorf("status %v", r.status)
	}
}

// The history ends where the program replaces itself.
func TestExec(t *testing.T) {
	needEngine(t)
	path := build(t, "threads.c")
	p := newPlanner(t, path, libc).stores("fill").allocators()
	r := record(t, path, &p.plan, Options{}, "20", "exec")
	if last := r.events[len(r.events)-1]; last.Kind != trace.KindExec {
		t.Errorf("the last event is %+v", last)
	}
	if r.status.Code != 0 {
		t.Errorf("status %v", r.status)
	}
}

// A killed program is recorded to its end.
func TestKilled(t *testing.T) {
	needEngine(t)
	path := build(t, "threads.c")
	p := newPlanner(t, path, libc).stores("fill").allocators()
	r := &result{plan: &p.plan}
	n := 0
	err := recordInto(t, path, &p.plan, Options{}, r, func(e *trace.Event) error {
		c := *e
		c.Data, c.Stack, c.Args = nil, nil, nil
		r.events = append(r.events, c)
		if n++; n == 1000 {
			return unix.Kill(int(e.Thread), unix.SIGKILL)
		}
		return nil
	}, "1", "loop")
	if err != nil {
		t.Fatal(err)
	}
	sig, exits := r.of(trace.KindSignal), r.of(trace.KindExit)
	if len(sig) != 1 || sig[0].Aux != uint64(unix.SIGKILL) {
		t.Errorf("signals: %+v", sig)
	}
	if len(exits) != 1 || exits[0].Aux != uint64(unix.SIGKILL) {
		t.Errorf("exit: %+v", exits)
	}
}

// The sink's error ends the recording, and Close lets the program run on.
func TestSinkFails(t *testing.T) {
	needEngine(t)
	path := build(t, "threads.c")
	p := newPlanner(t, path, libc).stores("fill").allocators()
	full := errors.New("disk full")
	err := recordInto(t, path, &p.plan, Options{}, &result{}, func(e *trace.Event) error { return full }, "1", "loop")
	if !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

// When the tracer is killed the kernel removes its probes, and the program runs
// on as if there had been none.
func TestTracerKilled(t *testing.T) {
	needEngine(t)
	if os.Getenv("BPF_TEST_TRACER") != "" {
		traceAndWait(t, os.Getenv("BPF_TEST_TRACER"))
		return
	}
	path := build(t, "threads.c")
	victim := exec.Command(path, "1", "loop")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { victim.Process.Kill(); victim.Wait() }()
	cmd := exec.Command(os.Args[0], "-test.run=^TestTracerKilled$")
	cmd.Env = append(os.Environ(), "BPF_TEST_TRACER="+path+":"+strconv.Itoa(victim.Process.Pid))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 6)
	if _, err := out.Read(b); err != nil || string(b) != "traced" {
		t.Fatalf("%q, %v", b, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	// Its links are gone with it: a probe of our own sees only itself.
	site := firstStore(t, path)
	code := make([]byte, 1)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if readCode(t, victim.Process.Pid, path, site, code); code[0] != 0xcc {
			break
		}
	}
	if code[0] == 0xcc {
		t.Error("a breakpoint is left in the program")
	}
	if err := victim.Process.Signal(unix.Signal(0)); err != nil {
		t.Errorf("the program is gone: %v", err)
	}
}

func firstStore(t *testing.T, path string) probe.Site {
	return newPlanner(t, path).stores("fill").plan.Stores[0].Site
}

// readCode reads the code of a process at a site of its program.
func readCode(t *testing.T, pid int, path string, s probe.Site, b []byte) {
	t.Helper()
	maps, err := readMaps(pid)
	if err != nil {
		t.Fatal(err)
	}
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	im, err := findImage(pid, path, maps)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.ReadAt(b, int64(im.bias+s.Addr)); err != nil {
		t.Fatal(err)
	}
}

// traceAndWait records a running process until it is killed itself.
func traceAndWait(t *testing.T, what string) {
	path, number, _ := strings.Cut(what, ":")
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	p := newPlanner(t, path).stores("fill")
	e, err := Attach(&p.plan, pid, Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	t.Fatal(e.Run(context.Background(), func(*trace.Event) error {
		if n++; n == 10 {
			os.Stdout.WriteString("traced")
		}
		return nil
	}))
}

// Sync hands over everything that a held program did.
func TestSync(t *testing.T) {
	needEngine(t)
	path := build(t, "threads.c")
	p := newPlanner(t, path, libc).stores("fill").allocators()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	proc, err := target.Launch(ctx, target.Command{Path: path, Args: []string{"77"}, Stdout: null})
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	if err := proc.RunToLoaded(ctx); err != nil {
		t.Fatal(err)
	}
	e, err := Attach(&p.plan, proc.PID(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	stores := 0
	ended := make(chan error, 1)
	go func() {
		ended <- e.Run(ctx, func(ev *trace.Event) error {
			if ev.Kind == trace.KindStore {
				stores++
			}
			return nil
		})
	}()
	atExit := -1
	if _, err := proc.Run(ctx, target.Handlers{OnExit: func(target.Exit) {
		if err := e.Sync(ctx); err != nil {
			t.Error(err)
		}
		atExit = stores
	}}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if atExit != 4*77 {
		t.Errorf("%d stores after Sync, want %d", atExit, 4*77)
	}
}
