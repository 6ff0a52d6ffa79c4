package flow

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"mgtrace/trace"
)

// check says what is wrong with a block.
func (b *Block) check() error {
	if len(b.Insts) == 0 || len(b.Insts) > maxInsts || len(b.Code) > maxCode {
		return fmt.Errorf("%d instructions, %d bytes", len(b.Insts), len(b.Code))
	}
	off, access := 0, 0
	for i, n := range b.Insts {
		if int(n.Off) != off || int(n.Access) != access || n.Len == 0 {
			return fmt.Errorf("its instruction %d does not follow the one before", i)
		}
		off += int(n.Len)
		access += int(n.NMem)
	}
	if off != len(b.Code) || access != len(b.Accesses) {
		return fmt.Errorf("its instructions have %d bytes of %d and %d accesses of %d", off, len(b.Code), access, len(b.Accesses))
	}
	if access > 1<<16-2 {
		return fmt.Errorf("%d accesses", access)
	}
	if b.Derived == nil {
		return nil
	}
	if len(b.Derived) != access {
		return fmt.Errorf("it says of %d accesses of %d what follows", len(b.Derived), access)
	}
	for i, d := range b.Derived {
		if int(d.Of) > i && d.Of != Absolute {
			return fmt.Errorf("its access %d follows from %d", i, d.Of)
		}
		if int(d.Of) != i && b.Accesses[i].Size == 0 {
			return fmt.Errorf("the address of its access %d follows, its size does not", i)
		}
	}
	return nil
}

// How an access's Derivation is coded: one of these, or derivedOf plus the distance to
// the access that it follows from. But for derivedNot the difference follows.
const (
	derivedNot = iota
	derivedAbsolute
	derivedOf
)

// append codes a block.
func (b *Block) append(to []byte) []byte {
	to = binary.AppendUvarint(to, uint64(b.Start))
	to = binary.AppendUvarint(to, uint64(len(b.Insts)))
	for _, n := range b.Insts {
		to = append(to, n.Len, n.NMem)
	}
	for _, a := range b.Accesses {
		to = append(binary.AppendUvarint(to, uint64(a.Size)), byte(a.Flags))
	}
	if b.Derived == nil {
		return append(append(to, 0), b.Code...)
	}
	to = append(to, 1)
	for i, d := range b.Derived {
		code := uint64(derivedAbsolute)
		switch {
		case int(d.Of) == i:
			to = append(to, derivedNot)
			continue
		case d.Of != Absolute:
			code = derivedOf - 1 + uint64(i-int(d.Of))
		}
		to = binary.AppendUvarint(binary.AppendUvarint(to, code), zigzag(d.Add))
	}
	return append(to, b.Code...)
}

// derivations is the inverse of what append does with Derived.
func (c *cursor) derivations(accesses int) []Derivation {
	ds := make([]Derivation, accesses)
	for i := range ds {
		ds[i].Of = uint16(i)
		code := c.number()
		if code == derivedNot {
			continue
		}
		ds[i].Add = unzigzag(c.number())
		switch back := code - derivedOf + 1; {
		case code == derivedAbsolute:
			ds[i].Of = Absolute
		case back > uint64(i):
			c.bad = true
		default:
			ds[i].Of = uint16(uint64(i) - back)
		}
	}
	return ds
}

// block is the inverse of append.
func (c *cursor) block() (b Block) {
	b.Start = trace.Addr(c.number())
	n := c.number()
	if n > maxInsts || n > uint64(len(c.buf)) {
		c.bad = true
		return b
	}
	b.Insts = make([]Inst, n)
	off, access := 0, 0
	for i := range b.Insts {
		in := Inst{Off: uint16(off), Access: uint16(access), Len: c.byte(), NMem: c.byte()}
		b.Insts[i] = in
		off += int(in.Len)
		access += int(in.NMem)
	}
	if access > len(c.buf) || off > len(c.buf) {
		c.bad = true
		return b
	}
	b.Accesses = make([]Access, access)
	for i := range b.Accesses {
		size := c.number()
		b.Accesses[i] = Access{Size: uint16(size), Flags: AccessFlags(c.byte())}
		c.bad = c.bad || size > 1<<16-1
	}
	switch c.byte() {
	case 0:
	case 1:
		b.Derived = c.derivations(access)
	default:
		c.bad = true
	}
	b.Code = append([]byte(nil), c.take(uint64(off))...)
	return b
}

// appendOther codes a record that is no execution.
func appendOther(b []byte, r *Record) ([]byte, error) {
	b = append(b, byte(r.Kind), byte(r.Cause))
	for _, v := range [...]uint64{uint64(r.Thread), r.Number, uint64(r.PC), uint64(r.Handler), r.Size} {
		b = binary.AppendUvarint(b, v)
	}
	b = append(binary.AppendUvarint(b, uint64(len(r.Why))), r.Why...)
	b = binary.AppendUvarint(b, uint64(len(r.Mem)))
	prev := uint64(0)
	for _, m := range r.Mem {
		b = binary.AppendUvarint(b, zigzag(uint64(m.Addr)-prev))
		b = binary.AppendUvarint(b, uint64(m.Size))
		prev = uint64(m.Addr)
	}
	var module []byte
	if r.Module != nil {
		var err error
		if module, err = json.Marshal(r.Module); err != nil {
			return nil, err
		}
	}
	return append(binary.AppendUvarint(b, uint64(len(module))), module...), nil
}

// other is the inverse of appendOther. It appends what it finds to mem.
func (c *cursor) other(r *Record, mem []Mem) []Mem {
	r.Kind, r.Cause = Kind(c.byte()), Cause(c.byte())
	r.Thread = trace.ThreadID(c.number())
	r.Number, r.PC, r.Handler, r.Size = c.number(), trace.Addr(c.number()), trace.Addr(c.number()), c.number()
	r.Why = string(c.take(c.number()))
	n := c.number()
	if n > uint64(len(c.buf)) || r.Kind <= Exec || r.Kind >= kindEnd {
		c.bad = true
		return mem
	}
	at, prev := len(mem), uint64(0)
	for range n {
		prev += unzigzag(c.number())
		mem = append(mem, Mem{trace.Addr(prev), uint32(c.number())})
	}
	r.Mem = mem[at:len(mem):len(mem)]
	if module := c.take(c.number()); len(module) > 0 {
		r.Module = new(trace.Module)
		if json.Unmarshal(module, r.Module) != nil {
			c.bad = true
		}
	}
	if (r.Module != nil) != (r.Kind == Map) {
		c.bad = true
	}
	return mem
}

// cursor reads numbers. A read beyond the end sets bad and gives zeros.
type cursor struct {
	buf []byte
	bad bool
}

func (c *cursor) byte() byte {
	if len(c.buf) == 0 {
		c.bad = true
		return 0
	}
	v := c.buf[0]
	c.buf = c.buf[1:]
	return v
}

func (c *cursor) number() uint64 {
	if len(c.buf) > 0 && c.buf[0] < 0x80 {
		v := c.buf[0]
		c.buf = c.buf[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(c.buf)
	if n <= 0 {
		c.bad, c.buf = true, nil
		return 0
	}
	c.buf = c.buf[n:]
	return v
}

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.buf)) {
		c.bad, c.buf = true, nil
		return nil
	}
	v := c.buf[:n:n]
	c.buf = c.buf[n:]
	return v
}

var errEnd = errors.New("it ends too early, or too late") // read-only
