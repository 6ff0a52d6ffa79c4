//go:build upstream

package graphviz

// Keeps the library that graphviz.wasm comes from in go.mod.
import _ "github.com/goccy/go-graphviz"
