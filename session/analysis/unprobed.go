package analysis

import (
	"fmt"
	"regexp"
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/session/symbol"
)

// What a store that could not be probed has written is not known until memory is looked at, when the program has crashed or ended: up
// to then a field may hold something else than the history has. Which field that is the text of its statement tells.

// unprobed are the fields that such stores may write.
type unprobed struct {
	lines    []string // their statements
	read     bool
	fields   map[string]bool // answers
	unjudged map[eval.Instance]bool
	example  string // the label and the field of the first of them
}

// probed leaves inconsistencies out that depend on a field which a store may have written that could not be probed, until
// what memory holds was compared.
func (a *Analysis) probed(found []eval.Inconsistency, now mgpp.Timestamp) []eval.Inconsistency {
	if len(a.prog.Unprobed) == 0 || len(found) == 0 || a.audit != nil {
		return found
	}
	u, view := &a.unprobed, a.Hist.At(now)
	if !u.read {
		u.read, u.fields, u.unjudged = true, map[string]bool{}, map[eval.Instance]bool{}
		for _, s := range a.prog.Unprobed {
			f, _, _ := a.Symbols.Where(s.PC)
			if text, ok := a.Symbols.Sources.Line(f.File, f.Line); ok {
				u.lines = append(u.lines, text)
			}
		}
	}
	if len(u.lines) == 0 {
		return found
	}
	cells := locatorCells{a.Graph}
	return a.without(found, view, func(in eval.Instance, d eval.Dep) bool {
		cell, ok := cells.Cell(d.Addr, view)
		if !ok {
			return false
		}
		name := symbol.MemberOf(cell.Path).Name
		if name == "" || !u.writes(name) {
			return false
		}
		if len(u.unjudged) == 0 {
			u.example = fmt.Sprintf("%s depends on %s", a.Checker.Label(in), name)
		}
		u.unjudged[in] = true
		return true
	})
}

// writes: the text of one of the statements assigns to a member, or hands out its address, as it does to what is atomic.
func (u *unprobed) writes(member string) bool {
	is, known := u.fields[member]
	if !known {
		is = slices.ContainsFunc(u.lines, regexp.MustCompile(fmt.Sprintf(ways, regexp.QuoteMeta(member))).MatchString)
		u.fields[member] = is
	}
	return is
}

// ways are those to write a member, which is %[1]s.
const ways = `\b%[1]s\b\s*(\[[^]]*\]\s*)?((<<|>>|[-+*/%%|&^])?=[^=]|\+\+|--|\.\s*(store|exchange|fetch|compare))|(\+\+|--|&)[^,;=]*\b%[1]s\b`

// reportUnprobed says what was not judged.
func (a *Analysis) reportUnprobed(r *report.Report) {
	if n := len(a.unprobed.unjudged); n > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s not judged: %s, which a store may have written that could not be probed (-v lists them); --engine inline probes nearly all",
			report.Plural(n, "constraint instance was", "constraint instances were"), a.unprobed.example))
	}
}
