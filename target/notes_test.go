package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

// detoursMain is this test binary as a tracer that is killed behind a number of its
// requests to the kernel; or, if that is large, comes to its end.
func detoursMain(args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	left, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	function, err := strconv.ParseUint(args[2], 0, 64)
	if err != nil {
		return err
	}
	steps, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	n, err := OpenNotes(os.NewFile(3, "notes"))
	if err != nil {
		return err
	}
	p, err := AttachNoted(context.Background(), pid, n)
	if err != nil {
		return err
	}
	tids, err := p.Threads()
	if err != nil {
		return err
	}
	requested = func() {
		if left--; left == 0 {
			unix.Kill(os.Getpid(), unix.SIGKILL)
		}
	}
	for _, tid := range tids {
		var err error
		e := p.Do(func() {
			var s *Stopped
			if s, err = p.Thread(tid); err != nil {
				return
			}
			for range steps {
				if err = s.Step(); errors.Is(err, ErrInSyscall) {
					err = nil
				}
			}
			_, e := s.Syscall(unix.SYS_GETTID)
			err = errors.Join(err, e)
		})
		if err := errors.Join(e, err); err != nil {
			return err
		}
	}
	if got, err := p.Call(function); err != nil || got != 42 {
		return fmt.Errorf("the function returns %d, %w", got, err)
	}
	reqs := make([]SyscallReq, 100)
	for i := range reqs {
		reqs[i].Nr = unix.SYS_GETPID
	}
	if err := p.Syscalls(reqs); err != nil {
		return err
	}
	if r := reqs[99]; r.Err != nil || int(r.Result) != pid {
		return fmt.Errorf("getpid is %d, %w", r.Result, r.Err)
	}
	return p.Close()
}

// masks are the signals that the threads of a process block.
func masks(t *testing.T, pid int) (list []string) {
	t.Helper()
	for _, tid := range tasks(pid) {
		list = append(list, procStatus(strconv.Itoa(tid))["SigBlk"])
	}
	slices.Sort(list)
	return list
}

// That there was no room for a thread's note is told when the notes are followed.
func TestNotesFull(t *testing.T) {
	r := start(t, build(t, "steady"))
	r.line()
	p := attach(t, r.pid())
	notes, err := NewNotes()
	if err != nil {
		t.Fatal(err)
	}
	defer notes.Close()
	p.t.notes = notes
	free := notes.free
	for _, full := range []bool{false, true} {
		if notes.free = free; full {
			notes.free = nil
		}
		var err error
		e := p.Do(func() {
			var s *Stopped
			if s, err = p.Thread(r.pid()); err == nil {
				_, err = s.Syscall(unix.SYS_GETPID)
			}
		})
		if err := errors.Join(e, err); err != nil {
			t.Fatal(err)
		}
		if err := p.PutRight(notes); (err != nil) != full {
			t.Errorf("full %v: %v", full, err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// A handler that the kernel takes away when it calls it is there again when its signal is
// taken back, and is called once.
func TestUndeliverOneShot(t *testing.T) {
	r := start(t, build(t, "oneshot"))
	r.line()
	const rounds = 3
	for i := range rounds {
		p := attach(t, r.pid())
		handler := symbol(t, p, "handler")
		if err := unix.Kill(r.pid(), unix.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		if at, err := p.RunTo(t.Context(), handler); err != nil || at != handler {
			t.Fatalf("round %d: at %#x, %v", i, at, err)
		}
		if caught := procStatus(strconv.Itoa(r.pid()))["SigCgt"]; strings.TrimLeft(caught, "0") != "" {
			t.Fatalf("round %d: the handler is still there: %s", i, caught)
		}
		if err := p.Undeliver(); err != nil {
			t.Error(err)
		}
		p.Do(func() {
			if s, err := p.Thread(r.pid()); err != nil {
				t.Error(err)
			} else if regs, err := s.Regs(); err != nil || regs.RIP == handler {
				t.Errorf("round %d: the thread is at the handler: %v", i, err)
			}
		})
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := r.end(), fmt.Sprintf("calls %d values 0", rounds); got != want {
		t.Errorf("the program says %q, want %q", got, want)
	}
}

// A tracer that has threads make detours, killed at any moment: once its notes have been
// followed, all is as it was. Steps need an heir.
func TestKilledOnDetour(t *testing.T) {
	t.Run("heir", func(t *testing.T) { testKilled(t, true, 2) })
	t.Run("alone", func(t *testing.T) { testKilled(t, false, 0) })
}

func testKilled(t *testing.T, inherits bool, steps int) {
	r := start(t, build(t, "steady"))
	r.line()
	p := attach(t, r.pid())
	function := symbol(t, p, "answer")
	entry := make([]byte, 64)
	at, err := p.t.entryPoint()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.ReadMemory(entry, at); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	blocked := masks(t, r.pid())
	caught := procStatus(strconv.Itoa(r.pid()))["SigCgt"]
	rounds, request := 0, 1+r.pid()%2 // each second one: the others another time
	for killed := true; killed; rounds, request = rounds+1, request+2 {
		notes, err := NewNotes()
		if err != nil {
			t.Fatal(err)
		}
		if !inherits {
			notes.set(notedHeir, heirNot)
		}
		cmd := exec.Command(self(t), strconv.Itoa(r.pid()), strconv.Itoa(request), fmt.Sprint(function), strconv.Itoa(steps))
		cmd.Env = append(os.Environ(), "TARGET_TEST_TRACER=detours")
		cmd.ExtraFiles = []*os.File{notes.File()}
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var stopped []int
		if inherits {
			heir := notes.Inherit(t.Context(), r.pid())
			if heir == nil {
				t.Fatal("the tracer can not be traced")
			}
			stopped = heir.Stopped()
		}
		err = cmd.Wait()
		var exit *exec.ExitError
		killed = errors.As(err, &exit) && exit.Sys().(interface{ Signaled() bool }).Signaled()
		if err != nil && !killed {
			t.Fatalf("the tracer: %v\n%s", err, &said)
		}
		p := attach(t, r.pid())
		for _, pid := range stopped {
			if err := unix.Kill(pid, unix.SIGCONT); err != nil || pid != r.pid() {
				t.Fatalf("process %d was stopped: %v", pid, err)
			}
		}
		if err := errors.Join(p.Undeliver(), p.PutRight(notes)); err != nil {
			t.Errorf("killed behind request %d: %v", request, err)
		}
		code := make([]byte, len(entry))
		if _, err := p.ReadMemory(code, at); err != nil || !slices.Equal(code, entry) {
			t.Fatalf("killed behind request %d: the code is %x, was %x; %v", request, code, entry, err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if now := masks(t, r.pid()); !slices.Equal(now, blocked) {
			t.Fatalf("killed behind request %d: blocked are %v, were %v", request, now, blocked)
		}
		if now := procStatus(strconv.Itoa(r.pid()))["SigCgt"]; now != caught {
			t.Fatalf("killed behind request %d: caught are %v, were %v", request, now, caught)
		}
		if maps, err := readMaps(r.pid()); err != nil || slices.ContainsFunc(maps, func(m mem.Map) bool { return m.Lo>>40 == batchAt>>40 }) {
			t.Errorf("killed behind request %d: memory is left: %v, %v", request, maps, err)
		}
		notes.Close()
		if _, err := r.in.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	if request < 100 {
		t.Errorf("the tracer had come to its end after %d requests", request)
	}
	if got, want := r.end(), fmt.Sprintf("rounds %d", rounds); got != want {
		t.Errorf("the program says %q, want %q", got, want)
	}
	r.cmd.Wait()
	if code := r.cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("status %d", code)
	}
}
