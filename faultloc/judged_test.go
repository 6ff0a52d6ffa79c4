package faultloc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

const (
	levelSpec = "struct node { long key; };\nstruct set { struct node *row[4]; long level; };\ntype node;\ntype set;\nlevel: set S; for I in 1 to 3, S.row[I] == NULL or I < S.level;\n"
	marksSpec = "struct entry { long mark; };\nstruct map { long gone; };\ntype entry;\ntype map;\ngone: map M; M.gone == COUNT(entry E: E.mark == 2);\n"
	slotSpec  = "struct timer { long index; };\nstruct heap { struct timer *slot[4]; long used; };\ntype timer;\ntype heap;\nindex: heap H; for I in 0 to H.used - 1, H.slot[I].index == I;\n"
	headSpec  = "struct node { struct node *next, *prev; };\nstruct head { struct node *first; };\ntype node;\ntype head;\ntogether node, head;\nlisted: node X; X.INDEGREE(next, first) == 1;\nfirst: head H; H.first == NULL or H.first.prev == NULL;\nback: node X; X.next == NULL or X.next.prev == X;\n"
	tableSpec = "struct item { struct item *hnext; long key; };\nstruct table { struct item *slot[2]; };\ntype item;\ntype table;\ntogether item, table;\nhashed: item X; X.INDEGREE == 1;\n"
	queueSpec = "struct item { struct item *next; };\nstruct queue { struct item *first; long count; };\ntype item;\ntype queue;\ntogether item, queue;\ncount: queue Q; Q.count == COUNT(item);\nlinked: item X; X.INDEGREE == 1;\n"
	sumsSpec  = "struct piece { struct piece *next; long len; };\nstruct text { struct piece *first; long length; };\ntype piece;\ntype text;\npiece.LEN;\npiece P; P.LEN = P.len + (P.next).LEN;\nlength: text T; T.length == (T.first).LEN;\n"
	// In a ring, and of two of a pair, a pointer asks for the way back.
	wayBackSpec = "struct entry { struct entry *prev, *next; };\ntype entry;\nback: entry X; X.next != NULL => X.next.prev == X;\n"
	oneOfRing   = "1: r = calloc entry\n2: r.prev = r\n3: r.next = r\ncpoint"
	pairsSpec   = "struct man { struct man *mate, *next; };\ntype man;\nmate: man X; X.mate == NULL or X.mate.mate == X;\n"
	men         = "1: a = calloc man\n1: b = calloc man\n2: a.next = b\ncpoint"

	heap3    = "1: h = calloc heap\n2: a = calloc timer\n3: h.slot[0] = a\n2: c = calloc timer\n3: h.slot[1] = c\n4: c.index = 1\n2: d = calloc timer\n3: h.slot[2] = d\n4: d.index = 2\n5: h.used = 3\ncpoint"
	sifted   = "32: h.slot[3] = c\n33: c.index = 3\n32: h.slot[1] = a\n33: a.index = 1\n36: h.slot[0] = b\n"
	poolSpec = "struct obj { struct obj *next; long id; };\nstruct pool { struct obj *free; };\ntype obj;\ntype pool;\ntogether obj, pool;\nfree: obj O; O.INDEGREE == 1;\n"
)

// deletions marks so many entries as gone, as 65 and 68 do each time.
func deletions(n int) string {
	b := "1: m = calloc map\n"
	for i := range n + 1 {
		b += fmt.Sprintf("2: e%d = calloc entry\n", i)
	}
	b += "cpoint\n"
	for i := range n {
		b += fmt.Sprintf("65: e%d.mark = 2\n68: m.gone = %d\ncpoint\n", i, i+1)
	}
	return b
}

// returns puts an object in front of the one on the free list of so many pools, as 12 and 15 do each time.
func returns(n int) (b string) {
	for i := range n {
		b += fmt.Sprintf("1: p%[1]d = calloc pool\n4: a%[1]d = calloc obj\n3: p%[1]d.free = a%[1]d\ncpoint\n2: b%[1]d = calloc obj\n12: b%[1]d.next = a%[1]d\n15: p%[1]d.free = b%[1]d\ncpoint\n", i)
	}
	return b + "1: p = calloc pool\n4: a = calloc obj\n3: p.free = a\ncpoint"
}

// served are items that are made and taken out of a queue in front, and freed, as 22, 23 and 24 do each time.
func served(n int) string {
	b := "1: q = calloc queue\ncpoint\n"
	for i := range n {
		b += fmt.Sprintf("10: x%[1]d = calloc item\n11: q.first = x%[1]d\n12: q.count = 1\ncpoint\n22: q.first = NULL\n23: q.count = 0\n24: free x%[1]d\ncpoint\n", i)
	}
	return b + "10: x = calloc item\n11: q.first = x\n12: q.count = 1\ncpoint"
}

// TestJudged: of several statements of which each might be wrong, the one that is. Each has a correct twin.
func TestJudged(t *testing.T) {
	for _, c := range []struct{ name, spec, before, fault, correct, want string }{
		{"nothing asked for it yet", levelSpec, "1: s = calloc set\n2: s.level = 1\n3: x = calloc node\ncpoint", "66: s.level = 0\n71: s.row[1] = x", "66: s.level = 2\n71: s.row[1] = x", "wrote 66"},
		{"whole by accident", marksSpec, deletions(10), "65: e10.mark = 1\n68: m.gone = 11", "65: e10.mark = 2\n68: m.gone = 11", "wrote 65"},
		{
			"right when it mattered", slotSpec, heap3,
			"5: b = malloc timer\n73: b.index = 3\n74: h.slot[3] = b\n75: h.used = 4\n" + sifted,
			"5: b = malloc timer\n73: b.index = 3\n74: h.slot[3] = b\n75: h.used = 4\n" + sifted + "37: b.index = 0",
			"wrote 36",
		},
		{"left behind", headSpec, "1: h = calloc head\n2: a = calloc node\n2: b = calloc node\n3: h.first = a\n4: a.next = b\n5: b.prev = a\ncpoint", "44: b.prev = NULL\n90: free a", "42: h.first = b\n44: b.prev = NULL\n90: free a", "wrote 44"},
		{"stored elsewhere", tableSpec, "1: t = calloc table\ncpoint", "131: x = malloc item\n135: x.hnext = NULL\n136: t.slot[1] = NULL", "131: x = malloc item\n135: x.hnext = NULL\n136: t.slot[1] = x", "wrote 136"},
		{"right as often before", poolSpec, returns(10), "2: b = calloc obj\n12: b.next = a\n15: p.free = a", "2: b = calloc obj\n12: b.next = a\n15: p.free = b", "wrote 15"},
		{"not freed", queueSpec, served(10), "22: q.first = NULL\n23: q.count = 0", "22: q.first = NULL\n23: q.count = 0\n24: free x", "omitted 24"},
		{
			// b is put in, and then c; only c is counted
			"one answers the other", sumsSpec, "1: t = calloc text\n2: a = calloc piece\n3: a.len = 5\n4: t.first = a\n5: t.length = 5\n2: b = calloc piece\n3: b.len = 3\n2: c = calloc piece\n3: c.len = 4\ncpoint",
			"21: a.next = b\n31: b.next = c\n58: t.length = 9",
			"21: a.next = b\n22: t.length = 8\n31: b.next = c\n58: t.length = 12",
			"wrote 21",
		},
		{"asked by one, to be answered by the next", wayBackSpec, oneOfRing, "4: e = malloc entry\n27: e.prev = r\n28: e.next = r\n29: r.prev = NULL\n30: r.next = e", "4: e = malloc entry\n27: e.prev = r\n28: e.next = r\n29: r.prev = e\n30: r.next = e", "wrote 29"},
		{"the same without a guard", pairsSpec, men, "61: a.mate = b\n62: b.mate = b", "61: a.mate = b\n62: b.mate = a", "wrote 62"},
		{"asked of the wrong one", wayBackSpec, oneOfRing + "4: a = malloc entry\n27: a.prev = r\n28: a.next = r\n29: r.prev = a\n30: r.next = a\ncpoint", "4: e = malloc entry\n27: e.prev = r\n28: e.next = r\n29: a.prev = e\n30: r.next = e", "4: e = malloc entry\n27: e.prev = r\n28: e.next = a\n29: a.prev = e\n30: r.next = e", "wrote 28"},
	} {
		for _, program := range []string{c.fault, c.correct} {
			w := newWorld(t, c.spec)
			points := w.rounds(strings.SplitAfter(c.before, "cpoint")...)
			w.run(program)
			in := w.input()
			in.Points = points
			in.Broken = w.checker.CountBroken
			r := Locate(in)
			switch got, _, _ := strings.Cut(summary(r), ","); {
			case program == c.fault && got != c.want:
				t.Errorf("%s: %s first, want %s", c.name, got, c.want)
				w.show(r)
			case program == c.correct && len(in.Found)+len(r.Suspects) > 0:
				t.Errorf("%s, correct: %s", c.name, summary(r))
			}
		}
	}
}

// TestOwnHabit: where it is known which statement is missing in such a call, the one that stores the field in calls of
// another function is not.
func TestOwnHabit(t *testing.T) {
	w := newWorld(t, "struct item { struct item *next; };\nstruct list { struct item *first; long length; };\ntype item;\ntype list;\nlist.N;\nitem.N;\nitem X; X.N = 1 + (X.next).N;\nlist L; L.N = (L.first).N;\nlength: list L; L.length == L.N;\n")
	const lists, rounds = 8, 7
	for i := range lists {
		w.run(fmt.Sprintf("1: l%d = calloc list\ncpoint", i))
	}
	add := func(line, i, n int) { // in front of the list
		last := "NULL"
		if n > 0 {
			last = fmt.Sprintf("x%d_%d", i, n-1)
		}
		w.run(fmt.Sprintf("%[1]d: x%[4]d_%[5]d = malloc item\n%[2]d: x%[4]d_%[5]d.next = %[6]s\n%[3]d: l%[4]d.first = x%[4]d_%[5]d", line, 71, line+2, i, n, last))
	}
	var points []mgpp.Timestamp
	for n := range rounds {
		for i := range lists {
			line := 30 + 20*(n%2)
			add(line, i, n)
			w.run(fmt.Sprintf("%d: l%d.length = %d\ncpoint", line+3, i, n+1))
			points = append(points, w.healthy)
		}
	}
	add(50, 3, rounds)
	in := w.input()
	in.Points = points
	within, function := map[mgpp.Timestamp]string{}, ""
	for t := mgpp.Timestamp(1); t <= in.At; t++ { // by the allocation that begins each call
		if op := in.History.Op(t); op.Kind == mgpp.OpBirth {
			function = strconv.Itoa(int(op.PC))
		}
		within[t] = function
	}
	in.Within = func(t mgpp.Timestamp) string { return within[t] }
	r := Locate(in)
	missing := func(pc trace.Addr) bool {
		return slices.ContainsFunc(r.Suspects, func(s Suspect) bool { return s.Kind == Omitted && s.PC == pc })
	}
	if !missing(53) || missing(33) || r.Suspects[0].PC != 53 {
		t.Errorf("%s, want that 53 is missing", summary(r))
		w.show(r)
	}
}

// TestFirstCall: what the first call of a function does, nobody has done before.
func TestFirstCall(t *testing.T) {
	for called, want := range map[string]Law{"insert": LawKept, "remove": ""} {
		w := newWorld(t, itemSpec)
		w.run(numbered(30))
		w.run("60: n9.kind = 2")
		in := w.input()
		in.Within = func(t mgpp.Timestamp) string {
			if t > in.Healthy {
				return called
			}
			return "insert"
		}
		if got := lawOf(in, 60); got != want {
			t.Errorf("in %s: law %q, want %q", called, got, want)
		}
	}
}
