// Package graph lays types over a history: it knows which memory is a node of
// which declared type, which of its words are edges, and where they lead, at
// any time.
//
// A Graph follows a growing history. Advance takes over the operations that
// are new since the last call, so the same code serves a finished recording
// and a program that still runs:
//
//	g := graph.New(spec, history, typing, graph.Options{})
//	g.Advance()
//	v := history.At(t)
//	for _, o := range g.Live(spec.Types[0], t, nil) {
//		for _, e := range g.In(v, o) {
//			fmt.Println(g.Name(e.From), "->", g.Name(o))
//		}
//	}
//
// Objects are heap blocks typed by Typing, members embedded in them, members
// entered by watched functions, and declared globals. Each object keeps the
// pointers that led to it, with the time from which and until which they did;
// its in-degree at any time therefore costs its own in-edges and not the graph.
//
// What pointers do between two checks may be put off (Defer). As soon as somebody asks for other
// times than the present and that of the last check, the graph is made anew with all of them (Exact).
//
// Of a program's changes few concern a specification. SetReads says which bytes
// do; Advance passes the others by without asking the history where they lie, and
// notes for the next Between what the rest touched (Follow).
//
// Invariants: an object's slots are its cells as of Now, but for what is put off. Bytes that SetReads leaves
// out are in no cell, and are read only by pointers that lead into the middle of an
// object, from which on all of its bytes count.
//
// Views may be hypothetical (Overlay): then the cells that differ are resolved
// on the view, everything else as in the history. Births and deaths are those
// of the history in every view.
//
// What it does not do: it evaluates no expressions. Conditional cells
// ("cells T: child[0..n] if leaf == 0") and elements of an array that are not in use
// (of a std::vector, those behind its last) are filtered by whoever can, see Uses. A sentinel that a field names ("nil T.sentinel") is an
// object like any other here; package eval makes it NULL.
package graph
