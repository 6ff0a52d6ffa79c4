package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// plainEnv makes programs print the same everywhere and read no configuration.
var plainEnv = []string{
	"LC_ALL=C", "TZ=UTC", "PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1", "PERL_HASH_SEED=0",
	"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "BASH_ENV=",
}

// errLimit is the reason of a run that was stopped at the time limit.
var errLimit = errors.New("stopped at the time limit")

// An outcome is one run of one command line.
type outcome struct {
	seconds float64           // of wall time
	cpu     float64           // of processor time, children included
	output  [sha256.Size]byte // of standard output, without mgtrace's summary
	stores  int64             // as the summary says; 0 if it does not
	err     error
}

// measure runs argv with c's input and environment, at most limit long. Standard
// output goes to a file: a reader beside the program would take a processor.
func measure(ctx context.Context, dir string, c command, argv []string, limit time.Duration) outcome {
	out, err := os.Create(filepath.Join(dir, "stdout"))
	if err != nil {
		return outcome{err: err}
	}
	defer out.Close()
	messages, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		return outcome{err: err}
	}
	defer messages.Close()

	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, append(append(os.Environ(), plainEnv...), c.env...), out, messages
	// A group of its own, so that the end of the time ends the tool and its program.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if c.stdin != "" {
		in, err := os.Open(c.stdin)
		if err != nil {
			return outcome{err: err}
		}
		defer in.Close()
		cmd.Stdin = in
	}

	began := time.Now()
	err = cmd.Run()
	o := outcome{seconds: time.Since(began).Seconds()}
	if s := cmd.ProcessState; s != nil {
		o.cpu = (s.UserTime() + s.SystemTime()).Seconds()
	}
	if err != nil {
		said, _ := os.ReadFile(messages.Name())
		o.err = fmt.Errorf("%w: %s", err, lastLine(string(said)))
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			o.err = errLimit
		}
		return o
	}
	printed, err := os.ReadFile(out.Name())
	if err != nil {
		return outcome{err: err}
	}
	said, _ := os.ReadFile(messages.Name())
	printed, o.stores = cutSummary(printed)
	if _, n := cutSummary(said); o.stores == 0 {
		o.stores = n
	}
	o.output = sha256.Sum256(printed)
	return o
}

// cutSummary takes a JSON object that says how many stores there were off the end
// of what a run printed.
func cutSummary(printed []byte) (rest []byte, stores int64) {
	const longest = 1 << 16 // no summary is longer
	first := max(0, len(printed)-longest)
	for end := len(printed); ; {
		at := bytes.LastIndexByte(printed[first:end], '{') + first
		if at < first {
			return printed, 0
		}
		if at == 0 || printed[at-1] == '\n' {
			if n := storesIn(printed[at:]); n > 0 {
				return printed[:at], n
			}
		}
		end = at
	}
}

// storesIn reads the number of stores from the summary of `mgtrace record --json` or
// from `mgtrace info --json`; 0 if it has none.
func storesIn(text []byte) int64 {
	var summary struct {
		Stores int64
		Events struct{ Store int64 }
	}
	if json.Unmarshal(text, &summary) != nil {
		return 0
	}
	return max(summary.Stores, summary.Events.Store)
}

// lastLine returns what a tool said last: its error.
func lastLine(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	line := strings.TrimSpace(lines[len(lines)-1])
	if len(line) > 160 {
		line = line[:160] + "…"
	}
	return line
}
