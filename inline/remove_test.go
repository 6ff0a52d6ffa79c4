package inline

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mgtrace/inline/patch"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/trace"
)

// The engine is taken out of a program whose threads are everywhere: in
// trampolines, in the hook routine, in system calls, at guard pages. Its code is
// then as in its files, nothing of ours is mapped, and it goes on.
func TestRemove(t *testing.T) {
	path := build(t, "remove.c")
	for _, segv := range []bool{false, true} {
		t.Run("sigsegv="+strconv.FormatBool(segv), func(t *testing.T) {
			r := run{options: Options{Buffer: 64 << 10, sigsegv: segv}}
			removed := filepath.Join(t.TempDir(), "removed")
			if segv {
				r.options.Buffer = 1 << 20 // or the tracer has no time for anything else
			}
			r.during = func(e *Engine, p *target.Process) {
				time.Sleep(700 * time.Millisecond)
				began := time.Now()
				if err := e.Detach(); err != nil {
					t.Errorf("detach: %v", err)
					return
				}
				t.Logf("taken out in %v", time.Since(began))
				checkRemoved(t, e, p)
				if err := os.WriteFile(removed, nil, 0o600); err != nil {
					t.Error(err)
				}
			}
			if err := r.try(t, path, removed); err != nil {
				t.Fatal(err)
			}
			output, code := native(t, path, removed)
			if r.output != output || r.status.Code != code || r.status.Signal != 0 {
				t.Errorf("%v:\n%s\nwithout mgtrace: %d\n%s", r.status, r.output, code, output)
			}
			t.Logf("%+v", r.stats)
		})
	}
}

// When what is recorded can not be kept any more (a full disk), the engine is taken out
// and the program goes on; whoever asks for the rest at its end gets nothing.
func TestSinkFails(t *testing.T) {
	path := build(t, "threads.c")
	args := []string{"mutexes", "4", "3000"}
	output, code := native(t, path, args...)
	full := errors.New("no space left")
	events := 0
	r := run{failing: true, event: func(*trace.Event) error {
		if events++; events > 1000 {
			return full
		}
		return nil
	}}
	if err := r.try(t, path, args...); err != nil {
		t.Fatal(err)
	}
	if !r.engine.removed {
		t.Error("the recording did not fail")
	}
	if r.output != output || r.status.Code != code || r.status.Signal != 0 {
		t.Errorf("%v:\n%s\nwithout mgtrace: %d\n%s", r.status, r.output, code, output)
	}
}

// A thread that uses GS itself is refused, and keeps its GS; another one is recorded,
// and has none again when the engine is gone.
func TestOwnGS(t *testing.T) {
	path := build(t, "threads.c")
	for _, own := range []uint64{0, 0x123000} {
		p, r := loaded(t, path)
		regs, err := p.Regs(p.PID())
		if err != nil {
			t.Fatal(err)
		}
		regs.GSBase = own
		if err := p.SetRegs(p.PID(), regs); err != nil {
			t.Fatal(err)
		}
		e, err := Attach(r.plan, p, Options{})
		if refused := err != nil && strings.Contains(err.Error(), "uses the GS segment itself"); refused != (own != 0) {
			t.Fatalf("GS base %#x: %v", own, err)
		}
		if err == nil {
			if regs, err = p.Regs(p.PID()); err != nil || regs.GSBase == 0 {
				t.Errorf("GS base %#x under the engine, %v", regs.GSBase, err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
		if regs, err = p.Regs(p.PID()); err != nil || regs.GSBase != own {
			t.Errorf("GS base %#x is %#x when the engine is gone, %v", own, regs.GSBase, err)
		}
	}
}

// Where some of a unit's trampolines can not be mapped, the others are taken away with
// the engine, as those of a unit that is whole.
func TestMappedInPart(t *testing.T) {
	const free = 0x10000000
	path := build(t, "threads.c")
	for _, whole := range []bool{true, false} {
		p, r := loaded(t, path)
		e, err := Attach(r.plan, p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		u := &unit{plan: &patch.Plan{Trampolines: []patch.Trampoline{{Addr: free, Bytes: []byte{int3}}}}}
		if !whole {
			taken := patch.Trampoline{Addr: e.images[0].code[0].Addr, Bytes: []byte{int3}}
			u.plan.Trampolines = append(u.plan.Trampolines, taken)
		}
		if err := e.install(u); (err == nil) != whole {
			t.Errorf("whole %v: %v", whole, err)
		}
		mapped := func() bool {
			maps, err := p.Maps()
			if err != nil {
				t.Error(err)
			}
			_, ok := mem.FindMap(maps, free)
			return ok
		}
		if !mapped() {
			t.Errorf("whole %v: the first one is not mapped", whole)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if mapped() {
			t.Errorf("whole %v: the first one is left behind", whole)
		}
		checkRemoved(t, e, p)
	}
}

// loaded is a program that is held where its libraries are loaded, and its plan.
func loaded(t *testing.T, path string) (*target.Process, *run) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	p, err := target.Launch(ctx, target.Command{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if err := p.RunToLoaded(ctx); err != nil {
		t.Fatal(err)
	}
	r := new(run)
	r.prepare(t, ctx, p)
	return p, r
}

func checkRemoved(t *testing.T, e *Engine, p *target.Process) {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/maps")
	if err != nil {
		t.Error(err)
		return
	}
	if strings.Contains(string(b), "memfd:mgtrace") {
		t.Error("shared memory is still mapped")
	}
	if n := strings.Count(string(b), "r-xp 00000000 00:00 0"); n > 1 { // the vdso
		t.Errorf("%d pieces of code of no file", n)
	}
	for _, im := range e.images {
		if im == nil {
			continue // not mapped yet
		}
		f, err := elf.Open(im.Path)
		if err != nil {
			t.Error(err)
			return
		}
		for _, s := range f.Progs {
			if s.Type != elf.PT_LOAD || s.Flags&elf.PF_X == 0 {
				continue
			}
			want, have := make([]byte, s.Filesz), make([]byte, s.Filesz)
			if _, err := s.ReadAt(want, 0); err != nil {
				t.Error(err)
			}
			if _, err := p.ReadMemory(have, im.bias+s.Vaddr); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(want, have) {
				t.Errorf("the code of %s is not what it was", im.Path)
			}
		}
		f.Close()
	}
}

// A thread that has reached its guard page may be stopped for another reason
// before the kernel tells of the fault: it has its new buffer by then.
func TestLateFault(t *testing.T) {
	path := build(t, "threads.c")
	args := []string{"mutexes", "4", "3000"}
	output, code := native(t, path, args...)
	r := run{options: Options{Buffer: 64 << 10, sigsegv: true}}
	r.during = func(e *Engine, p *target.Process) {
		for {
			tasks, err := os.ReadDir("/proc/" + strconv.Itoa(p.PID()) + "/task")
			if err != nil {
				return
			}
			for _, task := range tasks {
				tid, err := strconv.Atoi(task.Name())
				if err == nil && p.Poke(tid) != nil {
					return
				}
			}
		}
	}
	if err := r.try(t, path, args...); err != nil {
		t.Fatal(err)
	}
	if r.output != output || r.status.Code != code || r.status.Signal != 0 {
		t.Errorf("%v:\n%s\nwithout mgtrace: %d\n%s", r.status, r.output, code, output)
	}
}
