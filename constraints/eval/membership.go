package eval

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/cxxname"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// MemberHistory is where memberships are recorded; *mgpp.History is one.
type MemberHistory interface {
	Enter(ev *trace.Event, addr trace.Addr, size uint64, mark int) (mgpp.Timestamp, error)
	Leave(ev *trace.Event, addr trace.Addr, size uint64, mark int) (mgpp.Timestamp, error)
}

// Members turns calls of the functions that "enter" and "leave" directives name
// into operations of the history. An object is a node from the first write on of
// the call that enters it, or just before its exit C-point if there is none or
// where only the result tells, until just before the exit C-point of the one
// that it leaves by: so for each event call Before, then let the history and
// the schedule have it, then After; and Writes before a write of a thread. While
// a call has written nothing, as one that waits for a lock, other threads have C-points.
type Members struct {
	spec  *check.Spec
	hist  MemberHistory
	rules map[trace.FuncID][]int // indices in spec.Members
	open  map[trace.ThreadID][]memberCall
	due   []due // what enters with the next write of its thread
}

// due is what a call enters.
type due struct {
	call trace.Event
	rule int
	addr trace.Addr
}

// memberCall is a call in progress of a function that directives name.
type memberCall struct {
	fn   trace.FuncID
	sp   trace.Addr
	args [6]uint64
}

// NewMembers returns the memberships of a specification for a program as it
// was recorded.
func NewMembers(spec *check.Spec, prog *trace.Program, hist MemberHistory) *Members {
	m := &Members{spec: spec, hist: hist, rules: map[trace.FuncID][]int{}, open: map[trace.ThreadID][]memberCall{}}
	names := functionNames(prog)
	for i := range spec.Members {
		for _, f := range cxxname.Find(spec.Members[i].Func, names) {
			id := trace.FuncID(f + 1)
			m.rules[id] = append(m.rules[id], i)
		}
	}
	return m
}

// Before does what an event makes of memberships before its C-point.
func (m *Members) Before(ev *trace.Event) error {
	fn := trace.FuncID(ev.Aux)
	if ev.Kind == trace.KindThreadExit {
		delete(m.open, ev.Thread)
		return m.Writes(ev.Thread)
	}
	if ev.Kind != trace.KindReturn || len(m.rules[fn]) == 0 {
		return nil
	}
	if err := m.Writes(ev.Thread); err != nil {
		return err
	}
	stack := m.open[ev.Thread]
	i := len(stack) - 1
	for i >= 0 && (stack[i].fn != fn || stack[i].sp != ev.SP) {
		i--
	}
	if i < 0 {
		return nil
	}
	c := stack[i]
	if ev.Flags&trace.FlagUnwound == 0 {
		for _, r := range m.rules[fn] {
			if err := m.returned(ev, r, &c); err != nil {
				return err
			}
		}
	}
	m.open[ev.Thread] = stack[:i]
	return nil
}

// returned applies a directive at the return of its function.
func (m *Members) returned(ev *trace.Event, rule int, c *memberCall) error {
	d := &m.spec.Members[rule]
	if !d.Leave && !d.Return && d.Cond == nil {
		return nil // entered at the call
	}
	if d.Cond != nil && !condition(d.Cond, ev.Ret) {
		return nil
	}
	addr := trace.Addr(ev.Ret)
	if !d.Return {
		addr = c.arg(d.Arg)
	}
	return m.record(ev, rule, addr)
}

// After does what an event makes of memberships after its C-point.
func (m *Members) After(ev *trace.Event) error {
	fn := trace.FuncID(ev.Aux)
	if ev.Kind != trace.KindCall || len(m.rules[fn]) == 0 {
		return nil
	}
	c := memberCall{fn: fn, sp: ev.SP}
	copy(c.args[:], ev.Args)
	m.open[ev.Thread] = append(m.open[ev.Thread], c)
	for _, r := range m.rules[fn] {
		d := &m.spec.Members[r]
		if !d.Leave && !d.Return && d.Cond == nil {
			x := due{*ev, r, c.arg(d.Arg)}
			x.call.Stack, x.call.Args = slices.Clone(ev.Stack), slices.Clone(ev.Args)
			m.due = append(m.due, x)
		}
	}
	return nil
}

// Writes notes that a thread is about to change memory: what its call enters is a node now.
func (m *Members) Writes(id trace.ThreadID) error {
	if len(m.due) == 0 {
		return nil
	}
	var err error
	m.due = slices.DeleteFunc(m.due, func(x due) bool {
		if x.call.Thread != id || err != nil {
			return false
		}
		err = m.record(&x.call, x.rule, x.addr)
		return true
	})
	return err
}

func (c *memberCall) arg(n int) trace.Addr {
	if n < 1 || n > len(c.args) {
		return 0
	}
	return trace.Addr(c.args[n-1])
}

func (m *Members) record(ev *trace.Event, rule int, addr trace.Addr) error {
	if addr == 0 {
		return nil
	}
	d := &m.spec.Members[rule]
	size := uint64(8)
	if l := d.Type.Layout; l != nil && l.Size > 0 {
		size = uint64(l.Size)
	}
	var err error
	if d.Leave {
		_, err = m.hist.Leave(ev, addr, size, rule)
	} else {
		_, err = m.hist.Enter(ev, addr, size, rule)
	}
	return err
}

// condition evaluates "if return == 0". A result whose upper half is zero is
// taken as a C int: functions that return one leave no more.
func condition(x check.Expr, ret uint64) bool {
	n := int64(ret)
	if ret>>32 == 0 {
		n = int64(int32(ret))
	}
	e := &env{c: &Checker{}, idx: []int64{n}}
	return e.eval(x).tri() == yes
}

// Unmatched returns the directives whose function the program has not got, or
// has inlined everywhere.
func (m *Members) Unmatched() []int {
	var out []int
	for i := range m.spec.Members {
		found := false
		for _, rules := range m.rules {
			found = found || slices.Contains(rules, i)
		}
		if !found {
			out = append(out, i)
		}
	}
	return out
}
