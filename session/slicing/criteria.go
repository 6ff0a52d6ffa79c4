package slicing

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/query"
	"mgtrace/report"
	"mgtrace/session/ask"
	"mgtrace/slice"
	"mgtrace/trace"
	"mgtrace/x86"
)

// start is where a slice begins.
type start struct {
	nodes slice.Criteria
	words string
}

// registerAt is a criterion like rax@0x401234#3: the register before the third
// execution of the instruction; or like rax@crash.
var registerAt = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z][a-z0-9]*)@(?:crash|(0x[0-9a-fA-F]+)(?:#([0-9]+))?)$`)
})

// instantAt is a criterion like @12345: the instruction with that number.
var instantAt = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@([0-9]+)$`) })

// suspect is what a suspect wrote. If it did not, it is the branch that decided that it
// does not run, and what is there instead.
func (s *slicer) suspect(h opHistory, su *report.Suspect) (start, error) {
	words := fmt.Sprintf("suspect %d, %s: %s", su.Rank, su.Place(), su.Change)
	if su.Kind != string(faultloc.Omitted) {
		return s.change(h, mgpp.Timestamp(su.Timestamp), words)
	}
	c := start{}
	var parts []string
	branch, err := s.passedBy(h, su.Omission)
	if err != nil {
		return c, err
	}
	if branch != 0 {
		c.nodes, parts = append(c.nodes, branch), append(parts, "who decided that it does not run")
	}
	if t := mgpp.Timestamp(su.Omission.Instead); t != 0 {
		instead, err := s.change(h, t, words)
		if err != nil {
			return c, err
		}
		c.nodes, parts = append(c.nodes, instead.nodes...), append(parts, "what is there instead")
	}
	if len(c.nodes) == 0 {
		return c, fmt.Errorf("%s: what should have led to it is not known, there is nothing to slice from", words)
	}
	c.words = words + " (" + strings.Join(parts, ", and ") + ")"
	return c, nil
}

// passedBy is the branch that led past a statement that should have run: of what
// leads to it where it runs, the execution next to the omission. 0: it is not known.
func (s *slicer) passedBy(h opHistory, o report.Omission) (slice.Node, error) {
	if o.Elsewhere == 0 || o.Beside == 0 {
		return 0, nil
	}
	var at [2]slice.Node
	for i, t := range []uint64{o.Elsewhere, o.Beside} {
		op := h.Op(mgpp.Timestamp(t))
		if op.Instant == 0 {
			return 0, nil
		}
		var err error
		if at[i], err = s.x.Find(uint64(op.Instant)); err != nil {
			return 0, err
		}
	}
	return s.x.Branch(at[0], at[1])
}

// opHistory is a history, in memory or in an index.
type opHistory interface {
	Op(mgpp.Timestamp) mgpp.Op
}

// change is a change of the history.
func (s *slicer) change(h opHistory, t mgpp.Timestamp, words string) (c start, err error) {
	if t == 0 {
		return c, fmt.Errorf("%s: it is no change, there is nothing to slice from", words)
	}
	op := h.Op(t)
	if part := s.flow.Head().Part; op.Instant == 0 && part != "" {
		return c, fmt.Errorf("%s: change %d was not in the part of the run whose instructions were recorded (%s): record another part, or all of it", words, t, part)
	}
	if op.Instant == 0 {
		return c, fmt.Errorf("%s: which instruction made change %d was not recorded; ask for one of its values with REG@PC", words, t)
	}
	c.words = words
	c.nodes, err = s.x.Written(uint64(op.Instant))
	return c, err
}

// from finds what the user names.
func (s *slicer) from(ctx context.Context, q *ask.Queries, criterion, at string) (c start, err error) {
	if m := instantAt().FindStringSubmatch(criterion); m != nil {
		n, err := number(m[1], 10)
		if err != nil {
			return c, err
		}
		c.words = "instruction " + report.Thousands(n)
		c.nodes, err = s.x.Written(n)
		return c, err
	}
	if m := registerAt().FindStringSubmatch(criterion); m != nil {
		units, ok := registerNamed(m[1])
		switch {
		case !ok:
			return c, fmt.Errorf("%s is no register that can be asked for: rax … r15, xmm0 … xmm15, or flags", m[1])
		case m[2] == "":
			return s.registerAtCrash(q, m[1], units)
		}
		return s.register(ctx, units, m[1], m[2], m[3])
	}
	if criterion == atCrash {
		return s.crashed(q)
	}
	if strings.Contains(criterion, "@") {
		return c, fmt.Errorf("%s: a register is asked for as rax@0x401234#3 or rax@crash, an instruction as @12345", criterion)
	}
	p, err := query.ParsePath(criterion)
	if err != nil {
		return c, err
	}
	t, err := q.Time(at)
	if err != nil {
		return c, err
	}
	cell, err := q.Answers.Resolve(p, q.Answers.History().At(t))
	if err != nil {
		return c, q.Explain(err, t)
	}
	for w := range q.Answers.Writers(cell, t) {
		return s.change(q.Answers.History(), w.Op.Time, fmt.Sprintf("%s, written at %s: %s", criterion, s.rec.Symbols.Place(w.Op.PC), w.What))
	}
	if err := q.Failed(); err != nil {
		return c, err
	}
	return c, fmt.Errorf("%s: no recorded change wrote it at change %d or before", criterion, t)
}

// register is what a register was before an execution of an instruction.
func (s *slicer) register(ctx context.Context, units slice.Regs, reg, address, nth string) (c start, err error) {
	pc, err := number(strings.TrimPrefix(address, "0x"), 16)
	if err != nil {
		return c, err
	}
	n := uint64(0)
	if nth != "" {
		if n, err = number(nth, 10); err != nil {
			return c, err
		}
		if n == 0 {
			return c, fmt.Errorf("%s@%s#%s: executions are counted from 1", reg, address, nth)
		}
	}
	pc = s.running(pc)
	at, count, err := s.x.Executed(ctx, pc, n)
	switch {
	case err != nil:
		return c, err
	case at == 0 && count == 0:
		return c, fmt.Errorf("%s: the instruction was executed 0 times; addresses are those of the process, or as objdump has them of the program", address)
	case at == 0:
		return c, fmt.Errorf("%s: the instruction was executed %s", address, report.Plural(int(count), "time", "times"))
	}
	defs, _, err := s.x.Defined(at, units)
	if err != nil {
		return c, err
	}
	if len(defs) == 0 {
		return c, fmt.Errorf("%s at %s: nothing in the recording wrote it before", reg, address)
	}
	if n == 0 {
		n = count
	}
	c.nodes = defs
	c.words = fmt.Sprintf("%s before execution %d of %s", reg, n, s.rec.Symbols.Address(trace.Addr(pc)))
	return c, nil
}

// number reads digits.
func number(digits string, base int) (uint64, error) {
	n, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: the number is too large", digits)
	}
	return n, nil
}

// running is the address in the process of what the user means by an address: that, or, where
// nothing was mapped there, one in the file of the program.
func (s *slicer) running(pc uint64) uint64 {
	if _, ok := s.rec.Symbols.Image(trace.Addr(pc)); ok {
		return pc
	}
	for _, im := range s.rec.Symbols.Images {
		if at := im.Bias + trace.Addr(pc); im.Traced && im.Lo <= at && at < im.Hi {
			return uint64(at)
		}
	}
	return pc
}

// registerNamed returns the units of a register by its name.
func registerNamed(name string) (slice.Regs, bool) {
	for i, r := range []string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"} {
		if r == name {
			return slice.Regs(x86.GPR(x86.Reg(i), 0, 8)), true
		}
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "xmm")); err == nil && strings.HasPrefix(name, "xmm") && n >= 0 && n < 32 {
		return slice.Regs(x86.Vector(n, 0, 16)), true
	}
	if name == "flags" {
		var s x86.RegSet
		for _, u := range []x86.Unit{x86.UnitCF, x86.UnitPF, x86.UnitAF, x86.UnitZF, x86.UnitSF, x86.UnitOF} {
			s.Add(u)
		}
		return slice.Regs(s), true
	}
	return slice.Regs{}, false
}
