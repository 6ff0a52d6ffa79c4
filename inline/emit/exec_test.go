package emit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"mgtrace/inline/layout"
	"mgtrace/x86"
)

// variant is a way to make trampolines.
type variant struct {
	name   string
	opt    Options
	shadow uint8 // byte of every granule
	kept   bool  // records are kept
}

var variants = []variant{
	{"plain", Options{}, 0, true},
	{"strict", Options{Strict: true}, 0, true},
	{"open", Options{Filter: Filter{On: true, Shadow: shadowAt}}, 4, true},
	{"closed", Options{Filter: Filter{On: true, Shadow: shadowAt}}, 0, false},
	{"strict open", Options{Strict: true, Filter: Filter{On: true, Shadow: shadowAt}}, 4, true},
	{"strict closed", Options{Strict: true, Filter: Filter{On: true, Shadow: shadowAt}}, 0, false},
}

// subject is one trial with what it was made from.
type subject struct {
	text string
	trial
	v         *variant
	maker     *Maker
	site      Site
	in        x86.Inst
	hooks     int  // calls of the hook routine that must come
	forgets   bool // the open call
	notes     bool // a call, as site.Opens says
	positions map[int]Position
}

// judge runs the subjects and compares.
func judge(t *testing.T, subjects []*subject) {
	t.Helper()
	cmd := exec.Command(harness(t))
	var input bytes.Buffer
	for _, s := range subjects {
		if err := binary.Write(&input, binary.LittleEndian, &s.trial); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Stdin = &input
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Errorf("harness: %v: %s", err, stderr.Bytes())
	}
	r := bytes.NewReader(output)
	seen := map[string]int{}
	for _, s := range subjects {
		var got result
		if err := binary.Read(r, binary.LittleEndian, &got); err != nil {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				t.Fatalf("%s (%s): the harness died here", s.text, s.v.name)
			}
			t.Fatal(err)
		}
		snaps := make([]snap, got.Snaps)
		if err := binary.Read(r, binary.LittleEndian, snaps); err != nil {
			t.Fatal(err)
		}
		if got.Native.Signal == 4 {
			seen["unknown to this processor"]++
			continue
		}
		seen["executed"]++
		seen["boundaries"] += len(snaps)
		if msg := s.compare(&got, snaps); msg != "" {
			t.Errorf("%s (%s): %s\nat %#x, trampoline\n%s", s.text, s.v.name, msg, s.EA, disassemble(s.Tramp[:s.TrampLen], trampBase))
			if seen["wrong"]++; seen["wrong"] > 10 {
				t.FailNow()
			}
		}
	}
	t.Log(seen)
	if seen["executed"] == 0 {
		t.Error("nothing was executed")
	}
}

// singleStep is the trap flag. resume flag: signal frames show it.
const singleStep, direction, resume = 0x100, 0x400, 0x10000

func cleanFlags(f uint64) uint64 { return f &^ (singleStep | resume) }

// compare returns what is wrong, or "".
func (s *subject) compare(r *result, snaps []snap) string {
	if r.Native.Signal != 0 {
		return s.compareFault(r)
	}
	switch {
	case r.Moved.Signal != 0:
		return fmt.Sprintf("signal %d at offset %d", r.Moved.Signal, r.Moved.RIP-trampBase)
	case r.Native.Exit != r.Moved.Exit:
		return fmt.Sprintf("left by exit %d, not %d", r.Moved.Exit, r.Native.Exit)
	case r.MemoryDiff >= 0:
		return fmt.Sprintf("memory differs at offset %#x", r.MemoryDiff)
	case r.VectorDiff >= 0:
		return fmt.Sprintf("vector state differs at %d", r.VectorDiff)
	case s.notes:
		return s.compareNotes(r, snaps)
	case s.forgets && r.Left != [3]uint64{}, !s.forgets && r.Left != [3]uint64{s.Open[3], s.Open[0], s.Open[1]}:
		return fmt.Sprintf("%#x is left of the open call", r.Left)
	case int(r.Hooks) != s.hooks:
		return fmt.Sprintf("%d calls of the hook routine, want %d", r.Hooks, s.hooks)
	}
	for i, v := range r.Native.Regs {
		if r.Moved.Regs[i] != v {
			return fmt.Sprintf("register %d is %#x, not %#x", i, r.Moved.Regs[i], v)
		}
	}
	if r.Native.Flags != cleanFlags(r.Moved.Flags) {
		return fmt.Sprintf("flags are %#x, not %#x", r.Moved.Flags, r.Native.Flags)
	}
	if msg := s.compareHooks(r); msg != "" {
		return msg
	}
	if msg := s.compareRecord(r); msg != "" {
		return msg
	}
	if since := r.End.Block[layout.Since/8]; since != 0 {
		return fmt.Sprintf("a record is to come since %d", since)
	}
	return s.compareSnaps(r, snaps)
}

// compareNotes: the routine was not called, and the call is in the thread block.
func (s *subject) compareNotes(r *result, snaps []snap) string {
	noted := func(off int32) uint64 { return r.Noted[(off-layout.AllocCall)/8] }
	const writers = layout.Writers &^ 7
	o := s.site.Opens
	sp := s.Regs[x86.RSP]
	var block uint64
	if o.At != x86.NoReg {
		block = s.Regs[o.At]
	}
	want := map[int32]uint64{layout.CallSP: sp, layout.CallPC: target, layout.CallPtr: block, layout.CallFunc: o.Func, layout.CallIndex: uint64(o.Index)}
	at, open := int32(layout.AllocCall), r.Left[1]
	if o.Writer {
		want = map[int32]uint64{layout.WriterSP: sp, layout.WriterPC: target, layout.WriterDst: block, layout.WriterFunc: uint64(o.Index)}
		at, open = layout.WriterAt, r.Noted[18]
		if n := uint32(noted(writers)); n != 1 {
			return fmt.Sprintf("%d writers are open", n)
		}
	}
	if bytes := int32(layout.CallBytes); o.Bytes != x86.NoReg {
		if o.Writer {
			bytes = layout.WriterLen
		}
		want[bytes] = s.Regs[o.Bytes]
	}
	for off, v := range want {
		if got := noted(at + off); got != v {
			return fmt.Sprintf("word %d of the open call is %#x, not %#x", off, got, v)
		}
	}
	switch {
	case open != -sp:
		return fmt.Sprintf("the open call is at %#x, not %#x", open, -sp)
	case r.Hooks != 0:
		return "the hook routine was called"
	case [16]uint64(r.Native.Regs) != r.Moved.Regs || r.Native.Flags != cleanFlags(r.Moved.Flags):
		return fmt.Sprintf("registers are %#x, flags %#x", r.Moved.Regs, r.Moved.Flags)
	}
	return s.compareSnaps(r, snaps)
}

// compareHooks: the routine sees what the program has at its two places.
func (s *subject) compareHooks(r *result) string {
	for phase := range s.hooks {
		h := &r.Hook[phase]
		regs, flags := s.Regs, s.Flags
		if phase == 1 {
			regs, flags = r.Native.Regs, r.Native.Flags
		}
		word := uint32(h.Regs[layout.RegsSite/8])
		switch {
		case int(h.Site) != s.site.Hook || int(h.Phase) != phase || word != h.Site|h.Phase*layout.PhaseBit:
			return fmt.Sprintf("hook call %d: site %d, phase %d, word %#x", phase, h.Site, h.Phase, word)
		case (h.Flags^flags)&direction != 0 || h.SP%16 != 0:
			return fmt.Sprintf("hook call %d: flags %#x, stack pointer %#x", phase, h.Flags, h.SP)
		case [16]uint64(h.Regs[:16]) != regs:
			return fmt.Sprintf("hook call %d: registers %#x, not %#x", phase, h.Regs[:16], regs)
		case s.site.complex(&s.in) && cleanFlags(h.Regs[layout.RegsFlags/8]) != flags:
			return fmt.Sprintf("hook call %d: flags %#x, not %#x", phase, h.Regs[16], flags)
		}
	}
	return ""
}

// compareRecord: one record, exactly as package layout says, or none.
func (s *subject) compareRecord(r *result) string {
	st := &s.in.Store
	start := s.Cursor
	if s.site.Tag == None || layout.Complex(st) {
		if r.Cursor != start {
			return "a record was written where none belongs"
		}
		return ""
	}
	parts := layout.PartsOf(st, s.v.opt.Strict)
	size := layout.StoreSize(st.Width, parts)
	recorded := s.v.kept || st.Atomic && !s.v.opt.Strict // which orders threads wherever it writes
	if !recorded {
		if r.Cursor != start || r.Log != [len(r.Log)]byte{} {
			return "what is dropped was written to the log"
		}
		return ""
	}
	if start+uint64(size) > logBase+logSize {
		start = logSecond // it did not fit
	}
	if want := start + uint64(size); r.Cursor != want {
		return fmt.Sprintf("cursor is %#x, not %#x", r.Cursor, want)
	}
	rec := r.Log[start-logBase:]
	if start >= logSecond {
		rec = r.Log[start-logSecond+logSize:]
	}
	u64 := func(off int) uint64 { return binary.LittleEndian.Uint64(rec[off:]) }
	wrote := st.Shape != x86.ShapeCond || r.Native.Flags&0x40 != 0
	told := s.EA
	if parts.FromBase {
		told -= uint64(st.Disp)
	}
	switch {
	case binary.LittleEndian.Uint32(rec) != layout.Tag(s.site.Tag, size):
		return fmt.Sprintf("tag is %#x", rec[:4])
	case u64(layout.StoreAddr) != told:
		return fmt.Sprintf("address is %#x", u64(layout.StoreAddr))
	case wrote && !bytes.Equal(rec[layout.StoreValue:][:st.Width], r.After[:st.Width]):
		return fmt.Sprintf("value is %x, not %x", rec[layout.StoreValue:][:st.Width], r.After[:st.Width])
	}
	off := layout.StoreValue + layout.PaddedWidth(st.Width)
	if parts.Base {
		if u64(off) != s.Regs[st.Base] {
			return fmt.Sprintf("base is %#x", u64(off))
		}
		off += 8
	}
	if parts.Stamp {
		stamp, wanted := layout.Stamped(u64(off))
		last := uint64(stampBase + 1)
		if parts.Old {
			last++
		}
		if stamp != last || r.Order != last {
			return fmt.Sprintf("stamp is %d, counter %d", stamp, r.Order)
		}
		if wanted != (s.v.kept || s.v.opt.Strict) {
			return fmt.Sprintf("it is wanted: %v", wanted)
		}
		off += 8
	} else if r.Order != stampBase {
		return "a stamp was taken for nothing"
	}
	if parts.Flags {
		if got := StatusFlags(r.Native.Flags, u64(off)); got != r.Native.Flags {
			return fmt.Sprintf("flags in the record are %#x, not %#x", got, r.Native.Flags)
		}
		if zero := u64(off)>>14&1 != 0; zero != wrote {
			return fmt.Sprintf("zero flag in the record is %v", zero)
		}
		off += 8
	}
	if parts.Old {
		if since := u64(off); since != stampBase+1 {
			return fmt.Sprintf("the stamp of before is %d", since)
		}
		n := min(st.Width, 8)
		if old := rec[off+8:][:n]; !bytes.Equal(old, r.Before[:n]) {
			return fmt.Sprintf("what was there before is %x, not %x", old, r.Before[:n])
		}
	}
	return ""
}

// word reads what Position.Restore asks for.
func (s *snap) word(p Place) (uint64, error) {
	if p.OnStack {
		return s.Stack[(int(p.Off)+layout.RegsSize)/8], nil
	}
	return s.Block[p.Off/8], nil
}

// at returns the position of a snapshot and the program's registers there.
func (s *subject) at(k *snap) (Position, Registers, error) {
	p, ok := s.positions[int(k.Off)]
	if k.Off >= uint64(s.TrampLen) {
		p, ok = s.maker.InHook(0, uint32(k.Stack[layout.RegsSite/8])), true
	}
	if !ok {
		return p, Registers{}, fmt.Errorf("offset %d: no instruction begins there", k.Off)
	}
	regs := Registers{k.Regs, k.Flags}
	err := p.Restore(&regs, k.word)
	regs.Flags = cleanFlags(regs.Flags)
	return p, regs, err
}

// raced: a locked store whose record has the old value has executed, the record is not there
// yet, and layout.Since does not say so.
func (s *subject) raced(p *Position, k *snap) bool {
	st := &s.in.Store
	if s.site.Tag == None || layout.Complex(st) || !layout.PartsOf(st, s.v.opt.Strict).Old {
		return false
	}
	return p.Executed && !p.Clean && k.Block[layout.Since/8] == 0
}

// compareSnaps: wherever the thread was stopped, the program's registers can be
// had, and the position says truly what has happened.
func (s *subject) compareSnaps(r *result, snaps []snap) string {
	inHook := 0
	for i := range snaps {
		if snaps[i].Off >= uint64(s.TrampLen) {
			inHook++
		}
	}
	if s.Mode&modeStep != 0 && (len(snaps)-inHook < 2 || inHook < 10*s.hooks) {
		return fmt.Sprintf("stopped at %d places only, %d of them in the hook routine", len(snaps), inHook)
	}
	for i := range snaps {
		k := &snaps[i]
		p, regs, err := s.at(k)
		if err != nil {
			return err.Error()
		}
		if s.raced(&p, k) {
			return fmt.Sprintf("offset %d: the reader is not told that a record is to come", k.Off)
		}
		if p.Partial {
			continue
		}
		want, pc, same := Registers{s.Regs, s.Flags}, s.PC, uint64(1)
		if p.Executed {
			want, pc, same = Registers{r.Native.Regs, r.Native.Flags}, s.PC+uint64(s.in.Len), 2
		}
		switch {
		case regs != want && !s.repeats(p):
			return fmt.Sprintf("offset %d: registers restored to %#x, not %#x", k.Off, regs, want)
		case p.PC != pc:
			return fmt.Sprintf("offset %d: program counter %#x", k.Off, p.PC)
		case k.Same&same == 0 && !s.repeats(p):
			return fmt.Sprintf("offset %d: memory is not what executed=%v says", k.Off, p.Executed)
		}
		if msg := s.compareHistory(k, &p); msg != "" {
			return fmt.Sprintf("offset %d: %s", k.Off, msg)
		}
		if msg := s.compareCursor(r, k, &p); msg != "" {
			return fmt.Sprintf("offset %d: %s", k.Off, msg)
		}
	}
	return ""
}

// compareHistory: a position is clean exactly where nothing was begun.
func (s *subject) compareHistory(k *snap, p *Position) string {
	calls := int(k.Hooks)
	switch {
	case k.Off >= uint64(s.TrampLen):
		if p.Clean {
			return "clean inside the hook routine"
		}
	case (s.site.Leaves != Anything || s.site.Frees || s.site.Opens != nil || s.site.Beside) && s.hooks == 0:
		return "" // behind a call that was left out nobody can tell
	case !p.Executed && (p.Called != (calls > 0) || p.Clean != (calls == 0)):
		return fmt.Sprintf("%d calls of the hook routine, position %+v", calls, p)
	case p.Executed && (p.Called || p.Clean && calls != s.hooks):
		return fmt.Sprintf("%d calls of the hook routine, position %+v", calls, p)
	}
	return ""
}

// repeats: a string instruction is met once for each iteration.
func (s *subject) repeats(p Position) bool {
	return p.Fault == FaultProgram && s.in.Store.Rep
}

// compareCursor: a record taken back leaves the cursor where it was; a clean
// place behind the instruction has all of them.
func (s *subject) compareCursor(r *result, k *snap, p *Position) string {
	cursor := k.Block[layout.Cursor/8]
	if p.Undo == UndoSize {
		cursor -= uint64(p.Size)
	}
	want := s.Cursor
	switch {
	case s.Mode&modeSwap != 0 && !p.Executed && cursor >= logSecond:
		want = logSecond // the record was begun again there
	case p.Executed && !p.Clean:
		if s.site.Tag == None || layout.Complex(&s.in.Store) || s.site.After {
			return ""
		}
	case p.Executed:
		want = r.Cursor
	}
	if cursor != want {
		return fmt.Sprintf("cursor is %#x, not %#x (executed %v, clean %v)", cursor, want, p.Executed, p.Clean)
	}
	return ""
}

// compareFault: the instruction faults in its place; in the trampoline the same
// is seen through the position.
func (s *subject) compareFault(r *result) string {
	if r.Moved.Signal == 0 {
		return "no fault"
	}
	p, regs, err := s.at(&r.End)
	switch {
	case err != nil:
		return err.Error()
	case p.Fault == FaultProgram && r.Moved.Signal != r.Native.Signal:
		return fmt.Sprintf("signal %d, not %d", r.Moved.Signal, r.Native.Signal)
	case p.Executed || p.PC != s.PC || r.Native.RIP != s.PC:
		return fmt.Sprintf("fault at offset %d: position %+v", r.End.Off, p)
	case p.Fault == FaultOperand:
		// The shadow table has no byte for such an address.
		if !s.v.opt.Filter.On || p.Skip <= int(r.End.Off) {
			return fmt.Sprintf("fault at offset %d: position %+v", r.End.Off, p)
		}
		if q, ok := s.maker.Where(0, trampBase, p.Skip); !ok || q.Fault != FaultProgram || q.Held != nil {
			return fmt.Sprintf("Skip leads to %d: position %+v", p.Skip, q)
		}
	case p.Fault != FaultProgram:
		return fmt.Sprintf("fault at offset %d: position %+v", r.End.Off, p)
	}
	if want := (Registers{r.Native.Regs, cleanFlags(r.Native.Flags)}); regs != want {
		return fmt.Sprintf("fault at offset %d: registers %#x, not %#x", r.End.Off, regs, want)
	}
	return s.compareCursor(r, &r.End, &p)
}

// makeSubject builds the trampoline of the instruction in s.Code.
func makeSubject(t *testing.T, rng *rand.Rand, s *subject, code []byte) bool {
	t.Helper()
	in, err := x86.Decode(code, s.PC)
	if err != nil {
		t.Fatalf("%s: % x: %v", s.text, code, err)
	}
	s.in = in
	copy(s.Code[:], code[:in.Len])
	s.CodeLen = uint32(in.Len)
	s.site.PC, s.site.Code = s.PC, s.Code[:in.Len]
	opt := s.v.opt
	opt.Relocate = relocate
	s.maker = New([]Site{s.site}, opt)
	tramp, err := s.maker.Emit(nil, 0, trampBase)
	if err != nil {
		t.Errorf("%s: % x: %v", s.text, code[:in.Len], err)
		return false
	}
	if n, err := s.maker.Size(0); err != nil || n < len(tramp) {
		t.Errorf("%s: Size %d, %v, trampoline of %d bytes", s.text, n, err, len(tramp))
	}
	s.TrampLen = uint32(copy(s.Tramp[:], tramp))
	s.Cursor = logBase
	if s.Mode&modeSwap != 0 && s.site.Tag != None && !layout.Complex(&in.Store) {
		size := layout.StoreSize(in.Store.Width, layout.PartsOf(&in.Store, opt.Strict))
		s.Cursor = logBase + logSize - uint64(4*rng.IntN(size/4))
	}
	s.positions = maps.Collect(s.maker.positions(0, trampBase))
	for off, p := range s.positions {
		if p.Reload >= 0 {
			s.Reload[off] = uint16(p.Reload)
		}
	}
	s.Shadow = uint64(s.v.shadow)
	return true
}

func disassemble(code []byte, pc uint64) string {
	var b strings.Builder
	for off := 0; off < len(code); {
		in, err := x86.Decode(code[off:], pc+uint64(off))
		n := in.Len
		if err != nil {
			n = 1
		}
		fmt.Fprintf(&b, "%4d  %s\n", off, x86.Text(code[off:], pc+uint64(off)))
		off += n
	}
	return b.String()
}

func layoutComplex(in *x86.Inst) bool { return layout.Complex(&in.Store) }
