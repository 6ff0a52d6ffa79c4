package replay

// Beside is a call that a run makes before one of its instructions, as if the program made it there. Entry 0: there is none.
type Beside struct {
	Entry uint64
	Args  []uint64 // integer arguments, six at most
	Step  int      // so many instructions come before it
}

// parting is such a call while it is executed: where the run goes on behind it, and with what.
type parting struct {
	pc     uint64
	frames int
	reg    [16]uint64
	xmm    [16][2]uint64
	from   [16]*Origin
	flags  uint64
	cf, zf bool
	sf, of bool
	pf     bool
}

// beside begins the call that is made beside, and ends it.
func (c *cpu) beside() {
	b := &c.call.Beside
	if a := c.aside; a != nil {
		if len(c.frames) == a.frames && c.pc == a.pc {
			c.reg, c.xmm, c.from, c.flags = a.reg, a.xmm, a.from, a.flags
			c.cf, c.zf, c.sf, c.of, c.pf = a.cf, a.zf, a.sf, a.of, a.pf
			c.aside, c.aided, c.last = nil, true, nil
		}
		return
	}
	if c.aided || c.run.Steps != b.Step {
		return
	}
	c.aside = &parting{pc: c.pc, frames: len(c.frames), reg: c.reg, xmm: c.xmm, from: c.from, flags: c.flags, cf: c.cf, zf: c.zf, sf: c.sf, of: c.of, pf: c.pf}
	for i, r := range wholeArgs {
		if i < len(b.Args) {
			c.give(r, b.Args[i])
		}
	}
	c.reg[rsp] = (c.reg[rsp] - redZone) &^ 15
	c.push(c.pc)
	c.frames, c.calls = append(c.frames, c.pc), nil
	c.pc, c.last = b.Entry, nil
}

// Called is a call that a run has made, of code that was executed; the first is that which was asked for.
type Called struct {
	PC    uint64 // of the instruction, 0 of the first
	Entry uint64
	Args  [6]uint64
	Calls []uint64 // return addresses, its own first, and then of the calls around it
	Step  int      // so many instructions came before it
	// Last is how many there were before the one by which it returned, and that instruction: 0 if it has not.
	Last   int
	LastPC uint64
	// Before and Behind are how many effects there were by the time that it began and returned.
	Before, Behind int
}

// openCalled is a call that has not returned.
type openCalled struct{ index, frames int }

// called notes a call that begins, by the instruction at pc.
func (c *cpu) called(pc, entry uint64) {
	x := Called{PC: pc, Entry: entry, Calls: c.stackOf(0), Step: max(c.run.Steps-1, 0), Before: len(c.run.Effects)}
	for i, r := range wholeArgs {
		x.Args[i] = c.reg[r]
	}
	c.open = append(c.open, openCalled{len(c.run.Called), len(c.frames)})
	c.run.Called = append(c.run.Called, x)
}

// returns notes that the innermost call returns by the instruction that is executed. What a library function did has no such.
func (c *cpu) returns() {
	for n := len(c.open); n > 0 && c.open[n-1].frames >= len(c.frames); n-- {
		if o := c.open[n-1]; o.frames == len(c.frames) {
			x := &c.run.Called[o.index]
			x.Last, x.LastPC, x.Behind = c.run.Steps-1, c.pc, len(c.run.Effects)
		}
		c.open = c.open[:n-1]
	}
}
