package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
)

// builds are the programs that have been compiled in this run, and recordings of them, each made once.
var builds made

type made struct {
	mu  sync.Mutex
	dir string
	all map[string]*product // by the words of what makes it
}

type product struct {
	once sync.Once
	file string
	err  error
}

// compile compiles a source file to a binary of that name, if that was not done yet.
func (m *made) compile(compiler, source, name string, flags []string) (string, error) {
	words := append([]string{source}, flags...)
	return m.once(name, compiler+" "+strings.Join(words, " "), func(bin string) ([]byte, error) {
		return exec.Command(compiler, append([]string{"-o", bin}, words...)...).CombinedOutput()
	})
}

// once runs a command that makes a file, if that with these words was not run yet. An error has its output.
func (m *made) once(name, words string, run func(file string) (output []byte, err error)) (string, error) {
	p, err := m.of(name, words)
	if err != nil {
		return "", err
	}
	p.once.Do(func() {
		if out, err := run(p.file); err != nil {
			p.err = fmt.Errorf("%s: %w\n%s", words, err, out)
		}
	})
	return p.file, p.err
}

// of is a product, which has a directory of its own.
func (m *made) of(name, words string) (p *product, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p = m.all[words]; p != nil {
		return p, nil
	}
	if m.dir == "" {
		if m.dir, err = os.MkdirTemp("", "mgtrace-programs-"); err != nil {
			return nil, err
		}
		m.all = map[string]*product{}
	}
	dir, err := os.MkdirTemp(m.dir, "")
	if err != nil {
		return nil, err
	}
	p = &product{file: filepath.Join(dir, name)}
	m.all[words] = p
	return p, nil
}

// command is mgtrace itself, built as the Makefile does it. The tests run that and not their own binary, which could serve as
// one: with all that only tests need it starts in twice the time, and mgtrace starts itself more than once in a run.
func (m *made) command() (string, error) {
	return m.once("mgtrace", "go build", func(file string) ([]byte, error) {
		makefile, err := os.ReadFile("../../Makefile")
		if err != nil {
			return nil, err
		}
		cgo, flag := "CGO_ENABLED=0", string(regexp.MustCompile(`-ldflags=\S+`).Find(makefile))
		if raceDetector() {
			cgo, flag = "CGO_ENABLED=1", "-race"
		}
		cmd := exec.Command("go", "build", flag, "-o", file, ".")
		cmd.Env = append(os.Environ(), cgo)
		return cmd.CombinedOutput()
	})
}

// tool is the path of that command.
func tool(t testing.TB) string {
	t.Helper()
	bin, err := builds.command()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// raceDetector says whether the tests are built with it.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func (m *made) remove() {
	if m.dir != "" {
		_ = os.RemoveAll(m.dir)
	}
}
