// Package render draws memory graphs as SVG and DOT.
//
// A [Graph] is a drawing in plain data: nodes with fields, edges, and marks
// that say what to bring out. [Snapshot] makes one from a memory graph at a
// time, [Evolution] a sequence of them in which nothing moves, [History] the
// MG++ itself with timestamps and statements (thesis figure 3.1). The layout is
// Graphviz's.
//
//	g := render.Snapshot(graph, view, render.Options{Around: broken})
//	err := render.SVG(ctx, w, g)
//
// What a mark means is the caller's business: the package knows neither
// constraints nor suspects.
package render
