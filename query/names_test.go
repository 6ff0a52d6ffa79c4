package query

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// world is a small history by hand, with types by the names of allocators.
type world struct {
	t     testing.TB
	h     *mgpp.History
	decls *types.Decls
}

const layouts = `
struct pair { int a; int b; };
struct list { int key; char tag; struct list *next; struct pair pair; struct list *kids[2]; };
struct str { int n; char text[]; };
struct flags { unsigned count:20, dirty:1, kind:2, wide:3; char tag; };
struct any { int kind; union { long id; double cost; struct list *list; char tag[8]; struct { unsigned low:4, high:4; } bits; } u; };
`

// layout of struct list, bytes
const (
	keyAt, tagAt, nextAt, pairAt, kidsAt, listSize = 0, 4, 8, 16, 24, 40
)

func newWorld(t testing.TB) *world {
	d, errs := types.ParseC(layouts)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return &world{t, mgpp.New(mgpp.Options{}), d}
}

// OfOrigin implements Typing.
func (w *world) OfOrigin(i int) Typed {
	_, all := CountOrigins(w.h)
	o := all[i]
	name, array := strings.CutSuffix(o.Alloc, "[]")
	t := w.decls.Lookup(name)
	if t == nil {
		return Typed{Why: "nothing tells"}
	}
	return Typed{Name: o.Alloc, Type: t, Array: array, Why: "test"}
}

// OfGlobal implements Typing.
func (w *world) OfGlobal(trace.GlobalID) Typed {
	return Typed{Name: "root", Type: &types.Type{Kind: types.Pointer, Size: 8, Elem: w.decls.Lookup("list")}, Why: "test"}
}

func (w *world) apply(e trace.Event) mgpp.Timestamp {
	w.t.Helper()
	if _, err := w.h.Apply(&e); err != nil {
		w.t.Fatal(err)
	}
	return w.h.Now()
}

func (w *world) alloc(name string, at trace.Addr, size uint64) mgpp.Timestamp {
	return w.apply(trace.Event{Kind: trace.KindAlloc, Addr: at, Size: size, Name: name, PC: 0x400, Stack: []trace.Addr{0x400 + trace.Addr(len(name))}})
}

func (w *world) put(at trace.Addr, size int, v uint64) mgpp.Timestamp {
	b := binary.LittleEndian.AppendUint64(nil, v)
	return w.apply(trace.Event{Kind: trace.KindStore, Addr: at, Size: uint64(size), Data: b[:size], PC: 0x500})
}

func (w *world) names() *Names {
	o, _ := CountOrigins(w.h)
	n := NewNames(w.h, o, w)
	n.Entry = func(addr trace.Addr) string { return map[trace.Addr]string{0x78002000: "visit"}[addr] }
	return n
}

func (w *world) who(expr string, t mgpp.Timestamp) []string {
	n := w.names()
	p, err := ParsePath(expr)
	if err != nil {
		return []string{err.Error()}
	}
	c, err := n.Resolve(p, w.h.At(t))
	if err != nil {
		return []string{err.Error()}
	}
	out := []string{fmt.Sprintf("%s %d", c.Name, c.Size)}
	for x := range n.Writers(c, t) {
		out = append(out, fmt.Sprintf("%d %s", x.Op.Time, x.What))
	}
	return out
}

// TestLongArray: of an array with billions of elements the one that is asked for is looked at.
func TestLongArray(t *testing.T) {
	w := newWorld(t)
	const at, size = 0x10000000000, listSize << 34
	w.alloc("list[]", at, size)         // 1
	w.put(at+2*listSize+nextAt, 8, at)  // 2
	w.put(at+size-listSize+keyAt, 4, 7) // 3
	w.alloc("str", at+2*size, 1<<40)    // 4
	w.put(at+2*size+4+1<<30, 1, 'x')    // 5
	for expr, want := range map[string][]string{
		"list[]#1[2].next":          {"list[]#1[2].next 8", "2 never written → list[]#1", "1 list[]#1 was allocated, 687,194,767,360 bytes"},
		"list[]#1[17179869183].key": {"list[]#1[17179869183].key 4", "3 never written → 7", "1 list[]#1 was allocated, 687,194,767,360 bytes"},
		"str#1.text[1073741824]":    {"str#1.text[1073741824] 1", "5 never written → 120 'x'", "4 str#1 was allocated, 1,099,511,627,776 bytes"},
	} {
		if d := cmp.Diff(want, w.who(expr, w.h.Now())); d != "" {
			t.Errorf("%s (-want +got):\n%s", expr, d)
		}
	}
}

// TestMember: a member of a union has the value that the path says, not that of its bytes.
func TestMember(t *testing.T) {
	w := newWorld(t)
	w.alloc("any", 0x1000, 16)              // 1
	w.alloc("list", 0x2000, listSize)       // 2
	w.put(0x1008, 8, math.Float64bits(1.5)) // 3
	w.put(0x1008, 8, 0x2000)                // 4
	w.put(0x1008+3, 1, 'x')                 // 5
	for expr, want := range map[string][]string{
		"any#1.u.id":       {"any#1.u 8", "5 8192 → 2013274112", "4 4609434218613702656 → 8192", "3 never written → 4609434218613702656", "1 any#1 was allocated, 16 bytes"},
		"any#1.u.cost":     {"any#1.u 8", "5 4.0474e-320 → 9.946895744e-315", "4 1.5 → 4.0474e-320", "3 never written → 1.5", "1 any#1 was allocated, 16 bytes"},
		"any#1.u.list":     {"any#1.u 8", "5 list#1 → 0x78002000 (function visit)", "4 0x3ff8000000000000 (no node) → list#1", "3 never written → 0x3ff8000000000000 (no node)", "1 any#1 was allocated, 16 bytes"},
		"any#1.u.tag[3]":   {"any#1.u+3 1", "5 0 → 120 'x'", "4 0, as before", "3 never written → 0", "1 any#1 was allocated, 16 bytes"},
		"any#1.u.bits.low": {"any#1.u 1", "4 0, as before", "3 never written → 0", "1 any#1 was allocated, 16 bytes"},
	} {
		if d := cmp.Diff(want, w.who(expr, w.h.Now())); d != "" {
			t.Errorf("%s (-want +got):\n%s", expr, d)
		}
	}
}

// TestBits: a bit-field is the one that the path names, whatever lies beside it in its bytes.
func TestBits(t *testing.T) {
	w := newWorld(t)
	w.alloc("flags", 0x1000, 8) // 1
	w.put(0x1000, 4, 7)         // 2
	w.put(0x1002, 1, 0xb0)      // 3
	w.put(0x1002, 1, 0xd3)      // 4
	w.put(0x1003, 1, 0x02)      // 5
	w.put(0x1004, 1, 'x')       // 6
	for expr, want := range map[string][]string{
		"flags#1.count": {"flags#1.count 3", "4 7 → 196615", "3 7, as before", "2 never written → 7", "1 flags#1 was allocated, 8 bytes"},
		"flags#1.dirty": {"flags#1.dirty 1", "4 1, as before", "3 0 → 1", "2 never written → 0", "1 flags#1 was allocated, 8 bytes"},
		"flags#1.kind":  {"flags#1.kind 1", "4 1 → 2", "3 0 → 1", "2 never written → 0", "1 flags#1 was allocated, 8 bytes"},
		"flags#1.wide":  {"flags#1.wide 2", "5 1 → 5", "4 1, as before", "3 0 → 1", "2 never written → 0", "1 flags#1 was allocated, 8 bytes"},
		"flags#1.tag":   {"flags#1.tag 1", "6 never written → 120 'x'", "1 flags#1 was allocated, 8 bytes"},
	} {
		if d := cmp.Diff(want, w.who(expr, w.h.Now())); d != "" {
			t.Errorf("%s (-want +got):\n%s", expr, d)
		}
	}
}

// TestDiffCounts: of a difference it is told how many nodes were born, freed and changed, also of
// those that are not listed.
func TestDiffCounts(t *testing.T) {
	w := newWorld(t)
	at := func(i int) trace.Addr { return 0x1000 + trace.Addr(i)*64 }
	for i := range 6 {
		w.alloc("list", at(i), listSize)
	}
	from := w.h.Now()
	for i := range 3 {
		w.put(at(i)+keyAt, 4, 1)
	}
	for i := 3; i < 5; i++ {
		w.apply(trace.Event{Kind: trace.KindFree, Addr: at(i), Name: "free"})
	}
	w.alloc("list", at(9), listSize)
	for most, left := range map[int]int{0: 0, 1: 5, 4: 2, 6: 0} {
		d := w.names().Diff(from, w.h.Now(), most)
		if want := (DiffCounts{Born: 1, Died: 2, Changed: 3}); d.In != want || d.Left() != left {
			t.Errorf("at most %d: %+v, %d left out; want %+v, %d", most, d.In, d.Left(), want, left)
		}
	}
}

// TestGrown: a block grows in place to where another one was, which had been written. That
// is not the block's, and what was in it while it was smaller is not its content any more.
func TestGrown(t *testing.T) {
	w := newWorld(t)
	resize := func(size uint64) {
		w.apply(trace.Event{Kind: trace.KindRealloc, Aux: 0x1000, Addr: 0x1000, Size: size, Name: "realloc", PC: 0x600})
	}
	w.alloc("", 0x1000, 16)                                                // 1
	w.alloc("", 0x1010, 16)                                                // 2
	w.put(0x1008, 8, 1)                                                    // 3
	w.put(0x1010, 8, 2)                                                    // 4
	w.apply(trace.Event{Kind: trace.KindFree, Addr: 0x1010, Name: "free"}) // 5
	resize(32)                                                             // 6
	w.put(0x1010, 8, 3)                                                    // 7
	resize(8)                                                              // 8
	resize(32)                                                             // 9
	w.put(0x1018, 8, 4)                                                    // 10
	for _, c := range []struct {
		expr string
		at   mgpp.Timestamp
		want []string
	}{
		{"0x1010", 7, []string{"block#1+16 8", "7 never written → 0x3", "6 block#1 was resized to 32 bytes"}},
		{"0x1010", 10, []string{"block#1+16 8", "9 block#1 was resized to 32 bytes"}},
		{"0x1018", 10, []string{"block#1+24 8", "10 never written → 0x4", "9 block#1 was resized to 32 bytes"}},
		{"0x1008", 7, []string{"block#1+8 8", "3 never written → 0x1", "1 block#1 was allocated, 16 bytes"}},
		{"0x1000", 10, []string{"block#1+0 8", "1 block#1 was allocated, 16 bytes"}},
		{"0x1010", 4, []string{"block#2+0 8", "4 never written → 0x2", "2 block#2 was allocated, 16 bytes"}},
	} {
		if d := cmp.Diff(c.want, w.who(c.expr, c.at)); d != "" {
			t.Errorf("%s at %d (-want +got):\n%s", c.expr, c.at, d)
		}
	}
	for _, c := range []struct {
		id    mgpp.NodeID
		until mgpp.Timestamp
		want  []mgpp.Timestamp
	}{
		{1, 10, []mgpp.Timestamp{1, 3, 6, 7, 8, 9, 10}},
		{1, 6, []mgpp.Timestamp{1, 3, 6}},
		{1, 5, []mgpp.Timestamp{1, 3}},
		{2, 10, []mgpp.Timestamp{2, 4, 5}},
	} {
		var got []mgpp.Timestamp
		for _, x := range w.names().Life(c.id, c.until, 0).Changes {
			got = append(got, x.Op.Time)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("life of %d until %d (-want +got):\n%s", c.id, c.until, d)
		}
	}
}

// TestWho: paths, and what is told of each cell, on a list that is moved and freed.
func TestWho(t *testing.T) {
	w := newWorld(t)
	w.apply(trace.Event{Kind: trace.KindGlobal, Addr: 0x9000, Size: 8, Aux: 1, Data: make([]byte, 8)})
	w.alloc("list", 0x1000, listSize) // 1
	w.alloc("list", 0x2000, listSize) // 2
	w.put(0x1000+keyAt, 4, 7)         // 3
	w.put(0x1000+nextAt, 8, 0x2000)   // 4
	w.put(0x9000, 8, 0x1000)          // 5
	w.put(0x1000+nextAt, 8, 0)        // 6
	w.put(0x1000+nextAt, 8, 0)        // 7
	w.apply(trace.Event{Kind: trace.KindBulk, Name: "memset", Addr: 0x2000, Size: listSize, Data: make([]byte, listSize)})
	w.put(0x1000+kidsAt+8, 8, 0x2000+pairAt)                                                                         // 9
	w.apply(trace.Event{Kind: trace.KindRealloc, Aux: 0x1000, Addr: 0x3000, Size: 48, Name: "list", PC: 0x400})      // 10
	w.put(0x3000+nextAt, 8, 0x2000)                                                                                  // 11
	w.apply(trace.Event{Kind: trace.KindFree, Addr: 0x2000, Name: "free"})                                           // 12
	w.alloc("", 0x2000, 24)                                                                                          // 13
	w.put(0x2008, 8, 0x3000)                                                                                         // 14
	w.put(0x2010, 8, 5)                                                                                              // 15
	w.apply(trace.Event{Kind: trace.KindUnread, Addr: 0x3000 + pairAt, Size: 4, Name: "someone", Base: 0x3000})      // 16
	w.alloc("list[]", 0x5000, 3*listSize)                                                                            // 17
	w.put(0x5000+2*listSize+nextAt, 8, 0x5000+listSize)                                                              // 18
	w.apply(trace.Event{Kind: trace.KindAlloc, Addr: 0x6000, Size: 16, Name: "str", PC: 1, Stack: []trace.Addr{77}}) // 19
	w.put(0x6000+7, 1, 'x')                                                                                          // 20
	for _, c := range []struct {
		expr string
		at   mgpp.Timestamp
		want []string
	}{
		{"list#1.next", 9, []string{"list#1.next 8", "7 NULL, as before", "6 list#2 → NULL", "4 never written → list#2", "1 list#1 was allocated, 40 bytes"}},
		{"list#1.next", 5, []string{"list#1.next 8", "4 never written → list#2", "1 list#1 was allocated, 40 bytes"}},
		{"::root->next", 5, []string{"list#1.next 8", "4 never written → list#2", "1 list#1 was allocated, 40 bytes"}},
		{"::root.next.key", 5, []string{"list#2.key 4", "2 list#2 was allocated, 40 bytes"}},
		{"::root.next.key", 9, []string{"::root.next: it is NULL at change 9"}},
		{"::root.next", 20, []string{"::root: it is 0x1000 (freed list#1) at change 20"}},
		{"::root", 20, []string{"::root 8", "5 NULL → list#1"}},
		{"::other", 20, []string{"::other was not recorded (only ::root): record again with --global other"}},
		{"list#3.next", 20, []string{"list#3.next 8", "11 NULL → list#2", "10 list#1 was moved and became list#3, 48 bytes",
			"7 NULL, as before", "6 list#2 → NULL", "4 never written → list#2", "1 list#1 was allocated, 40 bytes"}},
		{"list#3.kids[1]", 9, []string{"list#3 does not exist at change 9: it was allocated at change 10"}},
		{"list#3.kids[1]", 11, []string{"list#3.kids[1] 8", "10 list#1 was moved and became list#3, 48 bytes", "9 never written → list#2+16", "1 list#1 was allocated, 40 bytes"}},
		{"list#3.kids[2]", 11, []string{"list#3.kids: it has 2 elements"}},
		{"list#3.kids[1].key", 11, []string{"list#2.pair.a 4", "8 never written → 0", "2 list#2 was allocated, 40 bytes"}},
		{"list#3.pair", 20, []string{"list#3.pair 8", "16 pair.a: never written → unknown",
			"10 list#1 was moved and became list#3, 48 bytes", "1 list#1 was allocated, 40 bytes"}},
		{"list#3.pair.a", 20, []string{"list#3.pair.a 4", "16 never written → unknown", "10 list#1 was moved and became list#3, 48 bytes", "1 list#1 was allocated, 40 bytes"}},
		{"list#3.nxt", 20, []string{"list#3: no field `nxt` in list; did you mean `next`?"}},
		{"list#4.next", 20, []string{"list#4: there is no such node: 3 of type list were allocated"}},
		{"tree#1", 20, []string{"tree#1: there is no such node: there are list (3), list[] (1), str (1)"}},
		{"List#1", 20, []string{"List#1: there is no such node: did you mean list#…?"}},
		{"list#2.next", 20, []string{"list#2.next 8", "8 never written → NULL", "2 list#2 was allocated, 40 bytes"}}, // dead
		{"list#2.next.key", 20, []string{"list#2.next: its block was freed before change 20"}},
		{"0x2008", 20, []string{"block#5+8 8", "14 never written → list#3", "13 block#5 was allocated, 24 bytes"}},
		{"0x2008", 12, []string{"list#2.next 8", "8 never written → NULL", "2 list#2 was allocated, 40 bytes"}},
		{"block#5.x", 20, []string{"block#5: its type is not known: nothing tells"}},
		{"0x4000", 20, []string{"0x4000 8"}},
		{"0x3005", 20, []string{"list#3+5 3", "10 list#1 was moved and became list#3, 48 bytes", "1 list#1 was allocated, 40 bytes"}},
		{"list[]#1[2].next", 20, []string{"list[]#1[2].next 8", "18 never written → list[]#1+40", "17 list[]#1 was allocated, 120 bytes"}},
		{"list[]#1[3].next", 20, []string{"list[]#1: element 3 lies beyond its end, 120 bytes"}},
		{"str#1.text[3]", 20, []string{"str#1.text[3] 1", "20 never written → 120 'x'", "19 str#1 was allocated, 16 bytes"}},
	} {
		got := w.who(c.expr, c.at)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s at %d (-want +got):\n%s", c.expr, c.at, d)
		}
	}
}

// TestDiffLong: a node of which more was written than is compared together; what was written
// again as it was does not differ.
func TestDiffLong(t *testing.T) {
	w := newWorld(t)
	const at, size = 0x100000, 3 * compared
	w.apply(trace.Event{Kind: trace.KindAlloc, Addr: at, Size: size, Flags: trace.FlagZeroed, Name: "", PC: 0x400})
	before := w.h.Now()
	var want []string
	for i, off := range []trace.Addr{0, compared - 8, compared, 2*compared - 4, 2*compared + 16, size - 8} {
		v := uint64(1 + i)
		if off == 2*compared+16 {
			v = 0
		} else {
			want = append(want, fmt.Sprintf("%#x", at+off&^7))
		}
		w.put(at+off, 4, v)
	}
	d := w.names().Diff(before, w.h.Now(), 0)
	var got []string
	for _, c := range d.Changed {
		for _, f := range c.After.Fields {
			got = append(got, fmt.Sprintf("%#x", uint64(f.Addr)&^7))
		}
	}
	if d := cmp.Diff(want, slices.Compact(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
