package symbol

import (
	"slices"
	"testing"

	"mgtrace/trace"
)

// TestTail: a call of a function that ends in a jump to free is where free returns to, and the jump
// is found if there is one; a call of free itself is none of a function that jumps.
func TestTail(t *testing.T) {
	const text = `#include <stdlib.h>
struct node { struct node *next; int n; } *head;
__attribute__((noinline)) static void one(struct node *n)
{
	head = n->next;
	free(n);
}
__attribute__((noinline)) static void outer(struct node *n)
{
	n->n++;
	one(n);
}
__attribute__((noinline)) static void two(struct node *n)
{
	if (n->n) {
		free(n);
		return;
	}
	head = 0;
	free(n->next);
}
__attribute__((noinline)) static void hook(struct node *n, void (*f)(void *))
{
	if (n->n)
		free(n);
	else
		f(n);
}
int main(int argc, char **argv)
{
	one(calloc(1, 16));
	outer(calloc(1, 16));
	two(calloc(1, 16));
	hook(calloc(1, 16), argc > 5 ? 0 : free);
	free(calloc(1, 16));
	return head != 0;
}
`
	for flag, want := range map[string][]int{"-O0": nil, "-O2": {6, 6}} {
		s, main := built(t, text, "gcc", flag, "-fno-ipa-cp", "-fno-ipa-icf", "-fno-crossjumping", "-g")
		var got []int
		for _, in := range s.function(main).insts {
			if jump, ok := s.Tail(s.function(main).bias+trace.Addr(in.at), "free"); ok {
				f, _, _ := s.Where(jump)
				got = append(got, f.Line)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: jumps to free at lines %v, want %v", flag, got, want)
		}
	}
}
