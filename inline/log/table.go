package log

import (
	"math/bits"

	"mgtrace/capture"
	"mgtrace/inline/layout"
	"mgtrace/probe"
	"mgtrace/trace"
	"mgtrace/x86"
)

// Table says what each store's record looks like. It is immutable.
type Table struct {
	stores []storeForm // by index in the plan
	plain  []plainForm // the same, of those that gather decodes; behind them what is none up to a power of two
	sites  []trace.StoreSite
	funcs  []string    // names by index in the plan
	allocs []allocForm // of funcs
}

// storeForm is the form of a store's record.
type storeForm struct {
	mask  uint64 // of the value, if it has at most 8 bytes
	disp  uint64 // what the address is more than the record says
	size  uint8  // of the record, bytes; 0 (formHook): the hook routine records this store
	width uint8  // of the value, bytes
	form  uint8
	// Offsets in the record.
	base, stamp, flags, old uint8 // old: the stamp of before, and what was there
}

// plainForm is the form of a record that has an address, and a value of at most 8 bytes and
// perhaps a base, or one of 16 bytes: small, for a program has many stores.
type plainForm struct {
	mask uint64 // of the value; 0: it has 16 bytes
	tag  uint32 // of the record; see noForm if this is none that gather decodes
	disp int32  // what the address is more than the record says
}

// plainSize is the greatest size of such a record, bytes.
const plainSize = layout.StoreValue + pair

// Sizes of a store's record, bytes.
const (
	shortest = layout.StoreValue + 4
	longest  = layout.StoreValue + layout.MaxValue + 5*8
)

// Bits of storeForm.form. 0: address and a value of at most 8 bytes, no more.
const (
	formWide  = 1 << iota // more than 8 bytes
	formBase              // a base
	formStamp             // a stamp
	formFlags             // conditional: flags
	formOld               // a stamp of before, and what was there before
	formHook              // no such record
)

// NewTable computes the table of a plan. strict: every record has a stamp.
func NewTable(plan *probe.Plan, strict bool) *Table {
	t := &Table{
		stores: make([]storeForm, len(plan.Stores)),
		plain:  make([]plainForm, 1<<bits.Len(uint(len(plan.Stores))|1)),
		sites:  make([]trace.StoreSite, len(plan.Stores)),
		funcs:  make([]string, len(plan.Funcs)),
		allocs: make([]allocForm, len(plan.Funcs)),
	}
	for i := range plan.Funcs {
		t.funcs[i] = plan.Funcs[i].Name
		t.allocs[i].kind, t.allocs[i].flags = capture.AllocOf(&plan.Funcs[i])
	}
	for i := range plan.Stores {
		s := &plan.Stores[i]
		t.sites[i] = storeSite(s, plan.Images[s.Image].Bias+plan.Images[s.Image].Moved)
		t.stores[i].form = formHook
		if !layout.Complex(&s.Effect) && s.Effect.Width >= 1 {
			p := layout.PartsOf(&s.Effect, strict)
			t.stores[i] = newForm(s.Effect.Width, p)
			if p.FromBase {
				t.stores[i].disp = uint64(s.Effect.Disp)
			}
		}
		t.plain[i] = t.stores[i].plain(i)
	}
	for i := len(plan.Stores); i < len(t.plain); i++ {
		t.plain[i] = noForm(i)
	}
	return t
}

func newForm(width int, p layout.StoreParts) storeForm {
	f := storeForm{width: uint8(width), size: uint8(layout.StoreSize(width, p)), mask: ^uint64(0)}
	if width < 8 {
		f.mask = 1<<(8*width) - 1
	}
	if width > 8 {
		f.form |= formWide
	}
	at := uint8(layout.StoreValue + layout.PaddedWidth(width))
	for _, part := range [...]struct {
		has  bool
		form uint8
		at   *uint8
	}{
		{p.Base, formBase, &f.base},
		{p.Stamp, formStamp, &f.stamp},
		{p.Flags, formFlags, &f.flags},
		{p.Old, formOld, &f.old},
	} {
		if part.has {
			f.form |= part.form
			*part.at = at
			at += 8
		}
	}
	return f
}

// plain is the form of store i for gather.
func (f *storeForm) plain(i int) plainForm {
	p := plainForm{mask: f.mask, tag: layout.Tag(i, int(f.size)), disp: int32(f.disp)}
	switch {
	case f.form == formWide && f.width == pair:
		p.mask = 0
	case f.form&^formBase != 0:
		return noForm(i)
	}
	return p
}

// noForm is form i where there is none: a record with its tag, which is no store's, is looked for
// elsewhere, for gather looks only at the lower bits of an index.
func noForm(i int) plainForm { return plainForm{tag: ^layout.Tag(i, 0)} }

// pair is the width of the commonest wide stores, bytes.
const pair = 16

// store returns the form of the record with a tag below Special, and its size in
// bytes: 0 if there is no such record.
func (t *Table) store(tag uint32) (*storeForm, int) {
	i := tag >> layout.WordsBits
	if uint64(i) >= uint64(len(t.stores)) {
		return nil, 0
	}
	f := &t.stores[i]
	if uint32(f.size) != 4*(tag&layout.Words) {
		return nil, 0
	}
	return f, int(f.size)
}

// Sites are the stores of the plan as the trace numbers them: StoreRec.Site is
// an index here, and in the plan.
func (t *Table) Sites() []trace.StoreSite { return t.sites }

func storeSite(s *probe.Store, bias uint64) trace.StoreSite {
	e := &s.Effect
	site := trace.StoreSite{
		PC:    trace.Addr(bias + s.Addr),
		Width: uint8(max(1, min(e.Width, trace.MaxStoreWidth))), // wider ones come as hits
		Disp:  e.Disp,
		Flags: s.Flags(),
	}
	switch {
	case s.Frame:
		site.Disp = 0
	case layout.PartsOf(e, false).Base:
		site.Base, site.Disp = trace.BaseOwn, 0
	case e.Base != x86.NoReg:
		site.Base = trace.BaseOffset
	default:
		site.Disp = 0
	}
	return site
}
