package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// builds are the programs that have been compiled in this run, each once.
var builds compiled

type compiled struct {
	mu  sync.Mutex
	dir string
	all map[string]*compilation // by the compiler's words
}

type compilation struct {
	once sync.Once
	bin  string
	err  error
}

// compile compiles a source file to a binary of that name, if that was not done yet.
func (c *compiled) compile(compiler, source, name string, flags []string) (string, error) {
	words := append([]string{source}, flags...)
	b, err := c.of(name, compiler+" "+strings.Join(words, " "))
	if err != nil {
		return "", err
	}
	b.once.Do(func() {
		if out, err := exec.Command(compiler, append([]string{"-o", b.bin}, words...)...).CombinedOutput(); err != nil {
			b.err = fmt.Errorf("%s %s: %w\n%s", compiler, strings.Join(words, " "), err, out)
		}
	})
	return b.bin, b.err
}

// of is a compilation, which has a directory of its own.
func (c *compiled) of(name, words string) (b *compilation, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b = c.all[words]; b != nil {
		return b, nil
	}
	if c.dir == "" {
		if c.dir, err = os.MkdirTemp("", "mgtrace-programs-"); err != nil {
			return nil, err
		}
		c.all = map[string]*compilation{}
	}
	dir, err := os.MkdirTemp(c.dir, "")
	if err != nil {
		return nil, err
	}
	b = &compilation{bin: filepath.Join(dir, name)}
	c.all[words] = b
	return b, nil
}

func (c *compiled) remove() {
	if c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}
