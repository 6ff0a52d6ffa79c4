package mine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/constraints/syntax"
	"mgtrace/trace"
	"mgtrace/types"
)

// sightings makes a comparison of what was seen of some nodes.
func sightings(op string, values ...[2]float64) *candidate {
	c := &candidate{left: "a", right: "b", holds: relations[op], need: 2, seen: map[eval.Instance]bool{}, pairs: map[pair]bool{}}
	for i, v := range values {
		of := eval.Instance{Nodes: [4]graph.ObjID{graph.ObjID(i + 1)}}
		c.seen[of] = true
		c.pairs[pair{of: of, values: v}] = true
		c.Held++
	}
	c.weigh()
	return c
}

func TestWeigh(t *testing.T) {
	var mixed, apart, same [][2]float64
	for i := range 12 {
		x := float64(i * 7 % 12)
		mixed = append(mixed, [2]float64{x, x + 1})
		apart = append(apart, [2]float64{x, x + 100})
		same = append(same, [2]float64{3, 3})
	}
	for _, c := range []struct {
		name   string
		op     string
		values [][2]float64
		want   bool
	}{
		{"values that mix", "<", mixed, true},
		{"ranges apart", "<", apart, false},
		{"constants", "==", same, false},
		{"too few", "<", mixed[:3], false},
		{"none", "<", nil, false},
	} {
		if ok, why := sightings(c.op, c.values...).justified(); ok != c.want {
			t.Errorf("%s: justified %v (%s)", c.name, ok, why)
		}
	}
}

// TestInPart: what lies in a part that is a node of its own is said of that, and not again of the node around it.
func TestInPart(t *testing.T) {
	conn, other := &check.NodeType{Name: "conn"}, &check.NodeType{Name: "other"}
	spec := &check.Spec{Embeds: []check.Embed{{Host: conn, Member: "idle"}}}
	for _, c := range []struct {
		of   *check.NodeType
		path string
		want bool
	}{{conn, "idle.level", true}, {conn, "idle.entry.next", true}, {conn, "idle_level", false}, {conn, "retry.level", false}, {other, "idle.level", false}} {
		if got := inPart(spec, c.of, c.path); got != c.want {
			t.Errorf("%s of %s: %v", c.path, c.of.Name, got)
		}
	}
}

// TestUnequal: that an order is strict says little where a few nodes have the same number, as of random priorities; of a key, or where many have and
// never along the order, it is a law.
func TestUnequal(t *testing.T) {
	of := func(shared bool, values map[int64]int) *field {
		f := &field{shared: shared, values: values}
		for _, n := range values {
			f.n += n
		}
		return f
	}
	keys, few, many := map[int64]int{}, map[int64]int{}, map[int64]int{1: 10, 2: 15, 3: 15}
	for i := range int64(40) {
		keys[i], few[i] = 1, 1
	}
	few[7] = 2
	for _, c := range []struct {
		name string
		of   *field
		want bool
	}{
		{"keys", of(false, keys), false},
		{"a key that was given again", of(false, few), false},
		{"two priorities are one", of(true, few), true},
		{"depths", of(true, many), false},
	} {
		order := sightings("<", make([][2]float64, 30)...)
		order.alike = c.of.alike()
		if got := order.unequal(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestWeighSteps: an array that is filled with a few values has a few steps, wherever these lie, and is in order by chance.
func TestWeighSteps(t *testing.T) {
	var filled, sorted [][2]float64
	for i := range 60 {
		x := float64(i / 20)
		filled = append(filled, [2]float64{x, x}, [2]float64{0, 1}, [2]float64{1, 2})
		sorted = append(sorted, [2]float64{float64(i), float64(i + i%2)})
	}
	for _, c := range []struct {
		name   string
		values [][2]float64
		want   bool
	}{
		{"of three values", filled, false},
		{"sorted, with some twice", sorted, true},
	} {
		x := sightings("<=", c.values...)
		x.steps, x.need = true, 4
		if x.weigh(); x.Distinct == 0 {
			t.Errorf("%s: nothing was seen", c.name)
		}
		if ok, why := x.justified(); ok != c.want {
			t.Errorf("%s: justified %v (%s)", c.name, ok, why)
		}
	}
}

// TestFamilies: which elements are in use is said of all that the block has, and not of the first so many by another number.
func TestFamilies(t *testing.T) {
	few, whole, more := &candidate{family: "used", Fact: Fact{Held: 9, Text: "few"}}, &candidate{family: "used", whole: true, Fact: Fact{Held: 9, Text: "whole"}}, &candidate{family: "used", Fact: Fact{Held: 10, Text: "more"}}
	for _, c := range []struct {
		held []*candidate
		want *candidate
	}{{[]*candidate{few, whole}, whole}, {[]*candidate{whole, few}, whole}, {[]*candidate{whole, more}, more}} {
		if got := families(slices.Clone(c.held)); len(got) != 1 || got[0] != c.want {
			t.Errorf("%d are kept, not what %s says", len(got), c.want.Text)
		}
	}
}

// TestWeighRemainders: that those of a chain are in one bucket is said by numbers that are in several, each counted once.
func TestWeighRemainders(t *testing.T) {
	var hashes, multiples, few, same [][2]float64
	for i := range 12 {
		x := float64(i * 7)
		hashes = append(hashes, [2]float64{x, x + 8})
		multiples = append(multiples, [2]float64{x * 8, (x + 5) * 8})
		few = append(few, [2]float64{float64(i % 2), float64(8 + i%2)})
		same = append(same, [2]float64{x, x})
	}
	for _, c := range []struct {
		name   string
		values [][2]float64
		want   bool
	}{{"hashes", hashes, true}, {"multiples of the length", multiples, false}, {"two numbers in many nodes", few, false}, {"numbers that are the same all along", same, false}} {
		x := &candidate{left: "X.next.hash", right: "X.hash", holds: relations["=="], modulo: &modulus{text: "H.mask", more: 1}, apart: true, need: 2}
		for i, v := range c.values {
			x.sample(eval.Instance{Nodes: [4]graph.ObjID{graph.ObjID(i + 1)}}, []eval.Arg{{Text: x.left, Value: fmt.Sprint(v[0])}, {Text: "H.mask", Value: "7"}, {Text: x.right, Value: fmt.Sprint(v[1])}})
			x.Held++
		}
		if x.weigh(); len(x.seen) != len(c.values) {
			t.Errorf("%s: %d instances", c.name, len(x.seen))
		}
		if ok, why := x.justified(); ok != c.want {
			t.Errorf("%s: justified %v (%s)", c.name, ok, why)
		}
	}
}

// TestUntrue: a fact may fail at every other moment and more, but no comparison of numbers at more than that.
func TestUntrue(t *testing.T) {
	for _, c := range []struct {
		broken, views     int
		shape, sameNumber bool
	}{{0, 11, false, false}, {5, 11, false, false}, {6, 12, false, false}, {8, 11, false, true}, {9, 11, true, true}, {11, 11, true, true}} {
		of := Fact{Held: c.views - c.broken, BrokenViews: c.broken, Views: c.views}
		shape, number := &candidate{Fact: of}, &candidate{Fact: of, holds: relations["=="]}
		if shape.untrue() != c.shape || number.untrue() != c.sameNumber {
			t.Errorf("failed at %d of %d: a shape %v, a comparison %v", c.broken, c.views, shape.untrue(), number.untrue())
		}
	}
}

// Of arrays that never have a second element any number that is 0 is the place of the first one; of such as have, what is
// behind that tells.
func TestWeighPlaces(t *testing.T) {
	for elements, want := range map[int64]bool{1: false, 2: true} {
		c := &candidate{need: 8, placed: true, seen: map[eval.Instance]bool{}}
		for node := range 10 {
			for i := range elements {
				c.seen[eval.Instance{Nodes: [4]graph.ObjID{graph.ObjID(node + 1)}, Index: [3]int64{i}}] = true
			}
		}
		c.Held = len(c.seen)
		c.weigh()
		if good, why := c.justified(); good != want {
			t.Errorf("arrays of %d: %v (%s)", elements, good, why)
		}
	}
}

// TestAgree: a helper at which much fails is no C-point; a fact that fails here and
// there is none.
func TestAgree(t *testing.T) {
	fact := func(key string, fails ...int) *candidate {
		c := &candidate{key: key, fails: map[int]int{}}
		for _, p := range fails {
			c.fails[p] = 1
		}
		return c
	}
	const insert, remove, helper, exit = 0, 1, 2, 3
	all := []*candidate{
		fact("tree", helper), fact("order", helper), fact("balance", helper), fact("up"),
		fact("small", insert), fact("junk", insert, remove, exit),
	}
	places := map[int]bool{insert: true, remove: true, helper: true, exit: true}
	var got []string
	for _, c := range agree(all, places, nil) {
		got = append(got, c.key)
	}
	if want := []string{"tree", "order", "balance", "up"}; !slices.Equal(got, want) {
		t.Errorf("facts %q, want %q", got, want)
	}
	if want := []int{insert, remove, exit}; !slices.Equal(sortedKeys(places), want) {
		t.Errorf("places %v, want %v", sortedKeys(places), want)
	}
}

// TestAgreeBetween: a fact that fails nearly always where a function begins, and where the one
// that made the node is left, and nowhere else, is right; one that fails there now and then,
// or always where a function is left, is not.
func TestAgreeBetween(t *testing.T) {
	const begin, left, other, more = 0, 1, 2, 3
	for _, c := range []struct {
		fails map[int]int
		want  bool
	}{
		{map[int]int{begin: 20}, true},
		{map[int]int{begin: 19, left: 10}, true},
		{map[int]int{begin: 7}, false},
		{map[int]int{left: 10}, false},
	} {
		linked := &candidate{key: "linked", fails: c.fails}
		places := map[int]bool{begin: true, left: true, other: true, more: true}
		facts := agree([]*candidate{linked, {key: "up", fails: map[int]int{}}, {key: "down", fails: map[int]int{}}}, places, map[int]end{begin: {true, 20}, left: {false, 10}, other: {false, 20}, more: {false, 20}})
		if slices.Contains(facts, linked) != c.want || places[begin] == (c.want && c.fails[begin] > 0) {
			t.Errorf("it failed %v: %d facts stay, places %v", c.fails, len(facts), sortedKeys(places))
		}
	}
}

// TestAgreeGrown: what failed in the first few calls of an operation alone was not true of a small structure, however many such facts there
// are; what failed now and then, or before the first call, may be right, and then the place is wrong.
func TestAgreeGrown(t *testing.T) {
	const insert, remove, other, more = 0, 1, 2, 3
	for _, c := range []struct {
		fails, since int
		begins       bool
		want         bool // the operation stays a place
	}{
		{5, 5, false, true},
		{5, 5, true, true},
		{5, 2, false, false},
		{20, 20, false, false}, // of 100: it is often so
		{1, 1, true, false},
		{1, 1, false, true},
	} {
		fact := func(key string) *candidate {
			return &candidate{key: key, fails: map[int]int{insert: c.fails}, since: map[int]int{insert: c.since}}
		}
		places := map[int]bool{insert: true, remove: true, other: true, more: true}
		facts := agree([]*candidate{fact("parent"), fact("hangs"), {key: "up"}}, places, map[int]end{insert: {c.begins, 100}, remove: {false, 100}, other: {false, 100}, more: {false, 100}})
		if places[insert] != c.want || (len(facts) == 1) != c.want {
			t.Errorf("%+v: %d facts stay, places %v", c, len(facts), sortedKeys(places))
		}
	}
}

// TestAgreeLoop: where nearly all moments are those of one operation, which a loop calls, what fails there is wrong, however many such facts
// there are; where others show as much of the structure, the operation is no C-point.
func TestAgreeLoop(t *testing.T) {
	const step, begin, end1, other = 0, 1, 2, 3
	for moments, want := range map[int]bool{1: true, 40: false} {
		fact := func(key string) *candidate { return &candidate{key: key, fails: map[int]int{step: 75}} }
		places := map[int]bool{step: true, begin: true, end1: true, other: true}
		facts := agree([]*candidate{fact("tree"), fact("root"), fact("last"), fact("total"), {key: "up"}}, places,
			map[int]end{step: {false, 300}, begin: {true, 1}, end1: {false, 1}, other: {false, moments}})
		if places[step] != want || (len(facts) == 1) != want {
			t.Errorf("%d other moments: %d facts stay, places %v", moments, len(facts), sortedKeys(places))
		}
	}
}

// TestSerial: numbers that grow with each node that is made fall towards a parent until one is moved: no law. Keys do not grow so, and what is
// in a list may be in the order in which it was made.
func TestSerial(t *testing.T) {
	tree := []*link{{name: "left"}, {name: "right"}}
	for _, c := range []struct {
		name   string
		values []int64 // of nodes in the order in which they were made
		along  []*link
		want   bool
	}{
		{"numbers of nodes, towards a parent", []int64{1, 2, 5, 6}, []*link{{name: "parent", shared: true}}, true},
		{"numbers of nodes, in a tree", []int64{1, 2, 5, 6}, tree, true},
		{"numbers of nodes, in an array of children", []int64{1, 2, 5, 6}, []*link{{name: "kids", array: true}}, true},
		{"numbers of nodes, in a list", []int64{1, 2, 5, 6}, []*link{{name: "next"}}, false},
		{"keys", []int64{4, 2, 9, 6}, tree, false},
		{"levels", []int64{0, 1, 1, 2}, tree, false},
	} {
		f := &field{met: map[sighting]bool{}}
		for i, v := range c.values {
			f.met[sighting{graph.ObjID(i + 1), v}] = true
		}
		if got := f.serial() && !(&shape{links: c.along}).plain(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	changed := &field{met: map[sighting]bool{{1, 1}: true, {1, 2}: true, {2, 3}: true}}
	if changed.serial() {
		t.Error("a number that changes is none of its node")
	}
}

// TestWeighMade: that numbers which grow with each node that is made are in order in an array is seen where others were made between two
// neighbours, and taken out since: else new ones have only been put behind the others.
func TestWeighMade(t *testing.T) {
	for step, want := range map[float64]bool{1: false, 3: true} {
		x := &candidate{left: "a", right: "b", holds: relations["<="], steps: true, need: 4}
		for v := range int64(40) {
			x.made = append(x.made, v)
		}
		for i := range 12 {
			lo := float64(i) * step
			x.sample(eval.Instance{Index: [3]int64{int64(i)}}, []eval.Arg{{Text: "a", Value: fmt.Sprint(lo)}, {Text: "b", Value: fmt.Sprint(lo + step)}})
			x.Held++
		}
		x.weigh()
		if ok, why := x.justified(); ok != want {
			t.Errorf("in steps of %v: justified %v (%s)", step, ok, why)
		}
	}
}

// TestLengthsAlike: of containers that have as many elements as one another what the first says is not said again of the others.
func TestLengthsAlike(t *testing.T) {
	node := &portrait{typ: &check.NodeType{Name: "N"}}
	p := &portrait{typ: &check.NodeType{Name: "T"}}
	for _, name := range []string{"a", "b", "c"} {
		p.lengths = append(p.lengths, &field{name: name, typ: &types.Type{Kind: types.Uint}})
	}
	m := newMaker(p)
	m.lengthsOf([]*portrait{node, p})
	for held, want := range map[string][]string{"T pair a == b": {"T pair b == c", "T total b N"}, "T pair a == c": {"T total c N"}, "T total a N": nil} {
		i := slices.IndexFunc(m.out, func(c *candidate) bool { return c.key == held })
		if i < 0 {
			t.Fatalf("no %s", held)
		}
		said := map[string]bool{}
		for _, k := range m.out[i].implies {
			said[k] = true
		}
		for _, k := range want {
			if !said[k] {
				t.Errorf("%s is said beside %s", k, held)
			}
		}
		if said["T total a N"] || said["T pair a == b"] || said["T pair a == c"] {
			t.Errorf("beside %s nothing is left of the first", held)
		}
	}
}

// TestSubsets: of many links all pairs may make a tree, as a first child and a next sibling do.
func TestSubsets(t *testing.T) {
	for n, want := range map[int]int{5: 31, 7: 1 + 7 + 7 + 21, 11: 1 + 11 + 11} {
		if got := subsets(make([]*link, n)); len(got) != want || len(got[0]) != n || len(got[len(got)-1]) != 1 {
			t.Errorf("of %d links %d sets", n, len(got))
		}
	}
}

// TestTakenDown: the destructor of nodes is no C-point where most were destroyed within something else.
func TestTakenDown(t *testing.T) {
	land := &terrain{births: map[string]int{"Inner": 10, "Tree": 1}}
	for name, want := range map[string]bool{"Map<int>::Inner::~Inner()": true, "Map<int>::Tree::~Tree()": false, "Map<int>::Inner::Inner()": false, "Map<int>::erase(int)": false} {
		if got := land.takenDown(&function{CPoint: CPoint{Func: name, Calls: 1}}); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if land.takenDown(&function{CPoint: CPoint{Func: "Map<int>::Inner::~Inner()", Calls: 10}}) {
		t.Error("each of them was destroyed by itself")
	}
}

func TestLabels(t *testing.T) {
	var cands []*candidate
	var want []string
	for _, c := range [][2]string{
		{"T root root", "root"}, {"T height h 0", "height_h"}, {"T tree", "tree_of_T"}, {"U tree", "tree_of_U"},
		{"T below key left <", "below_key_left_of_T"}, {"T below key left <=", "below_key_left_of_T_2"}, {"T back child[0] up", "back_child_up"},
	} {
		k := &candidate{key: c[0]}
		k.Type = c[0][:1]
		cands, want = append(cands, k), append(want, c[1])
	}
	labels(cands)
	for i, c := range cands {
		if c.Label != want[i] {
			t.Errorf("%q: %q, want %q", c.key, c.Label, want[i])
		}
	}
}

func TestThin(t *testing.T) {
	var all []moment
	for i := range 1000 {
		all = append(all, moment{place: i / 990})
	}
	kept, dropped := thin(all, 100)
	if len(kept)+dropped != 1000 || len(kept) > 102 || kept[len(kept)-1].place != 1 {
		t.Errorf("%d kept, %d dropped, the last of place %d", len(kept), dropped, kept[len(kept)-1].place)
	}
	if kept, dropped := thin(all, 1000); len(kept) != 1000 || dropped != 0 {
		t.Errorf("%d kept of as many as may be", len(kept))
	}
}

// TestEarly: of a run with many changes the moments are left that lie among the first of them, and its end where that is asked for; all of them, if
// the structure is shown in few states by then.
func TestEarly(t *testing.T) {
	land := &terrain{places: []place{{fn: "push"}, {}}}
	var all []moment
	for i := range 100 {
		all = append(all, moment{state: 10 * i})
	}
	all = append(all, moment{state: 1000, place: 1})
	for _, c := range []struct {
		changes int
		end     bool
		want    int
	}{{200, false, 21}, {200, true, 22}, {50, true, 101}, {1000, false, 101}} {
		if got := land.early(all, c.changes, c.end); len(got) != c.want {
			t.Errorf("of %d changes, end %t: %d moments, want %d", c.changes, c.end, len(got), c.want)
		}
	}
	if len(all) != 101 {
		t.Error("the moments themselves are gone")
	}
	for changes, want := range map[int][3]int{200: {22, 1, 1}, 50: {101, 2, 0}} {
		land := &terrain{places: land.places, moments: all, idle: []moment{{state: 5}, {state: 900}}}
		land.limit(changes)
		if got := [3]int{len(land.moments), len(land.idle), map[bool]int{true: 1}[land.limited]}; got != want {
			t.Errorf("limited to %d changes: %v, want %v", changes, got, want)
		}
	}
}

func TestFieldValue(t *testing.T) {
	signed, unsigned := &types.Type{Kind: types.Int, Signed: true}, &types.Type{Kind: types.Uint}
	for _, c := range []struct {
		f    field
		raw  uint64
		want int64
	}{
		{field{typ: signed, size: 4}, 0xffffffff, -1},
		{field{typ: unsigned, size: 4}, 0xffffffff, 0xffffffff},
		{field{typ: unsigned, size: 1, bits: [2]int{3, 2}}, 0b10000, 2},
		{field{typ: signed, size: 1, bits: [2]int{7, 1}}, 0x80, -1},
	} {
		if got := c.f.value(c.raw); got != c.want {
			t.Errorf("%+v of %#x: %d, want %d", c.f, c.raw, got, c.want)
		}
	}
}

// TestPlainForm: constraints that differ in names and layout only are one.
func TestPlainForm(t *testing.T) {
	form := func(text string) string {
		f, errs := syntax.Parse("", "type node;\n"+text)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return readBase(f).stated[0]
	}
	a := form("down: node A; node B;  A.next == B => B.prev==A and B.B == 1;")
	for text, same := range map[string]bool{
		"node X, Y; X.next == Y => Y.prev == X and Y.B == 1;": true,
		"node Y, X; Y.next == X => X.prev == Y and X.B == 1;": true,
		"node X, Y; X.next == Y => X.prev == Y and Y.B == 1;": false,
		"node X; X.B == 1;": false,
	} {
		if b := form(text); (a == b) != same {
			t.Errorf("%q and %q", a, b)
		}
	}
}

// TestApart: what is added to a file has names of its own.
func TestApart(t *testing.T) {
	b := &base{labels: []string{"height"}, attributes: []string{"HEIGHT"}}
	c := &candidate{attr: []attribute{{"HEIGHT", "n.HEIGHT;  n X;  X.HEIGHT = (X.l).HEIGHT + 1;"}}}
	c.Label, c.Text = "height", "n X;  X.height == X.HEIGHT;"
	b.apart(c)
	if got, want := c.attr[0].text+" "+c.Label+": "+c.Text, "n.HEIGHT_2;  n X;  X.HEIGHT_2 = (X.l).HEIGHT_2 + 1; height_2: n X;  X.height == X.HEIGHT_2;"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestMembers: structures in a node that link to their own kind; what is written of them is the language's.
func TestMembers(t *testing.T) {
	const layout = `
struct ring { struct ring *next, *prev; };
struct owner { int n; struct ring jobs; struct { struct ring lru; } by; struct ring slot[4]; struct owner *next; };
`
	d, errs := types.ParseC(layout)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	m := newMaker(&portrait{typ: &check.NodeType{Name: "owner", Layout: d.Lookup("owner")}})
	m.members(m.typ.Layout, "", 0)
	want := []string{
		"owner X;  X.jobs.next != NULL => X.jobs.next.prev == X.jobs;",
		"owner X;  X.jobs.prev != NULL => X.jobs.prev.next == X.jobs;",
		"owner X;  X.by.lru.next != NULL => X.by.lru.next.prev == X.by.lru;",
		"owner X;  X.by.lru.prev != NULL => X.by.lru.prev.next == X.by.lru;",
		"owner X;  for I in 0 to 3, X.slot[I].next != NULL => X.slot[I].next.prev == X.slot[I];",
		"owner X;  for I in 0 to 3, X.slot[I].prev != NULL => X.slot[I].prev.next == X.slot[I];",
	}
	var got []string
	text := layout + "type owner;\n"
	for _, c := range m.out {
		got = append(got, c.Text)
		text += c.Text + "\n"
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	tree, errs2 := syntax.Parse("", text)
	if len(errs2) == 0 {
		_, errs2 = check.Check(tree, nil)
	}
	for _, e := range errs2 {
		t.Error(e.Format(text))
	}
}

// TestHooks: bases that link to their own kind; of two that have the same names each is meant by its own; and a member that has its links
// from a base. One that does not link has no facts.
func TestHooks(t *testing.T) {
	hook := func(name string) *types.Type {
		x := &types.Type{Kind: types.Struct, Name: name, Size: 16}
		to := &types.Type{Kind: types.Pointer, Size: 8, Elem: x}
		x.Members = []types.Member{{Name: "next", Type: to}, {Name: "prev", Type: to, Offset: 8}}
		return x
	}
	job := &types.Type{Kind: types.Struct, Name: "Job", Size: 48, Members: []types.Member{{Type: hook("Hook<0>"), Base: true}, {Type: hook("Hook<1>"), Offset: 16, Base: true},
		{Type: &types.Type{Kind: types.Struct, Name: "Named", Size: 8, Members: []types.Member{{Name: "id", Type: &types.Type{Kind: types.Int, Size: 8}}}}, Offset: 32, Base: true}}}
	member := &types.Type{Kind: types.Struct, Name: "member_hook", Size: 16, Members: []types.Member{{Type: hook("Hook<2>"), Base: true}}}
	job.Members = append(job.Members, types.Member{Name: "link", Type: member, Offset: 48})
	m := newMaker(&portrait{typ: &check.NodeType{Name: "Job", Layout: job}})
	m.members(job, "", 0)
	want := []string{
		"Job X;  X.next != NULL => X.next.prev == X;",
		"Job X;  X.prev != NULL => X.prev.next == X;",
		"Job X;  X.Hook<1>::next != NULL => X.Hook<1>::next.prev == X;",
		"Job X;  X.Hook<1>::prev != NULL => X.Hook<1>::prev.next == X;",
		"Job X;  X.link.next != NULL => X.link.next.prev == X;",
		"Job X;  X.link.prev != NULL => X.link.prev.next == X;",
	}
	var got []string
	for _, c := range m.out {
		got = append(got, c.Text)
		if _, errs := syntax.Parse("", "type Job;\n"+c.Text); len(errs) > 0 {
			t.Error(errs)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNotPoints: of the functions that are no C-points a dozen are listed, and none of a library's headers.
func TestNotPoints(t *testing.T) {
	r := &Result{base: &base{}, End: true}
	for i := range 14 {
		r.CPoints = append(r.CPoints, CPoint{Func: fmt.Sprintf("f%d", i), Broken: []string{"tree"}}, CPoint{Func: fmt.Sprintf("std::g%d", i), Broken: []string{"tree"}, Library: true})
	}
	var b strings.Builder
	r.writePoints(&b)
	text := b.String()
	if n := strings.Count(text, "# not f"); n != 12 || strings.Contains(text, "std::") || !strings.Contains(text, "and 2 more") {
		t.Error(text)
	}
	b.Reset()
	r.CPoints = r.CPoints[:2]
	r.writePoints(&b)
	if text := b.String(); strings.Count(text, "# not") != 1 || strings.Contains(text, "# …") {
		t.Error(text)
	}
}

// TestElemTexts: what a pointer may lead to as an array; of a class that derives from a node's there is none, its objects are nodes.
func TestElemTexts(t *testing.T) {
	class := func(name string, bases ...*types.Type) *types.Type {
		x := &types.Type{Kind: types.Struct, Name: name, Size: 8}
		for _, b := range bases {
			x.Members = append(x.Members, types.Member{Type: b, Base: true})
		}
		return x
	}
	node := class("Node")
	inner := class("Inner", class("Middle", node))
	nodes := []*check.NodeType{{Name: "Node", Layout: node}}
	for _, c := range []struct {
		of   *types.Type
		want int
	}{{node, 0}, {inner, 0}, {class("Entry"), 2}, {class("Other", class("Base")), 2}} {
		if got := elemTexts(c.of, nodes); len(got) != c.want {
			t.Errorf("%s: %q", c.of.Name, got)
		}
	}
}

// TestNullTogether: pointers of which one is NULL only if the other is; of a union's another member may lie there.
func TestNullTogether(t *testing.T) {
	for _, union := range []bool{false, true} {
		p := &link{name: "left", count: 1, set: 2, null: 2}
		q := &link{name: "u.table", count: 1, set: 2, null: 2, union: union}
		m := maker{portrait: &portrait{typ: &check.NodeType{Name: "T"}, links: []*link{p, q}}, name: "T"}
		m.nullTogether(shape{})
		if want := map[bool]int{false: 2, true: 0}[union]; len(m.out) != want {
			t.Errorf("in a union %v: %d facts, want %d", union, len(m.out), want)
		}
	}
}

// TestNullAtEnds: of the last nodes of a list it is not said what else is NULL in them; of a tree's nodes it is.
func TestNullAtEnds(t *testing.T) {
	next, twin, marks := toOwn("next", 20, 20), toOwn("twin", 20, 20), &link{name: "marks", count: 1, set: 5, null: 35}
	for _, c := range []struct {
		links []*link
		want  []string
	}{
		{[]*link{next}, []string{"T null twin next", "T null twin marks", "T null marks next", "T null marks twin"}},
		{[]*link{next, twin}, []string{"T null next twin", "T null next marks", "T null twin next", "T null twin marks", "T null marks next", "T null marks twin"}},
	} {
		m := newMaker(&portrait{typ: &check.NodeType{Name: "T"}, links: []*link{next, twin, marks}})
		m.nullTogether(shape{links: c.links, kind: tree})
		var keys []string
		for _, c := range m.out {
			keys = append(keys, c.key)
		}
		if !slices.Equal(keys, c.want) {
			t.Errorf("%d links: %q, want %q", len(c.links), keys, c.want)
		}
	}
}

// TestFarMoreEdges: of two pointers of which each alone makes a forest, the structure's is the first, unless it makes far fewer edges. What
// leads back is not, however many there are.
func TestFarMoreEdges(t *testing.T) {
	for _, c := range []struct {
		first, second string
		edges         [2]int
		want          string
	}{
		{"u.other", "next", [2]int{5, 40}, "next"},
		{"child", "next", [2]int{30, 40}, "child"},
		{"next", "prev", [2]int{5, 40}, "next"},
	} {
		pointer := func(name string, n int) *link {
			return &link{name: name, count: 1, edge: true, typed: true, to: map[string]int{"T": n}}
		}
		m := maker{portrait: &portrait{typ: &check.NodeType{Name: "T"}, links: []*link{pointer(c.first, c.edges[0]), pointer(c.second, c.edges[1])}}, name: "T"}
		both := c.first + ", " + c.second
		s := m.recognise(func(key string) bool { return key != "T acyclic "+both && key != "T forest "+both })
		if s.kind != tree || names(s.links) != c.want {
			t.Errorf("%s and %s of %d edges: %s", c.first, c.second, c.edges, names(s.links))
		}
	}
}

// TestStaticHeads: where several lists hang on pointers in static memory, each root hangs on one of two of them, or of all that are alike; and
// what one leads to begins its list, if it is a list's pointer that few nodes do not have.
func TestStaticHeads(t *testing.T) {
	next := &link{name: "next", count: 1, edge: true, typed: true, set: 30, null: 10, to: map[string]int{"T": 30}}
	prev := &link{name: "prev", count: 1, edge: true, typed: true, set: 30, null: 10, to: map[string]int{"T": 30}}
	rare := &link{name: "twin", count: 1, edge: true, typed: true, set: 3, null: 37, to: map[string]int{"T": 3}}
	heads := func(names ...string) (out []global) {
		for _, n := range names {
			out = append(out, global{name: n, paths: map[string][]string{"T": {"::" + n}}})
		}
		return out
	}
	for _, c := range []struct {
		globals []global
		kind    kind
		want    []string
	}{
		{heads("a"), tree, []string{"root ::a", "last ::a", "end ::a next", "end ::a prev"}},
		{heads("a", "b"), tree, []string{"root ::a ::b", "last ::a ::b"}},
		{heads("a", "b", "c"), tree, []string{"root ::a ::b ::c", "last ::a ::b ::c", "root ::b ::c"}},
		{heads("a.head", "a.tail", "b.head", "b.tail", "c.head", "c.tail"), tree, []string{"root ::a.head ::b.head ::c.head", "last ::a.tail ::b.tail ::c.tail"}},
		{heads("a", "b"), ring, []string{"reach ::a", "reach ::b"}},
	} {
		m := maker{portrait: &portrait{typ: &check.NodeType{Name: "T"}, links: []*link{next, prev, rare}}, name: "T"}
		m.structure(shape{links: []*link{next}, kind: c.kind}, c.globals, nil)
		for _, want := range c.want {
			if !slices.ContainsFunc(m.out, func(c *candidate) bool { return c.key == "T "+want }) {
				t.Errorf("%d pointers: %s was not tried", len(c.globals), want)
			}
		}
		for _, got := range m.out {
			if strings.HasSuffix(got.key, " twin") || c.kind == ring && strings.HasPrefix(got.key, "T root") && !strings.HasSuffix(got.key, " prev") {
				t.Errorf("%d pointers: %s was tried", len(c.globals), got.key)
			}
			// Of several that hold the one that says most is kept.
			if got.key == "T root ::a" && len(c.globals) > 1 && !slices.Contains(got.implies, "T root ::a ::b") {
				t.Errorf("%s does not say what follows from it: %s", got.key, got.implies)
			}
		}
	}
}

// TestGlobalOf: an object in static memory leads to nodes by a pointer to a base of their class as well, as the anchor of a tree does to its
// links; a pointer to another structure leads to none.
func TestGlobalOf(t *testing.T) {
	number := &types.Type{Kind: types.Uint, Name: "size_t", Size: 8}
	link, other := &types.Type{Kind: types.Struct, Name: "Link", Size: 8}, &types.Type{Kind: types.Struct, Name: "Other", Size: 8}
	node := &types.Type{Kind: types.Struct, Name: "Node", Size: 16, Members: []types.Member{{Type: link, Base: true}, {Name: "key", Type: number, Offset: 8}}}
	for of, want := range map[*types.Type]string{node: "::tree.root", link: "::tree.root", other: ""} {
		tree := &types.Type{Kind: types.Struct, Name: "Tree", Size: 16, Members: []types.Member{
			{Name: "root", Type: &types.Type{Kind: types.Pointer, Elem: of, Size: 8}}, {Name: "size", Type: number, Offset: 8}}}
		g, leads := globalOf(check.Variable{Name: "tree", Type: tree}, []*check.NodeType{{Name: "Node", Layout: node}})
		if got := strings.Join(g.pathsTo("Node"), " "); got != want || leads != (want != "") || !slices.Equal(g.numbers, []string{"::tree.size"}) {
			t.Errorf("a pointer to %s: leads to nodes by %q, with the numbers %v", of.Name, got, g.numbers)
		}
	}
}

// TestStaticCount: a number in static memory may count nodes, a flag or a character beside it does not.
func TestStaticCount(t *testing.T) {
	for _, c := range []struct {
		of   *types.Type
		want bool
	}{
		{&types.Type{Kind: types.Int, Name: "int", Size: 4}, true},
		{&types.Type{Kind: types.Uint, Name: "size_t", Size: 8}, true},
		{&types.Type{Kind: types.Uint, Name: "unsigned char", Size: 1}, true},
		{&types.Type{Kind: types.Int, Name: "char", Size: 1}, false},
		{&types.Type{Kind: types.Bool, Name: "bool", Size: 1}, false},
	} {
		g, ok := globalOf(check.Variable{Name: "n", Type: c.of}, nil)
		if ok != c.want || ok && !slices.Equal(g.numbers, []string{"::n"}) {
			t.Errorf("%s counts nodes: %v, by %v", c.of.Name, ok, g.numbers)
		}
	}
}

// TestSameAlong: a pointer that is the same all along a ring must be so from one node to another: with its own node, as in rings of one, it is anyhow.
func TestSameAlong(t *testing.T) {
	for _, c := range []struct {
		typed bool
		self  int
		want  string
	}{
		{true, 0, "T X;  X.next != NULL => X.next.map == X.map;"},
		{true, 2, "T X;  X.next != NULL and X.next != X => X.next.map == X.map;"},
		{false, 0, "T X, Y;  X ->(next) Y => Y.map == X.map;"}, // as the void * of a macro's hash table
		{false, 2, "T X, Y;  X ->(next) Y and X != Y => Y.map == X.map;"},
	} {
		next := &link{name: "next", count: 1, edge: true, typed: c.typed, set: 9, self: c.self, to: map[string]int{"T": 9}}
		other := &link{name: "map", count: 1, edge: true, set: 9, to: map[string]int{"M": 9}}
		m := maker{portrait: &portrait{typ: &check.NodeType{Name: "T"}, links: []*link{next, other}}, name: "T"}
		m.aside(shape{links: []*link{next}, kind: ring})
		if !slices.ContainsFunc(m.out, func(x *candidate) bool { return x.Text == c.want }) {
			t.Errorf("typed %t, with %d that lead to themselves: not %q", c.typed, c.self, c.want)
		}
	}
	next := &link{name: "next", count: 1, edge: true, typed: true, set: 9, to: map[string]int{"T": 9}}
	owner := &link{name: "owner", count: 1, edge: true, typed: true, set: 9, to: map[string]int{"T": 9}}
	m := maker{portrait: &portrait{typ: &check.NodeType{Name: "T"}, links: []*link{next, owner}}, name: "T"}
	m.aside(shape{links: []*link{next}, kind: tree})
	along := func(text string) bool {
		return slices.ContainsFunc(m.out, func(x *candidate) bool { return x.Text == text })
	}
	if !along("T X;  X.next != NULL => X.next.owner == X.owner;") || along("T X;  X.owner != NULL => X.owner.next == X.next;") {
		t.Error("nodes of a list may all hang on one, and nothing else")
	}
}

// TestLeadsOn: the head of a ring, and a table of functions with a text and a number.
func TestLeadsOn(t *testing.T) {
	object := func(elems ...*types.Type) *types.Type {
		o := &types.Type{Kind: types.Struct, Name: "object", Size: int64(8 * len(elems))}
		for i, e := range elems {
			o.Members = append(o.Members, types.Member{Name: fmt.Sprint("f", i), Offset: int64(8 * i), Type: &types.Type{Kind: types.Pointer, Size: 8, Elem: e}})
		}
		return o
	}
	link := &types.Type{Kind: types.Struct, Name: "link", Size: 16}
	function, text := &types.Type{Kind: types.Func}, &types.Type{Kind: types.Int, Size: 1}
	for _, c := range []struct {
		of   *types.Type
		want bool
	}{{object(link, link), true}, {object(function, nil), true}, {object(text, function, function), false}, {object(), false}} {
		if leadsOn(c.of) != c.want {
			t.Errorf("%d pointers: %v", len(c.of.Members), !c.want)
		}
	}
}

// TestWithoutCounts: the pointer to a smart pointer's counts tells nothing of the structure; a pointer in a member that is none, or of
// a name that only begins like one, stays.
func TestWithoutCounts(t *testing.T) {
	var links []*link
	for _, name := range []string{"up", "up._M_refcount._M_pi", "upper", "at.next", "at.prev"} {
		links = append(links, &link{name: name})
	}
	var got []string
	for _, l := range withoutCounts(links) {
		got = append(got, l.name)
	}
	if want := []string{"up", "upper", "at.next", "at.prev"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestNullByChance: that one pointer is NULL where another is tells little if it nearly always is.
func TestNullByChance(t *testing.T) {
	for _, c := range []struct {
		share    float64
		distinct int
		want     bool
	}{{0.5, 20, true}, {0.5, 5, false}, {0.95, 40, false}, {0.95, 100, true}} {
		f := &candidate{share: c.share, need: 4}
		f.Held, f.seen = c.distinct, map[eval.Instance]bool{}
		for i := range c.distinct {
			f.seen[eval.Instance{Nodes: [4]graph.ObjID{graph.ObjID(i + 1)}}] = true
		}
		f.weigh()
		if ok, why := f.justified(); ok != c.want {
			t.Errorf("NULL in %g of all, and in %d of %d: justified %v (%s)", c.share, c.distinct, c.distinct, ok, why)
		}
	}
}

// TestSizes: a number that was greater than any block has elements does not say how many of them there are.
func TestSizes(t *testing.T) {
	word := &types.Type{Kind: types.Uint, Size: 4, Name: "unsigned int"}
	m := maker{portrait: &portrait{typ: &check.NodeType{Name: "T"}, fields: []*field{
		{name: "used", typ: word, min: 0, max: 9}, {name: "room", typ: word, min: 2, max: 16}, {name: "offset", typ: word, min: 0, max: 5000},
	}}}
	for room, want := range map[int64]string{0: "used room offset", 16: "used room", 9: "used"} {
		var got []string
		for _, n := range m.sizes(&table{name: "slots", block: "slots_array", room: room}) {
			got = append(got, n.name)
		}
		if have := strings.Join(got, " "); have != want {
			t.Errorf("of blocks of %d elements: %s, not %s", room, have, want)
		}
	}
}

// TestLong: of an array that has too many elements no laws of these are tried, but how many there are, and it is said.
func TestLong(t *testing.T) {
	word := &types.Type{Kind: types.Uint, Name: "unsigned", Size: 4}
	for most, long := range map[int64]bool{100: false, maxElements: false, 1 << 20: true} {
		m := newMaker(&portrait{typ: &check.NodeType{Name: "region"}, fields: []*field{
			{name: "cap", typ: word, min: 2, max: most, values: map[int64]int{2: 1, most: 1}},
			{name: "used", typ: word, min: 0, max: 1, values: map[int64]int{0: 1, 1: 1}},
		}})
		m.arraysOf([]*table{{name: "words", block: "words_array", elem: word, room: most}}, nil)
		loops := slices.ContainsFunc(m.out, func(c *candidate) bool { return strings.Contains(c.Text, " in 0 to ") })
		counts := slices.ContainsFunc(m.out, func(c *candidate) bool { return c.key == "region capacity words cap ==" })
		if loops == long || !counts || len(m.long) > 0 != long {
			t.Errorf("of %d elements: loops %v, their number %v, %q", most, loops, counts, m.long)
		}
	}
}

// TestManifold: a block with room for several of a type holds an array of them, unless their links lead to the beginnings of blocks alone.
func TestManifold(t *testing.T) {
	for name, c := range map[string]struct {
		links [2]uint64 // of the first of two blocks, and of the second
		want  []string
	}{
		"chunks of an arena": {[2]uint64{0x3000, 0}, nil},
		"elements":           {[2]uint64{0x3000, 0x2010}, []string{"cell"}},
		"no link":            {[2]uint64{0, 0}, []string{"cell"}},
	} {
		w := graphtest.New(t, "struct cell { struct cell *next; long key; };\ntype cell;")
		w.Alloc("cell", 0x2000, 64)
		w.Alloc("cell", 0x3000, 64)
		w.Put(0x2000, 8, c.links[0])
		w.Put(0x3000, 8, c.links[1])
		w.G.Advance()
		m := mining{run: &Run{History: w.H}, looks: []moment{{at: w.H.Now()}}}
		m.head.types = []typeDecl{{name: "cell"}}
		if got := m.manifold(&trial{spec: w.G.Spec(), graph: w.G}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}

// TestWithoutBlocks: what a pointer leads to is no array of structures if each of these has a block of its own; one that grows is one, and
// so is one of numbers.
func TestWithoutBlocks(t *testing.T) {
	w := graphtest.New(t, "struct slot { long key; }; struct one { long key; }; struct grown { long key; };\n"+
		"ARRAY slots OF struct slot; ARRAY ones OF struct one; ARRAY grows OF struct grown; ARRAY numbers OF long; ARRAY none OF struct one;")
	w.Alloc("slots", 0x2000, 8)
	w.Alloc("slots", 0x3000, 24)
	w.Alloc("ones", 0x4000, 8)
	w.Alloc("ones", 0x5000, 8)
	w.Alloc("numbers", 0x6000, 8)
	w.Alloc("grows", 0x7000, 8)
	w.Apply(trace.Event{Kind: trace.KindRealloc, Addr: 0x8000, Aux: 0x7000, Size: 16, Name: "realloc grows"})
	w.G.Advance()
	m := mining{land: &terrain{births: map[string]int{"slots": 2, "ones": 2, "numbers": 1, "grows": 1}}}
	for _, name := range []string{"slots", "ones", "grows", "numbers", "none"} {
		m.head.types = append(m.head.types, typeDecl{name: name, elem: "struct slot"})
	}
	if !m.withoutBlocks(w.G) {
		t.Error("nothing was dropped")
	}
	var got []string
	for _, d := range m.head.types {
		got = append(got, d.name)
	}
	if want := []string{"slots", "grows", "numbers", "none"}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// TestMasks: a number that is one less than the elements of the block, a power of two, at all moments is the last place in it.
func TestMasks(t *testing.T) {
	w := graphtest.New(t, `struct table { unsigned mask, used; unsigned short *slots; unsigned size; };
type table; ARRAY slots_array OF unsigned short;`)
	m := mining{run: &Run{History: w.H}}
	w.Alloc("table", 0x1000, 24)
	for i, x := range []struct{ count, mask, used uint64 }{{8, 7, 7}, {32, 31, 20}} {
		block := trace.Addr(0x2000 + 0x1000*i)
		w.Alloc("slots_array", block, 2*x.count)
		w.Put(0x1000, 4, x.mask)
		w.Put(0x1004, 4, x.used)
		w.Put(0x1008, 8, uint64(block))
		w.Put(0x1010, 4, x.count)
		w.G.Advance()
		m.looks = append(m.looks, moment{at: w.H.Now()})
	}
	a := &table{name: "slots", elem: &types.Type{Kind: types.Uint, Size: 2, Name: "unsigned short"}, block: "slots_array"}
	m.measure(w.G.Spec().Types[0].Layout, a, (&trial{spec: w.G.Spec(), graph: w.G}).owners(w.G.Spec().Types[0]))
	number := &types.Type{Kind: types.Uint, Size: 4, Name: "unsigned int"}
	mk := &maker{portrait: &portrait{fields: []*field{{name: "mask", typ: number, min: 7, max: 31}, {name: "used", typ: number, min: 7, max: 20}}}}
	var got []string
	for _, n := range mk.sizes(a) {
		got = append(got, n.text+": "+n.last())
	}
	if want := []string{"X.used: X.used - 1", "(X.mask + 1): X.mask"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	if a.lengths["mask"] || a.lengths["used"] || !a.lengths["size"] {
		t.Errorf("lengths are %v, want size alone", a.lengths)
	}
}

// TestBehind: a number is not how many buckets there are where one lies behind so many.
func TestBehind(t *testing.T) {
	w := graphtest.New(t, `struct item { struct item *next; long hash; };
struct table { int size, bits; struct item **slots; };
type table; type item; ARRAY slots_array OF item *;`)
	w.Alloc("table", 0x1000, 16)
	w.Alloc("slots_array", 0x2000, 64)
	w.Alloc("item", 0x3000, 16)
	w.Put(0x1000, 8, 8|3<<32)
	w.Put(0x1008, 8, 0x2000)
	for i := range 8 {
		w.Put(trace.Addr(0x2000+8*i), 8, map[bool]uint64{true: 0x3000}[i == 3])
	}
	w.G.Advance()
	m := mining{run: &Run{History: w.H}, looks: []moment{{at: w.H.Now()}}}
	a := &table{name: "slots", elem: &types.Type{Kind: types.Pointer, Size: 8}, block: "slots_array"}
	if m.measure(w.G.Spec().Types[0].Layout, a, (&trial{spec: w.G.Spec(), graph: w.G}).owners(w.G.Spec().Types[0])); a.short["size"] || !a.short["bits"] {
		t.Errorf("too small are %v, want bits alone", a.short)
	}
}

// TestRoom: how many elements a pointer's block has is told by the block that it leads into, from where it leads on, whatever
// type that has: a second array may lie behind the first. Where no block was seen, no law is made of elements.
func TestRoom(t *testing.T) {
	w := graphtest.New(t, `struct group { unsigned short *skip, *data; unsigned short *none; };
struct cell { long word[8]; };
type group; type cell; ARRAY skip_array OF unsigned short;`)
	w.Alloc("group", 0x1000, 24)
	w.Alloc("cell", 0x2000, 64)
	w.Put(0x1000, 8, 0x2000+48)
	w.Put(0x1008, 8, 0x2000)
	w.Put(0x1010, 8, 0)
	w.G.Advance()
	m := mining{run: &Run{History: w.H}, looks: []moment{{at: w.H.Now()}}}
	short := &types.Type{Kind: types.Uint, Size: 2, Name: "unsigned short"}
	for name, want := range map[string]int64{"skip": 8, "data": 32, "none": 0} {
		a := &table{name: name, elem: short, block: "skip_array"}
		if m.measure(w.G.Spec().Types[0].Layout, a, (&trial{spec: w.G.Spec(), graph: w.G}).owners(w.G.Spec().Types[0])); a.room != want {
			t.Errorf("%s: %d, not %d", name, a.room, want)
		}
		if a.unseen() != (want == 0) {
			t.Errorf("%s: no law is made of it: %t", name, a.unseen())
		}
	}
	// Numbers of an element that lie behind the end of the block are no places in it, as hashes; -1 is none, and a number that was always that links nothing.
	pair := &types.Type{Kind: types.Struct, Size: 4, Name: "pair", Members: []types.Member{{Name: "next", Type: &types.Type{Kind: types.Int, Size: 2, Name: "short"}}, {Name: "hash", Offset: 2, Type: short}}}
	for i, v := range []uint64{0xffff_0003, 0xffff_ffff, 0x000f_0000} {
		w.Put(trace.Addr(0x2000+4*i), 4, v)
	}
	w.G.Advance()
	m.looks[0].at = w.H.Now()
	a := &table{name: "data", elem: pair, block: "skip_array"}
	if m.measure(w.G.Spec().Types[0].Layout, a, (&trial{spec: w.G.Spec(), graph: w.G}).owners(w.G.Spec().Types[0])); a.room != 16 || a.far[".next"] || !a.far[".hash"] || !a.linked[".next"] {
		t.Errorf("%d pairs, and beyond them %v", a.room, a.far)
	}
	w.Put(0x2000, 4, 0xffff_ffff)
	w.Put(0x2008, 4, 0x000f_ffff)
	w.G.Advance()
	m.looks[0].at = w.H.Now()
	if m.measure(w.G.Spec().Types[0].Layout, a, (&trial{spec: w.G.Spec(), graph: w.G}).owners(w.G.Spec().Types[0])); a.linked[".next"] {
		t.Error("what is always none links elements")
	}
	if (&table{name: "child", count: 2}).unseen() {
		t.Error("an array that is a member has elements always")
	}
}

// TestHalfATree: a search tree has both halves; of one alone its words say that it is a heap.
func TestHalfATree(t *testing.T) {
	for want, held := range map[string][]string{"search tree: ": {"T below key left <=", "T above key right <"}, "heap order: ": {"T above key right <="}} {
		m := maker{portrait: &portrait{typ: &check.NodeType{Name: "T"}}, name: "T"}
		m.searchTree(&field{name: "key"}, "left", "right")
		m.out = slices.DeleteFunc(m.out, func(c *candidate) bool { return !slices.Contains(held, c.key) })
		for _, c := range m.out {
			c.Stated = true
		}
		var r Result
		(&mining{base: readBase(nil)}).prune(m.out, &r)
		if len(r.Facts) != len(held) {
			t.Fatalf("%d facts of %d", len(r.Facts), len(held))
		}
		for _, f := range r.Facts {
			if !strings.HasPrefix(f.Words, want) {
				t.Errorf("%q, want %s", f.Words, want)
			}
		}
	}
}

// TestBlackBelow: that all ways down meet as many black nodes is said of all nodes, or where a dummy is above the root, of those below.
func TestBlackBelow(t *testing.T) {
	color := &field{name: "color", typ: &types.Type{Kind: types.Int, Size: 4}, values: map[int64]int{0: 3, 1: 4}}
	for want, held := range map[string][]string{
		"T X;  (X.left).BH == (X.right).BH;":                      {"T black color 0", "T black below color 0"},
		"T X;  X.ISROOT == FALSE => (X.left).BH == (X.right).BH;": {"T black below color 0"},
	} {
		m := maker{portrait: &portrait{typ: &check.NodeType{Name: "T"}, fields: []*field{color}}, name: "T"}
		m.colours(shape{kind: tree, links: []*link{{name: "left", count: 1}, {name: "right", count: 1}}})
		m.out = slices.DeleteFunc(m.out, func(c *candidate) bool { return !slices.Contains(held, c.key) })
		for _, c := range m.out {
			c.Stated = true
		}
		var r Result
		(&mining{base: readBase(nil)}).prune(m.out, &r)
		if len(r.Facts) != 1 || r.Facts[0].Text != want {
			t.Errorf("%v, want %s", r.Facts, want)
		}
	}
}

// TestEnds: that the end of a list hangs on one of several nodes of another type is told of several ends, and of many where these lead to other
// nodes as well. Of an owner that is there alone one will do.
func TestEnds(t *testing.T) {
	item, head := &check.NodeType{Name: "item"}, &check.NodeType{Name: "head"}
	list := shape{kind: tree, links: []*link{{name: "next", count: 1}}}
	for _, c := range []struct {
		alone, ends bool
		need        int
	}{{true, false, 1}, {false, false, 16}, {false, true, 4}} {
		h := &portrait{typ: head, alone: c.alone, links: []*link{{name: "last", count: 1, to: map[string]int{"item": 3}}}}
		m := newMaker(&portrait{typ: item})
		m.toEnds = func(*portrait, *link, bool) bool { return c.ends }
		m.structure(list, nil, []*portrait{h})
		need := 0
		for _, x := range m.out {
			if x.key == "item last head.last" {
				need = x.need
			}
		}
		if need != c.need {
			t.Errorf("alone %t, ends %t: %d nodes, want %d", c.alone, c.ends, need, c.need)
		}
	}
}

// TestLeadsToEnds: a pointer to the last of each list leads to ends, and one into the middle of a list does not.
func TestLeadsToEnds(t *testing.T) {
	w := graphtest.New(t, "struct item { struct item *next; }; struct head { struct item *first, *last, *some; };\ntype item; type head;\n")
	for i := range trace.Addr(3) {
		w.Alloc("item", 0x1000+16*i, 8)
	}
	w.Alloc("head", 0x2000, 24)
	for _, p := range [][2]uint64{{0x1000, 0x1010}, {0x1010, 0x1020}, {0x2000, 0x1000}, {0x2008, 0x1020}, {0x2010, 0x1010}} {
		w.Put(trace.Addr(p[0]), 8, p[1])
	}
	m := mining{run: &Run{History: w.H}, looks: []moment{{at: w.H.Now()}}}
	base, item, head := &trial{run: m.run, graph: w.G}, w.G.Spec().Types[0], w.G.Spec().Types[1]
	for field, want := range map[string][2]bool{"first": {true, false}, "last": {false, true}, "some": {false, false}} {
		for i, last := range []bool{false, true} {
			if got := m.leadsToEnds(base, head, field, item, last); got != want[i] {
				t.Errorf("%s, last %t: %t", field, last, got)
			}
		}
	}
}

// TestAliveAlone: of the one owner it is told by states that what it leads to is alive or NULL; that it is never NULL takes more nodes.
func TestAliveAlone(t *testing.T) {
	for _, alone := range []bool{false, true} {
		m := newMaker(&portrait{typ: &check.NodeType{Name: "head"}, alone: alone, links: []*link{{name: "first", count: 1, edge: true, set: 9, to: map[string]int{"item": 9}}}})
		m.alive(nil)
		need := map[string]int{}
		for _, c := range m.out {
			need[c.key] = c.need
		}
		if want := map[bool]int{false: 8, true: 1}[alone]; need["head alive first"] != 8 || need["head alive first null"] != want {
			t.Errorf("alone %t: %v", alone, need)
		}
	}
}

// TestSelf: a pointer that leads into its own node, or nowhere, as a slab's list of what is free in it.
func TestSelf(t *testing.T) {
	for null, want := range map[int]string{0: "T X;  X.free == X;", 3: "T X;  X.free != NULL => X.free == X;"} {
		m := newMaker(&portrait{typ: &check.NodeType{Name: "T"}, links: []*link{{name: "free", count: 1, edge: true, set: 5, self: 5, null: null, to: map[string]int{"T": 5}}}})
		m.aside(shape{kind: tree})
		if !slices.ContainsFunc(m.out, func(c *candidate) bool { return c.key == "T self free" && c.Text == want }) {
			t.Errorf("%d are NULL: not %s", null, want)
		}
	}
}

// TestDeep: what a container keeps is its own business, what an iterator, a node of the library's or a smart pointer leads to is not.
func TestDeep(t *testing.T) {
	for path, want := range map[string]bool{
		"orders._M_impl._M_node._M_next":       true,
		"bids_._M_t._M_impl._M_header._M_left": true,
		"_M_storage.trader._M_dataplus._M_p":   true,
		"where._M_node":                        false,
		"_M_storage.second.it._M_node":         false,
		"_M_next":                              false,
		"_M_u._M_first":                        false,
		"next":                                 false,
		"node._M_u._M_rest._M_rest._M_first._M_storage.left": false,
	} {
		if got := deep(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
