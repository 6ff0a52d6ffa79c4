package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

var endings = []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT}

// oneLaunch traces a target from its start and disturbs it.
func (s *soak) oneLaunch(ctx context.Context, r *rand.Rand, dir string) error {
	t := s.targets[r.IntN(len(s.targets))]
	victim := []string{"nobody", "target", "mgtrace", "both"}[r.IntN(4)]
	how := endings[r.IntN(len(endings))]
	share := r.Float64() * 1.1
	endless := victim != "nobody" && r.IntN(2) == 0
	rounds := t.rounds
	if endless {
		rounds = 0 // only the kill ends it
	}
	s.mu.Lock()
	delay := time.Duration(share * float64(t.window))
	s.mu.Unlock()
	what := fmt.Sprintf("%s: %s killed", t.name, victim)
	if victim == "mgtrace" || victim == "both" {
		what += " (mgtrace by " + signalName(how) + ")"
	}

	if endless {
		what = "endless " + what
	}
	began := time.Now()
	tracer, err := s.launched(dir, t, rounds)
	if err != nil {
		return err
	}
	if victim != "nobody" {
		select {
		case <-time.After(delay):
		case <-tracer.ended:
			what += ", too late"
		case <-ctx.Done():
		}
		if victim != "mgtrace" {
			tracer.killChild(s.patience)
		}
		if victim != "target" {
			tracer.signal(how)
		}
	}
	err = tracer.wait(s.patience)
	if !endless && (victim == "nobody" || strings.HasSuffix(what, "too late")) {
		s.took(t, time.Since(began))
	}
	if err := errors.Join(err, tracer.clean(s.patience)); err != nil {
		return fmt.Errorf("%s after %s: %w", what, delay, err)
	}
	if victim == "nobody" {
		err = right(tracer)
	} else {
		var out []byte
		if out, err = os.ReadFile(filepath.Join(dir, "stdout")); err == nil && strings.Contains(string(out), "wrong") {
			err = fmt.Errorf("the target printed %q", out)
		}
	}
	if err != nil {
		return fmt.Errorf("%s after %s: %w", what, delay, err)
	}
	s.count(fmt.Sprintf("%s → status %s", what, statusName(tracer.status())))
	return nil
}

// took follows how long a launch takes: the machine is now busy, now not.
func (s *soak) took(t *target, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.window = (3*t.window + d) / 4
}

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGKILL:
		return "SIGKILL"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGINT:
		return "SIGINT"
	}
	return s.String()
}

func statusName(status int) string {
	if status < 0 {
		return signalName(syscall.Signal(-1 - status))
	}
	return fmt.Sprint(status)
}
