package native

import (
	"mgtrace/flow"
	"mgtrace/mgpp/infer"
	"mgtrace/trace"
	"mgtrace/x86"
)

// value is what is known of one.
type value struct {
	known  bool
	v      uint64
	rooted bool
	root   uint64 // the address that it was computed from
	born   *birth // instead of root: it was computed from what a call returned…
	exact  bool   // …and is that and off
	off    uint64
}

// birth is what a call returned.
type birth struct {
	at    infer.Moment
	given bool   // it is a new block
	moved uint64 // that was at this address before; 0: it was none
	// known: the call returned addr.
	known bool
	addr  uint64
	// rooted: what is computed from it is taken to be computed from root: from addr, or
	// from where it was first accessed if that is known earlier.
	rooted bool
	root   uint64
}

// returned is the value that a call returned, of which v is known.
func (f *Feed) returned(v value, b *birth) value {
	out := value{born: b, exact: true}
	if v.known {
		f.learn(&out, v.v)
	}
	return out
}

// learn takes what a value is.
func (f *Feed) learn(v *value, is uint64) {
	v.known, v.v = true, is
	if b := v.born; b != nil && v.exact && !b.known {
		b.known, b.addr = true, is-v.off
		f.takeRoot(b, b.addr)
	}
}

// takeRoot takes the first address of what a call returned.
func (f *Feed) takeRoot(b *birth, is uint64) {
	if b.rooted {
		return
	}
	b.rooted, b.root = true, is
	if a := trace.Addr(is); b.given && f.o.Heap(a) {
		if b.moved != 0 {
			f.g.Move(trace.Addr(b.moved), a, b.at)
		} else {
			f.g.Begin(a, b.at)
		}
	}
}

// resolve completes a value from what has been learnt of the call that returned it.
func resolve(v *value) value {
	if b := v.born; b != nil && b.known && v.exact && !v.known {
		v.known, v.v = true, b.addr+v.off
	}
	return *v
}

// rootOf is the address that a value was computed from, if it is known.
func (v *value) rootOf() (uint64, bool) {
	if v.born != nil {
		return v.born.root, v.born.rooted
	}
	return v.root, v.rooted
}

// better says that a value is more likely to be an address than another one with which it
// is added: one that was computed from a heap address, or from what an allocator returned,
// than one from what another call did, than any other.
func (f *Feed) better(v, than *value) bool {
	rank := func(v *value) int {
		switch root, ok := v.rootOf(); {
		case ok && f.o.Heap(trace.Addr(root)), v.born != nil && v.born.given:
			return 2
		case v.born != nil && !ok:
			return 1
		}
		return 0
	}
	return rank(v) > rank(than)
}

// get is the value of a place.
func (f *Feed) get(t *thread, p x86.Place, mems []flow.Mem) value {
	switch p.Kind {
	case x86.InGeneral:
		return resolve(&t.general[p.Reg&15])
	case x86.InVector:
		return resolve(&t.vector[p.Reg&31][p.Word&7])
	case x86.InMemory:
		if int(p.Reg) < len(mems) {
			if v, ok := f.memory[uint64(mems[p.Reg].Addr)+8*uint64(p.Word)]; ok {
				return resolve(&v)
			}
		}
	}
	return value{}
}

// sum is the value of A + B×Scale + Const.
func (f *Feed) sum(t *thread, d *x86.Derived, mems []flow.Mem) value {
	v := f.get(t, d.A, mems)
	if d.B.Kind != x86.NoPlace {
		if b := f.get(t, d.B, mems); d.Scale <= 1 && f.better(&b, &v) {
			v = b
		}
		v.known, v.exact = false, false // the number is not known
	}
	v.v += uint64(d.Const)
	v.off += uint64(d.Const)
	return v
}

// remember keeps a stored value. Of one that own code stores it is known what it was
// computed from when it is loaded again; where the allocator may be that code, only on
// the stack: what lies elsewhere is a pointer, which points to the head of a node
// (thesis 3.2.1).
func (f *Feed) remember(a trace.Addr, v value, own bool) {
	if a%8 != 0 || !v.known && v.born == nil {
		return
	}
	if len(f.o.Allocators) == 0 && !f.onStack(a) || !own && v.born == nil {
		if !v.known {
			return
		}
		v = value{known: true, v: v.v, rooted: true, root: v.v}
	}
	f.memory[uint64(a)] = v
}

func (f *Feed) onStack(a trace.Addr) bool {
	return !f.o.Heap(a) && (f.o.Static == nil || !f.o.Static(a))
}

// forget is for memory that has been written.
func (f *Feed) forget(m flow.Mem) {
	if uint64(m.Size) > 8*uint64(len(f.memory)) {
		for a := range f.memory {
			if a+8 > uint64(m.Addr) && a < uint64(m.Addr)+uint64(m.Size) {
				delete(f.memory, a)
			}
		}
		return
	}
	for a := uint64(m.Addr) &^ 7; a < uint64(m.Addr)+uint64(m.Size); a += 8 {
		delete(f.memory, a)
	}
}
