package faultloc

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestNarrow: with no C-point but the end the structure itself says when it was whole,
// and the fault is located as if there had been a C-point.
func TestNarrow(t *testing.T) {
	lines := strings.Split(insertions(400), "cpoint\n")
	for _, at := range []int{3, 150, 390} {
		for _, fault := range []string{"", "n%[1]d.prev = n%[2]d", "n%[1]d.key = 300"} {
			w := newWorld(t, listSpecDL)
			for i, op := range lines {
				w.run(op)
				if i == at && fault != "" {
					w.run("50: " + fmt.Sprintf(fault, i-1, i-2))
				}
			}
			in := w.input()
			in.Healthy = 0
			in.Broken = w.checker.CountBroken
			r := Locate(in)
			if fault == "" {
				if r.Narrowed != nil || len(r.Suspects) > 0 {
					t.Errorf("nothing is wrong, and %s", summary(r))
				}
				continue
			}
			began := 2 + 5*at // the operations up to then
			if len(r.Suspects) == 0 || r.Suspects[0].PC != 50 || r.Narrowed == nil {
				t.Errorf("%q at %d: %s; narrowed %+v", fault, at, summary(r), r.Narrowed)
				continue
			}
			n := *r.Narrowed
			if from := int(n.From); from > began || from < began-6 || int(n.Broke) != began+1 || int(n.To) > began+6 {
				t.Errorf("%q at %d: the fault is operation %d, narrowed to %+v", fault, at, began+1, n)
			}
		}
	}
}

// TestNarrowBetweenCalls: where calls were recorded, the fault lies in one of them, also
// if it began with the first, and what is broken has been so ever since.
func TestNarrowBetweenCalls(t *testing.T) {
	lines := strings.Split(insertions(400), "cpoint\n")
	for _, at := range []int{3, 150, 390, len(lines)} {
		w := newWorld(t, listSpecDL)
		var between []mgpp.Timestamp
		for i, op := range lines {
			between = append(between, w.hist.Now())
			w.run(op)
			if i == at {
				w.run(fmt.Sprintf("50: n%d.prev = n%d", i-1, i-2))
			}
		}
		in := w.input()
		checks := map[mgpp.Timestamp]bool{}
		in.Healthy, in.Moments = 0, between
		in.Broken = func(t mgpp.Timestamp) int {
			checks[t] = slices.Contains(between, t)
			return w.checker.CountBroken(t)
		}
		r := Locate(in)
		maps.DeleteFunc(checks, func(_ mgpp.Timestamp, is bool) bool { return !is })
		if len(checks) > 1 { // what is broken for good tells which moment is to be looked at
			t.Errorf("the fault is in call %d: all was checked at %d moments between calls", at, len(checks))
		}
		if at == len(lines) {
			if r.Narrowed != nil || len(r.Suspects) > 0 {
				t.Errorf("nothing is wrong, and %s", summary(r))
			}
			continue
		}
		if n := r.Narrowed; n == nil || n.From != between[at] || n.To != between[at+1] {
			t.Errorf("the fault is in call %d, narrowed to %+v", at, n)
		}
		if len(r.Suspects) == 0 || r.Suspects[0].PC != 50 {
			t.Errorf("the fault is in call %d: %s", at, summary(r))
		}
	}
}

// TestNarrowAmid: what is broken for good began while something else was broken that has been mended since: that is asked at the
// moment before, which is not whole, and then the fault is where that began.
func TestNarrowAmid(t *testing.T) {
	lines := strings.Split(insertions(400), "cpoint\n")
	w := newWorld(t, listSpecDL)
	var between []mgpp.Timestamp
	for i, op := range lines {
		between = append(between, w.hist.Now())
		w.run(op)
		switch i {
		case 100:
			w.run("50: n20.prev = n9")
		case 140:
			w.run("51: n30.prev = n9")
		case 180:
			w.run("52: n20.prev = n19")
		}
	}
	in := w.input()
	in.Healthy, in.Broken, in.Moments = 0, w.checker.CountBroken, between
	if n := Locate(in).Narrowed; n == nil || n.From != between[100] || n.To != between[101] {
		t.Errorf("narrowed to %+v, want %d to %d", n, between[100], between[101])
	}
}

// TestNarrowNeverEnds: of a call that does not end, not all that it did is looked at, but what it
// did when the structure ceased to be whole.
func TestNarrowNeverEnds(t *testing.T) {
	const begins, ends = 200, 1300 // the insertions of the last call
	lines := strings.Split(insertions(ends), "cpoint\n")
	for _, at := range []int{begins, begins + 150, ends} {
		w := newWorld(t, listSpecDL)
		var between []mgpp.Timestamp
		for i, op := range lines {
			if i <= begins {
				between = append(between, w.hist.Now())
			}
			w.run(op)
			if i == at && i < ends {
				w.run(fmt.Sprintf("50: n%d.prev = n%d", i-1, i-2))
			}
		}
		in := w.input()
		in.Healthy, in.Broken, in.Moments = 0, w.checker.CountBroken, between
		r := Locate(in)
		if at == ends {
			if r.Narrowed != nil || len(r.Suspects) > 0 {
				t.Errorf("nothing is wrong, and %s", summary(r))
			}
			continue
		}
		began := mgpp.Timestamp(2 + 5*at) // the operations up to then
		if n := r.Narrowed; n == nil || n.Broke != began+1 || n.To > began+farAway {
			t.Errorf("the fault is operation %d, narrowed to %+v", began+1, n)
		}
		if len(r.Suspects) == 0 || r.Suspects[0].PC != 50 {
			t.Errorf("the fault is operation %d: %s", began+1, summary(r))
		}
	}
}

// TestNotNarrow: where C-points are near, they are what counts.
func TestNotNarrow(t *testing.T) {
	w := newWorld(t, listSpecDL)
	w.run(insertions(100))
	w.run("50: n50.prev = n3")
	in := w.input()
	in.Broken = w.checker.CountBroken
	if r := Locate(in); r.Narrowed != nil || len(r.Suspects) == 0 || r.Suspects[0].PC != 50 {
		t.Errorf("%s, narrowed %+v", summary(r), r.Narrowed)
	}
}

// TestPlausibleRepairs: pointers that carry nothing in their low bits are not mended by
// what lies beside a node, and counts not by what is a key.
func TestPlausibleRepairs(t *testing.T) {
	for _, fault := range []string{"n5.prev = n9", "n5.next = n9", "n20.next = n20+8", "n7.key = 70000"} {
		w := newWorld(t, listSpecDL)
		w.run(insertions(30))
		w.run("50: " + fault)
		r := Locate(w.input())
		if len(r.Repairs) == 0 {
			t.Errorf("%s: no repair", fault)
		}
		for _, x := range r.Repairs {
			if x.Cell.Pointer && x.Value&7 != 0 {
				t.Errorf("%s: repair %s = %#x", fault, x.Cell.Path, x.Value)
			}
		}
	}
}

// TestNarrowQuiet: where calls are not known to the end, the last that are tell nothing of where it broke after them.
func TestNarrowQuiet(t *testing.T) {
	lines := strings.Split(insertions(400), "cpoint\n")
	w := newWorld(t, listSpecDL)
	var known []mgpp.Timestamp
	for i, op := range lines {
		if i <= 100 {
			known = append(known, w.hist.Now())
		}
		w.run(op)
		if i == 390 {
			w.run("50: n389.prev = n388")
		}
	}
	in := w.input()
	in.Healthy, in.Moments, in.Quiet = 0, known, known[100]
	in.Broken = w.checker.CountBroken
	r := Locate(in)
	if n := r.Narrowed; n == nil || n.From <= known[100] {
		t.Errorf("narrowed to %+v, and calls are known up to %d", n, known[100])
	}
	if len(r.Suspects) == 0 || r.Suspects[0].PC != 50 {
		t.Error(summary(r))
	}
}

// TestNarrowOnTheWay: a call that is known may be a part of an operation, behind which the structure is rightly half-way: what
// was done later is suspected too.
func TestNarrowOnTheWay(t *testing.T) {
	w := newWorld(t, listSpecDL)
	w.run(insertions(8))
	before := w.hist.Now()
	w.run("60: n4.prev = n1")
	amid := w.hist.Now()
	w.run("61: n4.prev = n5\n50: n6.prev = n2")
	in := w.input()
	in.Healthy, in.Moments = 0, []mgpp.Timestamp{before, amid}
	in.Broken = w.checker.CountBroken
	r := Locate(in)
	if n := r.Narrowed; n == nil || n.From != before || n.To != amid || !n.Unsure {
		t.Errorf("narrowed to %+v", n)
	}
	if len(r.Suspects) == 0 || r.Suspects[0].PC != 50 {
		t.Error(summary(r))
	}
}

// TestNarrowNever: what has been wrong since there is something that asks for it is looked for where it began, and not in all of the
// run; not so what was only on its way then.
func TestNarrowNever(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, step int // what the count begins with, and from which call on it is wrong otherwise; 0: never
		want        int // the moment up to which it is looked for; -1: not from the beginning on
		wrong       bool
	}{
		{"from the first", 1, 0, 0, true},
		{"right", 0, 0, -1, false},
		{"another one later", 1, 20, -1, true},
	} {
		w := newWorld(t, tallySpec)
		w.run(fmt.Sprintf("1: b = calloc box\n2: b.n = %d\n1: c = calloc box\n3: c.n = 0", c.first))
		var between []mgpp.Timestamp
		by := c.first
		for i := range 40 {
			between = append(between, w.hist.Now())
			if c.step > 0 && i == c.step {
				by = 0 // the first box is right then, and the other one is not
				w.run("8: c.n = 1")
			}
			w.run(fmt.Sprintf("4: p%d = calloc pin\n5: p%d.next = %s\n6: b.pins = p%d\n7: b.n = %d", i, i, map[bool]string{true: "NULL", false: fmt.Sprint("p", i-1)}[i == 0], i, i+1+by))
		}
		in := w.input()
		in.Healthy, in.Moments, in.Broken = 0, between, w.checker.CountBroken
		r := Locate(in)
		switch n := r.Narrowed; {
		case (len(r.Suspects) > 0) != c.wrong:
			t.Errorf("%s: %s", c.name, summary(r))
		case c.want < 0 && n != nil && n.Never:
			t.Errorf("%s: narrowed to %+v", c.name, n)
		case c.want >= 0 && (n == nil || !n.Never || n.From != 0 || n.To != between[c.want] || r.Suspects[0].PC != 2):
			t.Errorf("%s: narrowed to %+v; %s", c.name, n, summary(r))
		}
	}
}

// TestNewest: the moment behind which it is broken for good is found where it was whole up to there, and where it was so for a while only, behind
// what makes the structure.
func TestNewest(t *testing.T) {
	for _, c := range []struct {
		from, to, of int // the moments that are whole, half-open, and how many there are
		want         int
	}{
		{0, 20, 40, 19}, {0, 40, 40, 39}, {0, 0, 40, -1}, {0, 0, 0, -1}, {0, 1, 1000, 0}, {17, 27, 238, 26}, {1600, 1900, 60000, 1899},
	} {
		asked := 0
		m := &moments{in: &Input{}}
		list := make([]mgpp.Timestamp, c.of)
		for i := range list {
			list[i] = mgpp.Timestamp(i)
		}
		got := m.newest(list, func(at mgpp.Timestamp) bool {
			asked++
			return int(at) >= c.from && int(at) < c.to
		})
		if got != c.want || asked > 150 {
			t.Errorf("%+v: %d, asked %d times", c, got, asked)
		}
	}
}

// TestRound: a call that does the same wrong time and again leaves more broken than any one change would mend: it is looked at before it does so
// for the second time, by what is broken in the end as well. Where it did so once, it is looked at as ever.
func TestRound(t *testing.T) {
	for _, wrong := range []int{100, 1} {
		w := newWorld(t, "struct item { struct item *next, *prev; long n; };\ntype item;\nback: item X; X.next == NULL or X.next.prev == X;\n")
		w.run("1: i0 = calloc item\ncpoint")
		in := w.input()
		in.Moments = []mgpp.Timestamp{in.At}
		for i := range 120 {
			w.run(fmt.Sprintf("20: i%d = calloc item\n21: i%[1]d.n = 1\n30: i%d.next = i%[1]d", i+1, i))
			if i >= wrong {
				w.run(fmt.Sprintf("31: i%d.prev = i%d", i+1, i))
			}
		}
		healthy, moments := in.Healthy, in.Moments
		in = w.input()
		in.Healthy, in.Moments, in.Broken = healthy, moments, w.checker.CountBroken
		r := Locate(in)
		if wrong == 1 {
			if first := r.Suspects[0]; first.PC != 31 || first.Kind != Omitted {
				t.Errorf("wrong once: %s", summary(r))
			}
			continue
		}
		if n := r.Narrowed; n == nil || n.Found != 1 || n.To > healthy+6 || r.Suspects[0].PC != 30 {
			t.Errorf("wrong each time: narrowed to %+v, %s", n, summary(r))
		}
	}
}

// TestInRound: of a short call that does the same wrong a few times it is what the first time has left that is explained. Where one suspect
// accounts for all, all of the call is looked at.
func TestInRound(t *testing.T) {
	for wrong, want := range map[int]string{4: "wrote 30", 1: "omitted 31"} {
		w := newWorld(t, "struct item { struct item *next, *prev; long n; };\ntype item;\nback: item X; X.next == NULL or X.next.prev == X;\n")
		w.run("1: i0 = calloc item\ncpoint")
		for i := range 4 {
			w.run(fmt.Sprintf("20: i%d = calloc item\n21: i%[1]d.n = 1\n30: i%d.next = i%[1]d", i+1, i))
			if i >= wrong {
				w.run(fmt.Sprintf("31: i%d.prev = i%d", i+1, i))
			}
		}
		in := w.input()
		in.Broken = w.checker.CountBroken
		r := Locate(in)
		if n := r.Narrowed; (wrong > 1) != (n != nil) || n != nil && n.Found != 1 || !strings.HasPrefix(ranks(r), want) {
			t.Errorf("wrong %d times: narrowed to %+v, %s, want %s", wrong, n, ranks(r), want)
		}
	}
}

// TestFirstOfRound: a round begins where something that is broken at the end becomes so for good. What a call breaks and mends on its way, as where
// it divides a node, is no such thing, though the same is broken at the end.
func TestFirstOfRound(t *testing.T) {
	const spec = `
struct part { struct part *next; long len; };
struct text { struct part *first; long total; };
type part;
type text;
together text, part;
part.SUM; part P; P.SUM = (P.next).SUM + P.len;
total: text T; T.total == (T.first).SUM;
once: part P; P.INDEGREE == 1;
`
	divide := func(at, part string, left int, shorten bool) string {
		s := fmt.Sprintf("30: %s = malloc part\n31: %s.len = 2\n32: %s.next = NULL\n33: %s.next = %s\n", part, part, part, at, part)
		if shorten {
			s += fmt.Sprintf("34: %s.len = %d\n", at, left)
		}
		return s
	}
	for _, shorten := range []bool{true, false} {
		w := newWorld(t, spec)
		w.run("20: t = calloc text\n21: a = malloc part\n22: a.next = NULL\n23: a.len = 10\n24: t.first = a\n25: t.total = 10\ncpoint\n")
		healthy := w.hist.Now()
		w.run(divide("a", "b", 8, shorten) + divide("b", "c", 0, shorten) + "40: t.first = c")
		in := w.input()
		m := &moments{in: &in}
		want := trace.Addr(40)
		if !shorten {
			want = 33
		}
		if got := w.hist.Op(m.firstOf(Narrowed{From: healthy, To: in.At})).PC; got != want {
			t.Errorf("shortened: %t: the round begins at line %d, want %d", shorten, got, want)
		}
	}
}
