package evidence

import "mgtrace/types"

// kind classifies a value.
type kind uint8

const (
	unknown kind = iota
	fresh        // the new pointer
	pointer      // a pointer to an object of type to
	number       // an integer
	place        // the address of a stack slot
)

// value is what is known of a register or stack slot: its kind, plus off, plus
// some unknown multiple of stride (0: exactly off).
type value struct {
	kind   kind
	to     *types.Type // pointer
	off    int64       // bytes behind the pointer; number: the number
	stride int64
	call   uint64 // unknown: the result of the call that returns here, 0 if it is none
	frame  bool   // place: off is relative to the frame pointer, see slotKey
}

func (v value) isFresh() bool { return v.kind == fresh && v.stride == 0 }

// anyNumber returns an integer of which nothing is known.
func anyNumber() value { return value{kind: number, stride: 1} }

// sure reports whether v is better than what the declared type of the variable
// that holds it says.
func (v value) sure() bool {
	return v.kind == fresh || v.kind != unknown && v.kind != place && v.stride == 0
}

func constant(n int64) value { return value{kind: number, off: n} }

func (v value) exact() (int64, bool) { return v.off, v.kind == number && v.stride == 0 }

// add returns v + w. What is unknown counts as an integer when added to a pointer.
func add(v, w value) value {
	if v.kind == number || v.kind == unknown {
		v, w = w, v
	}
	if w.kind == unknown {
		w = anyNumber()
	}
	if v.kind == unknown || w.kind != number {
		return value{}
	}
	v.off += w.off
	v.stride = gcd(v.stride, w.stride)
	return v
}

// scale returns v × n.
func scale(v value, n int64) value {
	switch v.kind {
	case number:
		return value{kind: number, off: v.off * n, stride: v.stride * n}
	case unknown:
		return value{kind: number, stride: n}
	}
	return value{}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// slotKey names a stack slot: by its place relative to the stack pointer at
// the start of the walk, or to the frame pointer.
type slotKey struct {
	frame bool
	off   int64
}

type slot struct {
	key slotKey
	v   value
}

// maxSlots is how many stack slots are remembered.
const maxSlots = 32

// state is what is known at a program point. Registers are numbered as in
// x86-64 instructions: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi.
type state struct {
	reg    [16]value
	slots  []slot
	sp     int64 // stack pointer, relative to that at the call
	stored bool  // the instruction before stored the new pointer in the last of slots
	test   int8  // register that the flags compare with NULL, -1 if none
}

func (s *state) clone() state {
	c := *s
	c.slots = append([]slot(nil), s.slots...)
	return c
}

func (s *state) load(k slotKey) value {
	for _, x := range s.slots {
		if x.key == k {
			return x.v
		}
	}
	return value{}
}

// store writes size bytes to a slot; whatever they overlap is forgotten.
func (s *state) store(k slotKey, v value, size int64) {
	kept := s.slots[:0]
	for _, x := range s.slots {
		if x.key.frame != k.frame || x.key.off+8 <= k.off || k.off+size <= x.key.off {
			kept = append(kept, x)
		}
	}
	s.slots = kept
	s.stored = false
	if v.kind != unknown && size == 8 && len(s.slots) < maxSlots {
		s.slots = append(s.slots, slot{k, v})
		s.stored = v.kind == fresh
	}
}

// learn: what a call returned is a pointer to t.
func (s *state) learn(call uint64, t *types.Type) {
	for r := range s.reg {
		if s.reg[r].call == call {
			s.reg[r] = value{kind: pointer, to: t}
		}
	}
}

// loseStack: the stack pointer moved who knows where, in any case far away from
// what was stored by it. What was stored by the frame pointer stays.
func (s *state) loseStack() {
	kept := s.slots[:0]
	for _, x := range s.slots {
		if x.key.frame {
			kept = append(kept, x)
		}
	}
	s.slots, s.stored = kept, false
	s.sp += 1 << 40
}

// hasFresh reports whether the new pointer is still anywhere.
func (s *state) hasFresh() bool {
	for _, v := range s.reg {
		if v.kind == fresh {
			return true
		}
	}
	for _, x := range s.slots {
		if x.v.kind == fresh {
			return true
		}
	}
	return false
}

// key identifies where the new pointer is, to tell whether a program point was
// reached like this before.
func (s *state) key() string {
	b := make([]byte, 0, 64)
	for i, v := range s.reg {
		if v.kind == fresh {
			b = append(b, byte(i), byte(v.off), byte(v.off>>8), byte(v.stride))
		}
	}
	for _, x := range s.slots {
		if x.v.kind == fresh {
			b = append(b, 's', byte(x.key.off), byte(x.key.off>>8), byte(x.key.off>>16), byte(x.v.off))
		}
	}
	return string(b)
}
