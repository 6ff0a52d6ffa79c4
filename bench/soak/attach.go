package main

import (
	"bytes"
	"context"
	"errors"
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

// unharmed is shape.unharmed of the victim. How it ended is told.
func (v *victim) unharmed(before shape, patience time.Duration) error {
	err := before.unharmed(v.cmd.Process.Pid, patience)
	if errors.Is(err, errGone) {
		<-v.ended
		err = fmt.Errorf("%w: %v", err, v.cmd.ProcessState)
	}
	return err
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

// oneSeries attaches to a running target again and again, to another one when that
// has ended.
func (s *soak) oneSeries(ctx context.Context, r *rand.Rand, dir string) error {
	t := s.targets[r.IntN(len(s.targets))]
	for i := 0; i < s.attachesOfOne && ctx.Err() == nil; {
		v, err := startVictim(dir, t)
		if err != nil {
			return err
		}
		err = s.attachments(ctx, r, dir, t, v, &i)
		v.kill() // no harm if it has ended
		if err != nil {
			return fmt.Errorf("%s, attachment %d: %w", t.name, i, err)
		}
	}
	return nil
}

// attachments attaches to one target until it has ended or the series is at its end.
func (s *soak) attachments(ctx context.Context, r *rand.Rand, dir string, t *target, v *victim, i *int) error {
	before, err := shapeOf(v.cmd.Process.Pid)
	if err != nil {
		return err
	}
	for ; *i < s.attachesOfOne && ctx.Err() == nil; *i++ {
		e := ending{how: endings[r.IntN(len(endings))]}
		e.target = r.IntN(20) == 0
		delay := time.Duration(r.Float64() * float64(longestAttach))
		e.keeper = !e.target && r.IntN(6) == 0
		status, err := s.oneAttach(filepath.Join(dir, strconv.Itoa(*i)), v, e, delay)
		outcome := fmt.Sprintf("attached to %s: %s → status %s", t.name, e, status)
		if err == nil && !e.target {
			err = v.unharmed(before, s.patience)
		}
		if err != nil {
			return fmt.Errorf("%s after %s: %w", e, delay, err)
		}
		s.count(outcome)
		if e.target {
			*i++
			return nil
		}
	}
	return v.finish(s.patience)
}

// An ending is how an attachment ends: who gets which signal.
type ending struct {
	how    syscall.Signal // mgtrace, if nobody else gets SIGKILL
	target bool
	keeper bool // of `mgtrace attach`, once it records: the process that holds the target
}

func (e ending) String() string {
	switch {
	case e.target:
		return "target killed"
	case e.keeper:
		return "keeper killed"
	}
	return "mgtrace ended by " + signalName(e.how)
}

// longestAttach is how long an attachment lasts at most.
const longestAttach = 1500 * time.Millisecond

// oneAttach attaches once and brings about the ending. It returns mgtrace's status.
func (s *soak) oneAttach(dir string, v *victim, e ending, delay time.Duration) (status string, err error) {
	tracer, err := s.trace(dir, s.attach, map[string]string{"pid": strconv.Itoa(v.cmd.Process.Pid)}, nil, nil)
	if err != nil {
		return "", err
	}
	if e.keeper {
		tracer.said("attached to process", s.patience)
	}
	select {
	case <-time.After(delay):
	case <-tracer.ended: // with the target alive it has no reason to
		said, _ := os.ReadFile(filepath.Join(dir, "stderr"))
		return "", fmt.Errorf("mgtrace ended with status %s: %s", statusName(tracer.status()), bytes.TrimSpace(said))
	}
	switch {
	case e.target:
		v.kill()
	case e.keeper:
		tracer.killChild(s.patience)
	default:
		tracer.signal(e.how)
	}
	err = tracer.wait(s.patience)
	return statusName(tracer.status()), errors.Join(err, tracer.clean(s.patience))
}
