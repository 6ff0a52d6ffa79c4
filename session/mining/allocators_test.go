package mining

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mgtrace/objfile"
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
struct node *make(size_t n) { return pool_get(0, n); }
void *pool_array(size_t n, size_t size) { return pool_get(0, n * size); }
size_t used(size_t n) { return n; }
int main(void) { return !pool_get(0, 8) + !arena(8) + !lookup(at, 1) + !make(8) + !pool_array(1, 8) + (int)used(0); }
`
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	file, bin := filepath.Join(dir, "pool.c"), filepath.Join(dir, "pool")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-O0", "-o", bin, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	obj, err := objfile.Open(bin, objfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"pool_get": 2, "arena": 1}
	for _, f := range obj.Funcs() {
		if got := sizeArgument(obj, &f); got != want[f.Base] {
			t.Errorf("%s: the size is argument %d, not %d", f.Base, got, want[f.Base])
		}
	}
}
