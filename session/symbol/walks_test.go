package symbol

import (
	"slices"
	"testing"

	"mgtrace/trace"
)

// TestWalks: which links a loop follows until one is NULL, of all that it reads; one that ends elsewhere, as a ring's does, has none.
func TestWalks(t *testing.T) {
	const text = `#include <string.h>
struct item { char *name; long n; struct item *other, *next; };
long sum;
struct item *find(struct item *i, const char *name)
{
	for (; i; i = i->next)
		if (!strcmp(i->name, name))
			return i;
	return NULL;
}
void add(struct item *i)
{
	while (i != NULL) {
		sum += i->n;
		i = i->other;
	}
}
void ring(struct item *head)
{
	for (struct item *i = head->next; i != head; i = i->next)
		sum += i->n;
}
void wait(volatile long *until)
{
	while (*until)
		;
}
int main(int argc, char **argv)
{
	find(NULL, *argv);
	add(NULL);
	wait(&sum);
	return argc;
}
`
	for _, level := range []string{"-O0", "-O1", "-O2"} {
		s, _ := built(t, text, "gcc", level, "-g", "-fno-inline")
		im := &s.Images[0]
		for name, want := range map[string][]int64{"find": {24}, "add": {16}, "ring": nil, "wait": nil} {
			fn := im.Obj.FuncsNamed(name)[0]
			var links []int64
			for at, in := range im.Insts(&fn) {
				if in == nil {
					t.Fatalf("%s: an instruction is not known", name)
				}
				for _, off := range s.Walks(im.Bias + trace.Addr(at)) {
					if !slices.Contains(links, off) {
						links = append(links, off)
					}
				}
			}
			if !slices.Equal(links, want) {
				t.Errorf("%s, %s: %v, want %v", name, level, links, want)
			}
		}
	}
}
