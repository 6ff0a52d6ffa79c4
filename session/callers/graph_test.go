package callers

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mgtrace/objfile"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

const source = `#include <stdlib.h>
static int *cell;
static void set(int v) { *cell = v; }         // store
static void twice(int v) { set(v); }          // in twice
static int compare(const void *a, const void *b) { set(1); return a < b; } // in compare
void insert(int v) { twice(v); }              // in insert
void change(int v) { twice(v);                // first in change
	if (v) twice(v + 1); }                // second in change
void sort(int *p) { twice(3);                 // in sort
	qsort(p, 2, sizeof *p, compare); }
void through(void (*f)(int)) { f(3); twice(1); }
void again(int v) { if (v) again(v - 1); set(v); } // in again
int main(void) { insert(1); change(2); return 0; }
`

func TestBetween(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	dir := t.TempDir()
	c, bin := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	if err := os.WriteFile(c, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		flags, from string
		want        []string // comments of the lines of the calls, innermost first
	}{
		{"-pie -fPIE", "insert", []string{"in twice", "in insert"}},
		{"-pie -fPIE", "set", nil},                     // it is the store's own function
		{"-pie -fPIE", "change", []string{"in twice"}}, // one of two
		{"-pie -fPIE", "sort", nil},                    // by twice, or by who was given compare
		{"-pie -fPIE", "through", nil},                 // the pointer may lead anywhere
		{"-pie -fPIE", "again", []string{"in again"}},  // which of the calls of again is open, nobody knows
		{"-pie -fPIE", "main", []string{"in twice"}},   // insert or change
		{"-no-pie -fno-pie", "insert", nil},            // an address may be any number
		{"-pie -fPIE", "compare", []string{"in compare"}},
	} {
		t.Run(test.flags+" "+test.from, func(t *testing.T) {
			args := append(strings.Fields(test.flags), "-g", "-O0", "-o", bin, c)
			if text, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			f, err := objfile.Open(bin, objfile.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			const bias = 0x10000
			lo, hi := f.LoadRange()
			im := symbol.Image{Module: trace.Module{Path: bin, Lo: bias + trace.Addr(lo), Hi: bias + trace.Addr(hi), Bias: bias, Traced: true}, Obj: f}
			table := symbol.New([]symbol.Image{im}, &symbol.Sources{})
			from, ok := table.Entry(test.from)
			if !ok {
				t.Fatalf("no function %s", test.from)
			}
			lines := f.LineAddrs(c, 3)
			stack := New(table).Between(from, bias+trace.Addr(slices.Max(lines)))
			var got []string
			for _, ret := range stack {
				_, _, text := table.Where(ret - 1)
				_, comment, _ := strings.Cut(text, "// ")
				got = append(got, comment)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
