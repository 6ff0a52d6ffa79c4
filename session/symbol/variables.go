package symbol

import (
	"regexp"
	"slices"

	"mgtrace/slice/cfg"
	"mgtrace/types"
)

// ofVariable says whether a statement assigns a member of variables of its function only, which are structures and no pointers or
// references: what the compiler keeps of these is not what a block holds into which one was copied.
//
//	36	o.map = create(n);
//	39	memcpy(made, &o, sizeof o);
func (s *Table) ofVariable(c *function, k statement, p *part, m Member) bool {
	first, lines := s.expanded(p.frame, c)
	if c.nodes || m.Element || k.line < first || k.line-first >= len(lines) {
		return false
	}
	text := lines[k.line-first].all()
	name := regexp.MustCompile(`\b` + regexp.QuoteMeta(m.Name) + `\b`)
	mine := regexp.MustCompile(`(?:^|[^\w\s.>)\]])\s*(\w+)(?:\s*\.\s*\w+)*\s*\.\s*` + regexp.QuoteMeta(m.Name) + `\b`)
	found := mine.FindAllStringSubmatch(text, -1)
	if len(found) == 0 || len(found) != len(name.FindAllString(text, -1)) {
		return false
	}
	for _, f := range found {
		if !c.variables(p)[f[1]] {
			return false
		}
	}
	return true
}

// variables are those that the code of a part sees, as far as it is looked at.
func (c *function) variables(p *part) map[string]bool {
	if p.whole != nil {
		return p.whole
	}
	p.whole = map[string]bool{}
	for i := 0; i < len(p.code); i += 1 + len(p.code)/maxScopes {
		for _, v := range c.obj.Variables(p.code[i]) {
			whole, known := p.whole[v.Name]
			p.whole[v.Name] = v.Type != nil && v.Type.Kind == types.Struct && (whole || !known)
		}
	}
	return p.whole
}

// once says that an instruction is in no loop: what it stores is not stored anew in the same call.
func (c *function) once(at uint64) bool {
	_, here := c.inst(at)
	return c.flow != nil && here && !slices.ContainsFunc(c.loops, func(l cfg.Loop) bool { return l.Contains(at) })
}

// maxScopes bounds the instructions of a part that are asked for variables in scope.
const maxScopes = 64
