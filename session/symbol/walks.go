package symbol

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"mgtrace/trace"
	"mgtrace/x86"
)

// Limits of the loops in which walks are looked for.
const (
	maxWalkLoops = 3       // around each other
	maxWalkCode  = 1 << 11 // bytes of one
)

// Walks are the places of the links by which the loops around an instruction go from one pointer to the next, until that is NULL, in bytes
// from where the pointer leads: of `for (p = l; p; p = p->next)` that of next.
func (s *Table) Walks(pc trace.Addr) (links []int64) {
	im, ok := s.Image(pc)
	if !ok || im.Obj == nil {
		return nil
	}
	at := uint64(pc - im.Bias)
	fn, ok := im.Obj.FuncAt(at)
	if !ok {
		return nil
	}
	var loops [][2]uint64 // from the first byte of the first instruction to that of the last one
	for i, in := range im.Insts(&fn) {
		if in != nil && in.Direct && in.Kind != x86.KindCall && in.Target <= at && at <= i && i-in.Target < maxWalkCode {
			loops = append(loops, [2]uint64{in.Target, i})
		}
	}
	slices.SortFunc(loops, func(a, b [2]uint64) int { return int(a[1]-a[0]) - int(b[1]-b[0]) })
	for _, l := range loops[:min(len(loops), maxWalkLoops)] {
		for _, off := range walks(im.Obj.Code(l[0], int(l[1]-l[0]))) {
			if !slices.Contains(links, off) {
				links = append(links, off)
			}
		}
	}
	return links
}

// spot is a register, or a word of the stack.
type spot struct {
	reg  x86asm.Reg
	slot bool // the word at disp from it
	disp int64
}

// link is where a pointer was read: some bytes behind where another one leads, which was in a spot.
type link struct {
	from spot
	off  int64
}

// walks are those of the code of one loop: a spot holds what was read by a pointer that was there, and is asked whether it is NULL.
func walks(code []byte) (offs []int64) {
	held := map[spot][]link{} // what they may hold
	whose := map[spot]spot{}  // the word of the stack from which a register was loaded last
	hold := func(p spot, links ...link) {
		if !p.slot {
			held[p] = nil // the code goes through many words with one register
		}
		for _, l := range links {
			if !slices.Contains(held[p], l) {
				held[p] = append(held[p], l)
			}
		}
	}
	var asked []link
	for range 2 { // what is copied first was read in the turn before
		for rest := code; len(rest) > 0; {
			in, err := x86.Disassembled(rest)
			if err != nil {
				return nil
			}
			rest = rest[in.Len:]
			to, toOK := inSpot(in.Args[0])
			from, fromOK := inSpot(in.Args[1])
			mem, isMem := in.Args[1].(x86asm.Mem)
			imm, isImm := in.Args[1].(x86asm.Imm)
			switch {
			case in.Op == x86asm.TEST && toOK && to == from, in.Op == x86asm.CMP && toOK && isImm && imm == 0 && in.DataSize == 64:
				asked = append(asked, held[to]...)
			case in.Op != x86asm.MOV || !toOK:
			case fromOK:
				hold(to, slices.Clone(held[from])...)
				if delete(whose, to); from.slot {
					whose[to] = from
				}
			case isMem && wide(mem.Base) && mem.Index == 0 && mem.Segment == 0:
				base := spot{reg: mem.Base}
				if slot, ok := whose[base]; ok {
					base = slot
				}
				hold(to, link{base, mem.Disp})
				delete(whose, to)
			}
		}
	}
	for _, l := range asked {
		if slices.Contains(held[l.from], l) && !slices.Contains(offs, l.off) {
			offs = append(offs, l.off)
		}
	}
	return offs
}

// inSpot is the spot that an operand of 8 bytes is.
func inSpot(arg x86asm.Arg) (p spot, ok bool) {
	switch arg := arg.(type) {
	case x86asm.Reg:
		return spot{reg: arg}, wide(arg)
	case x86asm.Mem:
		return spot{arg.Base, true, arg.Disp}, (arg.Base == x86asm.RBP || arg.Base == x86asm.RSP) && arg.Index == 0 && arg.Segment == 0
	}
	return p, false
}

func wide(r x86asm.Reg) bool { return x86asm.RAX <= r && r <= x86asm.R15 }
