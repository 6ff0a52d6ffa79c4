package mining

import (
	"slices"
	"testing"

	"mgtrace/objfile"
	"mgtrace/session/symbol"
)

// TestInlinedLocals: the variables of an inlined function are its own, which it has none of where it has left no code, and those
// that its source has: a compiler makes two for a loop over a range.
func TestInlinedLocals(t *testing.T) {
	obj := built(t, `
struct node { int value; node *next; };
struct walk {
	node *at; short *skip; node *from;
	walk() : at(nullptr), skip(nullptr), from(nullptr) {}
	walk(const walk &o) : at(o.at), skip(o.skip), from(o.from) {}
	node &operator*() const { return *at; }
	walk &operator++() { at = at->next; skip += 1 + *skip; if (!at) { at = from; from = nullptr; } return *this; }
	bool operator!=(const walk &o) const { return at != o.at; }
};
struct all { walk first, last; walk begin() const { return first; } walk end() const { return last; } };
struct list { node *head; int n; };
__attribute__((noipa)) void fill(list *l) { l->n++; }
static inline int used(node *n) { list own = {n, 0}; fill(&own); return own.n; }
__attribute__((noipa)) int sum(all *a, all *b)
{
	int s = used(a->first.at);
	for (node &n : *a) { if (n.value == 3) n.next = nullptr; s += n.value; }
	for (node &n : *b) s += n.value;
	return s;
}
int main() { static all a; return sum(&a, &a); }
`, "prog.cpp", "g++", "-O2")
	for fn, want := range map[string][]string{"used": {"own"}, "walk::walk(walk const&)": nil} {
		var got []string
		for _, l := range inlinedLocals(&symbol.Program{Objs: []*objfile.File{obj}}, fn, "inlined", []string{"node"}) {
			got = append(got, l.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, not %v", fn, got, want)
		}
	}
}
