package faultloc

import (
	"fmt"
	"strings"
	"testing"

	"mgtrace/trace"
)

// What small programs do wrong from the first time on: nothing is known from before. Each case has a correct twin.

const (
	scopeSpec = "struct sym { struct sym *shadow; };\nstruct table { struct sym *slot; };\ntype sym;\ntype table;\ntogether sym, table;\nhashed: sym Y; Y.INDEGREE == 1;\n"
	twinSpec  = "struct arc { struct arc *twin; long weight; };\ntype arc;\ntwin: arc A; A.twin != A and A.twin.twin == A;\n"
	listsSpec = "struct item { struct item *next; };\nstruct dict { struct item *a, *b; long na, nb; };\ntype item;\ntype dict;\nitem.N;\nitem X; X.N = 1 + (X.next).N;\na: dict D; D.na == (D.a).N;\nb: dict D; D.nb == (D.b).N;\n"
	wordsSpec = "struct node { struct node *kid, *up; long words, word; };\ntype node edges (kid);\nnode.WORDS;\nnode X; X.WORDS = X.word + (X.kid).WORDS;\nwords: node X; X.words == X.WORDS;\nup: node X; X.kid == NULL or X.kid.up == X;\n"
	slabSpec  = "struct obj { struct obj *next; };\nstruct slab { struct obj *free; long inuse, state; };\ntype obj;\ntype slab;\nobj.FREE;\nobj X; X.FREE = 1 + (X.next).FREE;\n" +
		"inuse: slab S; S.inuse == 2 - (S.free).FREE;\nstate: slab S; S.state == (S.inuse == 2 ? 2 : S.inuse == 0 ? 0 : 1);\n"
	leafSpec  = "struct leaf { long n, key[4]; };\nstruct tree { struct leaf *left, *right; long total; };\ntype leaf;\ntype tree;\ntotal: tree T; T.total == (T.left == NULL ? 0 : T.left.n) + (T.right == NULL ? 0 : T.right.n);\n"
	nodesSpec = "struct node { struct node *kid, *up; };\nstruct tree { struct node *root; long nodes; };\ntype node edges (kid);\ntype tree;\nnodes: tree T; T.nodes == COUNT(node);\nup: node X; X.kid == NULL or X.kid.up == X;\n"
	refsSpec  = "struct route { long refs; };\nstruct fib { long glue, routes; };\ntype route;\ntype fib;\nglue: fib F; F.glue == COUNT(route R: R.refs == 0);\nroutes: fib F; F.routes == COUNT(route R: R.refs > 0);\n"
	chain3    = "1: t = calloc table\n2: a = calloc sym\n2: b = calloc sym\n2: c = calloc sym\n3: b.shadow = a\n3: c.shadow = b\n3: t.slot = c\ncpoint\n"
	word      = "1: r = calloc node\n2: a = calloc node\n3: a.up = r\n4: r.kid = a\n5: a.word = 1\n6: a.words = 1\n6: r.words = 1\ncpoint\n"
	slab      = "1: s = calloc slab\n2: a = calloc obj\n2: b = calloc obj\n3: s.inuse = 2\n4: s.state = 2\ncpoint\n"
)

func TestFew(t *testing.T) {
	for _, c := range []struct {
		name, spec, before string
		kind               EvidenceKind
		wants              map[string]string
	}{
		{"a chain behind what is freed", scopeSpec, chain3, Dropped, map[string]string{
			"65: t.slot = NULL\n66: free c":                 "wrote 65 dropped",
			"65: t.slot = b\n66: free c":                    "healthy",
			"65: t.slot = NULL\n66: free c\n67: t.slot = b": "healthy",
			"66: free c": "wrote 66",
		}},
		{"the field of another node", twinSpec, "", Instead, map[string]string{
			"38: a = malloc arc\n38: b = malloc arc\n54: a.twin = b\n56: a.twin = a": "wrote 56 instead",
			"38: a = malloc arc\n38: b = malloc arc\n54: a.twin = b\n56: b.twin = a": "healthy",
		}},
		{"the count of another list", listsSpec, "1: d = calloc dict\n2: i = calloc item\n3: d.a = i\n4: d.na = 1\ncpoint\n", Instead, map[string]string{
			"32: j = calloc item\n33: d.b = j\n35: d.na = 2": "wrote 35 instead",
			"32: j = calloc item\n33: d.b = j\n35: d.nb = 1": "healthy",
		}},
		{"a count that was not taken over", wordsSpec, word, Outdated, map[string]string{
			"45: m = malloc node\n44: m.word = 0\n44: m.kid = NULL\n46: m.words = 0\n47: m.up = r\n50: m.kid = a\n51: a.up = m\n53: r.kid = m\n60: m.word = 1\n61: m.words = 1\n61: r.words = 2":                  "wrote 50 outdated",
			"45: m = malloc node\n44: m.word = 0\n44: m.kid = NULL\n46: m.words = 0\n47: m.up = r\n48: m.words = 1\n50: m.kid = a\n51: a.up = m\n53: r.kid = m\n60: m.word = 1\n61: m.words = 2\n61: r.words = 2": "healthy",
		}},
		{"what was not broken yet", slabSpec, slab, Outdated, map[string]string{
			"73: a.next = NULL\n74: s.free = a\n29: s.state = 1":                  "wrote 74 outdated",
			"73: a.next = NULL\n74: s.free = a\n75: s.inuse = 1\n29: s.state = 1": "healthy",
		}},
		{"a number that is set is not counted on", leafSpec, "1: t = calloc tree\n2: l = calloc leaf\n3: t.left = l\n63: l.n = 1\n85: t.total = 1\n63: l.n = 2\n85: t.total = 2\n63: l.n = 3\n85: t.total = 3\n63: l.n = 4\n85: t.total = 4\ncpoint\n", Basis, map[string]string{
			"85: t.total = 5\n63: l.n = 5\n31: r = calloc leaf\n33: r.n = 3\n50: l.n = 3\n60: t.right = r": "wrote 50",
			"85: t.total = 5\n63: l.n = 5\n31: r = calloc leaf\n33: r.n = 3\n50: l.n = 2\n60: t.right = r": "healthy",
		}},
		{"the nearest is counted, and a way back is no link", nodesSpec, "1: t = calloc tree\n2: a = calloc node\n3: t.root = a\n4: t.nodes = 1\n2: b = calloc node\n5: b.up = a\n6: a.kid = b\n4: t.nodes = 2\ncpoint\n", Outdated, map[string]string{
			"45: m = calloc node\n46: m.up = a\n50: m.kid = b\n51: b.up = m\n53: a.kid = m\n32: l = calloc node\n33: l.up = b\n36: b.kid = l\n37: t.nodes = 3":                  "wrote 53 outdated",
			"45: m = calloc node\n46: m.up = a\n50: m.kid = b\n51: b.up = m\n53: a.kid = m\n54: t.nodes = 3\n32: l = calloc node\n33: l.up = b\n36: b.kid = l\n37: t.nodes = 4": "healthy",
		}},
		{"a free that is not counted", nodesSpec, "1: t = calloc tree\n2: a = calloc node\n3: t.root = a\n4: t.nodes = 1\n2: b = calloc node\n5: b.up = a\n6: a.kid = b\n4: t.nodes = 2\ncpoint\n", Outdated, map[string]string{
			"63: free b\n59: a.kid = NULL":                  "wrote 63 outdated",
			"63: free b\n64: t.nodes = 1\n59: a.kid = NULL": "healthy",
		}},
		{"less than nothing", refsSpec, "1: f = calloc fib\n2: a = calloc route\n3: a.refs = 1\n4: f.routes = 1\ncpoint\n", Outdated, map[string]string{
			"32: g = calloc route\n35: g.refs = 0\n":               "wrote 32 outdated",
			"32: g = calloc route\n35: g.refs = 0\n67: f.glue = 1": "healthy",
		}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			checkAsked(t, c.spec, c.before, c.kind, c.wants)
		})
	}
}

// TestReset: who takes a node out, and leaves NULL where NULL was, does not know where it will be; who links it does.
func TestReset(t *testing.T) {
	const spec = "struct task { struct task *next, *prev; };\ntype task;\nback: task T; T.next == NULL or T.next.prev == T;\n"
	for program, want := range map[string]string{
		"51: a.next = NULL\n51: a.prev = NULL\n80: b.next = a":                 "wrote 80",
		"51: a.next = NULL\n51: a.prev = NULL\n80: b.next = a\n81: a.prev = b": "",
	} {
		w := newWorld(t, spec)
		w.run("1: a = calloc task\n1: b = calloc task\n1: c = calloc task\n2: a.next = c\n3: c.prev = a\ncpoint")
		w.run("50: c.prev = NULL\n" + program)
		in := w.input()
		in.Function = func(pc trace.Addr) string {
			if pc >= 80 {
				return "acquire"
			}
			return "unready"
		}
		if got, _, _ := strings.Cut(summary(Locate(in)), ","); got != want {
			t.Errorf("%q: %s first, want %q", program, got, want)
		}
	}
}

// TestBothSides: of a field that nothing ever wrote, the statements that wrote the fields on either side are named.
func TestBothSides(t *testing.T) {
	const spec = "struct edge { long from, to, weight; };\ntype edge;\nto: edge E; E.to > 0;\n"
	for program, want := range map[string]string{
		"1: e = malloc edge\n2: e.from = 7\n4: e.weight = 5":              "omitted 2 beside 4",
		"1: e = malloc edge\n2: e.from = 7\n3: e.to = 6\n4: e.weight = 5": "",
		"1: e = malloc edge\n2: e.from = 7":                               "omitted 2",
	} {
		w := newWorld(t, spec)
		w.run("9: d = malloc edge\n9: d.from = 3\n9: d.to = 4\n9: d.weight = 4\ncpoint")
		w.run(program)
		in, got := w.input(), ""
		if r := Locate(in); len(r.Suspects) > 0 {
			s := r.Suspects[0]
			got, _, _ = strings.Cut(summary(r), ",")
			for _, e := range s.Evidence {
				if e.Kind == Beside && e.Beside != 0 {
					got += fmt.Sprintf(" beside %d", in.History.Op(e.Beside).PC)
				}
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %q", program, got, want)
		}
	}
}
