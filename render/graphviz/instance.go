package graphviz

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/api"
)

// An instance is a Graphviz for one graph. Nothing in it is freed: its memory goes
// with it. Of several errors it keeps the first; what is called after that does
// nothing.
type instance struct {
	ctx context.Context
	m   api.Module
	err error
}

// addr is an address in the instance's memory.
type addr = uint64

// quiet is Graphviz's AGMAX: errors are kept, and not written to standard error.
const quiet = 2

func (g *instance) draw(dot []byte, format Format) []byte {
	g.call("setError", quiet)
	gvc := g.call("getContextWithPlugins", g.plugins(), 1)
	graph := g.call("memRead", g.text(string(dot)))
	g.check(graph != 0)
	g.check(g.call("Context_layout", gvc, graph, g.text("dot")) == 0)
	out, size := g.alloc(4), g.alloc(4)
	g.check(g.call("Context_renderData", gvc, graph, g.text(string(format)), out, size) == 0)
	return g.stringAt(g.word(out))
}

// plugins is the list of Graphviz's own plug-ins, with its end. The list that it
// offers has none. A slice is its length and the address of its elements, each of
// which takes 8 bytes.
func (g *instance) plugins() addr {
	own := g.call("SymList_default")
	n := g.word(own)
	list, elements := g.alloc(8), g.alloc(8*(n+1))
	g.setWord(list, n+1)
	g.setWord(list+4, elements)
	for i := range n {
		g.setWord(elements+8*i, g.word(g.word(own+4)+8*i))
	}
	g.setWord(elements+8*n, g.call("SymList_zero"))
	return list
}

// check fails with Graphviz's own error unless ok.
func (g *instance) check(ok bool) {
	if g.err != nil || ok {
		return
	}
	text := strings.TrimSpace(string(g.stringAt(g.call("lastError"))))
	if text == "" {
		text = "no reason given"
	}
	g.fail(errors.New(text))
}

// call calls a function of go-graphviz's bridge: its last argument is where to store
// the result.
func (g *instance) call(name string, args ...uint64) addr {
	result := g.alloc(4)
	g.raw("wasm_bridge_"+name, append(args, result)...)
	return g.word(result)
}

func (g *instance) raw(name string, args ...uint64) []uint64 {
	if g.err != nil {
		return nil
	}
	f := g.m.ExportedFunction(name)
	if f == nil {
		g.fail(fmt.Errorf("graphviz.wasm has no function %s", name))
		return nil
	}
	out, err := f.Call(g.ctx, args...)
	g.fail(err)
	return out
}

func (g *instance) alloc(n uint64) addr {
	out := g.raw("malloc", n)
	if g.err != nil {
		return 0
	}
	if out[0] == 0 {
		g.fail(fmt.Errorf("graphviz is out of memory for %d bytes", n))
	}
	return out[0]
}

func (g *instance) text(s string) addr {
	p := g.alloc(uint64(len(s)) + 1)
	if g.err == nil && !(g.m.Memory().WriteString(uint32(p), s) && g.m.Memory().WriteByte(uint32(p)+uint32(len(s)), 0)) {
		g.outside(p)
	}
	return p
}

// stringAt reads a string of go-graphviz's bridge: address and length.
func (g *instance) stringAt(p addr) []byte {
	data, size := g.word(p), g.word(p+4)
	if g.err != nil {
		return nil
	}
	b, ok := g.m.Memory().Read(uint32(data), uint32(size))
	if !ok {
		g.outside(data)
	}
	return append([]byte(nil), b...)
}

func (g *instance) word(p addr) uint64 {
	if g.err != nil {
		return 0
	}
	v, ok := g.m.Memory().ReadUint32Le(uint32(p))
	if !ok {
		g.outside(p)
	}
	return uint64(v)
}

func (g *instance) setWord(p addr, v uint64) {
	if g.err == nil && !g.m.Memory().WriteUint32Le(uint32(p), uint32(v)) {
		g.outside(p)
	}
}

func (g *instance) outside(p addr) {
	g.fail(fmt.Errorf("graphviz: address %#x is outside of its memory", p))
}

func (g *instance) fail(err error) {
	if g.err == nil {
		g.err = err
	}
}
