package patch

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"mgtrace/x86"
)

// verifier holds what Verify finds out by itself: it shares nothing with the
// planner but the decoder, Relocate and the emitter.
type verifier struct {
	plan  *Plan
	code  []Code
	texts []text
	sites []Site // sorted by address
	emit  Emitter
}

// text is one Code: as it will be, and where its instructions begin.
type text struct {
	*Code
	new             []byte
	starts, targets bitset
}

type bitset []uint64

func (b bitset) set(i uint64)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) has(i uint64) bool { return b[i>>6]>>(i&63)&1 != 0 }

func (b bitset) all(f func(i uint64) error) error {
	for n, w := range b {
		for ; w != 0; w &= w - 1 {
			if err := f(uint64(n<<6 + bits.TrailingZeros64(w))); err != nil {
				return err
			}
		}
	}
	return nil
}

// Verify proves what the package's documentation says of a plan, or tells what
// does not hold.
func Verify(plan *Plan, code []Code, sites []Site, free []Range, e Emitter) error {
	v := &verifier{plan: plan, code: code, emit: e, sites: slices.Clone(sites)}
	slices.SortStableFunc(v.sites, func(a, b Site) int { return compare(a.Addr, b.Addr) })
	for i := range code {
		c := &code[i]
		n := (len(c.Bytes) + 63) / 64
		v.texts = append(v.texts, text{c, slices.Clone(c.Bytes), make(bitset, n), make(bitset, n)})
	}
	if err := v.applyPatches(); err != nil {
		return err
	}
	if err := v.trampolines(free); err != nil {
		return err
	}
	for i := range v.texts {
		v.find(&v.texts[i])
	}
	for i := range v.texts {
		if err := v.text(&v.texts[i]); err != nil {
			return err
		}
	}
	return v.outcomes(sites)
}

// textAt returns the text that holds addr and the offset in it.
func (v *verifier) textAt(addr uint64) (*text, uint64) {
	for i := range v.texts {
		if t := &v.texts[i]; addr-t.Addr < uint64(len(t.Bytes)) {
			return t, addr - t.Addr
		}
	}
	return nil, 0
}

func (v *verifier) applyPatches() error {
	behind := uint64(0)
	for _, p := range v.plan.Patches {
		end := p.Addr + uint64(len(p.New))
		t, off := v.textAt(p.Addr)
		switch {
		case len(p.New) == 0 || len(p.New) != len(p.Old):
			return fmt.Errorf("patch at %#x: %d bytes for %d", p.Addr, len(p.New), len(p.Old))
		case p.Addr < behind:
			return fmt.Errorf("patch at %#x: not sorted, or overlaps", p.Addr)
		case t == nil || end > t.end():
			return fmt.Errorf("patch at %#x: not in the code", p.Addr)
		case !bytes.Equal(p.Old, t.Bytes[off:off+uint64(len(p.Old))]):
			return fmt.Errorf("patch at %#x: these are not the old bytes", p.Addr)
		}
		for a := p.Addr; a < end; a++ {
			i := sort.Search(len(t.Funcs), func(i int) bool { return t.Funcs[i].Hi > a })
			if i == len(t.Funcs) || a < t.Funcs[i].Lo {
				return fmt.Errorf("patch at %#x: changes %#x, which is no instruction", p.Addr, a)
			}
		}
		copy(t.new[off:], p.New)
		behind = end
	}
	return nil
}

func (v *verifier) trampolines(free []Range) error {
	behind := uint64(0)
	var buf []byte
	for i := range v.plan.Trampolines {
		t := &v.plan.Trampolines[i]
		end := t.Addr + uint64(len(t.Bytes))
		if t.Addr < behind {
			return fmt.Errorf("trampoline at %#x: not sorted, or overlaps", t.Addr)
		}
		behind = end
		if !slices.ContainsFunc(free, func(f Range) bool { return f.Lo <= t.Addr && end <= f.Hi }) {
			return fmt.Errorf("trampoline at %#x: not in free memory", t.Addr)
		}
		var err error
		if buf, err = v.expect(buf[:0], t); err != nil {
			return fmt.Errorf("trampoline at %#x of %#x: %w", t.Addr, t.Of, err)
		}
		if !bytes.Equal(buf, t.Bytes) {
			return fmt.Errorf("trampoline at %#x of %#x: % x instead of % x", t.Addr, t.Of, t.Bytes, buf)
		}
	}
	return nil
}

// expect appends what a trampoline must be.
func (v *verifier) expect(buf []byte, t *Trampoline) ([]byte, error) {
	s, isSite := v.siteAt(t.Of)
	if t.Site != Evicted && (!isSite || s.ID != t.Site) {
		return buf, errors.New("no such site")
	}
	if t.Hop {
		in, err := x86.Decode(t.Bytes, t.Addr)
		if err != nil {
			return buf, err
		}
		to := v.trampolineAt(in.Target)
		if to == nil || to.Hop || to.Of != t.Of || to.Site != t.Site {
			return buf, errors.New("hops elsewhere")
		}
		return Jump(buf, t.Addr, to.Addr)
	}
	in, err := x86.Decode(bytesAt(v.code, t.Of), t.Of)
	if err != nil {
		return buf, err
	}
	next := t.Of + uint64(in.Len)
	goesOn := in.Kind == x86.KindOther || in.Kind == x86.KindJcc
	if t.Site == Evicted {
		buf, err = Relocate(buf, v.code, t.Of, t.Addr)
		if err == nil && goesOn {
			buf, err = Jump(buf, t.Addr+uint64(len(buf)), next)
		}
		return buf, err
	}
	if buf, err = v.emit.Emit(buf, t.Site, t.Addr); err != nil || !goesOn {
		return buf, err
	}
	if len(buf) < JumpLen {
		return buf, errors.New("too short")
	}
	next, exits, err := v.straight(t.Of, v.emit.Span(t.Site))
	if in.Kind == x86.KindOther || len(exits) > 0 || next == 0 {
		return buf, errors.Join(err, leads(buf, t.Addr, append(exits, next)))
	}
	back, err := x86.Decode(buf[len(buf)-JumpLen:], t.Addr+uint64(len(buf)-JumpLen))
	if err != nil || back.Kind != x86.KindJmp || back.Len != JumpLen || back.Target != next {
		return buf, errors.New("does not go on behind the instruction")
	}
	return buf, nil
}

// straight returns where n bytes of instructions at addr lead that are executed one
// after the other: behind them, or to where a jump at their end leads, 0 for a return;
// and where the conditional jumps among them lead.
func (v *verifier) straight(addr uint64, n int) (next uint64, exits []uint64, err error) {
	for at := addr; ; {
		in, err := x86.Decode(bytesAt(v.code, at), at)
		if err != nil {
			return 0, nil, err
		}
		if at += uint64(in.Len); at == addr+uint64(n) {
			switch {
			case at == addr+uint64(in.Len): // the site's own
			case in.Kind == x86.KindRet:
				return 0, exits, nil
			case in.Branch() == x86.BranchJmp:
				return in.Target, exits, nil
			case in.Kind == x86.KindJcc:
				exits = append(exits, in.Target)
			}
			return at, exits, nil
		}
		switch {
		case at > addr+uint64(n) || in.Kind != x86.KindOther && in.Branch() != x86.BranchJcc:
			return 0, nil, fmt.Errorf("stands for %d bytes that are not executed one after the other", n)
		case in.Kind == x86.KindJcc:
			exits = append(exits, in.Target)
		}
	}
}

// leads checks that the code of a trampoline at addr has jumps to just these
// places, one each, where 0 is a return, and that its other jumps stay within it.
func leads(code []byte, addr uint64, places []uint64) error {
	for off := 0; off < len(code); {
		in, err := x86.Decode(code[off:], addr+uint64(off))
		if err != nil {
			return err
		}
		off += in.Len
		switch {
		case in.Kind == x86.KindRet, (in.Kind == x86.KindJmp || in.Kind == x86.KindJcc) && in.Target-addr >= uint64(len(code)):
			i := slices.Index(places, in.Target)
			if i < 0 {
				return fmt.Errorf("leads to %#x", in.Target)
			}
			places = slices.Delete(places, i, i+1)
		}
	}
	if len(places) > 0 {
		return fmt.Errorf("does not lead to %#x", places)
	}
	return nil
}

func (v *verifier) siteAt(addr uint64) (Site, bool) {
	i := sort.Search(len(v.sites), func(i int) bool { return v.sites[i].Addr >= addr })
	if i < len(v.sites) && v.sites[i].Addr == addr {
		return v.sites[i], true
	}
	return Site{}, false
}

func (v *verifier) trampolineAt(addr uint64) *Trampoline {
	ts := v.plan.Trampolines
	i := sort.Search(len(ts), func(i int) bool { return ts[i].Addr >= addr })
	if i < len(ts) && ts[i].Addr == addr {
		return &ts[i]
	}
	return nil
}

// find sweeps a text.
func (v *verifier) find(t *text) {
	for _, f := range t.Funcs {
		for pc := max(f.Lo, t.Addr); pc < min(f.Hi, t.end()); {
			in, err := x86.Decode(t.Bytes[pc-t.Addr:min(f.Hi, t.end())-t.Addr], pc)
			if err != nil {
				pc++
				continue
			}
			t.starts.set(pc - t.Addr)
			if in.Direct {
				if to, off := v.textAt(in.Target); to != nil {
					to.targets.set(off)
				}
			}
			pc += uint64(in.Len)
		}
	}
}

// text checks every place where control may be.
func (v *verifier) text(t *text) error {
	if err := t.starts.all(func(off uint64) error { return v.start(t, off) }); err != nil {
		return err
	}
	if err := t.targets.all(func(off uint64) error {
		if t.starts.has(off) {
			return nil
		}
		return v.inner(t, off, map[uint64]bool{})
	}); err != nil {
		return err
	}
	for _, p := range t.Pinned {
		if off := p - t.Addr; off < uint64(len(t.Bytes)) {
			if err := v.kept(t, off, map[uint64]bool{}); err != nil {
				return fmt.Errorf("pinned %#x: %w", p, err)
			}
		}
	}
	return nil
}

// start: from the instruction at off the same happens as before.
func (v *verifier) start(t *text, off uint64) error {
	in, err := x86.Decode(t.Bytes[off:], t.Addr+off)
	if err != nil {
		return nil // not reached: find decoded it
	}
	if t.same(off, in.Len) {
		return nil
	}
	to, err := v.walk(t.Addr + off)
	if err != nil {
		return fmt.Errorf("instruction at %#x: %w", t.Addr+off, err)
	}
	if to.Of != t.Addr+off {
		return fmt.Errorf("instruction at %#x: leads to the trampoline of %#x", t.Addr+off, to.Of)
	}
	return nil
}

func (t *text) same(off uint64, n int) bool {
	return bytes.Equal(t.Bytes[off:off+uint64(n)], t.new[off:off+uint64(n)])
}

// walk follows jumps and breakpoints to a trampoline.
func (v *verifier) walk(pc uint64) (*Trampoline, error) {
	for range 8 {
		code := []byte(nil)
		if to := v.trampolineAt(pc); to != nil {
			if !to.Hop {
				return to, nil
			}
			code = to.Bytes
		} else if t, off := v.textAt(pc); t != nil {
			code = t.new[off:]
		}
		in, err := x86.Decode(code, pc)
		switch {
		case err != nil:
			return nil, fmt.Errorf("at %#x: %w", pc, err)
		case code[0] == 0xcc:
			i, ok := slices.BinarySearchFunc(v.plan.Traps, pc, func(b Breakpoint, pc uint64) int { return compare(b.Addr, pc) })
			if !ok {
				return nil, fmt.Errorf("breakpoint at %#x: not listed", pc)
			}
			to := v.trampolineAt(v.plan.Traps[i].Trampoline)
			if to == nil || to.Site != v.plan.Traps[i].Site {
				return nil, fmt.Errorf("breakpoint at %#x: not of this site", pc)
			}
			return to, nil
		case in.Kind != x86.KindJmp || !in.Direct:
			return nil, fmt.Errorf("at %#x: % x, no jump", pc, code[:in.Len])
		}
		for _, b := range code[:in.OpcodeAt()] {
			if b&0xf0 != 0x40 && b != 0x26 && b != 0x2e && b != 0x36 && b != 0x3e && b != 0x64 && b != 0x65 {
				return nil, fmt.Errorf("jump at %#x: prefix %#x", pc, b)
			}
		}
		pc = in.Target
	}
	return nil, fmt.Errorf("at %#x: too many jumps", pc)
}

// inner: a direct branch leads to off, where no instruction of the sweep begins.
// If only a LOCK prefix is skipped, the trampoline of the locked instruction does.
func (v *verifier) inner(t *text, off uint64, seen map[uint64]bool) error {
	if off > 0 && t.Bytes[off-1] == 0xf0 && t.starts.has(off-1) {
		if in, err := x86.Decode(t.Bytes[off:], t.Addr+off); err != nil || t.same(off, in.Len) {
			return nil
		}
		to, err := v.walk(t.Addr + off)
		if err != nil {
			return fmt.Errorf("branch to %#x: %w", t.Addr+off, err)
		}
		if to.Of != t.Addr+off-1 {
			return fmt.Errorf("branch to %#x: leads to the trampoline of %#x", t.Addr+off, to.Of)
		}
		return nil
	}
	if err := v.kept(t, off, seen); err != nil {
		return fmt.Errorf("branch to %#x: %w", t.Addr+off, err)
	}
	return nil
}

// kept: the bytes that are executed from off on stay, up to where an
// instruction of the sweep begins; and so wherever they branch to.
func (v *verifier) kept(t *text, off uint64, seen map[uint64]bool) error {
	for first := true; off < uint64(len(t.Bytes)) && (first || !t.starts.has(off)); first = false {
		if seen[t.Addr+off] {
			return nil
		}
		seen[t.Addr+off] = true
		in, err := x86.Decode(t.Bytes[off:], t.Addr+off)
		if err != nil {
			in.Len = 1
		}
		if !t.same(off, in.Len) {
			return fmt.Errorf("the instruction at %#x is changed", t.Addr+off)
		}
		if to, o := v.textAt(in.Target); in.Direct && to != nil && !to.starts.has(o) {
			if err := v.inner(to, o, seen); err != nil {
				return err
			}
		}
		if err != nil || in.Kind == x86.KindJmp || in.Kind == x86.KindRet || in.Kind == x86.KindStop {
			return nil
		}
		off += uint64(in.Len)
	}
	return nil
}

// outcomes: what the plan says of each site.
func (v *verifier) outcomes(sites []Site) error {
	if len(v.plan.TacticOf) != len(sites) {
		return fmt.Errorf("tactics of %d sites instead of %d", len(v.plan.TacticOf), len(sites))
	}
	for _, b := range v.plan.Traps {
		if t, off := v.textAt(b.Addr); t == nil || t.new[off] != 0xcc || t.Bytes[off] == 0xcc {
			return fmt.Errorf("breakpoint at %#x: not in a patch", b.Addr)
		}
	}
	var counts [NumTactics]int
	for i, s := range sites {
		tactic := v.plan.TacticOf[i]
		counts[tactic]++
		if tactic == Refused {
			continue
		}
		to, err := v.walk(s.Addr)
		if err != nil {
			return fmt.Errorf("site at %#x, %v: %w", s.Addr, tactic, err)
		}
		if to.Site != s.ID || to.Of != s.Addr {
			return fmt.Errorf("site at %#x, %v: leads to the trampoline of %#x", s.Addr, tactic, to.Of)
		}
	}
	if counts != v.plan.Tactics || counts[Refused] != len(v.plan.Refusals) {
		return fmt.Errorf("tactics %v, counted %v, %d refusals", v.plan.Tactics, counts, len(v.plan.Refusals))
	}
	return nil
}
