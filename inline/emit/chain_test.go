package emit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"testing"

	"mgtrace/inline/layout"
	"mgtrace/x86"
)

// A line is some random instructions, executed one after the other, of which those
// that store outside the stack are sites.
type line struct {
	trial
	v         *variant
	maker     *Maker
	sites     []Site
	chain     []link
	positions map[int]Position
}

const (
	lineData  = dataBase + 0x1000
	lineStack = dataBase + 0x2000
)

// randomLine returns nil if its first store's trampoline is for nothing else.
func randomLine(rng *rand.Rand, v *variant, mode uint64) *line {
	l := &line{v: v}
	l.Mode, l.PC, l.EA, l.Seed, l.Shadow = mode, codeBase, lineData, rng.Uint64()|1, uint64(v.shadow)
	l.Flags = 0x202 | rng.Uint64()&0x8d5
	for i := range l.Regs {
		l.Regs[i] = rng.Uint64()
	}
	for i := range l.Mem {
		l.Mem[i] = byte(rng.Uint32())
	}
	bases, values, index := []x86.Reg{x86.RDI, x86.RSI, 9}, []x86.Reg{x86.RAX, x86.RCX, x86.RDX, rbx, 10}, x86.RBP
	for i, r := range bases {
		l.Regs[r] = lineData + 24 + uint64(20*i)
	}
	l.Regs[x86.RSP], l.Regs[index] = lineStack, rng.Uint64N(8)
	if rng.IntN(6) == 0 { // one that can not be written
		l.Regs[bases[rng.IntN(len(bases))]] = dataBase + dataSize + 64
	}

	var code asm
	var starts []int
	for range 3 + rng.IntN(8) {
		base, val := bases[rng.IntN(len(bases))], values[rng.IntN(len(values))]
		m := at(base, rng.IntN(24)-8)
		width := 1 << rng.IntN(4)
		start := len(code.buf)
		store := true
		switch rng.IntN(12) {
		case 0, 1, 2:
			code.store(m, width, val)
		case 3:
			code.storeImm(m, width, uint64(rng.IntN(100)))
		case 4:
			m.index, m.scale = index, 1
			code.store(m, width, val)
		case 5:
			code.op(0x83, max(width, 2), 0, false, m) // add m, imm8
			code.bytes(byte(rng.IntN(100)))
		case 6:
			code.op(0x0f11, 4, x86.Reg(rng.IntN(16)), false, m) // movups
		default:
			store = false
			switch rng.IntN(8) {
			case 0:
				code.op(0x8b, 8, val, false, m)
			case 1:
				code.op(0x8d, 8, base, false, at(base, rng.IntN(4))) // lea
			case 2:
				code.op(0x8d, 8, val, false, mem{base: val, index: index, scale: 4, disp: 3})
			case 3:
				code.plain(0x48, 0x83, 0xc0|byte(val&7), byte(rng.IntN(100))) // add, of a low register
				if val == 10 {
					code.buf[start] = 0x49
				}
			case 4: // jcc
				if rng.IntN(2) == 0 {
					code.plain(0x48, 0x39, 0xc0|byte(val&7)<<3) // cmp, with rax
				}
				at := uint64(len(code.buf)) + 6
				code.plain(0x0f, 0x80|byte(rng.IntN(16)))
				code.int32(int32(target - (codeBase + at)))
			case 5: // jmp
				code.jump(codeBase, target)
			default:
				code.store(at(x86.RSP, 8*rng.IntN(8)), 8, val)
			}
		}
		if store {
			starts = append(starts, start)
		}
	}
	for i, start := range starts {
		l.sites = append(l.sites, Site{PC: l.PC + uint64(start), Code: code.buf[start:], Tag: 100 + i, Hook: None})
	}
	opt := v.opt
	opt.Relocate = relocate
	l.maker = New(l.sites, opt)
	if len(l.sites) == 0 {
		return nil
	}
	l.PC = l.sites[0].PC
	var cursor x86.Reg
	if l.chain, cursor = new(generator).chain(l.maker, 0); l.chain != nil {
		if !opt.Filter.On {
			l.Chained = 1 + uint64(cursor)
		}
	} else {
		in, err := x86.Decode(l.sites[0].Code, l.PC)
		if err != nil || l.maker.Span(0) == in.Len {
			return nil
		}
		l.chain = []link{{pc: l.PC, in: in}}
	}
	l.CodeLen = uint32(copy(l.Code[:], l.sites[0].Code[:l.maker.Span(0)]))
	l.Cursor = logBase
	if mode&modeSwap != 0 {
		l.Cursor = logBase + logSize - uint64(4*rng.IntN(30))
	}
	return l
}

// emit makes the trampoline.
func (l *line) emit(t *testing.T) {
	t.Helper()
	tramp, err := l.maker.Emit(nil, 0, trampBase)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := l.maker.Size(0); err != nil || n < len(tramp) || len(tramp) > len(l.Tramp) {
		t.Fatalf("Size %d, %v, trampoline of %d bytes", n, err, len(tramp))
	}
	l.TrampLen = uint32(copy(l.Tramp[:], tramp))
	l.positions = maps.Collect(l.maker.positions(0, trampBase))
	for off, p := range l.positions {
		if p.Reload >= 0 {
			l.Reload[off] = uint16(p.Reload)
		}
	}
}

// TestChain executes random lines in their place and as a chain, step by step. At
// each instruction of the chain the program's registers and memory must be those of
// the place that Where tells, and the log must have the stores before it.
func TestChain(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var lines []*line
	var input bytes.Buffer
	for len(lines) < 3000 {
		v := &variants[rng.IntN(len(variants))]
		mode := uint64(modeNative | modeStep*rng.IntN(2) | modeSwap*rng.IntN(2))
		if v.opt.Strict {
			continue
		}
		l := randomLine(rng, v, mode)
		if l == nil {
			continue
		}
		l.emit(t)
		lines = append(lines, l)
		if err := binary.Write(&input, binary.LittleEndian, &l.trial); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(harness(t))
	cmd.Stdin = &input
	output, err := cmd.Output()
	if err != nil {
		t.Error(err)
	}
	r := bytes.NewReader(output)
	seen := map[string]int{}
	for i, l := range lines {
		var got result
		if err := binary.Read(r, binary.LittleEndian, &got); err != nil {
			t.Fatalf("line %d: %v\n%s", i, err, disassemble(l.Code[:l.CodeLen], l.PC))
		}
		snaps, places := make([]snap, got.Snaps), make([]snap, got.Places)
		for _, s := range [][]snap{snaps, places} {
			if err := binary.Read(r, binary.LittleEndian, s); err != nil {
				t.Fatal(err)
			}
		}
		if msg := l.compare(&got, snaps, places, seen); msg != "" {
			t.Fatalf("line %d (%s, mode %d): %s\n%s\ntrampoline\n%s", i, l.v.name, l.Mode, msg,
				disassemble(l.Code[:l.CodeLen], l.PC), disassemble(l.Tramp[:l.TrampLen], trampBase))
		}
	}
	t.Log(seen)
	for _, what := range []string{"stores", "faults", "swaps", "exits", "exits of tails", "boundaries"} {
		if seen[what] == 0 {
			t.Errorf("no %s", what)
		}
	}
}

// word reads what Position.Restore asks for, of a thread at k.
func (l *line) program(k *snap) (Position, Registers, error) {
	p, ok := l.positions[int(k.Off)]
	if !ok {
		return p, Registers{}, fmt.Errorf("offset %d: no instruction begins there", k.Off)
	}
	regs := Registers{k.Regs, k.Flags}
	err := p.Restore(&regs, k.word)
	regs.Flags = cleanFlags(regs.Flags)
	return p, regs, err
}

// compare returns what is wrong, or "".
func (l *line) compare(r *result, snaps, places []snap, seen map[string]int) string {
	fault := r.Native.Signal != 0
	if fault != (r.Moved.Signal != 0) || r.Native.Signal != r.Moved.Signal || r.Native.Exit != r.Moved.Exit {
		return fmt.Sprintf("signal %d, exit %d, not %d, %d", r.Moved.Signal, r.Moved.Exit, r.Native.Signal, r.Native.Exit)
	}
	if r.MemoryDiff >= 0 || r.VectorDiff >= 0 && !fault {
		return fmt.Sprintf("memory differs at %#x, vectors at %d", r.MemoryDiff, r.VectorDiff)
	}
	// What holds before the instruction at each offset of the line.
	before := map[uint64]*snap{0: {Regs: l.Regs, Flags: l.Flags}}
	for i := range places {
		before[places[i].Off] = &places[i]
	}
	end := uint64(l.CodeLen)
	if fault {
		seen["faults"]++
		end = r.Native.RIP - l.PC
		p, regs, err := l.program(&r.End)
		switch {
		case err != nil:
			return err.Error()
		case p.Fault != FaultProgram || p.Executed || p.PC != r.Native.RIP:
			return fmt.Sprintf("fault at offset %d: %+v", r.End.Off, p)
		case regs != Registers{r.Native.Regs, cleanFlags(r.Native.Flags)}:
			return fmt.Sprintf("fault at offset %d: registers %#x, not %#x", r.End.Off, regs, r.Native.Regs)
		}
	} else if r.Native.Regs != r.Moved.Regs || cleanFlags(r.Native.Flags) != cleanFlags(r.Moved.Flags) {
		return fmt.Sprintf("registers %#x, not %#x", r.Moved.Regs, r.Native.Regs)
	}
	if last := len(places) - 1; !fault && r.Native.Exit == 2 { // a jump was taken
		seen["exits"]++
		if len(l.chain) == 1 {
			seen["exits of tails"]++
		}
		end = places[last].Off + 1
		before[target-l.PC] = &snap{Regs: r.Native.Regs, Flags: r.Native.Flags, Sum: places[last].Sum}
	}
	cursors, msg := l.records(r, before, end)
	if msg != "" {
		return msg
	}
	seen["stores"] += len(cursors) - 1
	if cursors[len(cursors)-1] >= logSecond {
		seen["swaps"]++
	}
	for i := range snaps {
		k := &snaps[i]
		p, regs, err := l.program(k)
		if err != nil {
			return err.Error()
		}
		off := p.PC - l.PC
		want := before[off]
		if want == nil || p.Partial {
			return fmt.Sprintf("offset %d: place %#x", k.Off, off)
		}
		if (regs != Registers{want.Regs, cleanFlags(want.Flags)}) || off > 0 && k.Sum != want.Sum {
			return fmt.Sprintf("offset %d (place %d): registers %#x, not %#x; memory %v", k.Off, off, regs, want.Regs, k.Sum == want.Sum)
		}
		seen["boundaries"]++
		if msg := l.compareCursor(k, &p, cursors); msg != "" {
			return msg
		}
	}
	return ""
}

// compareCursor: a clean place has the records of the stores before it.
func (l *line) compareCursor(k *snap, p *Position, cursors []uint64) string {
	cursor := k.Block[layout.Cursor/8]
	if p.Undo == UndoSize {
		cursor -= uint64(p.Size)
	}
	n := 0
	for i := range l.chain {
		if l.chain[i].site != None && l.chain[i].pc < p.PC && n+1 < len(cursors) {
			n++
		}
	}
	// The next record may have found no room already.
	if !p.Clean || cursor == cursors[n] || cursor == logSecond && cursors[n] > logBase+logSize-uint64(layout.StoreSize(16, layout.StoreParts{Base: true})) {
		return ""
	}
	return fmt.Sprintf("offset %d: cursor %#x, not %#x, %+v", k.Off, cursor, cursors[n], p)
}

// records checks the records of the stores before offset end, against memory and
// registers, and returns where the cursor is after each.
func (l *line) records(r *result, before map[uint64]*snap, end uint64) (cursors []uint64, msg string) {
	memory := l.Mem
	cursor := l.Cursor
	cursors = append(cursors, cursor)
	for i := range l.chain {
		k := &l.chain[i]
		off := k.pc - l.PC
		if k.site == None {
			continue
		}
		st := &k.in.Store
		parts := layout.PartsOf(st, false)
		size := layout.StoreSize(st.Width, parts)
		at := cursor
		if l.v.kept && at < logSecond && at+uint64(size) > logBase+logSize {
			at = logSecond
		}
		if off >= end { // it faulted, or the one before
			return cursors, ""
		}
		regs := &before[off].Regs
		ea := uint64(st.Disp) + regs[st.Base]
		told := ea
		if parts.FromBase {
			told = regs[st.Base]
		}
		if st.Index != x86.NoReg {
			ea += regs[st.Index] * uint64(st.Scale)
			told = ea
		}
		inLog := at - logBase
		if at >= logSecond {
			inLog = at - logSecond + logSize
		}
		rec := r.Log[inLog:]
		value := rec[layout.StoreValue:][:st.Width]
		if l.v.kept {
			if got := binary.LittleEndian.Uint32(rec); got != layout.Tag(l.sites[k.site].Tag, size) {
				return nil, fmt.Sprintf("store %d: tag %#x", k.site, got)
			}
			if got := binary.LittleEndian.Uint64(rec[layout.StoreAddr:]); got != told {
				return nil, fmt.Sprintf("store %d: address %#x, not %#x", k.site, got, told)
			}
			if ea-lineData > uint64(len(memory)-st.Width) {
				return nil, fmt.Sprintf("store %d at %#x is outside of the test's memory", k.site, ea)
			}
			copy(memory[ea-lineData:], value)
		}
		cursor = at
		if l.v.kept {
			cursor += uint64(size)
		}
		cursors = append(cursors, cursor)
	}
	// Every byte of a value is in memory at the end, or a later value is.
	if l.v.kept && !bytes.Equal(memory[:], r.After[:]) {
		return nil, fmt.Sprintf("memory is\n%x, the records say\n%x", r.After, memory)
	}
	return cursors, ""
}
