package graphtest

import (
	"encoding/binary"
	"strings"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/constraints/syntax"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// World is a history under construction with its graph.
type World struct {
	tb testing.TB
	H  *mgpp.History
	G  *graph.Graph
	// PC is the statement of the next events.
	PC trace.Addr
}

// Visit is where a function of that name begins, as the worlds know it.
const Visit trace.Addr = 0x5550001000

// New begins one with the types of a specification.
func New(tb testing.TB, spec string) *World {
	tb.Helper()
	s := Spec(tb, spec, nil)
	h := mgpp.New(mgpp.Options{})
	return &World{tb: tb, H: h, G: graph.New(s, h, typing{s}, graph.Options{Entry: func(addr trace.Addr) string {
		if addr == Visit {
			return "visit"
		}
		return ""
	}})}
}

// Spec parses and checks a specification. A nil program has no debug information.
func Spec(tb testing.TB, text string, prog check.Program) *check.Spec {
	tb.Helper()
	tree, errs := syntax.Parse("test.cons", text)
	if len(errs) > 0 {
		tb.Fatal(errs)
	}
	spec, errs := check.Check(tree, prog)
	for _, e := range errs {
		if !e.Warning {
			tb.Fatal(e)
		}
	}
	return spec
}

// Typing is how the worlds give blocks the types of a specification.
func Typing(s *check.Spec) graph.Typing { return typing{s} }

// typing reads the type of a block off the name of its allocator.
type typing struct{ spec *check.Spec }

func (y typing) TypeOf(n mgpp.Node) (*check.NodeType, int64, string) {
	_, name, _ := strings.Cut(n.Alloc, " ")
	for _, t := range y.spec.Types {
		if t.Name == name {
			return t, 0, "test"
		}
	}
	return nil, 0, ""
}

// Apply takes an event and returns the time after it.
func (w *World) Apply(ev trace.Event) mgpp.Timestamp {
	w.tb.Helper()
	if ev.PC == 0 {
		ev.PC = w.PC
	}
	if _, err := w.H.Apply(&ev); err != nil {
		w.tb.Fatal(err)
	}
	w.G.Advance()
	return w.H.Now()
}

// Alloc allocates a block of a type; its bytes are unwritten.
func (w *World) Alloc(typ string, at trace.Addr, size uint64) mgpp.Timestamp {
	w.tb.Helper()
	return w.Apply(trace.Event{Kind: trace.KindAlloc, Addr: at, Size: size, Name: "malloc " + typ})
}

// Free frees a block.
func (w *World) Free(at trace.Addr) mgpp.Timestamp {
	w.tb.Helper()
	return w.Apply(trace.Event{Kind: trace.KindFree, Addr: at, Name: "free"})
}

// Put stores the low size bytes of v.
func (w *World) Put(at trace.Addr, size int, v uint64) mgpp.Timestamp {
	w.tb.Helper()
	data := binary.LittleEndian.AppendUint64(nil, v)
	return w.Apply(trace.Event{Kind: trace.KindStore, Addr: at, Size: uint64(size), Data: data[:size]})
}

// Copy writes data by a library function.
func (w *World) Copy(name string, at trace.Addr, data []byte) mgpp.Timestamp {
	w.tb.Helper()
	return w.Apply(trace.Event{Kind: trace.KindBulk, Name: name, Addr: at, Size: uint64(len(data)), Data: data})
}

// Now is the graph as it is.
func (w *World) Now() mgpp.View { return w.H.At(w.H.Now()) }
