package symbol

import (
	"fmt"
	"testing"

	"mgtrace/objfile"
)

// TestAssign: a store that the line table has at a line that does not write its field is
// at the statement of its function that does.
func TestAssign(t *testing.T) {
	const text = `static void link(struct n *a, struct n *b)
{
	a->next = b;
	b->prev = a;	/* a->key = 1; "}" */
	list.length++;
	if (b->prev == a)
		list.items[list.length] = b;
	copy(a, "a->key = 1");
	*a = *b;
}

void insert(struct n *a, struct n *b)
{
	b->key = 1;
	link(a, b);
	a->key--;
}

void remove(struct n *a) { a->flag = 0; }
`
	at := func(line int, within bool) []objfile.Frame {
		frames := []objfile.Frame{{Function: "insert", File: "list.c", Line: line, Declared: 12, Within: within}}
		if line < 12 {
			frames[0].Line = 15
			frames = append([]objfile.Frame{{Function: "link", File: "list.c", Line: line, Declared: 1, Inlined: true, Within: within}}, frames...)
		}
		return frames
	}
	for i, c := range []struct {
		line   int
		within bool
		fields []string
		want   int
	}{
		{5, true, []string{"next"}, 3},           // another statement of the same function
		{5, true, []string{"prev"}, 4},           //
		{5, true, []string{"key"}, 14},           // or of the one that it is inlined into: the nearest
		{15, true, []string{"key"}, 14},          //
		{5, false, []string{"next"}, 5},          // a statement begins here
		{5, true, []string{"length"}, 5},         // it does write it
		{7, true, []string{"next", "items"}, 7},  // or one of what it writes
		{9, true, []string{"next"}, 9},           // it may write anything
		{5, true, []string{"flag"}, 5},           // nobody does
		{8, true, []string{"prev"}, 4},           // a function's call writes nothing here
		{5, true, nil, 5},                        // no field
		{6, true, []string{"prev", "length"}, 5}, // what is merged is at the nearest
	} {
		s := New(nil, &Sources{Attached: func(string) ([]byte, bool) { return []byte(text), true }})
		s.frames[1] = at(c.line, c.within)
		s.Assign([]Store{{PC: 1, Fields: c.fields}})
		if f, _, _ := s.Where(1); f.Line != c.want {
			t.Errorf("%d: %v at line %d: at line %d, want %d", i, c.fields, c.line, f.Line, c.want)
		}
		if _, moved := s.assigned[1]; moved != (c.want != c.line) {
			t.Errorf("%d: moved: %t", i, moved)
		}
	}

	// What a function of a library that is called there stores is that line's.
	s := New(nil, &Sources{Attached: func(string) ([]byte, bool) { return []byte(text), true }})
	s.frames[1] = at(8, true)
	s.Assign([]Store{{PC: 1, Fields: []string{"prev"}, Called: true}})
	if f, _, _ := s.Where(1); f.Line != 8 {
		t.Errorf("a call at line 8 is at line %d", f.Line)
	}

	// One store may do what two statements say.
	for _, c := range []struct {
		line   int
		fields []string
		want   string
	}{
		{3, []string{"next", "prev"}, "[4]"},
		{4, []string{"next", "prev", "key"}, "[3 14]"},
		{14, []string{"key"}, "[]"},          // it writes one field
		{9, []string{"next", "prev"}, "[]"},  // a copy of all
		{3, []string{"next", "other"}, "[]"}, // nobody assigns the other
	} {
		s := New(nil, &Sources{Attached: func(string) ([]byte, bool) { return []byte(text), true }})
		s.frames[1] = at(c.line, false)
		s.Assign([]Store{{PC: 1, Fields: c.fields}})
		lines := []int{}
		for _, f := range s.Merged(1) {
			lines = append(lines, f.Line)
		}
		if got := fmt.Sprint(lines); got != c.want {
			t.Errorf("%v at line %d: merged with %s, want %s", c.fields, c.line, got, c.want)
		}
	}

	// What is copied as a whole is no statement of its parts.
	const whole = `void take(struct n *a, struct n *b)
{
	a->link.prev = NULL;
	a->link = b->link;
	b->key = 0;
}
`
	for line, want := range map[int]int{4: 4, 5: 4} {
		s := New(nil, &Sources{Attached: func(string) ([]byte, bool) { return []byte(whole), true }})
		s.frames[1] = []objfile.Frame{{Function: "take", File: "list.c", Line: line, Declared: 1, Within: true}}
		s.Assign([]Store{{PC: 1, Fields: []string{"next", "prev"}, Wholes: []string{"link"}}})
		if f, _, _ := s.Where(1); f.Line != want {
			t.Errorf("stored at line %d: at line %d, want %d", line, f.Line, want)
		}
		if m := s.Merged(1); len(m) != 0 {
			t.Errorf("stored at line %d: merged with %v", line, m)
		}
	}

	// Of two statements it is the one at which no other store is.
	for line, want := range map[int]int{14: 16, 16: 14} {
		s := New(nil, &Sources{Attached: func(string) ([]byte, bool) { return []byte(text), true }})
		s.frames[1], s.frames[2] = at(15, true), at(line, true)
		s.Assign([]Store{{PC: 1, Fields: []string{"key"}}, {PC: 2, Fields: []string{"key"}}})
		if got := fmt.Sprint(s.Place(1), " ", s.Place(2)); got != fmt.Sprintf("list.c:%d list.c:%d", want, line) {
			t.Errorf("beside a store at line %d: %s", line, got)
		}
	}
}

// TestNoLine: of a store without a line it is the nearest of the statements that assign the field and
// have no store, and the others of the function may be meant as well.
func TestNoLine(t *testing.T) {
	const text = `void cut(struct n *a)
{
	if (a->next)
		a->next->prev = a->prev;
	else
		a->tail->prev = NULL;
	a->next = NULL;
}
`
	s := New(nil, &Sources{Attached: func(string) ([]byte, bool) { return []byte(text), true }})
	frame := func(line int) []objfile.Frame {
		return []objfile.Frame{{Function: "cut", File: "list.c", Line: line, Declared: 1}}
	}
	s.frames[0x105], s.frames[0x110], s.frames[0x118] = frame(6), frame(0), frame(7)
	s.Assign([]Store{{PC: 0x110, Fields: []string{"prev"}}, {PC: 0x118, Fields: []string{"next"}}})
	if f, _, _ := s.Where(0x110); f.Line != 6 {
		t.Errorf("the store without a line is at line %d, want 6", f.Line)
	}
	if m := s.Merged(0x110); len(m) != 1 || m[0].Line != 4 {
		t.Errorf("it is one with %v, want line 4", m)
	}
	if line, field, ok := s.Moved(0x110); line != 0 || field != "prev" || !ok {
		t.Errorf("moved: %d %s %v", line, field, ok)
	}
}

// TestChoices: each branch of a choice of the preprocessor may open a brace, and one closes them.
func TestChoices(t *testing.T) {
	const text = `void f(struct n *a)
{
#ifdef FAST
	for (; a; a = a->next) {
#elif defined(SLOW)
	while (a) {
#else
	if (a) {
#  if 1
		a->prev = NULL;
#  endif
#endif
		a->next = NULL;
	}
}
void g(struct n *a) { a->key = 1; }
`
	s := New(nil, &Sources{Attached: func(string) ([]byte, bool) { return []byte(text), true }})
	first, body := s.body(&objfile.Frame{File: "list.c", Line: 3, Declared: 1})
	if first != 1 || len(body) != 15 {
		t.Errorf("from line %d on %d lines, want from 1 on 15", first, len(body))
	}
}

// TestByReference: a store through a reference, or to one of two fields that an expression chooses, stays at its line, though another line
// assigns the field by its name and has not run. One at a line that assigns to another name does not.
func TestByReference(t *testing.T) {
	const text = `void put(node *p, node *n, node *&at)
{
	node *&slot = n->key < p->key ? p->left : p->right;
	slot = n;
	at = n;
	(p->red ? p->left : p->right) = n;
	p->key = n->key & 7;
	if (p->red)
		p->left = p->right = n;
}
`
	for line, want := range map[int]int{4: 4, 5: 5, 6: 6, 7: 6} {
		s := New(nil, &Sources{Attached: func(string) ([]byte, bool) { return []byte(text), true }})
		s.frames[0x100] = []objfile.Frame{{Function: "put", File: "tree.cpp", Line: line, Declared: 1, Within: true}}
		s.Assign([]Store{{PC: 0x100, Fields: []string{"left"}}})
		if f, _, _ := s.Where(0x100); f.Line != want {
			t.Errorf("the store of line %d is at line %d, want %d", line, f.Line, want)
		}
	}
}

// TestOfThis: a member function's line that assigns a member as a whole by its name alone keeps the stores to parts of it;
// one that assigns a variable of that name does not.
func TestOfThis(t *testing.T) {
	const text = `void Box::join(const Box &a, const Box &b)
{
	upper = max(a.upper, b.upper);
	count++;
	this->upper = a.upper;
}
void Box::grow(Point upper)
{
	upper = twice(upper);
	this->upper = upper;
}
void join(Box &b)
{
	upper = b;
	b.upper = origin;
}
`
	for line, c := range map[int]struct {
		function string
		declared int
		want     int
	}{
		3:  {"Box::join(Box const&, Box const&)", 1, 3},
		4:  {"Box::join(Box const&, Box const&)", 1, 5},
		9:  {"Box::grow(Point)", 7, 10},
		14: {"join", 12, 15},
	} {
		s := New(nil, &Sources{Attached: func(string) ([]byte, bool) { return []byte(text), true }})
		s.frames[0x100] = []objfile.Frame{{Function: c.function, File: "box.cpp", Line: line, Declared: c.declared, Within: true}}
		s.Assign([]Store{{PC: 0x100, Fields: []string{"x", "y"}, Wholes: WholesOf("[2].box.upper.x")}})
		if f, _, _ := s.Where(0x100); f.Line != c.want {
			t.Errorf("the store of line %d is at line %d, want %d", line, f.Line, c.want)
		}
	}
}

func TestMayStore(t *testing.T) {
	for text, want := range map[string]bool{
		"n->next = p;":                true,
		"n->next == p;":               false,
		"next = p;":                   true, // a member in C++
		"n->child.next [2] += p;":     true,
		"++n->next;":                  true,
		"if (n) --(*n).list[i].next;": true,
		"return ++(n)->next;":         true,
		"for (i = 0; i < k; i++) if (n->next[i] == m) m->last = n;": false,
		"for (i = 0; i < k; ++i) if (n->next) m->last = n;":         false,
		"k = i-- - n->next;":             false,
		"n->nextest = n->next;":          false,
		"return n ? n->next : 0;":        false,
		"INIT_LIST(n);":                  true,
		"memcpy(n, m, sizeof *n);":       true,
		"*n = *m;":                       true,
		"a[i] = m;":                      true,
		"if (a[i] == m)":                 false,
		"for (int k = n->count; k; k--)": false,
		"/* n->next = */ p = n->next;":   false,
		"n->link = m->link;":             true, // with all that is in it
		"n->link.prev = m;":              false,
		"link = &n->link;":               false, // a variable of that name
		"(k ? n->next : n->prev) = m;":   true,
		"(k ? n->prev : n->next) = m;":   true,
		"(k == 1 ? n->next : n->p) += 2": true,
		"m = (k ? n->next : n->prev);":   false,
		"if ((k ? n->next : m) == p)":    false,
		"(k ? n->next : m)->last = p;":   false,
		"f(k ? n->next : m); last = p;":  false,
	} {
		if got := mayStore(text, []string{"next"}, []string{"link"}); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// TestMeantBy: a store at a line that can not have done it is that of the nearest statement of the field.
func TestMeantBy(t *testing.T) {
	const text = `static void start(struct q *q, struct q **at)
{
	q->head = q->tail = 0;
	q->len = 0;
	q->sum = 0;
	*at = q;
	RESET(q);
	q->len = 1;
}
`
	s := New(nil, &Sources{Attached: func(string) ([]byte, bool) { return []byte(text), true }})
	for _, c := range []struct {
		line   int
		fields []string
		field  string
		want   int // 0: the line itself, or nobody knows
	}{
		{3, []string{"len"}, "len", 4},
		{5, []string{"len"}, "len", 4},
		{3, []string{"head", "tail"}, "tail", 0},
		{3, []string{"head", "len"}, "len", 4}, // one store of several
		{4, []string{"len"}, "len", 0},
		{6, []string{"sum"}, "sum", 0}, // it may be any field
		{7, []string{"sum"}, "sum", 0}, // by a macro
		{3, []string{"len"}, "sum", 0}, // the store does not write it
		{3, []string{"cap"}, "cap", 0}, // nobody does
	} {
		frames := []objfile.Frame{{Function: "start", File: "q.c", Line: c.line, Declared: 1}}
		got := 0
		if at := s.meantBy(1, frames, c.fields, c.field); at != nil {
			got = at[0].Line
		}
		if got != c.want {
			t.Errorf("%s stored at line %d with %v: of line %d, want %d", c.field, c.line, c.fields, got, c.want)
		}
	}
}
