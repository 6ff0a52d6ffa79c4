package analysis

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/describe"
	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/session/typing"
	"mgtrace/trace"
)

// What a library writes that is not recorded is not known. A field that nothing else has written may have been written there, if its address, or that
// of what it is a part of, is handed to such a library: debug information tells by its code whether the program does that anywhere.

// handed are the inconsistencies that were left out for it, and fields that they depend on.
type handed struct {
	unjudged map[eval.Instance]bool
	fields   []string
	library  string // one that can be recorded
}

// add notes a field, and a call by which its address is handed out.
func (h *handed) add(field string, c typing.Handed, place string) {
	said := fmt.Sprintf("%s (%s of %s, which %s calls)", field, c.Function(), c.Library, place)
	if len(h.fields) < maxLibraries && !slices.Contains(h.fields, said) {
		h.fields = append(h.fields, said)
	}
	if h.library == "" && !symbol.IsLibC(c.Library) {
		h.library = c.Library
	}
}

// maxAlike bounds the nodes that are asked whether the field was written in any of them.
const maxAlike = 1 << 12

// unhanded leaves inconsistencies out that depend on a field of which code that is not recorded gets the address, until what memory holds
// was compared, and for good where nothing was stored that could be. Of code that gets the address of the node itself it is not known what it
// does with it: it may fill in the node, if the field was never written in any. What was left out once is so until memory is compared.
func (a *Analysis) unhanded(found []eval.Inconsistency, now mgpp.Timestamp) []eval.Inconsistency {
	if a.Typing == nil || len(found) == 0 {
		return found
	}
	view := a.Hist.At(now)
	if a.audit == nil && len(a.handed.unjudged) > 0 { // these are found at each C-point again
		found = slices.DeleteFunc(slices.Clone(found), func(inc eval.Inconsistency) bool { return a.handed.unjudged[inc.Instance] })
	}
	return a.without(found, view, func(in eval.Instance, d eval.Dep) bool {
		known := allWritten(view, d.Addr, d.Size)
		if known && a.audit != nil {
			return false
		}
		for _, o := range a.Graph.At(view, d.Addr) {
			x := a.Graph.Object(o)
			if x.Type == nil || x.Type.Layout == nil {
				continue
			}
			offset := d.Addr - x.Addr
			call, surely, perhaps := a.Typing.Handed(x.Type.Layout, int64(offset), a.unseenTimes())
			if !surely && !(perhaps && !known && a.nowhere(x.Type, offset, d.Size, view)) {
				continue
			}
			f, _ := describe.FieldAt(a.Graph, view, o, d.Addr)
			a.handed.add(f.Path, call, a.Symbols.Place(call.PC))
			a.handed.unjudged[in] = true
			return true
		}
		return false
	})
}

// allWritten: all of the bytes were written.
func allWritten(v mgpp.View, addr trace.Addr, size uint64) bool {
	b := mgpp.NewBytes(size)
	return v.Read(addr, &b) && !slices.Contains(b.Written, false)
}

// nowhere: the bytes at an offset were written in no living node of a type.
func (a *Analysis) nowhere(t *check.NodeType, offset trace.Addr, size uint64, v mgpp.View) bool {
	for i, o := range a.Graph.Live(t, v.Time(), nil) {
		if i == maxAlike {
			break
		}
		if allWritten(v, a.Graph.Object(o).Addr+offset, size) {
			return false
		}
	}
	return true
}

// unseenTimes are the functions that tell the time without that anything can be recorded in a process that was there before mgtrace: they
// are the kernel's own.
func (a *Analysis) unseenTimes() []string {
	if a.prog.Before == nil {
		return nil
	}
	return []string{"time", "gettimeofday"}
}

// reportHanded says what was not judged.
func (a *Analysis) reportHanded(r *report.Report) {
	h := &a.handed
	if len(h.unjudged) == 0 {
		return
	}
	text := fmt.Sprintf("%s not judged, because code that is not recorded may have written what they ask for: %s",
		report.Plural(len(h.unjudged), "constraint instance was", "constraint instances were"), strings.Join(h.fields, ", "))
	if h.library != "" {
		text += "; --module " + h.library + " records it"
	}
	r.Warnings = append(r.Warnings, text)
}
