package analysis

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/describe"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

// maxUnseen bounds the ranges that are listed.
const maxUnseen = 256

// ReadMemory reads the held process: it fills b from addr and returns how many
// bytes it could read.
type ReadMemory = func(b []byte, addr trace.Addr) int

// auditor compares a history with real memory (algorithms.md, "Audit").
type auditor struct {
	a    *Analysis
	read ReadMemory
	out  trace.Audit
	emit func(*trace.Event) error

	memory []byte
	bytes  mgpp.Bytes
}

// RunAudit compares every live node of the program with memory. Each difference is emitted as
// an unseen write, so that what is checked from here on is what is there.
func (a *Analysis) RunAudit(read ReadMemory, emit func(*trace.Event) error) error {
	u := newAuditor(a, read, emit)
	now := a.Hist.Now()
	view := a.Hist.At(now)
	for _, id := range slices.Collect(a.Hist.Live(now)) {
		n, ok := view.Node(id)
		if !ok || a.foreign(id) {
			continue
		}
		u.out.Nodes++
		for at := uint64(0); at < n.Size; at += trace.MemoryChunk {
			if err := u.compare(view, n.Start+trace.Addr(at), min(trace.MemoryChunk, n.Size-at)); err != nil {
				return err
			}
		}
	}
	a.auditResult(&u.out)
	return nil
}

func newAuditor(a *Analysis, read ReadMemory, emit func(*trace.Event) error) *auditor {
	return &auditor{
		a: a, read: read, emit: emit, memory: make([]byte, trace.MemoryChunk),
		bytes: mgpp.NewBytes(trace.MemoryChunk),
	}
}

// recorded compares with memory as a recording kept it.
func (a *Analysis) recorded(ev *trace.Event) error {
	if a.auditing == nil {
		a.auditing = newAuditor(a, nil, a.Event)
	}
	u := a.auditing
	if ev.Size == 0 {
		a.auditing = nil
		a.auditResult(&u.out)
		return nil
	}
	now := a.Hist.Now()
	id, ok := a.Hist.NodeAtTime(ev.Addr, now)
	if !ok || a.foreign(id) {
		return nil
	}
	if a.Hist.Node(id).Start == ev.Addr {
		u.out.Nodes++
	}
	u.read = func(b []byte, _ trace.Addr) int { return copy(b, ev.Data) }
	return u.compare(a.Hist.At(now), ev.Addr, min(ev.Size, trace.MemoryChunk))
}

// Audited takes over the audit that was made while the program ran, nil if none was.
func (a *Analysis) Audited(done *trace.Audit) {
	if done != nil && a.audit == nil {
		a.Graph.Advance()
		a.auditResult(done)
	}
}

// foreign reports whether a block is a library's own: allocated by code whose
// stores are not captured, and of no declared type. Nobody reads its bytes. So is
// an allocator's memory between blocks.
func (a *Analysis) foreign(id mgpp.NodeID) bool {
	n := a.Hist.Node(id)
	if n.Arena {
		return true // its bytes are those of the blocks in it, and what these left
	}
	if a.closedLate(id) {
		return true
	}
	if v, ok := trace.Local(n.Alloc); ok && strings.HasPrefix(v, "main::") {
		return true // what ends the program runs where main's frame was
	}
	if a.Relevance != nil && a.Relevance.Ignores(n.Stack) {
		return true
	}
	if n.Before {
		t, _, _ := a.Graph.TypeOf(n)
		return t == nil // nobody knows whose it is
	}
	if a.Typing == nil || n.Tracked || len(n.Stack) == 0 || a.Typing.ProgramsOwn(n.Stack[0]) {
		return false
	}
	t, _, _ := a.Graph.TypeOf(n)
	return t == nil
}

// compare compares one range inside a node.
func (u *auditor) compare(view mgpp.View, addr trace.Addr, size uint64) error {
	b := mgpp.Bytes{Data: u.bytes.Data[:size], Written: u.bytes.Written[:size]}
	if !view.Read(addr, &b) {
		return nil
	}
	have := u.memory[:size]
	n := u.read(have, addr)
	u.out.Unreadable += size - uint64(n)
	for i := 0; i < n; i++ {
		if !b.Written[i] {
			continue
		}
		u.out.Bytes++
		if have[i] == b.Data[i] {
			continue
		}
		j := i + 1
		for j < n && b.Written[j] && have[j] != b.Data[j] {
			u.out.Bytes++
			j++
		}
		if err := u.unseen(addr+trace.Addr(i), have[i:j], b.Data[i:j]); err != nil {
			return err
		}
		i = j - 1
	}
	return nil
}

// unseen takes bytes that differ into the history. In a lock or a condition of the C
// library they are its own: what a thread writes there that waits is never seen.
func (u *auditor) unseen(addr trace.Addr, have, want []byte) error {
	if t := u.a.lastSeen(addr, uint64(len(have))); t == 0 || !trace.Locks(u.a.Hist.Op(t).Name) {
		u.out.Total += uint64(len(have))
		if len(u.out.Unseen) < maxUnseen {
			u.out.Unseen = append(u.out.Unseen, trace.Unseen{Addr: addr, Have: slices.Clone(have), Want: slices.Clone(want)})
		}
	}
	return u.emit(&trace.Event{Kind: trace.KindBulk, Name: trace.UnseenWrite, Addr: addr, Size: uint64(len(have)), Data: slices.Clone(have), Wall: -1})
}

// auditResult keeps the result of the last audit, with the differences in words.
func (a *Analysis) auditResult(t *trace.Audit) {
	r := &report.Audit{Nodes: t.Nodes, Bytes: t.Bytes, Unseen: t.Total, Unreadable: t.Unreadable}
	if t.Total > 0 {
		r.Libraries = a.Symbols.Uncaptured()
	}
	if a.audit != nil { // an earlier audit, at the crash, has found these
		r.Unseen += a.audit.Unseen
		r.Where, r.Libraries = a.audit.Where, a.audit.Libraries
	}
	if len(t.Unseen) > 0 { // a loop may have written for long since the last check, and nobody asks
		a.Graph.Advance()
	}
	for _, x := range t.Unseen[:min(len(t.Unseen), 16)] {
		if where := a.unseenWhere(x); !slices.Contains(r.Where, where) { // bytes of one field
			r.Where = append(r.Where, where)
		}
	}
	a.audit = r
	if a.TrailerAudit != nil {
		t.Unseen = append(a.TrailerAudit.Unseen, t.Unseen...)
		t.Total += a.TrailerAudit.Total
	}
	a.TrailerAudit = t
}

// unseenWhere names the field and the time of the last write to it that was seen.
func (a *Analysis) unseenWhere(x trace.Unseen) string {
	name := fmt.Sprintf("%#x", uint64(x.Addr))
	view := a.Hist.At(a.Hist.Now())
	for _, o := range a.Graph.At(view, x.Addr) {
		if f, ok := describe.FieldAt(a.Graph, view, o, x.Addr); ok {
			name = a.Graph.Name(o) + "." + f.Path
		}
	}
	seen := "no write to it was seen"
	if t := a.lastSeen(x.Addr, uint64(len(x.Have))); t > 0 {
		seen = fmt.Sprintf("the last write to it that was seen is change %s", report.Thousands(uint64(t)))
	}
	return fmt.Sprintf("%s (%s): %s", name, report.Plural(len(x.Have), "byte", "bytes"), seen)
}

// lastSeen returns the last write to some bytes that was seen, 0 if there was none.
func (a *Analysis) lastSeen(addr trace.Addr, size uint64) mgpp.Timestamp {
	t := a.Hist.LastWrite(addr, size, a.Hist.Now())
	for t > 0 && a.Hist.Op(t).Name == trace.UnseenWrite {
		t = a.Hist.LastWrite(addr, size, t-1)
	}
	return t
}
