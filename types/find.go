package types

import (
	"fmt"
	"strconv"
	"strings"

	"mgtrace/cxxname"
)

// Place is where a path leads within a type.
type Place struct {
	Type      *Type
	Offset    int64 // bytes from the start
	BitOffset int   // below 8
	BitSize   int   // 0: not a bit-field
}

// PathError says why a path does not lead to a field, and where in the path.
type PathError struct {
	Path   string
	Offset int // bytes into Path
	Msg    string
}

func (e *PathError) Error() string { return e.Msg }

// Member returns the member of t that C and C++ find by this name, and its
// offset in bytes from the start of t: t's own members, then those of anonymous
// structs and unions, then those of bases. "Base::x" names a hidden one, and a
// base is found by its class name, without template arguments where one base alone has it.
func (t *Type) Member(name string) (m Member, offset int64, ok bool) {
	return t.member(name, 0)
}

func (t *Type) member(name string, depth int) (Member, int64, bool) {
	if t == nil || name == "" || depth > maxNesting {
		return Member{}, 0, false
	}
	for _, m := range t.Members {
		if m.Name == name && !m.Base && m.Offset >= 0 {
			return m, m.Offset, true
		}
	}
	for _, bases := range [2]bool{false, true} {
		for _, m := range t.Members {
			if m.Base != bases || !m.Base && m.Name != "" || m.Offset < 0 {
				continue
			}
			if found, offset, ok := m.Type.member(name, depth+1); ok {
				return found, m.Offset + offset, true
			}
		}
	}
	return t.base(name, depth)
}

// base finds "Base" and "Base::x".
func (t *Type) base(name string, depth int) (found Member, offset int64, ok bool) {
	name = cxxname.Normal(name)
	for _, spelled := range [2]func(string) string{cxxname.Normal, func(s string) string { return cxxname.WithoutArgs(cxxname.Normal(s)) }} {
		for _, m := range t.Members {
			if !m.Base || m.Offset < 0 || m.Type == nil || m.Type.Name == "" {
				continue
			}
			x, at, is := m, int64(0), spelled(m.Type.Name) == name
			if rest, within := strings.CutPrefix(name, spelled(m.Type.Name)+"::"); within && !is {
				x, at, is = m.Type.member(rest, depth+1)
			}
			switch {
			case is && ok:
				return Member{}, 0, false // of two bases either may be meant
			case is:
				found, offset, ok = x, m.Offset+at, true
			}
		}
		if ok {
			return found, offset, true
		}
	}
	return Member{}, 0, false
}

// Base returns the offset of the first class that is one of those wanted, of t's bases
// and theirs, nearer ones first. Where a virtual base lies may not be known.
func (t *Type) Base(wanted func(*Type) bool) (offset int64, ok bool) {
	type at struct {
		t      *Type
		offset int64
	}
	for level, depth := []at{{t, 0}}, 0; len(level) > 0 && depth <= maxNesting; depth++ {
		var next []at
		for _, d := range level {
			for i := range d.t.Members {
				m := &d.t.Members[i]
				if !m.Base || m.Offset < 0 || m.Type == nil {
					continue
				}
				if wanted(m.Type) {
					return d.offset + m.Offset, true
				}
				next = append(next, at{m.Type, d.offset + m.Offset})
			}
		}
		level = next
	}
	return 0, false
}

// MemberNames returns every name that Member finds, in order of declaration.
func (t *Type) MemberNames() []string {
	var names []string
	seen := map[string]bool{}
	t.memberNames(func(s string) {
		if !seen[s] {
			seen[s] = true
			names = append(names, s)
		}
	}, 0)
	return names
}

func (t *Type) memberNames(add func(string), depth int) {
	if t == nil || depth > maxNesting {
		return
	}
	for _, m := range t.Members {
		if m.Offset < 0 {
			continue
		}
		if m.Base || m.Name == "" {
			m.Type.memberNames(add, depth+1)
		} else {
			add(m.Name)
		}
	}
}

// NoMember is the message for a name that Member does not find.
func (t *Type) NoMember(name string) string {
	if base := t.virtual(name, 0); base != nil {
		return fmt.Sprintf("`%s` is a field of %s, a virtual base of %s: where that lies is not known", name, base, t)
	}
	msg := fmt.Sprintf("no field `%s` in %s", name, t)
	names := t.MemberNames()
	if near := nearest(name, names); near != "" {
		return msg + "; did you mean `" + near + "`?"
	}
	if len(names) > 0 && len(names) <= 12 {
		return msg + "; it has " + strings.Join(names, ", ")
	}
	return msg
}

// virtual returns the virtual base, of t or a base of it, that has a member of that name.
func (t *Type) virtual(name string, depth int) *Type {
	if t == nil || depth > maxNesting {
		return nil
	}
	for _, m := range t.Members {
		if !m.Base || m.Type == nil {
			continue
		}
		if _, _, ok := m.Type.Member(name); ok && m.Offset < 0 {
			return m.Type
		}
		if base := m.Type.virtual(name, depth+1); base != nil {
			return base
		}
	}
	return nil
}

// Find resolves a C path from the start of t: "child[2]", "pos.x". It stops at
// pointers; a path to a smart pointer leads to the pointer in it. An error is a
// *PathError.
func (t *Type) Find(path string) (Place, error) {
	p := Place{Type: t}
	if strings.TrimSpace(path) == "" {
		return p, &PathError{path, 0, "a field name is missing"}
	}
	for i := 0; i < len(path); {
		next, end, msg := p.step(path, i)
		if msg != "" {
			return Place{}, &PathError{path, i, msg}
		}
		p, i = next, end
	}
	return p.smart(), nil
}

// smart leads from a smart pointer to its pointer.
func (p Place) smart() Place {
	if f, ok := p.Type.Smart(); ok {
		return Place{Type: f.Type, Offset: p.Offset + f.Offset}
	}
	return p
}

// step follows the selector or index at path[i:].
func (p Place) step(path string, i int) (next Place, end int, msg string) {
	if path[i] == '[' {
		return p.index(path, i)
	}
	if i > 0 {
		if path[i] != '.' {
			return p, i, fmt.Sprintf("`.` or `[` expected at `%s`", path[i:])
		}
		i++
	}
	name := p.Type.nameAt(path[i:])
	if name == "" {
		return p, i, fmt.Sprintf("a field name is expected at `%s`", path[i:])
	}
	switch p.Type.Kind {
	case Struct, Union:
	case Pointer:
		return p, i, fmt.Sprintf("`%s` is a pointer (%s): what it points to is not part of this type", strings.TrimSuffix(path[:i], "."), p.Type)
	default:
		return p, i, fmt.Sprintf("%s has no fields, so no `%s`", p.Type, name)
	}
	m, offset, ok := p.Type.Member(name)
	if !ok {
		return p, i, p.Type.NoMember(name)
	}
	next = Place{Type: m.Type, Offset: p.Offset + offset, BitSize: m.BitSize}
	if m.BitSize > 0 {
		next.Offset += int64(m.BitOffset / 8)
		next.BitOffset = m.BitOffset % 8
	}
	return next, i + len(name), ""
}

// index follows "[n]".
func (p Place) index(path string, i int) (Place, int, string) {
	text, _, closed := strings.Cut(path[i+1:], "]")
	if !closed {
		return p, i, "`]` is missing"
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 0, 64)
	if err != nil {
		return p, i, fmt.Sprintf("`%s` is not a number", text)
	}
	t := p.Type
	switch {
	case t.Kind == Pointer:
		return p, i, fmt.Sprintf("`%s` is a pointer (%s): what it points to is not part of this type", path[:i], t)
	case t.Kind != Array || t.Elem == nil:
		return p, i, fmt.Sprintf("`%s` is no array (it is %s)", path[:i], t)
	case n < 0 || t.Bound() >= 0 && n >= t.Count:
		return p, i, fmt.Sprintf("index %d is outside `%s`, which has %d elements", n, path[:i], t.Count)
	case t.Elem.Size > 0 && n > maxObject/t.Elem.Size:
		return p, i, fmt.Sprintf("index %d is too large", n)
	}
	return Place{Type: t.Elem, Offset: p.Offset + n*max(t.Elem.Size, 0)}, i + len(text) + 2, ""
}

// nameAt returns the member name at the start of s. A virtual-table pointer's
// own name holds a dot ("_vptr.Shape").
func (t *Type) nameAt(s string) string {
	if strings.HasPrefix(s, "_vptr") {
		for _, name := range t.MemberNames() {
			if len(name) > len("_vptr") && strings.HasPrefix(s, name) {
				return name
			}
		}
	}
	end := strings.IndexAny(s, ".[")
	if end < 0 {
		end = len(s)
	}
	return s[:end]
}

// nearest returns the candidate that a misspelt name most likely meant, "" if
// none is near: at most a third of its letters differ.
func nearest(name string, candidates []string) string {
	best, bestDistance := "", len(name)/3+1
	for _, c := range candidates {
		if strings.EqualFold(c, name) {
			return c
		}
		d := editDistance(name, c, bestDistance)
		if len(name) >= 3 && strings.HasPrefix(c, name) {
			d = 0 // the writer stopped early
		}
		if d < bestDistance || d == bestDistance && best == "" {
			best, bestDistance = c, d
		}
	}
	return best
}

// editDistance is Levenshtein's, or more than limit where it exceeds limit.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
