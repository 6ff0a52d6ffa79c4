package ask

import (
	"fmt"

	"mgtrace/mgpp"
	"mgtrace/probe/evidence"
	"mgtrace/query"
	"mgtrace/session/recording"
	"mgtrace/session/specfile"
	"mgtrace/session/symbol"
	"mgtrace/session/typing"
	"mgtrace/trace"
)

// queryTyping knows the types of nodes: those of a specification first, then what
// debug information shows.
type queryTyping struct {
	*typing.Blocks
	rec     *recording.Recording
	p       *symbol.Program
	origins []query.Origin // of a history in memory
	kinds   []nodeKind     // of an index, by group - 1
}

func newQueryTyping(rec *recording.Recording, specFile string) (*queryTyping, error) {
	p := rec.Program()
	spec, err := specfile.Load(specFile, p)
	if err != nil {
		return nil, err
	}
	t := &queryTyping{Blocks: typing.New(spec, rec.Symbols), rec: rec}
	t.p, _ = p.(*symbol.Program)
	return t, nil
}

// names are those of the nodes of a history in memory.
func (t *queryTyping) names(h *mgpp.History) (query.Origins, *query.Names) {
	o, all := query.CountOrigins(h)
	t.origins = all
	names := query.NewNames(h, o, t)
	names.Entry = t.rec.Symbols.EntryName
	return o, names
}

// NamesIn are the names of nodes of a recording whose history was built: types are those of
// a specification's file first.
func NamesIn(rec *recording.Recording, specFile string, h *mgpp.History) (*query.Names, error) {
	t, err := newQueryTyping(rec, specFile)
	if err != nil {
		return nil, err
	}
	_, n := t.names(h)
	return n, nil
}

// OfOrigin implements query.Typing.
func (t *queryTyping) OfOrigin(i int) query.Typed {
	if t.kinds != nil {
		if i > len(t.kinds) {
			return query.Typed{}
		}
		return t.of(nil, t.kinds[i-1].evidence(t.rec.Symbols))
	}
	stack := t.origins[i].Stack
	if len(stack) == 0 {
		return query.Typed{Why: "its allocation was not seen"}
	}
	if s, ok := t.ByRule(stack); ok {
		return ofSpec(s)
	}
	return t.of(stack, t.Evidence(t.origins[i].Alloc, stack))
}

// of is the type that evidence shows: one of the specification, if it has it.
func (t *queryTyping) of(stack []trace.Addr, e evidence.Evidence) query.Typed {
	if e.Type == nil || e.Type.Size <= 0 {
		return query.Typed{Why: e.Why}
	}
	if s, ok := t.ByEvidence(e); ok {
		return ofSpec(s)
	}
	scalar := !e.Type.HasMembers()
	typed := query.Typed{Name: e.Type.String(), Type: e.Type, Array: e.Array || scalar, Offset: e.Offset, Why: e.Why}
	if typed.Array {
		typed.Name += "[]"
	}
	return typed
}

func ofSpec(s typing.Verdict) query.Typed {
	nt := s.Type
	typed := query.Typed{Name: nt.Name, Type: nt.Layout, Offset: s.Offset, Why: s.Why}
	if nt.Array {
		typed.Array, typed.Type = true, nt.Elem
		if typed.Type == nil {
			typed.Type = nt.Layout
		}
	}
	return typed
}

// OfGlobal implements query.Typing.
func (t *queryTyping) OfGlobal(id trace.GlobalID) query.Typed {
	if id < 1 || int(id) > len(t.rec.Prog.Globals) {
		return query.Typed{Name: fmt.Sprint(id), Why: "it is not described"}
	}
	g := t.rec.Prog.Globals[id-1]
	typed := query.Typed{Name: g.Name, Why: "no debug information about it"}
	if t.p != nil {
		if v := t.p.LookupGlobal("", g.Name); len(v) > 0 && v[0].Type != nil {
			typed.Type, typed.Why = v[0].Type, "debug information"
		}
	}
	return typed
}
