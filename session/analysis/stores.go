package analysis

import (
	"maps"
	"slices"

	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/session/symbol"
	"mgtrace/trace"
	"mgtrace/types"
)

// maxAssigned is how many operations, the newest, are looked at for the statements of stores.
const maxAssigned = 1 << 20

// written are the stores of a history by their instructions, with the fields that each has written: one instruction may
// store now to this field and now to that (the compiler has chosen the address), or to several at once.
type written struct {
	fields map[trace.Addr][]string
	wholes map[trace.Addr][]string // the members that these are parts of
	calls  map[trace.Addr]bool     // the instruction is a call, see attribute
	times  map[trace.Addr]int      // how often it has been met
	until  mgpp.Timestamp
}

// Of an instruction so many operations are looked at, and of those beyond one in so many.
const (
	allOf = 256
	oneIn = 64
)

// take looks at the operations since the last time, the newest maxAssigned. It says whether anything new was found.
func (w *written) take(a *Analysis) (news bool) {
	if w.fields == nil {
		w.fields, w.wholes = map[trace.Addr][]string{}, map[trace.Addr][]string{}
		w.calls, w.times = map[trace.Addr]bool{}, map[trace.Addr]int{}
	}
	cells := locatorCells{a.Graph}
	now := a.Hist.Now()
	for t := now; t > w.until && now-t < maxAssigned; t-- {
		kind, pc := a.Hist.Statement(t)
		if kind != mgpp.OpStore || pc == 0 {
			continue
		}
		n := w.times[pc]
		if w.times[pc]++; n > allOf && n%oneIn != 0 {
			continue
		}
		op, v := a.Hist.Op(t), a.Hist.At(t)
		if op.Base != 0 && !a.within(op.Base, op.Addr, v) {
			continue // out of bounds, it hits a field that is not meant
		}
		fields, met := w.fields[pc]
		had := len(fields)
		for at := op.Addr; at < op.Addr+trace.Addr(op.Size); {
			c, ok := cells.Cell(at, v)
			if !ok {
				break
			}
			paths := []string{c.Path}
			for _, p := range c.Parts { // the store may be to any of the bit-fields there
				paths = append(paths, p.Path)
			}
			names := []string{a.pointerIn(c)}
			for _, path := range paths {
				names = append(names, symbol.MemberOf(path).Name)
			}
			for _, whole := range symbol.WholesOf(c.Path) {
				if !slices.Contains(w.wholes[pc], whole) {
					w.wholes[pc] = append(w.wholes[pc], whole)
				}
			}
			for _, name := range names {
				if name != "" && !slices.Contains(fields, name) {
					fields = append(fields, name)
				}
			}
			at = c.Addr + trace.Addr(c.Size)
		}
		w.fields[pc] = fields
		w.calls[pc] = slices.Contains(op.Stack, pc+1)
		news = news || !met || len(fields) > had
	}
	w.until = now
	return news
}

// stores are they for symbol.Table.Assign, in order.
func (w *written) stores() []symbol.Store {
	var out []symbol.Store
	for _, pc := range slices.Sorted(maps.Keys(w.fields)) {
		out = append(out, symbol.Store{PC: pc, Fields: w.fields[pc], Wholes: w.wholes[pc], Called: w.calls[pc]})
	}
	return out
}

// pointerIn is what the class of a smart pointer calls the pointer in it, "" for another field: the text of a library's
// header assigns that.
func (a *Analysis) pointerIn(c faultloc.Cell) string {
	o := a.Graph.Object(c.Obj)
	if o.Type == nil {
		return ""
	}
	layout := o.Type.Layout
	if o.Type.Array {
		layout = o.Type.Elem
	}
	if layout == nil || layout.Size <= 0 {
		return ""
	}
	at := int64(c.Addr-o.Addr) % layout.Size
	scalars := layout.Scalars()
	i := slices.IndexFunc(scalars, func(s types.Scalar) bool { return s.Offset == at })
	if i < 0 {
		return ""
	}
	return scalars[i].Member
}

// within: an address is in the object that another one is in.
func (a *Analysis) within(base, addr trace.Addr, v mgpp.View) bool {
	cells := locatorCells{a.Graph}
	o := cells.At(addr, v)
	return o != 0 && cells.At(base, v) == o
}
