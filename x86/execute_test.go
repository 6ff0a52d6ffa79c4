//go:build linux && amd64

package x86

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// What testdata/execute.c and this file agree on.
const (
	exeCode   = 0x10000000
	exeTaken  = exeCode + 64
	exeMemory = 0x20000000 + 4096 - exeWindow
	exeWindow = 1024
	exeGS     = 0x1000

	exeState  = 192 + 832 + exeWindow // bytes of a state
	exeJob    = 64 + 2*exeState
	exeHeader = 64
	exeJobs   = 256 // at a time

	// offsets in a state
	atFlags  = 128
	atXsave  = 192
	atFCW    = atXsave
	atFSW    = atXsave + 2
	atTags   = atXsave + 4
	atMXCSR  = atXsave + 24
	atST     = atXsave + 32
	atXMM    = atXsave + 160
	atStates = atXsave + 512
	atYMM    = atXsave + 576
	atMemory = atXsave + 832
)

// machine executes single instructions.
type machine struct {
	shared []byte
	in     io.Writer
	out    io.Reader
	fs     uint64
	jobs   int
	runs   int
}

// newMachine builds the program that executes, and starts it.
func newMachine(t *testing.T) *machine {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc to execute instructions:", err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "execute")
	if out, err := exec.Command("gcc", "-O1", "-Wall", "-Werror", "-mgeneral-regs-only", "-o", program, "testdata/execute.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := os.Create(filepath.Join(dir, "jobs"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size := exeHeader + exeJobs*exeJob
	if err := f.Truncate(int64(size)); err != nil {
		t.Fatal(err)
	}
	m := &machine{}
	if m.shared, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, f.Name())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program that executes: %v", err)
		}
		syscall.Munmap(m.shared)
	})
	m.in, m.out = in, out
	if err := m.run(); err != nil {
		t.Skip("instructions can not be executed (does the processor have AVX?): ", err)
	}
	m.fs = binary.LittleEndian.Uint64(m.shared)
	return m
}

// job is one execution: the states before and after are views of the shared memory.
type job []byte

func (j job) before() state  { return state(j[64 : 64+exeState]) }
func (j job) after() state   { return state(j[64+exeState:]) }
func (j job) signal() uint32 { return binary.LittleEndian.Uint32(j[20:]) }
func (j job) taken() uint32  { return binary.LittleEndian.Uint32(j[24:]) }
func (j job) stray() bool    { return binary.LittleEndian.Uint32(j[28:]) != 0 }

// add appends an execution of code from a copy of s.
func (m *machine) add(code []byte, s state) job {
	at := exeHeader + m.jobs*exeJob
	m.jobs++
	j := job(m.shared[at : at+exeJob])
	copy(j, code)
	binary.LittleEndian.PutUint32(j[16:], uint32(len(code)))
	copy(j.before(), s)
	return j
}

// run executes what was added.
func (m *machine) run() error {
	var n, done [4]byte
	binary.LittleEndian.PutUint32(n[:], uint32(m.jobs))
	m.runs += m.jobs
	m.jobs = 0
	if _, err := m.in.Write(n[:]); err != nil {
		return err
	}
	_, err := io.ReadFull(m.out, done[:1])
	return err
}

// state is the registers and the memory.
type state []byte

func (s state) gpr(r Reg) uint64       { return binary.LittleEndian.Uint64(s[8*r:]) }
func (s state) setGPR(r Reg, v uint64) { binary.LittleEndian.PutUint64(s[8*r:], v) }
func (s state) memory() []byte         { return s[atMemory:] }

// mask is some bits of a state.
type mask struct {
	at   int
	bits byte
}

// unitMasks are the bits of a state that are a unit; none for those that the program
// can not set: the upper halves of ZMM, opmasks, segment bases, PKRU, and what is
// outside a thread.
func unitMasks(u Unit) (all []mask) {
	whole := func(at, n int) {
		for i := range n {
			all = append(all, mask{at + i, 0xff})
		}
	}
	switch {
	case u < 64:
		from := [4]int{0, 1, 2, 4}[u&3]
		whole(int(u>>2)*8+from, gprParts[u&3]-from)
	case u < 192:
		v := int(u-64) >> 2
		switch {
		case v >= 16:
		case u&3 == 3: // as far as there is AVX
			whole(atYMM+16*v, 16)
		case u&3 == 2:
			whole(atXMM+16*v+8, 8)
		default:
			whole(atXMM+16*v+4*int(u&3), 4)
		}
	case u <= UnitOF:
		bit := [...]int{0, 2, 4, 6, 7, 11}[u-UnitCF]
		all = []mask{{atFlags + bit/8, 1 << (bit % 8)}}
	case u == UnitDF:
		all = []mask{{atFlags + 1, 1 << 2}}
	case u == UnitFlags:
		all = []mask{{atFlags + 2, 1 << 5}} // ID: the others mean something to the kernel
	case u == UnitX87:
		for i := range 8 {
			whole(atST+16*i, 10)
		}
		all = append(all, mask{atFSW + 1, 7 << 3}, mask{atTags, 0xff})
	case u == UnitX87Status: // ES and B follow from the others
		all = []mask{{atFSW, 0x7f}, {atFSW + 1, 0x47}}
	case u == UnitX87Control:
		all = []mask{{atFCW + 1, 0x0f}} // with all exceptions masked
	case u == UnitMXCSR:
		all = []mask{{atMXCSR, 1 << 6}, {atMXCSR + 1, 0xe0}} // likewise
	case u == UnitMXCSRStatus:
		all = []mask{{atMXCSR, 0x3f}}
	}
	return all
}

var masksOf = func() (all [Units][]mask) {
	for u := range all {
		all[u] = unitMasks(Unit(u))
	}
	return all
}()

// executable are the units that the program can set.
var executable = func() (s RegSet) {
	for u, m := range masksOf {
		if len(m) > 0 {
			s.Add(Unit(u))
		}
	}
	return s
}()

func sameUnit(u Unit, a, b state) bool {
	for _, m := range masksOf[u] {
		if (a[m.at]^b[m.at])&m.bits != 0 {
			return false
		}
	}
	return true
}

func copyUnit(u Unit, to, from state) {
	for _, m := range masksOf[u] {
		to[m.at] = to[m.at]&^m.bits | from[m.at]&m.bits
	}
}

// randomState draws values from few, so that some are equal, and from those that
// instructions treat in ways of their own.
func randomState(r *rand.Rand, s state) {
	pool := [8]uint64{0, ^uint64(0), r.Uint64(), r.Uint64(), r.Uint64() & 0xff, 1 << 63, r.Uint64() >> 32, uint64(r.IntN(70))}
	floats := [8]uint64{0x3ff0000000000000, 0x4008000000000000, 0x7ff8000000000000, 0x3f800000bf800000, 0x4048f5c3c048f5c3, 0xc000000000000000, 1, 0x7fefffffffffffff}
	word := func() uint64 {
		switch k := r.IntN(20); {
		case k < 8:
			return pool[k]
		case k < 13:
			return r.Uint64()
		case k < 18:
			return floats[r.IntN(8)]
		}
		return pool[2]
	}
	for i := 0; i+8 <= len(s); i += 8 {
		binary.LittleEndian.PutUint64(s[i:], word())
	}
	flags := uint64(2 | r.IntN(2)*1 | r.IntN(2)<<2 | r.IntN(2)<<4 | r.IntN(2)<<6 | r.IntN(2)<<7 | r.IntN(2)<<10 | r.IntN(2)<<11 | r.IntN(2)<<21)
	binary.LittleEndian.PutUint64(s[atFlags:], flags)
	clear(s[atFlags+8 : atST])
	binary.LittleEndian.PutUint16(s[atFCW:], uint16(0x7f|r.IntN(4)<<8|r.IntN(4)<<10)&^0x40|0x40)
	binary.LittleEndian.PutUint16(s[atFSW:], uint16(r.IntN(0x40)|r.IntN(2)<<6|r.IntN(8)<<8|r.IntN(8)<<11|r.IntN(2)<<14))
	tags := r.Uint32()
	s[atTags] = byte(tags) | byte(tags>>8) // most of them in use
	binary.LittleEndian.PutUint32(s[atMXCSR:], uint32(0x1f80|r.IntN(0x40)|r.IntN(2)<<6|r.IntN(8)<<13))
	for i := range 8 {
		st := s[atST+16*i:][:16]
		clear(st[10:])
		if e := binary.LittleEndian.Uint16(st[8:]); r.IntN(4) != 0 { // an ordinary number
			st[7] |= 0x80
			binary.LittleEndian.PutUint16(st[8:], e&0x8000|uint16(0x3fe0+r.IntN(60)))
		}
	}
	clear(s[atXsave+416 : atYMM])
	s[atStates] = 7
}

// trial is an instruction made fit to be executed: its memory operands lie in the
// window, wherever the registers must point for that.
type trial struct {
	form  *form
	r     *rand.Rand
	code  []byte
	base  state
	in    Inst
	e     Effects
	fixed RegSet // registers that are addresses
	bases []Reg
	reads [exeWindow]bool
	write [exeWindow]bool
	keep  [exeWindow]bool // written, but may be kept
	moved bool            // all addresses move when the bases do
	at    [2]uint64       // of the accesses
}

// prepare chooses a state, and says why it can not.
func (t *trial) prepare(m *machine) error {
	randomState(t.r, t.base)
	t.code = append(t.code[:0], t.form.code...)
	t.fixed, t.bases, t.moved = RegSet{}, t.bases[:0], true
	clear(t.reads[:])
	clear(t.write[:])
	clear(t.keep[:])
	in := &t.form.in
	if in.Direct {
		n, at := 1, len(t.code)
		if b := in.Branch(); b == BranchCall || in.op >= 0x80 && in.op <= 0x8f || in.op == 0xe9 || b == BranchTransaction {
			n = 4
		}
		rel := uint32(exeTaken - exeCode - at)
		for i := range n {
			t.code[at-n+i] = byte(rel >> (8 * i))
		}
	}
	if t.form.row.has(doString) {
		t.set(RCX, uint64(t.r.IntN(5)))
	}
	for i, a := range t.form.e.Mem[:t.form.e.NMem] {
		at, err := t.place(m, i, a)
		if err != nil {
			return err
		}
		t.at[i] = at
	}
	if t.form.row.has(doCmpxchg8) && t.r.IntN(2) == 0 { // that it is equal
		n, mem := wide(in.w), t.base.memory()[t.at[0]-exeMemory:]
		copy(mem[:n], t.base[8*RAX:8*RAX+8])
		copy(mem[n:2*n], t.base[8*RDX:8*RDX+8])
	}
	var err error
	if t.in, err = Decode(t.code, exeCode); err != nil {
		return err
	}
	t.in.Effects(&t.e)
	for i, a := range t.e.Mem[:t.e.NMem] {
		if err := t.extent(i, a); err != nil {
			return err
		}
	}
	return t.target()
}

// set fixes a register.
func (t *trial) set(r Reg, v uint64) {
	t.base.setGPR(r, v)
	t.fixed = t.fixed.Or(GPR(r, 0, 8))
}

func (t *trial) isFixed(r Reg) bool { return t.fixed.Intersects(GPR(r, 0, 8)) }

// place lets the access lie in the window.
func (t *trial) place(m *machine, i int, a MemAccess) (uint64, error) {
	want := uint64(exeMemory + 256 + 64*t.r.IntN(4))
	if t.r.IntN(3) == 0 && a.Size < 16 {
		want += uint64(t.r.IntN(32))
	}
	if a.Base == RSP {
		want &^= 15
	}
	if t.form.row.has(doXsave) || t.form.row.has(doXrstor) {
		want = exeMemory + 64
	}
	segment := map[uint8]uint64{'f': m.fs, 'g': exeGS}[a.Segment]
	in := &t.form.in
	switch {
	case a.RIPRelative:
		t.moved = false
		at, n := in.DispAt()
		if n != 4 || segment != 0 {
			return 0, fmt.Errorf("relative with %d bytes", n)
		}
		binary.LittleEndian.PutUint32(t.code[at:], uint32(want-exeCode-uint64(len(t.code))))
		return want, nil
	case a.Base == NoReg && a.Index == NoReg && a.Shape != MemVector:
		t.moved = false
		if at, n := in.DispAt(); n == 4 && segment == 0 {
			binary.LittleEndian.PutUint32(t.code[at:], uint32(want))
			return want, nil
		}
		if in.op >= 0xa0 && in.op <= 0xa3 && in.opmap == map1B && segment == 0 && !in.addr32 {
			binary.LittleEndian.PutUint64(t.code[in.opAt+1:], want)
			return want, nil
		}
		return 0, fmt.Errorf("absolute address")
	}
	index := uint64(0)
	switch {
	case a.Index == NoReg:
	case a.Index == a.Base:
		index = uint64(a.Scale) * ((want - segment - uint64(a.Disp)) / uint64(1+a.Scale))
	case a.Base == NoReg:
		index = want - segment - uint64(a.Disp)
		index -= index % uint64(a.Scale)
		if !t.isFixed(a.Index) {
			t.set(a.Index, index/uint64(a.Scale))
		}
		t.moved = t.moved && a.Scale == 1
		t.bases = append(t.bases, a.Index)
		return segment + uint64(a.Disp) + t.base.gpr(a.Index)*uint64(a.Scale), nil
	default:
		if !t.isFixed(a.Index) {
			t.set(a.Index, uint64(t.r.IntN(4)))
		}
		index = t.base.gpr(a.Index) * uint64(a.Scale)
	}
	t.moved = t.moved && a.Index != a.Base
	if a.Shape == MemXlat {
		want = exeMemory + 256
	}
	if a.Base == NoReg {
		return 0, fmt.Errorf("vector of addresses without a base")
	}
	if !t.isFixed(a.Base) {
		v := want - segment - uint64(a.Disp) - index
		if a.Addr32 {
			v = v&0xffffffff | t.r.Uint64()<<32
		}
		t.set(a.Base, v)
		if a.Index == a.Base {
			index = t.base.gpr(a.Base) * uint64(a.Scale)
		}
	}
	t.bases = append(t.bases, a.Base)
	at := t.base.gpr(a.Base) + uint64(a.Disp) + index
	if a.Addr32 {
		at &= 0xffffffff
	}
	return at + segment, nil
}

// extent marks the bytes of the access.
func (t *trial) extent(i int, a MemAccess) error {
	at, n := t.at[i], a.Size
	mark := func(at uint64, n int) error {
		from := at - exeMemory
		if at < exeMemory || from+uint64(n) > exeWindow {
			return fmt.Errorf("out of the window")
		}
		for b := from; b < from+uint64(n); b++ {
			t.reads[b] = t.reads[b] || a.Read
			t.write[b] = t.write[b] || a.Write
			t.keep[b] = t.keep[b] || a.MayKeep && !a.Read
		}
		return nil
	}
	switch a.Shape {
	case MemString:
		count := 1
		if a.Rep {
			count = int(uint32(t.base.gpr(RCX)))
		}
		if t.base[atFlags+1]&4 != 0 {
			at -= uint64(n * (count - 1))
		}
		return mark(at, n*count)
	case MemBit:
		v := int64(t.base.gpr(a.Value))
		switch n {
		case 2:
			v = int64(int16(v))
		case 4:
			v = int64(int32(v))
		}
		if t.isFixed(a.Value) {
			return fmt.Errorf("the bit's number is an address")
		}
		v %= 8 * 200
		t.base.setGPR(a.Value, uint64(v))
		units := v >> 3 / int64(n)
		if v < 0 && v>>3%int64(n) != 0 {
			units--
		}
		t.moved = false
		return mark(at+uint64(units*int64(n)), n)
	case MemVector:
		for e := range a.Count {
			x := uint64(t.r.IntN(20))
			if a.Vector >= 16 {
				return fmt.Errorf("register of AVX-512")
			}
			off := int(a.VectorWidth) * e
			where := atXMM + 16*int(a.Vector) + off
			if off >= 16 {
				where = atYMM + 16*int(a.Vector) + off - 16
			}
			for b := range int(a.VectorWidth) {
				t.base[where+b] = 0
			}
			t.base[where] = byte(x)
			if err := mark(at+x*uint64(a.Scale), n); err != nil {
				return err
			}
		}
		return nil
	case MemXlat:
		return mark(at, 256)
	case MemState:
		t.moved = false
		return mark(at, 900)
	}
	t.moved = t.moved && n < 128
	return mark(at, n)
}

// target lets an indirect transfer go where it comes back from.
func (t *trial) target() error {
	in := &t.in
	if in.Direct || in.Kind != KindCall && in.Kind != KindJmp && in.Kind != KindRet {
		return nil
	}
	if in.Kind != KindRet && in.mod == 3 {
		r := Reg(in.place('E'))
		if t.isFixed(r) {
			return fmt.Errorf("jumps to where it writes")
		}
		t.set(r, exeTaken)
		return nil
	}
	if t.e.NMem == 0 {
		return fmt.Errorf("no target")
	}
	binary.LittleEndian.PutUint64(t.base.memory()[t.at[0]-exeMemory:], exeTaken)
	return nil
}
