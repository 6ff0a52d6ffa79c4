package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const replacedProgram = `
#include <stdio.h>
#include <stdlib.h>
int work(int i);
int main(void) {
	int sum = 0;
	puts("ready");
	fflush(stdout);
	for (int c; (c = getchar()) != EOF; ) {
		int *p = malloc(sizeof *p);
		*p = work(c == 'x');
		sum += *p;
		free(p);
	}
	printf("sum %d\n", sum);
	return 0;
}
`

const replacedLibrary = `
int calls;
int work(int i) { return ++calls * i; }
`

// What lies at the path of a mapped file may be another one since: by the plan of that,
// stores would be sought at wrong places. A program and a --module are refused then, of
// another library a warning tells; the process goes on as it was.
func TestAttachReplaced(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		replaced string
		module   bool
		status   int
		says     string // "": nothing of a replaced file
	}{
		{"", true, 0, ""},
		{"libwork.so", false, 0, "libwork.so was replaced or removed after it was mapped (start the program anew): its functions have no names"},
		{"libwork.so", true, 2, "libwork.so can not be recorded"},
		{"prog", false, 2, "prog can not be recorded"},
	} {
		dir := t.TempDir()
		file := func(name string) string { return filepath.Join(dir, name) }
		for name, text := range map[string]string{"prog.c": replacedProgram, "work.c": replacedLibrary} {
			if err := os.WriteFile(file(name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]string{
			{"-shared", "-fPIC", "-o", file("libwork.so"), file("work.c")},
			{"-o", file("prog"), file("prog.c"), file("libwork.so"), "-Wl,-rpath," + dir},
		} {
			if out, err := exec.Command("gcc", append([]string{"-g", "-O1"}, args...)...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		prog := start(t, file("prog"))
		prog.says(t, "ready")
		if c.replaced != "" {
			b, err := os.ReadFile(file(c.replaced))
			if err == nil {
				err = os.WriteFile(file("new"), b, 0o777)
			}
			if err == nil {
				err = os.Rename(file("new"), file(c.replaced))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		var args []string
		if c.module {
			args = []string{"--module", file("libwork.so")}
		}
		a := attach(t, prog, args...)
		var r result
		if c.status == 0 {
			a.recording(t)
			r = a.ends(t, syscall.SIGINT)
		} else {
			r = a.wait(t)
		}
		said := r.stderr + strings.Join(r.report.Warnings, "\n")
		if r.status != c.status || !strings.Contains(said, c.says) || strings.Contains(said, "replaced") != (c.says != "") {
			t.Errorf("%+v: status %d\n%s", c, r.status, said)
		}
		if _, err := prog.in.Write([]byte("xx")); err != nil {
			t.Error(err)
		}
		if err := prog.in.Close(); err != nil {
			t.Error(err)
		}
		prog.says(t, "sum 3")
		if err := prog.Wait(); err != nil {
			t.Error(err)
		}
	}
}
