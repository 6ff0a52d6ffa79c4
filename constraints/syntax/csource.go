package syntax

import "strings"

// CSource returns the C declarations of the file at their own lines and
// columns, everything else blank: positions in it are positions in the file.
// A '#' comment inside a declaration is blanked too, C does not know it.
func CSource(f *File) string {
	var out strings.Builder
	var layouts []*Layout
	for _, s := range f.Stmts {
		if l, ok := s.(*Layout); ok {
			layouts = append(layouts, l)
		}
	}
	comment := false
	for i, r := range f.Src {
		for len(layouts) > 0 && i >= layouts[0].Hi {
			layouts = layouts[1:]
		}
		inside := len(layouts) > 0 && i >= layouts[0].Lo
		switch {
		case r == '\n':
			comment = false
		case r == '#':
			comment = true
		}
		if r == '\n' || r == '\t' || inside && !comment {
			out.WriteRune(r)
		} else {
			out.WriteByte(' ')
		}
	}
	return out.String()
}
