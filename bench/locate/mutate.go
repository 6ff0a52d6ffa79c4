package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// The kinds of faults.
const (
	wrongField   = "wrong field"
	wrongValue   = "wrong value"
	wrongTarget  = "wrong target"
	droppedStore = "dropped store"
	extraStore   = "extra store"
	swapped      = "swapped operands"
	wrongChild   = "wrong child"
	offByOne     = "off by one"
	missingNULL  = "missing NULL"
	missedUpdate = "missed update" // of a colour, a height, a count
	negated      = "condition negated"
	freedEarly   = "freed too early"
	overrun      = "overrun"
)

var kinds = []string{
	wrongField, wrongValue, wrongTarget, droppedStore, extraStore, swapped, wrongChild,
	offByOne, missingNULL, missedUpdate, negated, freedEarly, overrun,
}

// When a mutant errs.
const (
	always = "always"         // whenever it is executed
	late   = "after the base" // whenever it is executed after the base was built
	once   = "once"           // in one execution after the base was built
)

// mutant is a program with one fault.
type mutant struct {
	Kind     string `json:"kind"`
	When     string `json:"when"`
	Function string `json:"function"`
	Line     int    `json:"line"`
	Was      string `json:"was"` // the statement
	Is       string `json:"is"`  // what stands there instead; "": nothing
	// True are the lines of the faulty statements: usually Line alone.
	True []int `json:"true"`
	// Missing: a store does not happen that should.
	Missing bool `json:"missing,omitempty"`
	// Around are the lines of the statements beside the one that is missing.
	Around []int `json:"around,omitempty"`

	edits []edit
}

// edit replaces bytes [from, to) of the source.
type edit struct {
	from, to int
	text     string
}

// apply returns the source of the mutant. No line moves.
func (m *mutant) apply(s *source) string {
	out := s.text
	edits := slices.Clone(m.edits)
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(b.from, a.from) })
	for _, e := range edits {
		out = out[:e.from] + e.text + out[e.to:]
	}
	if len(s.toks) == 0 {
		return out
	}
	at := s.toks[0].from // a line of the preprocessor may come before it; nothing is edited there
	return out[:at] + "extern int workload_ready, workload_hits; " + out[at:]
}

// workshop makes mutants of one program.
type workshop struct {
	s   *source
	rnd *rand.Rand
	all map[string][]*mutant // by kind
}

func newWorkshop(s *source, seed uint64) *workshop {
	w := &workshop{s: s, rnd: rand.New(rand.NewPCG(seed, 0x10ca7e)), all: map[string][]*mutant{}}
	for i := range s.funcs {
		f := &s.funcs[i]
		for _, x := range s.stores(f) {
			w.stores(x)
		}
		w.conditions(f)
		w.frees(f)
		w.blocks(f)
		w.updates(f)
	}
	for _, k := range kinds {
		w.rnd.Shuffle(len(w.all[k]), func(i, j int) { w.all[k][i], w.all[k][j] = w.all[k][j], w.all[k][i] })
	}
	return w
}

// next takes a mutant of a random kind; nil when there are no more.
func (w *workshop) next() *mutant {
	var left []string
	for _, k := range kinds {
		if len(w.all[k]) > 0 {
			left = append(left, k)
		}
	}
	if len(left) == 0 {
		return nil
	}
	k := left[w.rnd.IntN(len(left))]
	m := w.all[k][0]
	w.all[k] = w.all[k][1:]
	w.arm(m)
	return m
}

// arm decides when the mutant errs.
func (w *workshop) arm(m *mutant) {
	m.When = []string{always, late, once}[w.rnd.IntN(3)]
	if m.Kind == freedEarly && m.When == once {
		m.When = late // two places have to agree
	}
	condition := map[string]string{
		always: "", late: "workload_ready",
		once: fmt.Sprintf("workload_ready && ++workload_hits == %d", 1+w.rnd.IntN(15)),
	}[m.When]
	for i := range m.edits {
		m.edits[i].text = arm(m.edits[i].text, condition)
	}
}

// A template has ⟦new⟧old⟧ where the mutant differs; ⟪new⟫old⟫ in an expression.
func arm(template, condition string) string {
	pick := func(t, open, close, always, guarded string) string {
		for {
			i := strings.Index(t, open)
			if i < 0 {
				return t
			}
			rest := t[i+len(open):]
			is, rest, _ := strings.Cut(rest, close)
			was, rest, _ := strings.Cut(rest, close)
			text := fmt.Sprintf(always, is)
			if condition != "" {
				text = fmt.Sprintf(guarded, condition, is, was)
			}
			t = t[:i] + text + rest
		}
	}
	t := pick(template, "⟦", "⟧", "{ %s }", "{ if (%s) { %s } else { %s } }")
	return pick(t, "⟪", "⟫", "%s", "((%s) ? (%s) : (%s))")
}

// instead adds a mutant that has another statement in the place of st.
func (w *workshop) instead(kind string, f *function, st statement, is string) {
	was := w.s.code(st.from, st.to)
	if is == was {
		return
	}
	m := &mutant{
		Kind: kind, Function: f.name, Line: st.line, Was: was, Is: is, True: []int{st.line},
		edits: []edit{{w.s.toks[st.from].from, w.s.toks[st.to-1].to, "⟦" + is + "⟧" + was + "⟧"}},
	}
	if is == "" {
		m.Missing, m.Around = true, w.s.around(f, st)
	}
	w.all[kind] = append(w.all[kind], m)
}

// stores breaks one store in every way that fits it.
func (w *workshop) stores(x store) {
	s, f := w.s, x.field
	lhs, rhs, op := s.code(x.left, x.op), s.code(x.rhsFrom, x.rhsTo), x.sign
	base := s.code(x.left, x.base)
	stmt := func(l, op, r string) string { return strings.TrimSpace(l + " " + op + " " + r + ";") }
	step := op == "++" || op == "--"

	// wrong field
	for _, g := range s.siblings(f) {
		tail := s.code(x.member+1, x.op)
		w.instead(wrongField, x.fn, x.statement, stmt(base+s.at(x.base)+g.name+tail, op, rhs))
	}
	// wrong value
	if !f.pointer && op == "=" {
		values := []string{"0", "1", "-(" + rhs + ")", "2 * (" + rhs + ")"}
		if f.enum != "" {
			values = s.enums[f.enum]
		}
		for _, v := range values {
			w.instead(wrongValue, x.fn, x.statement, stmt(lhs, "=", v))
		}
	}
	// wrong target
	if f.pointer && op == "=" {
		for _, name := range sorted(x.fn.pointers) {
			if x.fn.pointers[name] == f.points {
				w.instead(wrongTarget, x.fn, x.statement, stmt(lhs, "=", name))
			}
		}
		for _, g := range s.fields {
			if g.in == f.points && g.points == f.points && g.array == "" && rhs != "NULL" && !strings.Contains(rhs, "(") {
				w.instead(wrongTarget, x.fn, x.statement, stmt(lhs, "=", rhs+"->"+g.name))
			}
		}
		if i := strings.LastIndex(rhs, "->"); i > 0 {
			w.instead(wrongTarget, x.fn, x.statement, stmt(lhs, "=", rhs[:i]))
		}
	}
	// not stored at all; a call on the right is made all the same
	kind := droppedStore
	switch {
	case rhs == "NULL":
		kind = missingNULL
	case !f.pointer && f.name != "key" && f.name != "val" && f.name != "value":
		kind = missedUpdate
	}
	if strings.Contains(rhs, "(") && !step {
		m := stmt("(void)("+rhs+")", "", "")
		w.instead(kind, x.fn, x.statement, m)
		last := w.all[kind][len(w.all[kind])-1]
		last.Missing, last.Around = true, w.s.around(x.fn, x.statement)
	} else {
		w.instead(kind, x.fn, x.statement, "")
	}
	// extra store
	for _, g := range s.fields {
		if g.in != f.in || g.array != "" {
			continue
		}
		values := []string{"0"}
		if g.pointer {
			values = []string{"NULL"}
			for _, name := range sorted(x.fn.pointers) {
				if x.fn.pointers[name] == g.points {
					values = append(values, name)
				}
			}
		} else if g.enum != "" {
			values = s.enums[g.enum]
		}
		for _, v := range values {
			more := base + s.at(x.base) + g.name + " = " + v + ";"
			w.instead(extraStore, x.fn, x.statement, stmt(lhs, op, rhs)+" "+more)
		}
	}
	w.operands(x, lhs, rhs, base, stmt)
	w.numbers(x, lhs, rhs, op, base, stmt)
}

// operands swaps operands, and confuses left and right.
func (w *workshop) operands(x store, lhs, rhs, base string, stmt func(l, op, r string) string) {
	s, f := w.s, x.field
	if x.rhsTo == x.rhsFrom+1 && x.base == x.left+1 && x.fn.pointers[rhs] == f.in && x.fn.pointers[base] == f.in && f.points == f.in {
		w.instead(swapped, x.fn, x.statement, stmt(rhs+"->"+f.name, "=", base))
	}
	for i, depth := x.rhsFrom, 0; i < x.rhsTo; i++ {
		switch t := s.at(i); t {
		case "(", "[":
			depth++
		case ")", "]":
			depth--
		case "-", "/", "<", ">":
			if depth == 0 && i > x.rhsFrom {
				w.instead(swapped, x.fn, x.statement, stmt(lhs, x.sign, s.code(i+1, x.rhsTo)+" "+t+" "+s.code(x.rhsFrom, i)))
			}
		}
		if s.at(i) != "->" && s.at(i) != "." {
			continue
		}
		if g, ok := s.field(s.of(x.fn, operand(s, x.rhsFrom, i), i), s.at(i+1)); ok {
			for _, other := range s.siblings(g) {
				if other.array == "" {
					w.instead(wrongChild, x.fn, x.statement, stmt(lhs, x.sign, s.code(x.rhsFrom, i+1)+other.name+s.code(i+2, x.rhsTo)))
				}
			}
		}
	}
	// two stores in the wrong order: each stands on the other's line
	k := slices.IndexFunc(x.fn.stmts, func(o statement) bool { return o.from == x.to })
	if k < 0 || x.fn.stmts[k].kind != exprStmt || x.fn.stmts[k].block != x.block || x.block < 0 {
		return
	}
	next := x.fn.stmts[k]
	a, b := s.code(x.from, x.to), s.code(next.from, next.to)
	if !strings.Contains(b, "->") || !strings.Contains(b, "=") {
		return
	}
	w.all[swapped] = append(w.all[swapped], &mutant{
		Kind: swapped, Function: x.fn.name, Line: x.line, Was: a + " " + b, Is: b + " " + a, True: []int{x.line, next.line},
		edits: []edit{
			{s.toks[x.from].from, s.toks[x.to-1].to, "⟦" + b + " " + a + "⟧" + a + " " + b + "⟧"},
			{s.toks[next.from].from, s.toks[next.to-1].to, ";"},
		},
	})
}

// operand returns where the chain of members that ends before token end begins, not before from.
func operand(s *source, from, end int) int {
	i := end
	for i > from {
		switch t := s.at(i - 1); {
		case t == "]" || t == ")":
			open := i - 2
			for open > from && closing(s.toks, open) != i-1 {
				open--
			}
			i = open
		case t == "->" || t == "." || isWord(t[0]):
			i--
		default:
			return i
		}
	}
	return i
}

// numbers is off by one, and beyond the end.
func (w *workshop) numbers(x store, lhs, rhs, op, base string, stmt func(l, op, r string) string) {
	s, f := w.s, x.field
	switch {
	case f.pointer:
	case op == "++" || op == "--":
		w.instead(offByOne, x.fn, x.statement, stmt(lhs, map[string]string{"++": "+=", "--": "-="}[op], "2"))
	default:
		w.instead(offByOne, x.fn, x.statement, stmt(lhs, op, "("+rhs+") + 1"))
		w.instead(offByOne, x.fn, x.statement, stmt(lhs, op, "("+rhs+") - 1"))
	}
	for i := x.from; i < x.rhsTo; i++ {
		if s.at(i) != "[" {
			continue
		}
		end := closing(s.toks, i)
		index := s.code(i+1, end)
		for _, by := range []string{" + 1", " - 1"} {
			is := s.code(x.from, i+1) + index + by + s.code(end, x.to)
			kind := offByOne
			if i > x.op || f.pointer {
				kind = wrongChild
			}
			w.instead(kind, x.fn, x.statement, is)
		}
	}
	if x.index > 0 && f.array != "" {
		end := closing(s.toks, x.index)
		w.instead(overrun, x.fn, x.statement, s.code(x.from, x.index+1)+s.code(x.index+1, end)+" + "+f.array+s.code(end, x.to))
	} else if s.at(x.base) == "->" && x.base == x.left+1 {
		w.instead(overrun, x.fn, x.statement, stmt("("+base+" + 1)->"+s.code(x.member, x.op), op, rhs))
	}
}

// conditions negates what decides over a store, and lets loops run too far.
func (w *workshop) conditions(f *function) {
	s := w.s
	for _, st := range f.stmts {
		if st.kind != controlStmt || st.keyword == "while" || st.keyword == "switch" {
			continue
		}
		var lines []int
		end := s.end(st.from)
		for _, x := range s.stores(f) {
			if x.from > st.from && x.from <= end && x.depth <= st.depth+1 {
				lines = append(lines, x.line)
			}
		}
		if len(lines) == 0 {
			continue
		}
		from, to := st.from+2, st.to-1 // the condition
		m := &mutant{Function: f.name, Line: st.line, True: append([]int{st.line}, lines...)}
		if st.keyword == "if" {
			c := s.code(from, to)
			m.Kind, m.Missing = negated, true
			m.Around = w.s.around(f, st)
			m.Was, m.Is = "if ("+c+")", "if (!("+c+"))"
			m.edits = []edit{{s.toks[from].from, s.toks[to-1].to, "⟪!(" + c + ")⟫" + c + "⟫"}}
		} else {
			from = slices.IndexFunc(s.toks[from:to], func(t token) bool { return t.text == ";" }) + from + 1
			to = slices.IndexFunc(s.toks[from:to], func(t token) bool { return t.text == ";" }) + from
			op := slices.IndexFunc(s.toks[from:to], func(t token) bool { return t.text == "<" || t.text == ">" })
			if op < 0 {
				continue
			}
			c := s.code(from, to)
			is := s.code(from, from+op) + " " + s.at(from+op) + "= " + s.code(from+op+1, to)
			m.Kind, m.Was, m.Is = offByOne, c, is
			m.edits = []edit{{s.toks[from].from, s.toks[to-1].to, "⟪" + is + "⟫" + c + "⟫"}}
		}
		w.all[m.Kind] = append(w.all[m.Kind], m)
	}
}

// frees moves a free up, before the statement that stands before it.
func (w *workshop) frees(f *function) {
	s := w.s
	for i, st := range f.stmts {
		if st.kind != exprStmt || s.at(st.from) != "free" || st.block < 0 {
			continue
		}
		// Up to three statements of the same block before it.
		for k, n := i-1, 0; k >= 0 && n < 3; k-- {
			before := f.stmts[k]
			if before.block != st.block || s.at(before.from-1) == "else" {
				continue
			}
			if before.kind == otherStmt {
				break
			}
			n++
			text := s.code(st.from, st.to)
			at := s.toks[before.from].from
			w.all[freedEarly] = append(w.all[freedEarly], &mutant{
				Kind: freedEarly, Function: f.name, Line: before.line, Was: text, Is: fmt.Sprintf("%s already at line %d", text, before.line),
				True: []int{before.line},
				edits: []edit{
					{at, at, "⟦" + text + "⟧⟧ "},
					{s.toks[st.from].from, s.toks[st.to-1].to, "⟦⟧" + text + "⟧"},
				},
			})
		}
	}
}

// blocks makes what is allocated, or copied, of the wrong size.
func (w *workshop) blocks(f *function) {
	s := w.s
	for _, st := range f.stmts {
		for i := st.from; i < st.to; i++ {
			call := s.at(i)
			if s.at(i+1) != "(" {
				continue
			}
			var by string
			switch call {
			case "malloc", "calloc":
				by = " - 8"
			case "memcpy", "memset":
				by = " + 16"
			default:
				continue
			}
			end := closing(s.toks, i+1)
			last := end // the last argument
			for k, depth := i+2, 0; k < end; k++ {
				switch s.at(k) {
				case "(", "[":
					depth++
				case ")", "]":
					depth--
				case ",":
					if depth == 0 {
						last = k + 1
					}
				}
			}
			if last == end {
				last = i + 2
			}
			arg := s.code(last, end)
			w.all[overrun] = append(w.all[overrun], &mutant{
				Kind: overrun, Function: f.name, Line: st.line, Was: s.code(st.from, st.to),
				Is: s.code(st.from, last) + arg + by + s.code(end, st.to), True: []int{st.line},
				edits: []edit{{s.toks[last].from, s.toks[end-1].to, "⟪" + arg + by + "⟫" + arg + "⟫"}},
			})
		}
	}
}

// updates forgets the calls of functions that bring a member up to date.
func (w *workshop) updates(f *function) {
	s := w.s
	for _, st := range f.stmts {
		if st.kind != exprStmt || s.at(st.from+1) != "(" || closing(s.toks, st.from+1) != st.to-2 {
			continue
		}
		i := slices.IndexFunc(s.funcs, func(g function) bool { return g.name == s.at(st.from) })
		if i < 0 {
			continue
		}
		g := &s.funcs[i]
		if x := s.stores(g); len(x) == 1 && !x[0].field.pointer {
			w.instead(missedUpdate, f, st, "")
		}
	}
}

func sorted(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
