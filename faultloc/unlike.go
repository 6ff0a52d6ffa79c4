package faultloc

import (
	"cmp"
	"slices"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// What a statement does is much the same each time: it writes one field, counts by the
// same number, moves the value that the next statement overwrites, links the node that
// the one before has filled in. What was so without exception before the last healthy
// C-point, and is not so in one execution since, makes that execution suspicious.
//
//  1. of each statement that wrote since then, the newest executions before it are
//     looked at
//  2. what holds in all of them, of the field and its value, and with each other
//     statement that ran near, is a law of the statement
//  3. the executions since are held to the laws of their statements
//
// The first execution that breaks a law is the one that counts: what follows may
// follow from it.

// Limits of the comparison.
const (
	maxLike     = 48      // executions of a statement that are looked at
	minLike     = 8       // of which so many make a law
	minRelated  = 16      // and a law about another statement
	maxUnlike   = 1 << 10 // operations since the last healthy C-point that are compared
	nearWindow  = 3       // operations of the thread on either side
	maxFields   = 2       // fields that a statement with a law writes
	maxDistinct = 4
)

// Law says which law an execution broke.
type Law string

const (
	LawField   Law = "field"   // it wrote another field than ever before
	LawOutside Law = "outside" // it wrote where no field is
	LawNull    Law = "null"    // it stored NULL, or did not, unlike before
	LawZero    Law = "zero"    // it stored 0, where it had stored many numbers and never that
	LawChange  Law = "change"  // it changed nothing, where it always had
	LawStep    Law = "step"    // it counted by another number
	LawSame    Law = "same"    // it stored another value than ever before
	LawMoved   Law = "moved"   // the value was the one that Beside's statement overwrote
	LawCopied  Law = "copied"  // the value was the one that Beside's statement stored
	LawNode    Law = "node"    // the pointer led to the node that Beside's statement wrote to
	LawBeside  Law = "beside"  // it wrote to the node that Beside's statement wrote to
	LawInto    Law = "into"    // it wrote to the node to which Beside's statement stored a pointer
	LawReached Law = "reached" // a pointer led there from the node that Beside's statement wrote to, or a step in an array
	LawOrigin  Law = "origin"  // the value was the one that Origin held

	LawEnumerator Law = "enumerator" // it stored what is no enumerator, as nodes hold in the field
	LawNegative   Law = "negative"   // it stored a negative number where no node held one
	LawFar        Law = "far"        // it stored a number far from all that nodes held
	LawKept       Law = "kept"       // it changed a number that nodes keep
	LawHanded     Law = "handed"     // it left a new node with another number than what the call was given
)

// relations are the laws about another statement, a bit each.
var relations = [...]Law{LawMoved, LawCopied, LawNode, LawBeside, LawInto}

// equal are the relations of two equal values: that both are 0 shows nothing.
const equal = 1<<0 | 1<<1

// field is a field of a type.
type field struct {
	typ  string
	path string
}

// write is what one execution did.
type write struct {
	cell     Cell
	field    field
	ok       bool // it wrote a field
	obj      graph.ObjID
	value    uint64
	was      uint64
	hasValue bool
	hadValue bool
	at       mgpp.Timestamp
}

// neighbour is a statement that ran near, before or behind.
type neighbour struct {
	st   int
	side int
	away int // so many operations: where one is left out, others come nearer, and it shows nothing that they are not related
}

// profile is what is known of a statement's executions.
type profile struct {
	n       int
	fields  map[field]*stored // at most maxDistinct
	outside int
	near    map[neighbour]*related
	origins []origin
	reaches map[int]*reach // by the statement before
}

// stored is what is known of a statement's stores into one field.
type stored struct {
	n      int
	nulls  int // stored NULL
	step   uint64
	steps  bool // all counted by step
	value  uint64
	values bool // all stored value
	idle   int  // so many changed nothing
	many   int  // so many times the value was another one than the time before
}

// related is what held with a neighbour: in n executions it was there.
type related struct {
	n     int
	mask  uint8
	shown [len(relations)]int // in so many it held of more than two zeros
}

// broken is a law that an execution broke.
type broken struct {
	t      mgpp.Timestamp
	law    Law
	of     int
	beside mgpp.Timestamp // the neighbour's operation; 0: the law is about this one alone
	turned bool           // the law is the neighbour's
	origin Origin
	wanted uint64 // what the law says that it should have stored
	says   bool   // the law says it
	excess int64  // LawStep: by how much more than ever before it counted
}

// comparer compares executions.
type comparer struct {
	in      Input
	h       *habits // statements as indices
	seq     map[trace.ThreadID][]step
	place   []int // by Input.At less the operation's time: index in its thread's sequence
	writes  map[mgpp.Timestamp]*write
	customs map[field]*custom
	fields  map[string]bool // that the inconsistencies read
}

// unlike returns the executions since the last healthy C-point that broke a law of
// their statement, the likeliest to be wrong first: those that broke a law about
// themselves alone; then, since of a law about two either may be wrong, those that are
// part of most laws that are broken; then the oldest.
func unlike(in Input, h *habits, fields, asked map[string]bool) []broken {
	if in.Cells == nil || in.Healthy == 0 || in.At-in.Healthy > maxUnlike {
		return nil
	}
	c := &comparer{in: in, h: h, seq: map[trace.ThreadID][]step{}, place: make([]int, min(in.At, maxLearnt)), writes: map[mgpp.Timestamp]*write{}, customs: map[field]*custom{}, fields: fields}
	var stores []executions   // by statement
	var anywhere []executions // by habits.plain: in calls of any function
	interval := len(in.Points)
	for t := in.At; t > 0 && in.At-t < maxLearnt; t-- {
		for interval > 0 && in.Points[interval-1] >= t {
			interval--
		}
		d := h.deed(t)
		if d.none {
			continue
		}
		st := d.statement()
		run, known := c.seq[d.thread]
		if !known {
			run = make([]step, 0, min(t, maxLearnt))
		}
		c.place[in.At-t] = len(run)
		c.seq[d.thread] = append(run, step{t, st, interval})
		if !d.stored {
			continue
		}
		mine, all := of(&stores, st), of(&anywhere, h.plain[st])
		switch {
		case t > in.Healthy:
			mine.since = append(mine.since, t)
			all.since = mine.since
			continue
		case len(mine.since) > 0 && len(mine.earlier) < maxLike:
			mine.earlier = append(mine.earlier, t)
		}
		if len(all.since) > 0 && len(all.earlier) < maxLike {
			all.earlier = append(all.earlier, t)
		}
	}
	out := c.handed()
	var pairs []broken
	for st := range stores {
		list, earlier := stores[st].since, stores[st].earlier
		if in.stopped() {
			break
		}
		if len(list) == 0 || h.alien[st] {
			continue // it does what it is called for
		}
		var p *profile
		if len(earlier) >= minLike {
			p = c.profile(earlier)
		} else if list := anywhere[h.plain[st]].earlier; in.looksFor(OfReach) && len(list) >= minRelated {
			p = &profile{reaches: c.reaches(list)}
		}
		for _, t := range list {
			b, ok := c.ofField(t, earlier)
			if !ok && p != nil {
				b, ok = c.alone(p, t)
			}
			switch {
			case ok:
				out = append(out, b)
			case p != nil:
				pairs = c.pairs(p, t, pairs)
			}
		}
	}
	return append(byTime(out), blamed(out, pairs, func(t mgpp.Timestamp) bool { return asked[in.Statement(in.History.Op(t).PC)] })...)
}

// executions are when stores ran, the newest first.
type executions struct {
	since   []mgpp.Timestamp // the last healthy C-point
	earlier []mgpp.Timestamp // of those that have run since; maxLike at most
}

// of is an element of a list that grows to it.
func of(list *[]executions, i int) *executions {
	for len(*list) <= i {
		*list = append(*list, executions{})
	}
	return &(*list)[i]
}

func byTime(list []broken) []broken {
	slices.SortFunc(list, func(a, b broken) int {
		return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(b.of, a.of), cmp.Compare(a.beside, b.beside))
	})
	return list
}

// blamed says of each broken law about two executions which of them is blamed: none, if
// one has broken a law alone, else the one that is part of more of them, of two that are part of as many the one that is
// asked for.
func blamed(alone, pairs []broken, asked func(mgpp.Timestamp) bool) []broken {
	known := map[mgpp.Timestamp]bool{}
	for i := range alone {
		known[alone[i].t] = true
	}
	part := map[mgpp.Timestamp]map[mgpp.Timestamp]bool{}
	note := func(a, b mgpp.Timestamp) {
		if part[a] == nil {
			part[a] = map[mgpp.Timestamp]bool{}
		}
		part[a][b] = true
	}
	for i := range pairs {
		note(pairs[i].t, pairs[i].beside)
		note(pairs[i].beside, pairs[i].t)
	}
	var out []broken
	for _, p := range byTime(pairs) {
		if known[p.t] || known[p.beside] {
			continue
		}
		a, b := len(part[p.t]), len(part[p.beside])
		// The first, which the other went on from. Who stores what another one overwrites had read it before, also where the compiler has
		// put that store behind.
		other := p.beside < p.t && p.law != LawMoved
		if is, was := asked(p.t), asked(p.beside); is != was {
			other = was
		}
		if b > a || b == a && other {
			p.t, p.beside, p.turned, p.says = p.beside, p.t, true, false
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b broken) int {
		return cmp.Or(cmp.Compare(len(part[b.t]), len(part[a.t])), cmp.Compare(a.t, b.t))
	})
	return out
}

// write looks at what an execution wrote.
func (c *comparer) write(t mgpp.Timestamp) *write {
	if w := c.writes[t]; w != nil {
		return w
	}
	w := &write{at: t}
	c.writes[t] = w
	op := c.in.History.Op(t)
	v := c.in.Model.View(t)
	w.cell, w.ok = c.in.Cells.Cell(op.Addr, v)
	if !w.ok {
		return w
	}
	w.ok = w.cell.Addr == op.Addr
	w.obj = w.cell.Obj
	o := c.in.Cells.Object(w.obj)
	w.field = field{path: General(w.cell.Path)}
	if o.Type != nil {
		w.field.typ = o.Type.Name
	}
	w.value, w.hasValue = read(v, w.cell.Addr, w.cell.Size)
	w.was, w.hadValue = read(c.in.Model.View(t-1), w.cell.Addr, w.cell.Size)
	return w
}

// profile learns the laws of a statement.
func (c *comparer) profile(ops []mgpp.Timestamp) *profile {
	p := &profile{fields: map[field]*stored{}, near: map[neighbour]*related{}}
	for _, t := range ops {
		w := c.write(t)
		if !w.ok {
			p.outside++
		} else if f := p.fields[w.field]; f != nil {
			f.add(w)
		} else if len(p.fields) < maxDistinct {
			f = &stored{steps: true, values: true}
			p.fields[w.field] = f
			f.add(w)
		}
		p.n++
		c.around(t, func(k neighbour, mask uint8, _ mgpp.Timestamp) {
			r := p.near[k]
			if r == nil {
				r = &related{mask: mask}
				p.near[k] = r
			}
			r.n++
			r.mask &= mask
			if w.value == 0 {
				mask &^= equal
			}
			for i := range r.shown {
				r.shown[i] += int(mask >> i & 1)
			}
		})
	}
	if c.in.looksFor(OfOrigin) && len(p.fields) <= maxFields {
		p.origins = c.origins(ops)
	}
	if c.in.looksFor(OfReach) {
		p.reaches = c.reaches(ops)
	}
	return p
}

// add learns from one store into the field.
func (f *stored) add(w *write) {
	if w.value == 0 {
		f.nulls++
	}
	d := w.value - w.was
	if !w.hadValue || d == 0 {
		f.idle++
	}
	f.steps = f.steps && w.hadValue && w.hasValue && (f.n == 0 || d == f.step)
	f.values = f.values && w.hasValue && (f.n == 0 || w.value == f.value)
	if f.n > 0 && w.value != f.value {
		f.many++
	}
	f.step, f.value = d, w.value
	f.n++
}

// around calls f for the statements that ran near t, each side's nearest execution of
// each, with the relations that hold.
func (c *comparer) around(t mgpp.Timestamp, f func(k neighbour, mask uint8, at mgpp.Timestamp)) {
	op := c.in.History.Op(t)
	run, i := c.seq[op.Thread], c.place[c.in.At-t] // the newest first
	w := c.write(t)
	for side, d := range [2]int{behind: -1, before: 1} {
		var seen [nearWindow]int
		for k := 1; k <= nearWindow; k++ {
			j := i + k*d
			if j < 0 || j >= len(run) || run[j].interval != run[i].interval {
				break
			}
			if slices.Contains(seen[:k-1], run[j].st+1) {
				continue
			}
			seen[k-1] = run[j].st + 1
			f(neighbour{run[j].st, side, k}, c.relate(w, run[j].t), run[j].t)
		}
	}
}

// relate is which relations hold between an execution and another operation.
func (c *comparer) relate(w *write, t mgpp.Timestamp) uint8 {
	o := c.in.History.Op(t)
	if !w.ok || !w.hasValue {
		return 0
	}
	m := uint8(0)
	set := func(i int, holds bool) {
		if holds {
			m |= 1 << i
		}
	}
	if o.Kind == mgpp.OpBirth {
		set(2, w.cell.Pointer && w.value == uint64(o.Addr))
		set(3, c.in.Cells.Object(w.obj).Addr == o.Addr)
		return m
	}
	if o.Kind != mgpp.OpStore || o.Size > 8 {
		return 0
	}
	n := c.write(t)
	if !n.ok {
		return 0
	}
	set(0, n.hadValue && n.was == w.value && n.cell.Pointer == w.cell.Pointer)
	set(1, n.hasValue && n.value == w.value && n.cell.Pointer == w.cell.Pointer)
	set(2, w.cell.Pointer && w.value != 0 && uint64(c.in.Cells.Object(n.obj).Addr) == w.value)
	set(3, n.obj == w.obj)
	set(4, n.cell.Pointer && n.hasValue && n.value != 0 && uint64(c.in.Cells.Object(w.obj).Addr) == n.value)
	return m
}

// alone holds an execution to the laws of its statement about itself.
func (c *comparer) alone(p *profile, t mgpp.Timestamp) (broken, bool) {
	w := c.write(t)
	b := broken{t: t, of: p.n}
	f := p.fields[w.field]
	switch {
	case p.n == 0:
	case !w.ok && p.outside == 0:
		b.law = LawOutside
	case !w.ok || len(p.fields) > maxFields:
	case f == nil && p.outside == 0 && !c.elsewhere(t):
		b.law = LawField
	case f == nil || f.n < minLike || !w.hasValue:
	case w.cell.Pointer && (f.nulls == 0 && w.value == 0 || f.nulls == f.n && w.value != 0):
		b.law = LawNull
	case !w.cell.Pointer && f.values && w.value != f.value:
		b.law = LawSame
	case !w.cell.Pointer && w.value == 0 && f.nulls == 0 && 2*f.many > f.n && f.n >= minRelated:
		b.law = LawZero
	case w.cell.Pointer && f.idle == 0 && f.n >= minRelated && w.hadValue && w.value == w.was:
		b.law = LawChange
	case !w.cell.Pointer && f.steps && f.step != 0 && !f.values && w.hadValue && w.value-w.was != f.step:
		b.law, b.excess = LawStep, signed(w.value-w.was-f.step, w.cell.Size)
	}
	if (b.law == LawNull || b.law == LawZero) && w.value == 0 && c.followed(p.origins, t) {
		b.law = "" // the first node has none before it, and who takes it out passes that on
	}
	if f != nil {
		b.of = f.n
	}
	if o := c.strayed(p.origins, t); b.law == "" && o != nil {
		v, says := c.holds(&o.spot, w, t)
		b.law, b.of, b.origin, b.wanted, b.says = LawOrigin, o.n, o.Origin, v+uint64(o.By), says
	}
	return b, b.law != ""
}

// elsewhere: in a call of another function, the statement has written the field that it wrote
// at t: it has several users, as list_init may have.
func (c *comparer) elsewhere(t mgpp.Timestamp) (wrote bool) {
	c.in.earlier(t, c.in.Healthy, func(e mgpp.Timestamp) bool {
		w := c.write(e)
		wrote = w.ok && w.field == c.write(t).field
		return !wrote
	})
	return wrote
}

// pairs appends the laws about an execution and its neighbours that are broken, one for
// each neighbour.
func (c *comparer) pairs(p *profile, t mgpp.Timestamp, out []broken) []broken {
	if w := c.write(t); !w.ok || !w.hasValue || len(p.fields) > maxFields {
		return out
	}
	if of, beside := c.jumped(p.reaches, t); of > 0 {
		return append(out, broken{t: t, law: LawReached, of: of, beside: beside})
	}
	c.around(t, func(k neighbour, mask uint8, at mgpp.Timestamp) {
		r := p.near[k]
		if r == nil || r.n < minRelated {
			return
		}
		for i, law := range relations {
			if r.mask&^mask&(1<<i) != 0 && r.shown[i] >= minLike {
				b := broken{t: t, law: law, of: r.n, beside: at}
				switch n := c.write(at); law {
				case LawMoved:
					b.wanted, b.says = n.was, n.hadValue
				case LawCopied:
					b.wanted, b.says = n.value, n.hasValue
				}
				out = append(out, b)
				return
			}
		}
	})
	return out
}

// ofValue: the law is about what was stored, not about where.
func (l Law) ofValue() bool {
	switch l {
	case LawNull, LawZero, LawChange, LawStep, LawSame, LawMoved, LawCopied, LawOrigin:
		return true
	}
	return false
}

// reads: an operation wrote such a field as the inconsistencies read. Of another one it does not matter what it holds.
func (in *Input) reads(fields map[string]bool, t mgpp.Timestamp) bool {
	c, ok := in.cellAt(in.History.Op(t), in.Model.View(t))
	return !ok || fields[General(c.Path)]
}

// accuseUnlike adds to the suspects what broke a law. Of several executions it is the
// first that counts.
func accuseUnlike(in Input, tb *contributions, h *habits, fields map[string]bool, repairs []Repair, suspects []Suspect) []Suspect {
	list := slices.DeleteFunc(unlike(in, h, fields, mendable(in, repairs)), func(b broken) bool {
		return b.law.ofValue() && tb.byOp[b.t] == nil && !in.reads(fields, b.t) || b.says && !in.matters(b)
	})
	for i, b := range list {
		st := in.Statement(in.History.Op(b.t).PC)
		known := slices.ContainsFunc(suspects, func(s Suspect) bool { return s.Kind == Wrote && in.Statement(s.PC) == st })
		if i > 0 && !known {
			continue // what follows from the first is nothing new
		}
		s := statement(in, &suspects, b.t)
		if s.has(Unlike) {
			continue
		}
		if !known {
			s.Operations = []mgpp.Timestamp{b.t}
		}
		for k := range s.Evidence {
			s.Evidence[k].Fitted = false // what it never did before is not right by accident
		}
		e := Evidence{Kind: Unlike, Law: b.law, Of: b.of, Beside: b.beside, Turned: b.turned, At: b.t, Later: i > 0, Origin: b.origin, Exact: b.exact(in, repairs)}
		if e.Exact {
			s.Operation = b.t // and not one that counted as always, since
		}
		s.Evidence = append(s.Evidence, e)
	}
	return suspects
}

// exact: a number was counted by as much more than ever before as it is wrong by in the end: that accounts for all, whoever has counted on
// from there.
func (b *broken) exact(in Input, repairs []Repair) bool {
	op := in.History.Op(b.t)
	return b.excess != 0 && slices.ContainsFunc(repairs, func(r Repair) bool {
		return r.Cell.Addr == op.Addr && r.evidence(in).explains() && r.differs(in) == -b.excess
	})
}

// matters: with what the law says that should have been stored, something that is broken in the end would have held, or would be
// broken, at some time until its cell is written again. Else the law was broken, and it is no fault: a store into which node does
// not matter where only that it leads somewhere is asked for. Of many inconsistencies it is not asked.
func (in *Input) matters(b broken) bool {
	cell, ok := in.cellAt(in.History.Op(b.t), in.Model.View(b.t))
	if !ok || len(cell.Parts) > 0 || len(in.Found) > maxAsked {
		return true
	}
	for t := b.t; t <= in.At && t-b.t < maxUntilTold && in.History.LastWrite(cell.Addr, uint64(cell.Size), t) == b.t; t++ {
		is, would := in.verdicts(in.Model.View(t)), in.verdicts(with(in.Model.View(t), cell, b.wanted))
		for _, f := range in.Found {
			if in.stopped() || is(f.Instance) != would(f.Instance) {
				return true
			}
		}
	}
	return false
}

// carried excuses who stored a pointer that was read from where a statement had left it that did what it never did before, or stored
// again what was there: the wrong value came from there.
func carried(in Input, suspects []Suspect) {
	for i := range suspects {
		k := slices.IndexFunc(suspects[i].Evidence, func(e Evidence) bool { return e.Kind == Unlike && !e.Later && e.Law.ofValue() || e.Unchanged })
		if k < 0 {
			continue
		}
		from := suspects[i].Evidence[k].At
		op := in.History.Op(from)
		v, ok := read(in.Model.View(from), op.Addr, 8)
		if !ok || op.Size != 8 || v == 0 || in.Cells.At(trace.Addr(v), in.Model.View(from)) == 0 {
			continue
		}
		for j := range suspects {
			s := &suspects[j]
			o := in.History.Op(s.Operation)
			if j == i || s.Kind != Wrote || o.Time <= from || o.Kind != mgpp.OpStore || o.Size != 8 || o.Addr == op.Addr || in.History.LastWrite(op.Addr, 8, o.Time) != from {
				continue
			}
			if is, ok := read(in.Model.View(o.Time), o.Addr, 8); !ok || is != v {
				continue
			}
			for k := range s.Evidence {
				if e := &s.Evidence[k]; e.Kind == Counterfactual || e.Kind == RepairCell {
					e.Onward = true
				}
			}
		}
	}
}
