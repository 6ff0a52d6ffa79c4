package mining

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mgtrace/objfile"
	"mgtrace/session/symbol"
)

// TestSizeArgument: which functions may be allocators, by their type, and which of their arguments is the size. What finds something by a key,
// returns a node, or is asked for a number of things of a size is none.
func TestSizeArgument(t *testing.T) {
	const source = `
#include <stddef.h>
struct node { struct node *next; };
static char space[4096], *at = space;
void *pool_get(void *pool, size_t size) { (void)pool; at += size; return at - size; }
char *arena(unsigned n) { at += n; return at - n; }
void *lookup(void *table, int key) { return key ? table : 0; }
void *get_atom(void *pool, int atom_size) { return pool_get(pool, (size_t)atom_size); }
struct node *make(size_t n) { return pool_get(0, n); }
void *pool_array(size_t n, size_t size) { return pool_get(0, n * size); }
size_t used(size_t n) { return n; }
int main(void) { return !pool_get(0, 8) + !arena(8) + !lookup(at, 1) + !get_atom(0, 8) + !make(8) + !pool_array(1, 8) + (int)used(0); }
`
	obj := compiled(t, source)
	want := map[string]int{"pool_get": 2, "arena": 1, "get_atom": 2}
	for _, f := range obj.Funcs() {
		if got := sizeArgument(obj, &f); got != want[f.Base] {
			t.Errorf("%s: the size is argument %d, not %d", f.Base, got, want[f.Base])
		}
	}
}

// TestOnlyType: where no structure points to its own kind those are listed that were allocated; an allocator of the program's own is
// guessed where there are none.
func TestOnlyType(t *testing.T) {
	lists := func(p ...proposal) func() []proposal { return func() []proposal { return p } }
	for _, c := range []struct {
		of     []proposal
		others func() []proposal
		want   string // in the error
	}{
		{[]proposal{{name: "node", count: 3}}, nil, ""},
		{[]proposal{{name: "node", count: 3}, {name: "list", count: 1}}, nil, "3 node, 1 list"},
		{nil, lists(proposal{name: "Process", count: 55}, proposal{name: "Vector", count: 1}), "with --type NAME (repeatable): 55 Process, 1 Vector"},
		{nil, lists(), "tell --alloc"},
	} {
		names, err := onlyType(c.of, c.others, &symbol.Table{})
		if c.want == "" {
			if err != nil || len(names) != 1 {
				t.Errorf("%v: %v, %v", c.of, names, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.of, err, c.want)
		}
	}
}

// TestAbout: which functions have to do with a type. A union is one as a structure is.
func TestAbout(t *testing.T) {
	obj := compiled(t, `
#include <stddef.h>
union bucket { struct { union bucket *next; int key; } s; struct { union bucket *next; double key; } d; };
struct table { int n; union bucket *first; };
int lookup(struct table *t) { return t->n; }
union bucket *make(void) { return 0; }
int count(int n) { union bucket *b = 0; return n + !b; }
int other(int n) { return n; }
int main(void) { struct table t = {0, 0}; return lookup(&t) + !make() + count(0) + other(0); }
`)
	want := map[string]bool{"lookup": true, "make": true, "count": true, "main": true}
	for _, f := range obj.Funcs() {
		if got := about(obj, f, []string{"bucket"}); f.File != "" && got != want[f.Base] {
			t.Errorf("%s: about bucket is %v, not %v", f.Base, got, want[f.Base])
		}
	}
	if b := (&symbol.Program{Objs: []*objfile.File{obj}}).LookupType("bucket"); len(b) != 1 || !recursive(b[0]) {
		t.Errorf("bucket %v does not point to its own kind", b)
	}
}

// compiled is a program of one file.
func compiled(t *testing.T, source string) *objfile.File {
	return built(t, source, "prog.c", "gcc", "-O0")
}

// built compiles a source file of this name with a command.
func built(t *testing.T, source, name string, command ...string) *objfile.File {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	file, bin := filepath.Join(dir, name), filepath.Join(dir, "prog")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(command[0], append(command[1:], "-g", "-o", bin, file)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	obj, err := objfile.Open(bin, objfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return obj
}
