// Package eval evaluates a checked specification on memory graphs: which
// instances of which constraints are broken, at any time, and why. It also
// says when to look (Schedule, the C-points), turns calls into memberships of
// intrusive structures (Members), and finds memory faults.
//
//	g := graph.New(spec, history, typing, graph.Options{})
//	c := eval.NewChecker(spec, history, g, eval.Options{})
//	s := eval.NewSchedule(spec, program)
//	for each event {
//		history.Apply(event)
//		for _, p := range s.Event(event, history.Now()) {
//			for _, inc := range c.Check(history.Now(), p.For) {
//				fmt.Println(c.Label(inc.Instance), inc.Reason)
//			}
//		}
//	}
//
// Logic is three-valued, and every undefined value knows why (language.md,
// "Undefined"). Check goes forward and re-evaluates only what the operations in
// between concern; All evaluates from scratch; both always agree. As a Model a
// Checker answers for any time and for hypothetical views.
//
// What it does not do: it blames nobody (package faultloc does), and knows no
// source files. docs/design/checking.md tells how it works.
package eval
