package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mgtrace/session/live"
)

// TestRedis: a server under load answers under the in-process engine as it does alone,
// and ends as it does.
func TestRedis(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"redis-server", "redis-cli", "redis-benchmark"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	server, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	alone, _ := serve(t, server)
	traced, said := serve(t, tool(t), "record", "--engine", "inline", "--discard", "--json", server, "--")
	if d := cmp.Diff(alone, traced); d != "" {
		t.Errorf("(-alone +traced):\n%s", head(d, 40))
	}
	var sum live.Summary
	if err := json.Unmarshal([]byte(said), &sum); err != nil {
		t.Fatalf("%v:\n%s", err, said)
	}
	if sum.Exit != "exit status 0" || !sum.Complete || sum.Unprobed > 0 || sum.Stores < 10_000 {
		t.Errorf("%+v", sum)
	}
}

// serve runs a server at a socket of its own, puts it under load, and returns what it
// answers and how it ends.
func serve(t *testing.T, command ...string) (answers, errs string) {
	t.Helper()
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	args := append(command[1:], "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir, "--enable-debug-command", "yes", "--loglevel", "warning")
	cmd := exec.Command(command[0], args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no server: %s", said.String())
		}
	}
	client := func(stdin, name string, args ...string) string {
		c := exec.Command(name, append([]string{"-s", socket}, args...)...)
		c.Stdin = strings.NewReader(stdin)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	client("", "redis-benchmark", "-q", "-n", "300", "-c", "8", "-d", "200", "-t", "set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset")
	client("", "redis-cli", "flushall")
	var script strings.Builder
	for i := range 200 {
		fmt.Fprintf(&script, "set k%d %s\nrpush list %d\nhset h f%d %d\nzadd z %d m%d\nsadd s %d\nincrby k%d_n %d\n",
			i, strings.Repeat("v", i), i, i%50, i, i*37%101, i, i%90, i%7, i)
	}
	script.WriteString("lrange list 20 40\nhgetall h\nzrange z 0 30\nsort s limit 0 20\nget k150\ndel k1 k2 k3\nobject encoding z\ndbsize\ndebug digest\n")
	answers = client(script.String(), "redis-cli")
	client("", "redis-cli", "shutdown", "nosave")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said.String())
	}
	return answers, said.String()
}
