// Package graphviz draws a graph in Graphviz's language: it holds Graphviz 12.1.2 as
// WebAssembly, and starts it when the first picture is drawn.
//
//	svg, err := graphviz.Draw(ctx, []byte("digraph { a -> b }"), graphviz.SVG)
//
// The module is that of github.com/goccy/go-graphviz, unchanged (`go generate` takes
// it from there, and a test compares them). The library itself is not linked: it
// starts Graphviz when its package is initialised, which costs every process 40 ms,
// and keeps its compiled code where all users of a machine share it.
//
// It does not read or write files but for the cache of compiled code, which is this
// user's own.
package graphviz

//go:generate sh -c "install -m 644 $(go list -m -f {{.Dir}} github.com/goccy/go-graphviz)/internal/wasm/graphviz.wasm graphviz.wasm"
