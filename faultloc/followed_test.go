package faultloc

import (
	"strings"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestLed: who stored what the program followed to where it died. A pointer that leads nowhere goes before an experiment with
// a decision, and a NULL behind it, as a condition should have asked for that.
func TestLed(t *testing.T) {
	const spec = "struct item { struct item *next; long n; long *list; };\ntype item;\n"
	const begin = "1: a = calloc item\n2: a.next = NULL\n3: a.n = 1\n4: b = malloc item\n5: b.next = NULL\ncpoint\n"
	// where says where a field lies, by its name and what lies before it.
	where := func(w *world, name string, off trace.Addr) trace.Addr { return w.block(name).addr + off }
	for name, c := range map[string]struct {
		run   string
		reads func(w *world) []Read
		try   tried
		want  string
	}{
		"NULL": {
			"20: a.next = NULL\n", func(w *world) []Read { return []Read{{Addr: where(w, "a", 0), Size: 8, Of: -1}} }, tried{},
			"died 77, wrote 20",
		},
		"NULL, and it would have lived": {
			"20: a.next = NULL\n", func(w *world) []Read { return []Read{{Addr: where(w, "a", 0), Size: 8, Of: -1}} }, tried{survives: 6},
			"wrote 20, died 77",
		},
		"nowhere": {
			"20: a.next = 12345678\n", func(w *world) []Read { return []Read{{Addr: where(w, "a", 0), Size: 8, Of: -1}} },
			tried{decisions: []Experiment{{PC: 30, Times: 1, Alike: true, Differs: 16, Words: 2, After: 5}}},
			"wrote 20, decided 30 switched, died 77",
		},
		"NULL, and a decision": {
			"20: a.next = NULL\n", func(w *world) []Read { return []Read{{Addr: where(w, "a", 0), Size: 8, Of: -1}} },
			tried{decisions: []Experiment{{PC: 30, Times: 1, Alike: true, Differs: 16, Words: 2, After: 5}}},
			"decided 30 switched, died 77, wrote 20",
		},
		"beyond a block": {
			"20: a.list = b\n21: a.n = 9\n", func(w *world) []Read {
				return []Read{{Addr: where(w, "b", 72), Size: 8, Of: -1}, {Addr: where(w, "a", 16), Size: 8, Depth: 1}, {Addr: where(w, "a", 8), Size: 8, Depth: 1}}
			}, tried{},
			"wrote 21, died 77, wrote 20",
		},
		"beyond one that it was given": {
			"20: a.n = 9\n", func(w *world) []Read {
				return []Read{{Given: where(w, "b", 0), Of: -1}, {Addr: where(w, "a", 8), Size: 8, Of: -1}}
			}, tried{},
			"wrote 20, died 77",
		},
		"it was given something else": {
			"20: a.n = 9\n", func(w *world) []Read {
				return []Read{{Given: 1 << 20, Of: -1}, {Addr: where(w, "a", 8), Size: 8, Of: -1}}
			}, tried{},
			"died 77, wrote 20",
		},
		"within it": {
			"20: a.list = b\n21: a.n = 0\n", func(w *world) []Read {
				return []Read{{Addr: where(w, "b", 0), Size: 8, Of: -1}, {Addr: where(w, "a", 16), Size: 8, Depth: 1}, {Addr: where(w, "a", 8), Size: 8, Depth: 1}}
			}, tried{},
			"died 77, wrote 5, wrote 21, wrote 20",
		},
		"never written": {
			"20: a.n = 7\n", func(w *world) []Read { return []Read{{Addr: where(w, "b", 16), Size: 8, Of: -1, Born: 4}} }, tried{},
			"wrote 4, died 77",
		},
		"cleared": {
			"20: a.n = 7\n", func(w *world) []Read { return []Read{{Addr: where(w, "a", 16), Size: 8, Of: -1, Born: 1}} }, tried{},
			"died 77, wrote 1",
		},
		"freed": {
			"20: free b\n21: a.n = 7\n", func(w *world) []Read { return []Read{{Addr: where(w, "a", 40), Size: 8, Of: -1, Freed: 6}} }, tried{},
			"wrote 20, died 77",
		},
		"from far": {
			"20: a.list = b\n21: a.n = 0\n", func(w *world) []Read {
				return []Read{{Addr: where(w, "b", 0), Size: 8, Of: -1}, {Addr: where(w, "a", 16), Size: 8, Depth: 1}, {Addr: where(w, "a", 8), Size: 8, Depth: 2, Of: 1}}
			}, tried{},
			"died 77, wrote 5, wrote 20",
		},
		"nothing is known": {"20: a.n = 7\n", func(w *world) []Read { return nil }, tried{}, "died 77"},
	} {
		w := newWorld(t, spec)
		w.run(begin)
		w.run(c.run)
		in := w.input()
		in.Cut, in.Died, in.Fault = true, 77, 12345678+8
		c.try.asked, c.try.followed = new(int), c.reads(w)
		for i := range c.try.followed {
			c.try.followed[i].Before = in.At
		}
		in.Rerun = func(mgpp.Timestamp) Rerun { return c.try }
		in.Ended = func() Rerun { return c.try }
		if got := ranks(Crashed(in)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestLedUnfilled: the program died of what lay in a field that nothing had written: the statement is missing that fills it in nearly all
// like nodes. Where others leave it empty as well, and where it is not who allocates the node that fills it, it is the allocation.
func TestLedUnfilled(t *testing.T) {
	const spec = "struct item { struct item *next; long n; };\ntype item;\nno: item X; X.n == 0;\n"
	for name, c := range map[string]struct {
		begin, fill string
		size        int
		want        string
	}{
		"filled":    {"", "12: $.next = NULL\n", 8, "omitted 12, wrote 20, "},
		"a half":    {"", "12: $.next = NULL\n", 4, "wrote 20, died 77, "},
		"one other": {"10: o = malloc item\n11: o.n = 0\n", "12: $.next = NULL\n", 8, "wrote 20, died 77, "},
		"elsewhere": {"", "30: $.next = NULL\n", 8, "wrote 20, died 77, "},
	} {
		w := newWorld(t, spec)
		w.run(c.begin)
		for _, n := range []string{"a", "b", "d", "e", "f"} {
			w.run(strings.ReplaceAll("10: $ = malloc item\n11: $.n = 0\n"+c.fill, "$", n))
		}
		w.run("10: x = malloc item\n11: x.n = 0\ncpoint\n20: a.n = 7\n")
		in := w.input()
		in.Cut, in.Died = true, 77
		in.Function = inFunctions(map[string][]int{"new": {10, 11, 12}, "set": {20, 30}, "die": {77}})
		in.Ended = func() Rerun { return nil }
		in.Led = func() []Read {
			x := w.block("x")
			return []Read{{PC: 70, Addr: x.addr, Size: c.size, Of: -1, Before: in.At, Born: in.At - 2}}
		}
		found := Locate(in)
		if got := ranks(found) + ", "; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		for _, s := range found.Suspects {
			for _, e := range s.Evidence {
				if e.Kind == Unwritten && (e.By != 70 || !e.Led || e.Of != 5 || e.Often != 5) {
					t.Errorf("%s: %+v", name, e)
				}
			}
		}
	}
}

// TestLedBeyond: the number by which the program came beyond a block is named before the crash itself, where something is broken besides, too.
func TestLedBeyond(t *testing.T) {
	for beyond, want := range map[bool]string{true: "wrote 21, wrote 20, died 77", false: "wrote 21, died 77"} {
		w := newWorld(t, "struct item { struct item *next; long n, at; };\ntype item;\nno: item X; X.n == 0;\n")
		w.run("1: a = calloc item\n2: b = calloc item\ncpoint\n20: a.at = 900\n21: b.n = 7\n")
		in := w.input()
		in.Cut, in.Died = true, 77
		in.Ended = func() Rerun {
			of := w.block("b").addr
			if !beyond {
				of = 1 << 20
			}
			return tried{asked: new(int), followed: []Read{{Given: of, Of: -1, Before: in.At}, {Addr: w.block("a").addr + 16, Size: 8, Of: -1, Before: in.At}}}
		}
		if got := ranks(Locate(in)); !strings.HasPrefix(got, want) {
			t.Errorf("beyond %t: %s, want %s", beyond, got, want)
		}
	}
}

// TestLedSilent: a NULL that was stored where NULL was, right before the program followed it, in another function: it should have been something else. One that took something
// away there may be right.
func TestLedSilent(t *testing.T) {
	for store, want := range map[string]string{
		"20: h.first = NULL\n": "wrote 21, wrote 20, died 77, ", "20: h.first = b\n20: h.first = NULL\n": "wrote 21, died 77, wrote 20, ",
	} {
		w := newWorld(t, "struct item { struct item *next; long n; };\nstruct head { struct item *first; };\ntype item;\ntype head;\nno: item X; X.n == 0;\n")
		w.run("1: h = calloc head\n2: b = calloc item\ncpoint\n" + store + "21: b.n = 7\n")
		in := w.input()
		in.Cut, in.Died = true, 77
		in.Function = inFunctions(map[string][]int{"set": {20, 21}, "use": {77}})
		in.Ended = func() Rerun {
			return tried{asked: new(int), followed: []Read{{PC: 76, Addr: w.block("h").addr, Size: 8, Of: -1, Before: in.At}}}
		}
		if got := ranks(Locate(in)) + ", "; !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", store, got, want)
		}
	}
}

// TestLedFreed: a pointer that leads nowhere was read from what the same call had freed.
func TestLedFreed(t *testing.T) {
	for used, want := range map[bool]string{true: "wrote 20, wrote 21, died 77", false: "wrote 21, died 77"} {
		w := newWorld(t, "struct item { struct item *next; };\ntype item;\n")
		w.run("1: a = calloc item\n2: b = calloc item\ncpoint\n20: free b\n21: a.next = 12345678\ncpoint\n22: c = calloc item\n")
		in := w.input()
		in.Cut, in.Died, in.Fault = true, 77, 12345678
		in.Ended = func() Rerun {
			return tried{asked: new(int), followed: []Read{{Addr: w.block("a").addr, Size: 8, Of: -1, Before: in.At}}}
		}
		in.ReadFreed = func(t mgpp.Timestamp) (ReadFreed, bool) { return ReadFreed{Free: 3, By: 21}, used && t == 4 }
		if got := ranks(Crashed(in)); !strings.HasPrefix(got, want) {
			t.Errorf("used %t: %s, want %s", used, got, want)
		}
	}
}

// TestHolding: where the call can not be executed again, it is the pointer that holds the address.
func TestHolding(t *testing.T) {
	for known, want := range map[bool]string{true: "wrote 20, died 77", false: "died 77"} {
		w := newWorld(t, "struct item { struct item *next; };\ntype item;\n")
		w.run("1: a = calloc item\n2: b = calloc item\ncpoint\n20: a.next = 12345678\n21: b.next = a\n")
		in := w.input()
		in.Cut, in.Died, in.Fault = true, 77, 12345678+8
		in.Ended = func() Rerun { return nil }
		if known {
			in.Holding = func() []Read { return []Read{{Addr: w.block("a").addr, Size: 8, Of: -1, Before: in.At, Born: 1}} }
		}
		if got := ranks(Crashed(in)); got != want {
			t.Errorf("known %t: %s, want %s", known, got, want)
		}
	}
}

// TestFollowedSoon: of a crash in the middle of a call that has broken something, who stored the NULL that the program followed is named, and
// goes before the crash itself if that was right before, in the same function; not if all was whole since then.
func TestFollowedSoon(t *testing.T) {
	const spec = "struct item { struct item *next; long n; };\ntype item;\nno: item X; X.n == 0;\n"
	for name, c := range map[string]struct {
		run  string
		same bool
		want string
	}{
		"soon":      {"20: b.n = 7\n21: a.next = NULL", true, "wrote 20, wrote 21, died 77, "},
		"elsewhere": {"20: b.n = 7\n21: a.next = NULL", false, "wrote 20, died 77, wrote 21"},
		"long ago":  {"20: b.n = 7", true, "wrote 20, died 77"},
	} {
		w := newWorld(t, spec)
		w.run("1: a = calloc item\n2: b = calloc item\n21: a.next = NULL\ncpoint\n")
		w.run(c.run)
		in := w.input()
		in.Cut, in.Died = true, 77
		in.Function = inFunctions(map[string][]int{"set": {21}, "die": {77}})
		if c.same {
			in.Function = inFunctions(map[string][]int{"die": {21, 77}})
		}
		in.Ended = func() Rerun { return nil }
		in.Led = func() []Read { return []Read{{Addr: w.block("a").addr, Size: 8, Of: -1, Before: in.At, Born: 1}} }
		if got := ranks(Locate(in)) + ", "; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
