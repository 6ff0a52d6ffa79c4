package faultloc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestMeantThoughExhausted: a store that was meant for another field of its node is found where the search for a repair has used up its
// trials, and that all was whole right after it is no excuse: nothing asks for what it changed.
func TestMeantThoughExhausted(t *testing.T) {
	const spec = "struct twig { struct twig *next; long key; };\nstruct top { struct twig *kid; long n, rank; };\ntype twig;\ntype top;\ntogether top, twig;\n" +
		"twig.N;\ntwig X; X.N = (X.next).N + 1;\nkids: top T; T.n == (T.kid).N;\n"
	var before strings.Builder
	before.WriteString("1: t = calloc top\n2: t.rank = 7\n1: x0 = calloc twig\n")
	for i := 1; i < 300; i++ {
		fmt.Fprintf(&before, "1: x%d = calloc twig\n3: x%d.key = %d\n4: x%d.next = x%d\n", i, i, 7*i, i, i-1)
	}
	before.WriteString("5: t.kid = x299\n6: t.n = 300\ncpoint\n")
	for program, want := range map[string]bool{
		"40: t.rank = 6\n41: x52.next = x50\n42: free x51": true,
		"40: t.rank = 5\n41: x52.next = x50\n42: free x51": false, // not by as much
	} {
		w := newWorld(t, spec)
		w.run(before.String() + program)
		r := Locate(w.input())
		meant := slices.ContainsFunc(r.Suspects, func(s Suspect) bool { return s.PC == 40 && s.has(Instead) && s.Whole == 0 })
		if !r.Exhausted || meant != want || (r.Suspects[0].PC == 40) != want {
			t.Errorf("%q: exhausted %t, %s", program, r.Exhausted, summary(r))
			w.show(r)
		}
	}
}

// TestMeantTogether: what a call has counted several times in another field, which nothing reads, is as much as the count lacks.
func TestMeantTogether(t *testing.T) {
	const (
		spec = "struct twig { struct twig *next; long key; };\nstruct top { struct twig *kid; long n, rank; };\ntype twig;\ntype top;\ntogether top, twig;\n" +
			"twig.N;\ntwig X; X.N = (X.next).N + 1;\nkids: top T; T.n == (T.kid).N;\n"
		empty = "1: t = calloc top\n2: t.rank = 7\ncpoint\n"
	)
	add := func(count string) string {
		var b strings.Builder
		for i, kid := range []string{"a", "b", "c"} {
			fmt.Fprintf(&b, "30: %s = calloc twig\n", kid)
			if i > 0 {
				fmt.Fprintf(&b, "31: %s.next = %c\n", kid, kid[0]-1)
			}
			fmt.Fprintf(&b, "32: t.kid = %s\n33: t.%s\n", kid, fmt.Sprintf(count, i+1))
		}
		return b.String()
	}
	for _, c := range []struct {
		count string
		want  string
	}{
		{"n = %d", "healthy"},
		{"rank = 7%d", "wrote 32"}, // not by as much
	} {
		w := newWorld(t, spec)
		w.run(empty + add(c.count))
		got := "healthy"
		if in := w.input(); len(in.Found) > 0 {
			got = first(Locate(in), Instead)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.count, got, c.want)
		}
	}
	w := newWorld(t, spec)
	program := add("rank = %d")
	for i := 1; i <= 3; i++ {
		program = strings.Replace(program, fmt.Sprintf("rank = %d", i), fmt.Sprintf("rank = %d", 7+i), 1)
	}
	w.run(empty + program)
	if got, want := first(Locate(w.input()), Instead), "wrote 33 instead"; got != want {
		t.Errorf("counted elsewhere: %s, want %s", got, want)
	}
}
