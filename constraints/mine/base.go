package mine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mgtrace/constraints/syntax"
)

// base is a specification that the user has already: what it says of the nodes is taken
// from it, and what it states is not proposed again.
type base struct {
	declarations string            // what says which nodes there are, statement by statement
	stated       []string          // its constraints, each in one form
	labels       []string          // of constraints
	attributes   []string          // names
	points       map[string]string // functions that are C-points, with the ends that are: "entry exit"
	noEnd        bool
}

// readBase takes a file apart; nil is that of nothing.
func readBase(f *syntax.File) *base {
	b := &base{points: map[string]string{}}
	if f == nil {
		return b
	}
	for _, s := range f.Stmts {
		switch s := s.(type) {
		case *syntax.Constraint:
			b.stated = append(b.stated, plainForm(s))
			b.labels = append(b.labels, s.Label.Name)
		case *syntax.AttrDecl:
			b.attributes = append(b.attributes, s.Name)
		case *syntax.CPoint:
			for _, p := range s.Points {
				if p.Entry {
					b.points[p.Func] += "entry "
				}
				if p.Exit {
					b.points[p.Func] += "exit "
				}
			}
		case *syntax.NoEnd:
			b.noEnd = true
		case *syntax.Rule, *syntax.Check:
		default:
			b.declarations += syntax.StmtString(s) + "\n"
		}
	}
	return b
}

// plainForm writes a constraint without its label, with variables of fixed names.
func plainForm(c *syntax.Constraint) string {
	var head strings.Builder
	text := c.Text()
	text = text[strings.LastIndex(text[:len(text)-1], "; ")+1:] // behind the declarations
	n := 0
	for _, d := range c.Decls {
		for _, v := range d.Vars {
			n++
			name := fmt.Sprintf("v%d", n)
			fmt.Fprintf(&head, "%s %s %s; ", d.Quantifier, d.Type.Name, name)
			text = regexp.MustCompile(`(^|[^.\w])`+v.Name+`\b`).ReplaceAllString(text, "${1}"+name)
		}
	}
	return head.String() + text
}

// states reports whether the file has the constraint of a candidate.
func (b *base) states(c *candidate) bool {
	if len(b.stated) == 0 {
		return false
	}
	f, errs := syntax.Parse("", b.declarations+c.Text)
	if len(errs) > 0 || len(f.Stmts) == 0 {
		return false
	}
	x, ok := f.Stmts[len(f.Stmts)-1].(*syntax.Constraint)
	return ok && slices.Contains(b.stated, plainForm(x))
}

// apart gives a candidate names that the file does not use.
func (b *base) apart(c *candidate) {
	for i, a := range c.attr {
		name := unused(a.name, b.attributes)
		if name == a.name {
			continue
		}
		used := regexp.MustCompile(`\.` + a.name + `\b`)
		c.attr[i] = attribute{name, used.ReplaceAllString(a.text, "."+name)}
		c.Text = used.ReplaceAllString(c.Text, "."+name)
	}
	c.Label = unused(c.Label, b.labels)
}

// unused is a name, or that with a number if others have it.
func unused(name string, others []string) string {
	out := name
	for i := 2; slices.Contains(others, out); i++ {
		out = fmt.Sprintf("%s_%d", name, i)
	}
	return out
}

// has reports whether a C-point is one of the file's.
func (b *base) has(c CPoint) bool {
	ends, ok := b.points[c.Func]
	return ok && (!c.Entry || strings.Contains(ends, "entry")) && (!c.Exit || strings.Contains(ends, "exit"))
}
