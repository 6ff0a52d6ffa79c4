package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// A victim is a target that runs until it is told to end.
type victim struct {
	cmd    *exec.Cmd
	stdout string
	ended  chan struct{}
}

func startVictim(dir string, t *target) (*victim, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	v := &victim{stdout: filepath.Join(dir, "target-stdout"), ended: make(chan struct{})}
	out, err := os.Create(v.stdout)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	v.cmd = exec.Command(t.path)
	v.cmd.Stdout, v.cmd.Env = out, append(os.Environ(), targetMark+dir)
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if t.fed {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		v.cmd.Stdin = r
		go feed(w, 0)
	}
	if err := v.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		v.cmd.Wait()
		close(v.ended)
	}()
	return v, v.said("ready\n")
}

// said waits until the target has printed something.
func (v *victim) said(text string) error {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if out, _ := os.ReadFile(v.stdout); bytes.HasSuffix(out, []byte(text)) {
			return nil
		}
	}
	out, _ := os.ReadFile(v.stdout)
	return fmt.Errorf("the target printed %q, not %q at last", out, text)
}

// finish tells the target to end and checks its answer.
func (v *victim) finish(patience time.Duration) error {
	v.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-v.ended:
	case <-time.After(patience):
		state := describe(v.cmd.Process.Pid)
		v.kill()
		return fmt.Errorf("the target does not end: %s", state)
	}
	if err := v.said("ok\n"); err != nil || !v.cmd.ProcessState.Success() {
		return fmt.Errorf("the target is not right: %v, %v", v.cmd.ProcessState, err)
	}
	return nil
}

// kill ends the target with the children that it has.
func (v *victim) kill() {
	syscall.Kill(-v.cmd.Process.Pid, syscall.SIGKILL)
	<-v.ended
}

// oneSeries attaches to a running target again and again.
func (s *soak) oneSeries(ctx context.Context, r *rand.Rand, dir string) (err error) {
	t := s.targets[r.IntN(len(s.targets))]
	v, err := startVictim(dir, t)
	if err != nil {
		return err
	}
	defer v.kill() // no harm if it has ended
	before, err := shapeOf(v.cmd.Process.Pid)
	if err != nil {
		return err
	}
	for i := 0; i < s.attachesOfOne && ctx.Err() == nil; i++ {
		ended, err := s.oneAttach(r, filepath.Join(dir, strconv.Itoa(i)), t, v, before)
		if err != nil {
			return fmt.Errorf("%s, attachment %d: %w", t.name, i, err)
		}
		if ended {
			return nil
		}
	}
	if err := v.finish(s.patience); err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	return nil
}

// oneAttach attaches once. It says whether the target has ended.
func (s *soak) oneAttach(r *rand.Rand, dir string, t *target, v *victim, before shape) (ended bool, err error) {
	how := endings[r.IntN(len(endings))]
	atTarget := r.IntN(20) == 0
	delay := time.Duration(r.Float64() * float64(1500*time.Millisecond))
	pid := v.cmd.Process.Pid
	tracer, err := s.trace(dir, s.attach, map[string]string{"pid": strconv.Itoa(pid)}, nil, nil)
	if err != nil {
		return false, err
	}
	what := fmt.Sprintf("attached to %s: mgtrace ended by %s", t.name, signalName(how))
	if atTarget {
		what = fmt.Sprintf("attached to %s: target killed", t.name)
	}
	select {
	case <-time.After(delay):
	case <-tracer.ended: // with the target alive it has no reason to
		said, _ := os.ReadFile(filepath.Join(dir, "stderr"))
		return false, fmt.Errorf("mgtrace ended with status %s: %s", statusName(tracer.status()), bytes.TrimSpace(said))
	}
	if atTarget {
		v.kill()
	} else {
		tracer.signal(how)
	}
	if err := tracer.wait(s.patience); err != nil {
		return false, fmt.Errorf("%s after %s: %w", what, delay, err)
	}
	if err := tracer.clean(s.patience); err != nil {
		return false, fmt.Errorf("%s after %s: %w", what, delay, err)
	}
	s.count(fmt.Sprintf("%s → status %s", what, statusName(tracer.status())))
	if atTarget {
		return true, nil
	}
	// What the kernel takes out, it takes out a little later.
	undone := how != syscall.SIGKILL || s.engine == "ebpf"
	for end := time.Now().Add(s.patience); ; time.Sleep(20 * time.Millisecond) {
		if err = before.harmed(pid, undone); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		return false, fmt.Errorf("%s after %s: %w", what, delay, err)
	}
	if undone {
		return false, nil
	}
	return true, v.finish(s.patience) // patched for ever: not attached to again
}
