package analysis

import (
	"fmt"
	"strings"

	"mgtrace/constraints/describe"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// change describes what an operation changed. A cell of memory that the specification does not declare, as all is where there is none, has
// the name that debug information gives it.
func (a *Analysis) change(t mgpp.Timestamp) string {
	text, addr := describe.Change(a.Graph, a.Hist, t), a.Hist.Op(t).Addr
	at := fmt.Sprintf(" at %#x", uint64(addr))
	if !strings.HasSuffix(text, at) {
		return text
	}
	if name := a.cellName(addr, t); name != "" {
		text += " (" + name + ")"
	}
	return text
}

// cellName is what the program calls a cell of an object in static memory, or of a block whose allocation tells its type: "::queue.first",
// "Job.next"; "": that is not known.
func (a *Analysis) cellName(addr trace.Addr, t mgpp.Timestamp) string {
	if im, ok := a.Symbols.Image(addr); ok && im.Obj != nil && im.Traced {
		if v, ok := im.Obj.GlobalAt(uint64(addr - im.Bias)); ok {
			if path, ok := cellPath(v.Type, int64(addr-im.Bias)-v.Loc.Offset); ok {
				return "::" + v.Name + path
			}
		}
		return ""
	}
	id, _ := a.Hist.At(t).NodeAt(addr)
	n := a.Hist.Node(id)
	if id == 0 || len(n.Stack) == 0 || a.Typing == nil {
		return ""
	}
	e := a.Typing.Evidence(n.Alloc, n.Stack)
	if e.Type == nil || e.Type.Kind != types.Struct || e.Type.Size <= 0 || addr < n.Start+trace.Addr(e.Offset) {
		return ""
	}
	path, ok := cellPath(e.Type, int64(addr-n.Start-trace.Addr(e.Offset))%e.Type.Size)
	if !ok {
		return ""
	}
	return e.Type.Name + path
}

// cellPath names the scalar at an offset of a type: ".head.next", "[3]"; not ok: none begins there.
func cellPath(t *types.Type, off int64) (path string, ok bool) {
	switch {
	case t == nil || off < 0 || off >= t.Size:
		return "", false
	case t.Kind == types.Array:
		if t.Elem == nil || t.Elem.Size <= 0 {
			return "", false
		}
		path, ok = cellPath(t.Elem, off%t.Elem.Size)
		return fmt.Sprintf("[%d]%s", off/t.Elem.Size, path), ok
	case t.Kind == types.Struct:
		for _, s := range t.Scalars() {
			if s.Offset == off && s.Path != "" {
				return "." + s.Path, true
			}
		}
		return "", false
	}
	return "", off == 0
}
