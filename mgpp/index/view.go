package index

import (
	"encoding/binary"
	"slices"

	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// view is the memory graph at a time.
type view struct {
	x *Index
	t uint64
}

// At returns the memory graph at t. Times after Now are Now.
func (x *Index) At(t mgpp.Timestamp) mgpp.View { return &view{x, uint64(min(t, x.d.Now))} }

func (v *view) Time() mgpp.Timestamp { return mgpp.Timestamp(v.t) }

func (v *view) Node(id mgpp.NodeID) (mgpp.Node, bool) {
	n, ok := v.x.node(id)
	if !ok || !n.alive(v.t) {
		return mgpp.Node{}, false
	}
	if v.x.lasting(&n) { // its bytes are asked for next
		v.x.latest = n
	}
	return v.x.nodeAt(&n, v.t), true
}

func (v *view) NodeAt(addr trace.Addr) (mgpp.NodeID, bool) {
	n, ok := v.x.liveAt(uint64(addr), v.t)
	return n.id, ok
}

// Read fills b. Its Newest is not older than the newest of the bytes, but it may be
// that of bytes beside them in the same words.
func (v *view) Read(addr trace.Addr, b *mgpp.Bytes) bool {
	v.x.times = slices.Grow(v.x.times[:0], len(b.Data))[:len(b.Data)]
	return v.x.read(uint64(addr), b, v.t, v.x.times, false)
}

// read reads from the live node at addr. times receives when each byte was stored,
// moves not counted; exactly, if that is wanted.
func (x *Index) read(addr uint64, b *mgpp.Bytes, t uint64, times []uint64, exact bool) bool {
	n, ok := x.liveAt(addr, t)
	if !ok {
		return false
	}
	if k := uint64(len(b.Data)); k > 1 && !x.holds(&n, addr+k-1, t) {
		return false
	}
	b.Written = slices.Grow(b.Written[:0], len(b.Data))[:len(b.Data)]
	x.readNode(n, addr-n.start, b.Data, b.Written, times, t, exact)
	b.Newest = 0
	for _, at := range times {
		b.Newest = max(b.Newest, mgpp.Timestamp(at))
	}
	return true
}

// readNode reads bytes of a node from an offset on, at t.
func (x *Index) readNode(n node, off uint64, data []byte, written []bool, times []uint64, t uint64, exact bool) {
	addr := n.start + off
	end := addr + uint64(len(data))
	for w := addr >> 3; w<<3 < end; w++ {
		word := wordReader{x: x, n: n, t: t, word: w, addr: addr, want: rangeMask(w<<3, addr, end), data: data, written: written, times: times, exact: exact}
		word.read()
	}
}

// wordReader reads bytes of one word.
type wordReader struct {
	x          *Index
	n          node
	t          uint64
	word, addr uint64
	want       uint8 // bytes that have no answer yet
	data       []byte
	written    []bool
	times      []uint64
	exact      bool
	long       uint64 // the newest long write of the word, since the node began; 0: none
}

// read goes back through what was written until each byte has an answer. What a chunk
// left is in the row of the word; where that says too little, the chunk is decoded. If that of
// t is decoded, it is asked instead. What is older than a long
// write ends it.
func (r *wordReader) read() {
	x := r.x
	if r.t > 0 {
		now := x.chunkOf(r.t)
		if r.long = x.lastLong(r.word<<3, 8, r.t); r.long < r.n.birth {
			r.long = 0
		}
		before := now + 1
		if p := x.decoded(r.t); p != nil {
			if !r.fromPart(p) {
				return
			}
			before = now
		}
		x.leftBefore(r.word, before, func(c left) bool {
			if c.chunk < now && c.time < r.n.birth || c.time < r.long {
				return false
			}
			if c.touched&r.want == 0 {
				return true
			}
			// What the chunk of t left is what was there at t if nothing has been
			// written since, and no block may have begun there.
			later := c.chunk == now && (c.time > r.t || c.touched&^c.own != 0)
			// A row has the time of its newest byte.
			mixed := r.exact && c.touched&^r.want != 0 || r.n.is(bitResized)
			if later || mixed {
				return r.fromPart(x.part(c.chunk, r.t))
			}
			r.take(c.own, c.known, c.value, c.time)
			r.unversioned(c.touched &^ c.own)
			return r.want != 0
		})
	}
	r.fromLong()
	r.unversioned(r.want)
}

// fromLong answers what a long write has written.
func (r *wordReader) fromLong() {
	if r.long > 0 && r.want != 0 {
		value, known := r.x.longWord(r.long, r.word)
		r.take(0xff, known, value, r.long)
	}
}

// fromPart reads from the writes of a chunk, until t. It reports whether bytes are left
// that have no answer.
func (r *wordReader) fromPart(p *part) bool {
	return p.newest(r.word, r.t, func(c *rec) bool {
		if uint64(c.time) < r.long {
			r.fromLong()
			return false
		}
		r.take(c.mask, c.known, c.value, uint64(c.time))
		return r.want != 0
	})
}

// take answers bytes that were written at a time, unless that was before they were
// the node's.
func (r *wordReader) take(mask, known uint8, value, at uint64) {
	mask &= r.want
	for k := range uint64(8) {
		if mask>>k&1 == 0 {
			continue
		}
		a := r.word<<3 + k
		if since := r.x.since(&r.n, a-r.n.start, r.t); at < since {
			r.unversioned(1 << k)
			continue
		}
		i := a - r.addr
		r.times[i] = at
		r.data[i], r.written[i] = 0, known>>k&1 != 0
		if r.written[i] {
			r.data[i] = byte(value >> (8 * k))
		}
		r.want &^= 1 << k
	}
}

// unversioned answers bytes that nothing has written since they are the node's:
// what a realloc carried there, calloc's zeros, the image of memory, or unwritten.
func (r *wordReader) unversioned(mask uint8) {
	mask &= r.want
	r.want &^= mask
	x, n := r.x, &r.n
	for k := range uint64(8) {
		if mask>>k&1 == 0 {
			continue
		}
		a := r.word<<3 + k
		i, off := a-r.addr, a-n.start
		r.data[i], r.written[i], r.times[i] = 0, false, 0
		first := x.since(n, off, r.t) == n.birth && off < x.bornSize(n)
		switch {
		case first && n.is(bitMoved) && off < x.carriedSize(n):
			if old, ok := x.node(x.moved(n)); ok {
				x.readNode(old, off, r.data[i:i+1], r.written[i:i+1], r.times[i:i+1], old.death-1, r.exact)
			}
		case first && n.is(bitZeroed):
			r.written[i], r.times[i] = true, n.birth
		case n.is(bitFixed), first && n.is(bitBefore):
			r.data[i], r.written[i] = x.image(a)
		}
	}
}

// image returns a byte as it was before the history.
func (x *Index) image(addr uint64) (byte, bool) {
	r, ok := x.rowAt(tabImages, x.search(tabImages, addr>>3, 0))
	if !ok || r[0] != addr>>3 || r[3]>>(addr&7)&1 == 0 {
		return 0, false
	}
	return byte(r[2] >> (8 * (addr & 7))), true
}

// Target resolves a pointer.
func (v *view) Target(addr trace.Addr, as coded.Pointer) mgpp.Target {
	var data [8]byte
	var written [8]bool
	var times [8]uint64
	b := mgpp.Bytes{Data: data[:], Written: written[:]}
	if !v.x.read(uint64(addr), &b, v.t, times[:], true) || slices.Contains(b.Written, false) {
		return mgpp.Target{}
	}
	return v.x.resolve(as.Decode(binary.LittleEndian.Uint64(data[:]), uint64(addr)), slices.Max(times[:]), v.t)
}

// resolve says what a value that was stored at a time leads to at t.
func (x *Index) resolve(value, since, t uint64) mgpp.Target {
	r := mgpp.Target{State: mgpp.Null, Value: value, Since: mgpp.Timestamp(since)}
	if value == 0 {
		return r
	}
	n, ok := x.liveAt(value, since)
	if !ok {
		r.State = mgpp.Wild
		if past, ok := x.liveAt(value-1, since); ok {
			r.Past = past.id
		} else if f, ok := x.formerAt(value, since); ok {
			r.State, r.Node, r.Offset = mgpp.Dangling, f.id, value-f.start
			r.Reused = x.reused(value, t)
		}
		return r
	}
	switch {
	case !n.alive(t):
		r.State, r.Node, r.Offset, r.Reused = mgpp.Dangling, n.id, value-n.start, x.reused(value, t)
	case !x.holds(&n, value, t):
		r.State, r.Past = mgpp.Wild, n.id
	default:
		r.State, r.Node, r.Offset = mgpp.Points, n.id, value-n.start
	}
	return r
}

func (x *Index) reused(value, t uint64) mgpp.NodeID {
	n, _ := x.liveAt(value, t)
	return n.id
}
