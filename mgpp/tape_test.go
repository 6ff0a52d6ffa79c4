package mgpp

import (
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"mgtrace/trace"
)

var traces = flag.String("traces", "", "benchmark with these recorded traces too (a glob pattern)")

// tape is a recorded program: runs of plain stores, and the events between.
type tape []step

type step struct {
	event  *trace.Event
	stores []Store // before the event
}

func (t *tape) store(s Store) {
	if len(*t) == 0 || (*t)[len(*t)-1].event != nil {
		*t = append(*t, step{})
	}
	last := &(*t)[len(*t)-1]
	last.stores = append(last.stores, s)
}

func (t *tape) event(e trace.Event) {
	if len(*t) == 0 || (*t)[len(*t)-1].event != nil {
		*t = append(*t, step{})
	}
	(*t)[len(*t)-1].event = &e
}

// one gives the tape's events one by one, stores as events too.
func (t tape) one(apply func(*trace.Event)) {
	var data [8]byte
	e := trace.Event{Kind: trace.KindStore, Wall: -1}
	for _, s := range t {
		for i := range s.stores {
			x := &s.stores[i]
			binary.LittleEndian.PutUint64(data[:], x.Value)
			e.PC, e.Addr, e.Base, e.Thread, e.Flags = x.PC, x.Addr, x.Base, x.Thread, x.Flags
			e.Size, e.Data = uint64(x.Width), data[:x.Width]
			apply(&e)
		}
		if s.event != nil {
			apply(s.event)
		}
	}
}

// runs gives the tape to a history, stores as runs.
func (t tape) runs(tb testing.TB, h *History) {
	for _, s := range t {
		if _, err := h.ApplyStores(s.stores); err != nil {
			tb.Fatal(err)
		}
		if s.event != nil {
			if _, err := h.Apply(s.event); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

// program is a simulated program: a heap like malloc's, and structures that
// store into it what compiled code would.
type program struct {
	tape
	rnd   *rand.Rand
	top   uint64
	free  map[uint64][]uint64
	sizes map[uint64]uint64
	stack []trace.Addr
}

func newProgram() *program {
	return &program{
		rnd: rand.New(rand.NewPCG(7, 8)), top: 0x5555_5500_0000,
		free: map[uint64][]uint64{}, sizes: map[uint64]uint64{}, stack: []trace.Addr{0x401150, 0x401200},
	}
}

func (p *program) malloc(pc trace.Addr, size uint64) uint64 {
	class := (size + 8 + 15) &^ 15
	a := p.top
	if f := p.free[class]; len(f) > 0 {
		a, p.free[class] = f[len(f)-1], f[:len(f)-1]
	} else {
		p.top += class
	}
	p.sizes[a] = class
	p.event(trace.Event{Kind: trace.KindAlloc, Thread: 7, Wall: -1, PC: pc, Addr: trace.Addr(a + 16), Size: size, Name: "malloc", Stack: p.stack})
	return a + 16
}

func (p *program) release(pc trace.Addr, a uint64) {
	class := p.sizes[a-16]
	p.free[class] = append(p.free[class], a-16)
	p.event(trace.Event{Kind: trace.KindFree, Thread: 7, Wall: -1, PC: pc, Addr: trace.Addr(a), Name: "free"})
}

func (p *program) put(pc trace.Addr, base, off, value uint64, width uint8) {
	p.store(Store{PC: pc, Thread: 7, Addr: trace.Addr(base + off), Base: trace.Addr(base), Value: value, Width: width})
}

// treap is a search tree that is inserted into and deleted from, by recursive
// functions that store each child on the way back.
type treap struct {
	p    *program
	root *leafNode
}

type leafNode struct {
	addr        uint64
	key, prio   uint32
	left, right *leafNode
}

func (n *leafNode) at() uint64 {
	if n == nil {
		return 0
	}
	return n.addr
}

func (t *treap) setLeft(pc trace.Addr, n, to *leafNode) {
	n.left = to
	t.p.put(pc, n.addr, 8, to.at(), 8)
}

func (t *treap) setRight(pc trace.Addr, n, to *leafNode) {
	n.right = to
	t.p.put(pc, n.addr, 16, to.at(), 8)
}

func (t *treap) insert(n *leafNode, key uint32) *leafNode {
	switch {
	case n == nil:
		n = &leafNode{addr: t.p.malloc(0x401000, 40), key: key, prio: t.p.rnd.Uint32()}
		t.p.put(0x401010, n.addr, 0, uint64(key), 4)
		t.p.put(0x401014, n.addr, 4, uint64(n.prio), 4)
		t.p.put(0x401018, n.addr, 8, 0, 8)
		t.p.put(0x40101c, n.addr, 16, 0, 8)
	case key < n.key:
		t.setLeft(0x401020, n, t.insert(n.left, key))
		if l := n.left; l.prio > n.prio {
			t.setLeft(0x401030, n, l.right)
			t.setRight(0x401034, l, n)
			return l
		}
	case key > n.key:
		t.setRight(0x401040, n, t.insert(n.right, key))
		if r := n.right; r.prio > n.prio {
			t.setRight(0x401050, n, r.left)
			t.setLeft(0x401054, r, n)
			return r
		}
	}
	return n
}

func (t *treap) remove(n *leafNode, key uint32) *leafNode {
	switch {
	case n == nil:
	case key < n.key:
		t.setLeft(0x401060, n, t.remove(n.left, key))
	case key > n.key:
		t.setRight(0x401064, n, t.remove(n.right, key))
	case n.left == nil || n.right == nil:
		child := n.left
		if child == nil {
			child = n.right
		}
		t.p.release(0x401070, n.addr)
		return child
	case n.left.prio > n.right.prio:
		l := n.left
		t.setLeft(0x401080, n, l.right)
		t.setRight(0x401084, l, t.remove(n, key))
		return l
	default:
		r := n.right
		t.setRight(0x401090, n, r.left)
		t.setLeft(0x401094, r, t.remove(n, key))
		return r
	}
	return n
}

// trees inserts into and deletes from a tree of about the given size.
func trees(n int, size uint32) tape {
	p := newProgram()
	t := &treap{p: p}
	for stores := 0; stores < n; {
		before := len(p.tape)
		t.root = t.insert(t.root, p.rnd.Uint32N(2*size))
		t.root = t.remove(t.root, p.rnd.Uint32N(2*size))
		for _, s := range p.tape[max(0, before-1):] {
			stores += len(s.stores) + 1
		}
	}
	return p.tape
}

// table is a hash table of counted words: chains, keys of their own, counters
// that change again and again, and a rehash as it grows.
func table(n, keys int) tape {
	p := newProgram()
	type entry struct {
		addr, next, count uint64
	}
	entries := make([]*entry, keys)
	heads := make([]uint64, 1<<16)
	array := p.malloc(0x402000, uint64(8*len(heads)))
	for i := 0; i < n; {
		k := min(p.rnd.IntN(keys), p.rnd.IntN(keys), p.rnd.IntN(keys))
		e := entries[k]
		if e == nil {
			e = &entry{addr: p.malloc(0x402010, 32)}
			entries[k] = e
			text := p.malloc(0x402020, 12)
			for j := range uint64(9) {
				p.put(0x402024, text, j, 'a'+uint64(k)>>j&15, 1)
			}
			b := uint64(k*7919) % uint64(len(heads))
			e.next = heads[b]
			heads[b] = e.addr
			p.put(0x402030, e.addr, 0, e.next, 8)
			p.put(0x402034, e.addr, 8, text, 8)
			p.put(0x402038, e.addr, 16, uint64(k*0x9e3779b1)&0xffffffff, 4)
			p.put(0x40203c, array, 8*b, e.addr, 8)
			i += 14
		}
		e.count++
		p.put(0x402040, e.addr, 24, e.count, 8)
		i++
	}
	return p.tape
}

// matrix is floating point numbers in arrays, with a sum in one hot cell.
func matrix(n, size int) tape {
	p := newProgram()
	a := p.malloc(0x403000, uint64(8*size))
	sum := p.malloc(0x403010, 16)
	for i := range n / 2 {
		p.put(0x403020, a, uint64(8*(i*7%size)), math.Float64bits(p.rnd.Float64()), 8)
		p.put(0x403030, sum, 0, math.Float64bits(float64(i)), 8)
	}
	return p.tape
}

// queue is a list that grows at one end and is freed at the other.
func queue(n, length int) tape {
	p := newProgram()
	list := p.malloc(0x404000, 24)
	var nodes []uint64
	for i := range n / 8 {
		a := p.malloc(0x404010, 32)
		p.put(0x404020, a, 0, 0, 8)
		p.put(0x404024, a, 16, uint64(i), 8)
		if len(nodes) > 0 {
			p.put(0x404028, nodes[len(nodes)-1], 0, a, 8)
		}
		p.put(0x40402c, list, 8, a, 8)
		p.put(0x404030, list, 16, uint64(i), 4)
		nodes = append(nodes, a)
		if len(nodes) > length {
			p.put(0x404040, list, 0, nodes[1], 8)
			p.release(0x404044, nodes[0])
			nodes = nodes[1:]
		}
	}
	return p.tape
}

// record reads a recorded trace.
func record(tb testing.TB, path string) tape {
	tb.Helper()
	r, err := trace.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	var t tape
	var e trace.Event
	for err = r.Next(&e); err == nil; err = r.Next(&e) {
		if e.Kind == trace.KindStore && len(e.Data) <= 8 && int(e.Size) == len(e.Data) {
			var v [8]byte
			copy(v[:], e.Data)
			t.store(Store{PC: e.PC, Addr: e.Addr, Base: e.Base, Thread: e.Thread, Flags: e.Flags, Width: uint8(e.Size), Value: binary.LittleEndian.Uint64(v[:])})
			continue
		}
		e.Wall = -1
		e.Data, e.Stack, e.Args = slices.Clone(e.Data), slices.Clone(e.Stack), slices.Clone(e.Args)
		t.event(e)
	}
	if !errors.Is(err, io.EOF) {
		tb.Fatal(err)
	}
	return t
}

// eachProgram runs f on simulated programs and on the recorded ones.
func eachProgram(b *testing.B, f func(*testing.B, tape)) {
	for _, p := range []struct {
		name string
		make func() tape
	}{
		{"tree", func() tape { return trees(1<<22, 1000) }},
		{"tree-large", func() tape { return trees(1<<22, 100_000) }},
		{"table", func() tape { return table(1<<22, 20_000) }},
		{"table-large", func() tape { return table(1<<23, 1_000_000) }},
		{"matrix", func() tape { return matrix(1<<22, 10_000) }},
		{"queue", func() tape { return queue(1<<22, 1000) }},
	} {
		b.Run(p.name, func(b *testing.B) { f(b, p.make()) })
	}
	if *traces == "" {
		return
	}
	paths, err := filepath.Glob(*traces)
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range paths {
		b.Run(filepath.Base(path), func(b *testing.B) { f(b, record(b, path)) })
	}
}
