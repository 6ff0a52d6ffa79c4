package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

const spawning = `
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
extern char **environ;
int main(void) {
	int bad = 0, more = 1;
	struct pollfd in = { 0, POLLIN, 0 };
	for (int i = 0; more; i++) {
		char *args[] = { "sleep", "0.002", 0 };
		void *block = malloc(100 + i % 1000);
		pid_t p;
		int status = 0;
		if (posix_spawnp(&p, "sleep", 0, 0, args, environ) || waitpid(p, &status, 0) != p || status) bad++;
		free(block);
		more = poll(&in, 1, 0) == 0; /* until standard input is closed */
	}
	printf("%d failed\n", bad);
	return bad != 0;
}
`

// A process that is attached to and let go again while it makes children which
// share its memory (posix_spawn) is as it was, and so are they.
func TestAttachSpawning(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "spawning.c"), filepath.Join(dir, "spawning")
	if err := os.WriteFile(src, []byte(spawning), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O1", "-g", "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	eachEngine(t, func(t *testing.T, engine string) {
		var out bytes.Buffer
		c := exec.CommandContext(t.Context(), bin)
		c.Stdout = &out
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for range 6 {
			r := mgtrace(t, "", "attach", strconv.Itoa(c.Process.Pid), "--engine", engine, "--timeout", "100ms")
			if r.status != 0 {
				t.Fatalf("status %d\n%s", r.status, r.stderr)
			}
		}
		in.Close()
		if err := c.Wait(); err != nil || out.String() != "0 failed\n" {
			t.Errorf("the program: %v, %q", err, out.String())
		}
	})
}
