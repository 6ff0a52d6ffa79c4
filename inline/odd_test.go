package inline

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/capture"
	"mgtrace/target"
	"mgtrace/trace"
)

// A program of the Go toolchain has its own stacks, signals and allocator: it
// runs as it does alone.
func TestGo(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "a.go")
	const text = `package main

import ("fmt"; "runtime"; "sync"; "time")

func main() {
	var wg sync.WaitGroup
	sums := make([]int, 50)
	for i := range sums {
		wg.Add(1)
		go func() {
			defer wg.Done()
			m := map[int]string{}
			for k := 0; k < 2000; k++ {
				m[k%100] += "x"
				if k%500 == 0 { time.Sleep(time.Millisecond); runtime.GC() }
			}
			for _, s := range m { sums[i] += len(s) }
		}()
	}
	wg.Wait()
	func() {
		defer func() { fmt.Println(recover()) }()
		var p *int
		*p = 1
	}()
	fmt.Println(sums[7])
}
`
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a")
	cmd := exec.Command("go", "build", "-o", path, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GO111MODULE=off")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%v\n%s", err, msg)
	}
	output, code := native(t, path)
	r := run{}
	if err := r.try(t, path); err != nil {
		t.Logf("refused: %v", err)
		return
	}
	if r.output != output || r.status.Code != code || r.status.Signal != 0 {
		t.Errorf("%v:\n%s\nwithout mgtrace: %d\n%s", r.status, r.output, code, output)
	}
	t.Logf("%+v", r.stats)
}

// A tracer that is killed takes the program with it: nothing runs on with
// trampolines that nobody serves.
func TestTracerKilled(t *testing.T) {
	if path := os.Getenv("INLINE_TEST_TRACER"); path != "" {
		traceAndWait(t, path)
		return
	}
	path := build(t, "limits.c")
	cmd := exec.Command(os.Args[0], "-test.run=^TestTracerKilled$")
	cmd.Env = append(os.Environ(), "INLINE_TEST_TRACER="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid, perr := strconv.Atoi(strings.TrimSpace(line))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil || perr != nil {
		t.Fatalf("%q, %v", line, err)
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err != nil || strings.Contains(string(b), ") Z") {
			return
		}
	}
	_ = unix.Kill(pid, unix.SIGKILL)
	t.Errorf("the program runs on")
}

// traceAndWait records an endless program until it is killed itself.
func traceAndWait(t *testing.T, path string) {
	ctx := context.Background()
	p, err := target.Launch(ctx, target.Command{Path: path, Args: []string{"endless"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.RunToLoaded(ctx); err != nil {
		t.Fatal(err)
	}
	var r run
	r.prepare(t, ctx, p)
	e, err := Attach(r.plan, p, r.options)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	go func() {
		_ = e.Run(ctx, capture.Events(func(*trace.Event) error {
			if n++; n == 50000 {
				_, err := os.Stdout.WriteString(strconv.Itoa(p.PID()) + "\n")
				return err
			}
			return nil
		}))
	}()
	_, err = p.Run(ctx, target.Handlers{})
	t.Fatal(err)
}
