package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A target is one of the programs of targets/, compiled.
type target struct {
	name   string
	path   string
	fed    bool          // reads from standard input
	rounds int           // of a launch
	window time.Duration // what such a launch takes if left alone, lately
}

// feedBytes is how much a target that reads gets in a launch with an end, feedStep how
// much at once, a pause of feedPause before each.
const (
	feedBytes = 600
	feedStep  = 20
	feedPause = 5 * time.Millisecond
)

// prepare compiles the targets and finds out how many rounds are enough.
func (s *soak) prepare(source string, calibrate bool) error {
	for _, name := range []string{"list", "threads", "forks", "signals", "blocked"} {
		t := &target{name: name, path: filepath.Join(s.dir, name), fed: name == "blocked", rounds: 8}
		out, err := exec.Command("gcc", "-O1", "-g", "-pthread", "-o", t.path, filepath.Join(source, name+".c")).CombinedOutput()
		if err != nil {
			return fmt.Errorf("gcc %s.c: %w\n%s", name, err, out)
		}
		if calibrate {
			if err := s.calibrate(t); err != nil {
				return fmt.Errorf("%s, left alone: %w", name, err)
			}
			fmt.Printf("%s: %d rounds, %s\n", t.name, t.rounds, t.window.Round(time.Millisecond))
		}
		s.targets = append(s.targets, t)
	}
	return nil
}

// calibrate doubles the rounds until the work takes as long as start-up or 0.3 s,
// so that kills fall into both.
func (s *soak) calibrate(t *target) error {
	var startup time.Duration
	for ; ; t.rounds *= 2 {
		if t.fed {
			t.rounds = feedBytes
		}
		dir := filepath.Join(s.dir, "calibrate")
		began := time.Now()
		tracer, err := s.launched(dir, t, t.rounds)
		if err != nil {
			return err
		}
		if err := tracer.wait(s.patience); err != nil {
			return err
		}
		t.window = time.Since(began)
		if err := right(tracer); err != nil {
			return err
		}
		os.RemoveAll(dir)
		if startup == 0 {
			startup = t.window
		}
		if t.fed || t.window > startup+min(startup, 300*time.Millisecond) {
			return nil
		}
	}
}

// feed writes the bytes 0, 1, 2, … until limit (0: no limit) or until nobody reads.
func feed(w *os.File, limit int) {
	defer w.Close()
	for i := 0; limit == 0 || i < limit; i += feedStep {
		time.Sleep(feedPause)
		var b [feedStep]byte
		for k := range b {
			b[k] = byte(i + k)
		}
		if _, err := w.Write(b[:]); err != nil {
			return
		}
	}
}

// launched starts mgtrace with a target, for no end of rounds if rounds is 0.
func (s *soak) launched(dir string, t *target, rounds int) (*tracer, error) {
	var in *os.File
	if t.fed {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		in = r
		go feed(w, rounds)
	}
	return s.trace(dir, s.launch, map[string]string{"program": t.path}, []string{strconv.Itoa(rounds)}, in)
}

// right checks a launch that nothing disturbed.
func right(t *tracer) error {
	out, err := os.ReadFile(filepath.Join(t.dir, "stdout"))
	if err != nil {
		return err
	}
	if status := t.status(); status != 0 || !strings.HasPrefix(string(out), "ready\nok\n") {
		said, _ := os.ReadFile(filepath.Join(t.dir, "stderr"))
		return fmt.Errorf("mgtrace's status is %d, the target printed %q, mgtrace said: %s", status, out, strings.TrimSpace(string(said)))
	}
	return nil
}
