package typing

import (
	"path/filepath"
	"slices"

	"mgtrace/probe"
	"mgtrace/probe/evidence"
	"mgtrace/session/symbol"
	"mgtrace/trace"
	"mgtrace/types"
)

// Handed is a call that hands a part of an object to a function of which it is not recorded what it writes.
type Handed struct {
	evidence.Handed
	Library string
	PC      trace.Addr // of the call
}

// handings are the calls in the code that is recorded.
type handings struct {
	calls []Handed
	in    map[string]string // by the linker name of a function: the library that has it; "": what it writes is recorded
}

// Handed returns a call by which code that is not recorded is handed the part of an object of a type that has the byte at an offset; perhaps: it is
// handed the address of the object itself, and may write to what there is of it. unseen are functions of the C library of which it is
// not recorded either what they write.
func (t *Blocks) Handed(of *types.Type, offset int64, unseen []string) (h Handed, surely, perhaps bool) {
	if t.handed == nil {
		t.handed = t.handings(unseen)
	}
	for _, c := range t.handed.calls {
		s, p := c.Covers(of, offset)
		if s {
			return c, true, false
		}
		if p && !perhaps {
			h, perhaps = c, true
		}
	}
	return h, false, perhaps
}

func (t *Blocks) handings(unseen []string) *handings {
	x := &handings{in: map[string]string{}}
	for i := range t.symbols.Images {
		im := &t.symbols.Images[i]
		if !im.Traced || im.Obj == nil || !im.Obj.HasDWARF() {
			continue
		}
		for _, at := range t.finder.Handed(im.Obj, func(linkage string) bool { return x.library(linkage, t.symbols, unseen) != "" }) {
			x.calls = append(x.calls, Handed{at, x.in[at.Linkage], im.Bias + trace.Addr(at.Call)})
		}
	}
	return x
}

// library is where a function is, if it is not recorded what it writes. What the C++ library writes is taken to be known: its headers do the most, and of
// what reads into a field it is told.
func (x *handings) library(linkage string, symbols *symbol.Table, unseen []string) string {
	name, known := x.in[linkage]
	if known {
		return name
	}
	untold := slices.Contains(unseen, linkage) || slices.Contains(probe.Untold, linkage)
	if !untold && probe.IsStandard(linkage) {
		x.in[linkage] = ""
		return ""
	}
	for i := range symbols.Images {
		im := &symbols.Images[i]
		if im.Obj == nil || !untold && (!im.Uncaptured() || symbol.IsLibCXX(im.Path)) {
			continue
		}
		if _, ok := im.Obj.Exported(linkage); ok {
			name = filepath.Base(im.Path)
			break
		}
	}
	x.in[linkage] = name
	return name
}
