package main

import "slices"

// maxApart is how many statements away from what is missing a place is that tells where.
const maxApart = 2

// around returns the lines of the statements that may run next to st in its function: at
// most two away, before it or behind it.
func (s *source) around(f *function, st statement) []int {
	w := &wiring{s: s, f: f, behind: make([][]int, len(f.stmts))}
	for i, exits := f.from, []int(nil); i < f.to; {
		i, exits = w.statement(i, exits)
	}
	before := make([][]int, len(f.stmts))
	for from, list := range w.behind {
		for _, to := range list {
			before[to] = append(before[to], from)
		}
	}
	here := w.index(st.from)
	var lines []int
	for _, edges := range [][][]int{before, w.behind} {
		for _, k := range near(here, edges) {
			if k != here && !slices.Contains(lines, f.stmts[k].line) {
				lines = append(lines, f.stmts[k].line)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// wiring finds out which statements of a function may run right behind which. What stands
// behind a continue counts as if it ran.
type wiring struct {
	s      *source
	f      *function
	behind [][]int // by index of a statement
	breaks []int   // of the innermost loop or switch
	head   int     // of the innermost switch
}

// index is that of the statement which begins at a token, -1 if none does.
func (w *wiring) index(from int) int {
	return slices.IndexFunc(w.f.stmts, func(st statement) bool { return st.from == from })
}

// node links the statement at a token behind others.
func (w *wiring) node(i int, entries []int) int {
	k := w.index(i)
	for _, e := range entries {
		w.behind[e] = append(w.behind[e], k)
	}
	return k
}

// statement links the statement that begins at token i, entered from others. It returns
// the token behind it, and from where it is left.
func (w *wiring) statement(i int, entries []int) (next int, exits []int) {
	s := w.s
	switch s.at(i) {
	case "{":
		i++
		for exits = entries; s.at(i) != "}"; {
			i, exits = w.statement(i, exits)
		}
		return i + 1, exits
	case "if":
		k := w.node(i, entries)
		next, exits = w.statement(closing(s.toks, i+1)+1, []int{k})
		if s.at(next) != "else" {
			return next, append(exits, k)
		}
		next, other := w.statement(next+1, []int{k})
		return next, append(exits, other...)
	case "for", "while":
		k := w.node(i, entries)
		outer := w.breaks
		w.breaks = nil
		next, exits = w.statement(closing(s.toks, i+1)+1, []int{k})
		for _, e := range exits {
			w.behind[e] = append(w.behind[e], k)
		}
		exits, w.breaks = append(w.breaks, k), outer
		return next, exits
	case "switch":
		k := w.node(i, entries)
		outer, head := w.breaks, w.head
		w.breaks, w.head = nil, k
		next, exits = w.statement(closing(s.toks, i+1)+1, nil)
		exits, w.breaks, w.head = append(exits, append(w.breaks, k)...), outer, head
		return next, exits
	case "case", "default":
		return w.labelled(i, append(slices.Clone(entries), w.head))
	case "do":
		outer := w.breaks
		w.breaks = nil
		next, exits = w.statement(i+1, entries)
		k := w.node(next, exits) // its while
		first := slices.IndexFunc(w.f.stmts, func(st statement) bool { return st.from > i })
		w.behind[k] = append(w.behind[k], first)
		exits, w.breaks = append(w.breaks, k), outer
		return closing(s.toks, next+1) + 2, exits
	}
	if s.labelled(i) {
		return w.labelled(i, entries)
	}
	k := w.node(i, entries)
	next = w.f.stmts[k].to
	switch s.at(i) {
	case "return", "goto":
		return next, nil
	case "break":
		w.breaks = append(w.breaks, k)
		return next, nil
	}
	return next, []int{k}
}

// labelled links what stands behind a label, which may be nothing.
func (w *wiring) labelled(i int, entries []int) (next int, exits []int) {
	if next = w.s.behindLabel(i); w.s.at(next) == "}" {
		return next, entries
	}
	return w.statement(next, entries)
}

// near returns the statements, by index, that may run at most maxApart away from one, along
// edges.
func near(from int, edges [][]int) []int {
	out := []int{from}
	begin := 0
	for range maxApart {
		end := len(out)
		for _, k := range out[begin:end] {
			for _, to := range edges[k] {
				if !slices.Contains(out, to) {
					out = append(out, to)
				}
			}
		}
		begin = end
	}
	return out
}
