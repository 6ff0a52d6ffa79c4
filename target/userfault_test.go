package target

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

// guardRanges are the second page of each thread's two.
func guardRanges(tb testing.TB, p *Process, pages uint64) []Range {
	base, err := mem.ReadUint64(p, pages)
	if err != nil {
		tb.Fatal(err)
	}
	var rs []Range
	for i := range uint64(4) {
		rs = append(rs, Range{base + 4096*(2*i+1), base + 4096*(2*i+2)})
	}
	return rs
}

func guarded(rs []Range, addr uint64) bool {
	for _, r := range rs {
		if addr >= r.Lo && addr < r.Hi {
			return true
		}
	}
	return false
}

// Each touch of a guarded page is told with its thread; the thread goes on where
// its registers say.
func TestUserfault(t *testing.T) {
	const rounds, threads = 300, 3
	s := launch(t, Command{Path: build(t, "guard"), Args: []string{strconv.Itoa(rounds), strconv.Itoa(threads)}})
	if _, err := s.p.RunTo(t.Context(), symbol(t, s.p, "ready")); err != nil {
		t.Fatal(err)
	}
	ranges := guardRanges(t, s.p, symbol(t, s.p, "pages"))
	before := openFiles(t, s.p.PID())
	u, err := s.p.Userfault(ranges)
	if errors.Is(err, ErrUserfault) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if after := openFiles(t, s.p.PID()); after != before {
		t.Errorf("the program has %d files open, and had %d", after, before)
	}
	touch := symbol(t, s.p, "touch")
	m := newMeddler(t)
	faults, stale := 0, 0
	m.onInterrupted = func(th *Stopped) {
		regs, err := th.Regs()
		if err != nil {
			t.Error(err)
		}
		if regs.RIP != touch || !guarded(ranges, regs.RDI) {
			stale++ // it was taken out of that by the step below
			return
		}
		// A step ends in the kernel, and not for ever.
		if faults == 5 {
			if err := th.Step(); !errors.Is(err, ErrBlocked) {
				t.Errorf("step at a guarded page: %v", err)
			}
		}
		faults++
		regs.RDI -= 4096
		if err := th.SetRegs(regs); err != nil {
			t.Error(err)
		}
	}
	if err := s.p.SetInterceptor(m); err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]Fault, 8)
		for {
			n, err := u.Read(buf)
			if err != nil {
				return
			}
			for _, f := range buf[:n] {
				if !f.Write || s.p.Poke(f.TID) != nil {
					return
				}
			}
		}
	}()
	if st := s.run(t.Context(), Handlers{}); st.Code != 0 || s.output() != "filled" {
		t.Errorf("status %v, output %q", st, s.output())
	}
	if faults != rounds*threads {
		t.Errorf("%d faults, want %d", faults, rounds*threads)
	}
	if stale > 1 {
		t.Errorf("%d threads were interrupted elsewhere", stale)
	}
	if m.signals != 0 {
		t.Errorf("%d signals", m.signals)
	}
}

// What can not be registered because the memory is gone is told from what there is no room for.
func TestUserfaultGone(t *testing.T) {
	s := launch(t, Command{Path: build(t, "guard"), Args: []string{"1", "1"}})
	if _, err := s.p.RunTo(t.Context(), symbol(t, s.p, "ready")); err != nil {
		t.Fatal(err)
	}
	r := guardRanges(t, s.p, symbol(t, s.p, "pages"))[0]
	u, err := s.p.Userfault(nil)
	if errors.Is(err, ErrUserfault) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if err := u.Register(Range{4096, 8192}); !errors.Is(err, ErrUserfault) || errors.Is(err, ErrExited) {
		t.Errorf("where nothing is mapped: %v", err)
	}
	if err := u.Register(r); err != nil {
		t.Error(err)
	}
	if err := u.control(func(fd int) error {
		if memoryGone(fd) {
			t.Error("the memory of a process that stands is gone")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := unix.Kill(s.p.PID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.run(t.Context(), Handlers{})
	if err := u.Register(r); !errors.Is(err, ErrExited) {
		t.Errorf("of a process that has ended: %v", err)
	}
}

func openFiles(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// A program with a filter that kills for getpid: it is suspended, or refused.
func TestSeccomp(t *testing.T) {
	s := launch(t, Command{Path: build(t, "guard"), Args: []string{"1", "1", "seccomp"}})
	if _, err := s.p.RunTo(t.Context(), symbol(t, s.p, "ready")); err != nil {
		t.Fatal(err)
	}
	pid, err := s.p.Syscall(unix.SYS_GETPID)
	if !errors.Is(err, ErrSeccomp) && (err != nil || int(pid) != s.p.PID()) {
		t.Errorf("getpid is %d, %v", pid, err)
	}
	t.Log(err)
	if st := s.run(t.Context(), Handlers{}); st.Code != 0 || s.output() != "filled" {
		t.Errorf("status %v, output %q", st, s.output())
	}
}

func FuzzDecodeFaults(f *testing.F) {
	f.Add(make([]byte, 3*uffdMessage-1))
	f.Fuzz(func(t *testing.T, raw []byte) {
		buf := make([]Fault, 4)
		if n := decodeFaults(buf, raw); n > len(raw)/uffdMessage {
			t.Errorf("%d faults in %d bytes", n, len(raw))
		}
	})
}

// mover answers a touch of a guarded page by moving the access before it.
type mover struct {
	meddler
	guards []Range
}

func (m *mover) OnThreadEnd(int) {}

func (m *mover) OnSignal(th *Stopped, sig syscall.Signal, info Siginfo) bool {
	if sig != syscall.SIGSEGV {
		return true
	}
	m.move(th)
	return false
}

func (m *mover) OnInterrupted(th *Stopped) { m.move(th) }

func (m *mover) move(th *Stopped) {
	regs, err := th.Regs()
	if err == nil && guarded(m.guards, regs.RDI) {
		regs.RDI -= 4096
		err = th.SetRegs(regs)
	}
	if err != nil {
		panic(err)
	}
}

// BenchmarkGuard is the time of one touch of a guarded page, from the fault
// until the thread goes on, by SIGSEGV and by userfaultfd.
func BenchmarkGuard(b *testing.B) {
	for _, how := range []string{"segv", "userfault"} {
		b.Run(how, func(b *testing.B) {
			p := benchLaunch(b, "guard", strconv.Itoa(b.N), "1")
			exe, err := p.Exe()
			if err != nil {
				b.Fatal(err)
			}
			at := func(name string) uint64 { return benchSymbol(b, p, exe, name) }
			if _, err := p.RunTo(b.Context(), at("ready")); err != nil {
				b.Fatal(err)
			}
			rs := guardRanges(b, p, at("pages"))
			if err := p.SetInterceptor(&mover{guards: rs}); err != nil {
				b.Fatal(err)
			}
			if how == "segv" {
				if _, err := p.Syscall(unix.SYS_MPROTECT, rs[0].Lo, 4096, unix.PROT_NONE); err != nil {
					b.Fatal(err)
				}
			} else {
				u, err := p.Userfault(rs)
				if err != nil {
					b.Skip(err)
				}
				defer u.Close()
				go func() {
					buf := make([]Fault, 8)
					for {
						n, err := u.Read(buf)
						if err != nil {
							return
						}
						for _, f := range buf[:n] {
							_ = p.Poke(f.TID)
						}
					}
				}()
			}
			b.ResetTimer()
			if _, err := p.Run(b.Context(), Handlers{}); err != nil {
				b.Fatal(err)
			}
		})
	}
}
