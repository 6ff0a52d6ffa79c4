package symbol

import (
	"strings"
	"testing"

	"mgtrace/trace"
)

// TestInBranches: which lines of a text are the branches of one if.
func TestInBranches(t *testing.T) {
	for text, want := range map[string]bool{
		"n->next = s;|else|n->next = NULL;":                              true,
		"if (s) n->next = s;|else n->next = NULL;":                       true,
		"if (s) {|n->next = s;|s->prev = n;|} else {|n->next = NULL;|}":  true,
		"n->next = s;|if (s) { f(s); }|} else {|f(n); n->next = NULL;|}": true,
		"n->next = s;|n->next = NULL;":                                   false,
		"n->next = s;|}|n->next = NULL;":                                 false,
		"n->next = s;|} else if (p)|n->next = NULL;":                     false,
		"n->next = s;|} else {|if (p)|n->next = NULL;":                   false,
		"n->next = s;|} else {|f(n);|}|n->next = NULL;":                  false,
		"n->next = s;|} else|f(n);|n->next = NULL;":                      false,
		"n->next = s;|if (p)|f(p);|else|n->next = NULL;":                 false,
		"n->next = s;|} else {|while (p) {|n->next = NULL;":              false,
		"m->last = s;|else|n->next = NULL;":                              false,
	} {
		lines := strings.Split(text, "|")
		j := len(lines) - 1
		for !strings.Contains(lines[j], "=") {
			j--
		}
		i := 0
		for !strings.Contains(lines[i], "=") {
			i++
		}
		if got := (Member{Name: "next"}).inBranches(lines, j, i); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestEitherWay: a list's end and its middle are linked by one store, since the compiler has found them to be alike, and none is left out. Where
// the condition is still asked, and one branch has no store, that one is.
func TestEitherWay(t *testing.T) {
	const text = `#include <stdlib.h>
struct item { long key; struct item *next, *prev; } *table[8];
__attribute__((noinline)) void add(long key)
{
	struct item *i = malloc(sizeof *i), *old;
	if ((old = table[key & 7]) != 0) {
		i->next = old;
	}
	else
		i->next = NULL;
	i->prev = NULL;
	i->key = key;
	table[key & 7] = i;
}
__attribute__((noinline)) void have(long key)
{
	struct item *i = malloc(sizeof *i), *old;
	i->key = key;
	if ((old = table[key & 7]) != 0)
		i->next = old;
	else {
		i->next = NULL;
		free(i);
		return;
	}
	i->prev = NULL;
	table[key & 7] = i;
}
int main(int argc, char **argv)
{
	add(argc);
	have(argc);
	return 0;
}
`
	s, _ := built(t, text, "gcc", "-O2", "-g")
	f := s.Images[0].Obj
	for name, want := range map[string]int{"add": 0, "have": 22} {
		c := s.function(s.Images[0].Bias + trace.Addr(f.FuncsNamed(name)[0].Addr))
		stored, stores := map[trace.Addr][]string{}, []Store{}
		for _, in := range c.insts {
			if !in.store {
				continue
			}
			pc := c.bias + trace.Addr(in.at)
			stored[pc] = nil
			if code := f.Code(in.at, in.len); code[len(code)-1] == 8 { // the displacement: of next
				stored[pc] = []string{"next"}
				stores = append(stores, Store{PC: pc, Fields: stored[pc]})
			}
		}
		s.Assign(stores)
		if _, line, _ := s.Elided(c.bias+trace.Addr(c.entry), Member{Name: "next"}, stored, Since{}); line != want {
			t.Errorf("%s: line %d is left out, want %d", name, line, want)
		}
	}
}
