//go:build linux && amd64

package x86

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
)

var trials = flag.Int("trials", 0, "executions of each form in TestEffectsByExecution, 0: few")

// form is an instruction that is executed.
type form struct {
	code []byte
	in   Inst
	e    Effects
	row  *effectRow

	trials int    // that were judged
	needed RegSet // units that something was seen to depend on
	kept   RegSet // units whose old value was seen to survive
}

func newForm(code []byte) *form {
	in, err := Decode(code, exeCode)
	if err != nil {
		return nil
	}
	f := &form{code: code[:in.Len], in: in, row: in.effectRow()}
	in.Effects(&f.e)
	return f
}

// unfit says why a form is not executed.
func (f *form) unfit() string {
	world := UnitFSBase.set().Or(UnitGSBase.set()).Or(UnitPKRU.set()).Or(UnitOther.set())
	switch {
	case f.e.Unknown:
		return "not in the table"
	case f.row.has(doSyscall) || f.row.has(doInterrupt):
		return "enters the kernel"
	case f.in.Kind == KindStop:
		return "stops"
	case f.e.Write.Intersects(world):
		return "changes what the judge needs: a segment, PKRU"
	case f.e.Read.AndNot(f.e.Addr).Intersects(world) && !f.row.has(doXsave) && !f.row.has(doXrstor):
		return "depends on what is outside the thread"
	case f.in.op == 0xc7 && f.in.Branch() == BranchTransaction:
		return "a transaction"
	}
	return ""
}

// forms are all encodings of the table, and those of real binaries.
func forms(t *testing.T) (all []*form, unfit map[string]int) {
	unfit = map[string]int{}
	add := func(code []byte) {
		f := newForm(code)
		if f == nil {
			return
		}
		if why := f.unfit(); why != "" {
			unfit[why]++
			return
		}
		all = append(all, f)
	}
	for _, code := range encodings() {
		add(code)
	}
	for modrm := 0xc0; modrm < 0x100; modrm++ {
		for op := byte(0xd8); op <= 0xdf; op++ {
			add([]byte{op, byte(modrm)})
		}
		for _, op := range []byte{0x01, 0xae} {
			add([]byte{0x0f, op, byte(modrm)})
		}
	}
	for _, extra := range extraForms {
		add([]byte(extra))
	}
	type key struct {
		line                  uint16
		mod                   bool
		w, opsize, rep, repne bool
		vl, reg               byte
	}
	seen := map[key]int{}
	for _, path := range binaries() {
		eachInst(t, path, func(code []byte, in *Inst) {
			row := in.effectRow()
			if row == nil {
				return
			}
			k := key{row.line, in.mem(), in.w, in.opsize, in.rep, in.repne, in.vl, 0}
			if row.regs != 0xff {
				k.reg = in.reg
			}
			if seen[k]++; seen[k] <= 4 {
				add(slices.Clone(code[:in.Len]))
			}
		})
	}
	return all, unfit
}

// Forms that neither the sweep of opcodes nor binaries have enough of.
var extraForms = []string{
	"\xff\xd0", "\xff\xe1", "\xff\x13", "\xff\x20", "\xc3", "\xc2\x10\x00", "\xc8\x20\x00\x00", "\xc9", "\x54", "\x5c",
	"\x8f\x44\x24\x08", "\xff\x74\x24\x08", "\x66\x5b", "\x66\x53", "\x66\x48\x8f\x07", "\x66\x8f\x07", "\x66\x48\x50", "\x66\x48\x58", "\xd7", "\x65\x48\x8b\x07", "\x65\x67\x48\x89\x07",
	"\xf3\xa4", "\xf3\x48\xa5", "\xf3\xaa", "\xf3\x48\xab", "\xf3\xa6", "\xf2\xa6", "\xf3\xae", "\xf2\xae", "\xf3\xac", "\x67\xf3\xa4",
	"\x67\xe3\x00", "\x67\xe2\x00", "\x00\xe4", "\x88\xe7", "\x40\x88\xe7", "\x86\xe0", "\x30\xe4", "\x28\xe4", "\x38\xe4", "\x30\xc4",
	"\xf6\xe4", "\xf6\xf4", "\x9c", "\x9e", "\x9f", "\x0f\xc8", "\x66\x0f\xc8",
	"\x48\x0f\xc7\x0f", "\xf0\x48\x0f\xc7\x0e", "\x0f\xc7\x0f", "\x0f\xb1\xc8", "\x0f\xb0\xe1", "\x48\x0f\xb1\x0f",
	"\x0f\xc1\xc0", "\x48\x0f\xc1\xd8", "\x0f\xc0\xe4", "\x48\x87\xc0", "\x87\xc0",
	"\x83\xe0\x00", "\x48\x83\xe0\x00", "\x83\xc8\xff", "\x66\x83\xe1\x00", "\x24\x00", "\x80\xe4\x00", "\x80\x0f\xff", "\x80\x27\x00",
	"\xc0\xe0\x00", "\xc1\xe0\x00", "\x48\xc1\xe0\x40", "\xc1\xe0\x20", "\xc0\xe0\x09", "\xc0\xe0\x08", "\x66\xc1\xe8\x11", "\xc0\xc0\x08", "\xc0\xd0\x09", "\x66\xc1\xd0\x11",
	"\x0f\xa4\xc8\x00", "\x0f\xa4\xc8\x01", "\x0f\xa4\xc8\x1f", "\x66\x0f\xa4\xc8\x0f", "\x66\x0f\xac\xc8\x12",
	"\xc5\xf8\x77", "\xc5\xfc\x77", "\x0f\x0e", "\x0f\x77", "\x67\x8d\x07", "\x66\x8d\x07", "\x64\x8d\x07",
	"\xc4\xe2\x6d\x90\x04\x8f", "\xc4\xe2\x6d\x91\x04\x8f", "\xc4\xe2\xed\x90\x04\x8f", "\xc4\xe2\xed\x93\x04\x0f", "\xc4\xe2\x69\x93\x04\x8f", "\xc4\xe2\x69\x92\x04\x0f",
	"\xc4\xe2\xf3\xf6\xc1", "\xc4\xe2\xe3\xf6\xc1", "\xc4\xe2\xfb\xf6\xc0",
}

// executor judges forms by executing them.
type executor struct {
	m       *machine
	found   []string // by the trial at hand
	wrong   map[string]bool
	first   []string
	once    []string // found by a trial, and not when it was made again
	skipped map[string]int
	judged  int
	copies  int
}

func (x *executor) fail(f *form, format string, args ...any) {
	x.found = append(x.found, fmt.Sprintf(format, args...))
}

// judge makes a trial, and one that finds something once more: what a processor does once
// and not again from the same state (seen in a virtual machine: SIGILL of a vmovd, one
// time in 777,000) is none of the table's business.
func (x *executor) judge(t *trial, source *rand.PCG) {
	from := *source
	if x.trial(t); len(x.found) == 0 {
		return
	}
	was := x.found
	x.found, *source = nil, from
	x.trial(t)
	for _, msg := range was {
		text := fmt.Sprintf("% x: %s: %s\n\ttable: %s", t.form.code, Text(t.form.code, exeCode), msg, tableLine(t.form.row))
		if !slices.Contains(x.found, msg) {
			x.once = append(x.once, text)
		} else if key := fmt.Sprint(t.form.row.line, msg); !x.wrong[key] {
			x.wrong[key] = true
			x.first = append(x.first, text)
		}
	}
	x.found = nil
}

func tableLine(r *effectRow) string { return strings.Split(effectRows, "\n")[r.line] }

// trial executes a form from a random state and from some that differ from it, and
// compares what the table says:
//
//  1. What is not written does not change, registers and memory.
//  2. With other values in everything that is not read (nor kept), the result is the same.
//  3. With another value in one unit that may be kept, all others are the same.
//  4. With all addresses moved by 128 in memory that repeats itself every 128 bytes, the
//     result is the same, and what is moved on is moved by 128.
//
// It notes which units that are read decide on anything.
func (x *executor) trial(t *trial) {
	if err := t.prepare(x.m); err != nil {
		x.skipped[err.Error()]++
		return
	}
	e, m := &t.e, x.m
	other := make(state, exeState)
	randomState(t.r, other)
	if t.form.row.has(doXrstor) || t.form.row.has(doFxrstor) {
		copy(t.base.memory()[t.at[0]-exeMemory:], other[atXsave:atMemory])
	}
	maybe := e.Write.AndNot(e.Kill).AndNot(e.Read).And(executable)
	free := executable.AndNot(e.Read).AndNot(maybe)
	base := m.add(t.code, t.base)

	perturbed := m.add(t.code, t.base)
	for u := range free.All() {
		copyUnit(u, perturbed.before(), other)
	}
	for i, b := range other.memory() {
		if !t.reads[i] && !t.keep[i] {
			perturbed.before().memory()[i] = b
		}
	}
	kept := map[Unit]job{}
	for u := range maybe.All() {
		if m.jobs > 200 {
			break
		}
		kept[u] = m.add(t.code, t.base)
		copyUnit(u, kept[u].before(), other)
	}
	keptMemory := m.add(t.code, t.base)
	for i, b := range other.memory() {
		if t.keep[i] {
			keptMemory.before().memory()[i] = b
		}
	}
	read := map[Unit]job{}
	for u := range e.Read.AndNot(e.Addr).AndNot(t.form.needed).And(executable).AndNot(t.fixed).All() {
		if m.jobs > 240 {
			break
		}
		read[u] = m.add(t.code, t.base)
		copyUnit(u, read[u].before(), other)
	}
	move := t.moved && len(t.bases) > 0
	for _, r := range t.bases {
		move = move && e.Addr.Contains(GPR(r, 0, 8))
	}
	var here, there job
	if move {
		here = m.add(t.code, t.base)
		mem := here.before().memory()
		for i := 128; i < len(mem); i++ {
			mem[i] = mem[i-128]
		}
		if t.in.Kind == KindRet || t.in.Kind == KindJmp || t.in.Kind == KindCall {
			from := int(t.at[0] - exeMemory)
			for i := from % 128; i+128 <= len(mem); i += 128 {
				copy(mem[i:], t.base.memory()[from:from+8])
			}
		}
		there = m.add(t.code, here.before())
		slices.Sort(t.bases)
		for _, r := range slices.Compact(slices.Clone(t.bases)) {
			there.before().setGPR(r, t.base.gpr(r)+128)
		}
	}
	if err := m.run(); err != nil {
		x.fail(t.form, "the program that executes: %v", err)
		return
	}
	if s := base.signal(); s != 0 {
		x.skipped[fmt.Sprintf("signal %d", s)]++
		if s == uint32(syscall.SIGSEGV) && e.NMem == 0 && t.in.Kind == KindOther && t.form.row.steps[0].access != accNone {
			x.fail(t.form, "faults, and the table has no access to memory")
		}
		if p := perturbed.signal(); p != s {
			x.fail(t.form, "signal %d, with other values in what is not read %d", s, p)
		}
		return
	}
	x.judged++
	t.form.trials++
	for _, j := range []job{base, perturbed} {
		x.unchanged(t, j)
	}
	if d := t.differ(base, perturbed, RegSet{}); d != "" {
		x.fail(t.form, "%s depends on what is not read", d)
	}
	for u, j := range kept {
		if d := t.differ(base, j, u.set()); d != "" {
			x.fail(t.form, "%s depends on %s, which is not read", d, u)
		}
		if !sameUnit(u, base.after(), j.after()) {
			t.form.kept.Add(u)
		}
	}
	if d := t.differRegisters(base, keptMemory, RegSet{}); d != "" {
		x.fail(t.form, "%s depends on memory that is not read", d)
	}
	for u, j := range read {
		self := RegSet{}
		if e.Write.Has(u) && !e.Kill.Has(u) {
			self = u.set()
		}
		if t.differ(base, j, self) != "" {
			t.form.needed.Add(u)
		}
	}
	x.copied(t, base)
	if move && here.signal() == 0 {
		x.moved(t, here, there)
	}
}

// unchanged: what is not written.
func (x *executor) unchanged(t *trial, j job) {
	if j.signal() != 0 {
		return // compared already
	}
	if j.stray() {
		x.fail(t.form, "writes memory elsewhere")
	}
	for u := range executable.AndNot(t.e.Write).All() {
		if !sameUnit(u, j.before(), j.after()) {
			x.fail(t.form, "changes %s, which is not written", u)
		}
	}
	before, after := j.before().memory(), j.after().memory()
	for i := range before {
		if before[i] != after[i] && !t.write[i] {
			x.fail(t.form, "changes memory that is not written")
			return
		}
	}
}

// differ says in which of the results two executions differ, but for some units.
func (t *trial) differ(a, b job, but RegSet) string {
	if d := t.differRegisters(a, b, but); d != "" {
		return d
	}
	ma, mb := a.after().memory(), b.after().memory()
	for i := range ma {
		if t.write[i] && ma[i] != mb[i] {
			return "memory"
		}
	}
	return ""
}

func (t *trial) differRegisters(a, b job, but RegSet) string {
	if a.signal() != b.signal() {
		return fmt.Sprintf("signal %d or %d", a.signal(), b.signal())
	}
	if a.taken() != b.taken() {
		return "where it goes"
	}
	for u := range t.e.Write.And(executable).AndNot(but).All() {
		if !sameUnit(u, a.after(), b.after()) {
			return u.String()
		}
	}
	return ""
}

// copied: what Copy says of the value.
func (x *executor) copied(t *trial, j job) {
	c, ok := t.in.Copy()
	if !ok || !executable.Contains(c.From.Or(c.To)) {
		return
	}
	x.copies++
	from, to := t.value(j.before(), c.From, c.Size), t.value(j.after(), c.To, c.Size)
	n := min(len(from), len(to)) // of ZMM the lower half is seen
	if !bytes.Equal(from[:n], to[:n]) {
		x.fail(t.form, "no copy: % x became % x", from, to)
	}
}

// value is that of a register, or of the first access to memory.
func (t *trial) value(s state, units RegSet, n int) (v []byte) {
	if units.Empty() {
		from := t.at[0] - exeMemory
		return s.memory()[from : from+uint64(n)]
	}
	for u := range units.All() {
		for _, m := range masksOf[u] {
			v = append(v, s[m.at])
		}
	}
	return v[:min(n, len(v))]
}

// moved: the same in another place.
func (x *executor) moved(t *trial, here, there job) {
	if there.signal() != 0 {
		x.fail(t.form, "signal %d elsewhere", there.signal())
		return
	}
	if d := t.differRegisters(here, there, t.e.Step.Or(t.e.Write.AndNot(t.e.Kill).And(t.fixed))); d != "" {
		x.fail(t.form, "%s depends on an address", d)
	}
	for r := RAX; r < 16; r++ {
		if t.e.Step.Contains(GPR(r, 0, 8)) && there.after().gpr(r) != here.after().gpr(r)+128 {
			x.fail(t.form, "%s is not moved on alone", gprNames[r])
		}
	}
	ha, th := here.after().memory(), there.after().memory()
	for i := range len(ha) - 128 {
		if t.write[i] && ha[i] != th[i+128] {
			x.fail(t.form, "what is stored depends on an address")
			return
		}
	}
}

// TestEffectsByExecution executes every form that the processor has from random states
// and compares what changes, and what that depends on, with the table.
func TestEffectsByExecution(t *testing.T) {
	all, unfit := forms(t)
	x := &executor{m: newMachine(t), wrong: map[string]bool{}, skipped: map[string]int{}}
	n := *trials
	if n == 0 {
		n = 4
	}
	source := rand.NewPCG(1, 2)
	tr := &trial{r: rand.New(source), base: make(state, exeState)}
	for _, f := range all {
		tr.form = f
		for range n {
			x.judge(tr, source)
		}
	}
	for _, w := range x.first {
		t.Error(w)
	}
	t.Logf("found once, and not again: %q", x.once)
	if most := x.judged/10000 + 1; len(x.once) > most {
		t.Errorf("%d findings, of %d trials, were not made again: is it the processor?", len(x.once), x.judged)
	}
	x.report(t, all, unfit)
}

// report says what was executed and what not, and where the table says more than was
// ever seen.
func (x *executor) report(t *testing.T, all []*form, unfit map[string]int) {
	executed, rows := 0, map[uint16]bool{}
	excess := map[uint16]RegSet{}
	for _, f := range all {
		if f.trials == 0 {
			continue
		}
		executed++
		over := f.e.Read.AndNot(f.e.Addr).And(executable).AndNot(f.needed)
		if old, ok := excess[f.row.line]; ok {
			over = over.And(old)
		}
		rows[f.row.line], excess[f.row.line] = true, over
	}
	t.Logf("%d forms executed, of %d; %d trials, %d executions", executed, len(all), x.judged, x.m.runs)
	t.Logf("%d trials of copies", x.copies)
	t.Logf("not executed: %v", unfit)
	t.Logf("trials without a result: %v", x.skipped)
	lines := strings.Split(effectRows, "\n")
	never := 0
	for n, l := range lines {
		if strings.TrimSpace(l) == "" || rows[uint16(n)] {
			continue
		}
		never++
		t.Logf("never executed: %s", l)
	}
	t.Logf("%d lines of the table executed, %d not", len(rows), never)
	for n, s := range excess {
		if !s.Empty() {
			t.Logf("read and never needed: %s: %v", lines[n], s)
		}
	}
}
