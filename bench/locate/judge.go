package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// subject is one of the programs.
type subject struct {
	name     string // "avl-tree"
	number   int    // among all programs: its mutants are the same, whichever others run
	dir      string // of the program
	workload string // the directory of workload.h
	source   *source
	spec     string
}

// readSubject reads NAME.c of a directory, and its specification.
func readSubject(dir, workload, name string) (*subject, error) {
	text, err := os.ReadFile(filepath.Join(dir, name+".c"))
	if err != nil {
		return nil, err
	}
	number := slices.Index(slices.Concat(programs, others), name)
	if number < 0 { // a program of the user's
		number = int(crc32.ChecksumIEEE([]byte(name)) % 1000)
	}
	return &subject{name, number, dir, workload, parse(string(text)), filepath.Join(dir, name+".cons")}, nil
}

// compile makes dir/OUT of the source dir/NAME.c. A compiler's refusal is its
// message.
func (s *subject) compile(ctx context.Context, dir, out string, flags ...string) (string, error) {
	bin := filepath.Join(dir, out)
	args := append([]string{"-g", "-w", "-I", s.dir, "-I", s.workload, "-o", bin, s.name + ".c"}, flags...)
	cmd := exec.CommandContext(ctx, "gcc", args...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("gcc: %w\n%s", err, text)
	}
	return bin, nil
}

// write puts a source into a directory, under the program's own name.
func (s *subject) write(dir, text string) error {
	return os.WriteFile(filepath.Join(dir, s.name+".c"), []byte(text), 0o666)
}

// workload is what a program is asked to do.
type workload struct {
	seed             uint64
	base, operations int
}

func (w workload) args() []string {
	return []string{strconv.FormatUint(w.seed, 10), strconv.Itoa(w.base), strconv.Itoa(w.operations)}
}

// verdict of the judge: the program's own check, and the address sanitiser.
type verdict struct {
	// Way and End: the structure was broken after some operation, and at the end (or
	// the program died).
	Way, End bool
	Died     bool // of a signal of its own
	How      string
	Memory   string // what the sanitiser says: "heap-buffer-overflow WRITE"
}

func (v verdict) broken() bool { return v.Way || v.Memory != "" }

var sanitizer = regexp.MustCompile(`AddressSanitizer: (\S+)[^\n]*\n(READ|WRITE)?`)

// judge runs a mutant under its own check, and under the sanitiser if memory faults
// are to be expected or nothing else is wrong.
func (s *subject) judge(ctx context.Context, dir string, kind string, w workload) (verdict, error) {
	var v verdict
	bin, err := s.compile(ctx, dir, "judge", "-O0", "-DJUDGE")
	if err != nil {
		return v, err
	}
	code, _, err := execute(ctx, bin, w.args())
	if err != nil {
		return v, err
	}
	switch {
	case code == 10:
		v.Way, v.End, v.How = true, true, "broken at the end"
	case code == 11:
		v.Way, v.How = true, "broken on the way"
	case code > 128:
		v.Way, v.End, v.Died, v.How = true, true, code != 128+int(syscall.SIGKILL), fmt.Sprintf("died of signal %d", code-128)
	case code != 0:
		v.Way, v.End, v.How = true, true, fmt.Sprintf("exit status %d", code)
	}
	if (code == 10 || code == 11) && kind != overrun && kind != freedEarly {
		return v, nil
	}
	bin, err = s.compile(ctx, dir, "sanitized", "-O0", "-fsanitize=address")
	if err != nil {
		return v, err
	}
	_, text, err := execute(ctx, bin, w.args(), "ASAN_OPTIONS=detect_leaks=0")
	if err != nil {
		return v, err
	}
	if m := sanitizer.FindSubmatch(text); m != nil && string(m[1]) != "SEGV" && string(m[1]) != "stack-overflow" {
		v.Memory = string(bytes.TrimSpace(append(append(m[1], ' '), m[2]...)))
	}
	return v, nil
}

// execute runs a program and returns its exit status (128 + signal) and what it said.
func execute(ctx context.Context, bin string, args []string, env ...string) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = filepath.Dir(bin)
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, nil, err
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code, text, nil
	}
	return 128 + signalOf(cmd.ProcessState), text, nil
}
