package check

import (
	"fmt"
	"strings"
)

// dump prints a Spec for the golden test: every place as base+offset.
func dump(s *Spec) string {
	var b strings.Builder
	for _, t := range s.Types {
		fmt.Fprintf(&b, "type %s group %d", t.Name, t.Group)
		if t.Array {
			fmt.Fprintf(&b, " array of %s", t.Elem)
		}
		if t.Intrusive {
			b.WriteString(" intrusive")
		}
		b.WriteByte('\n')
		for i, c := range t.Edges {
			fmt.Fprintf(&b, "  edge %s +%d ×%d stride %d", c.Name, c.Offset, c.Count, c.Stride)
			if i >= t.Default {
				b.WriteString(" on demand")
			}
			if c.Coded.Tags != 0 {
				fmt.Fprintf(&b, " mask %#x", c.Coded.Tags)
			}
			if c.Coded.Shift != 0 {
				fmt.Fprintf(&b, " address >> %d", c.Coded.Shift)
			}
			for _, u := range c.Used {
				if u.Lo != nil {
					fmt.Fprintf(&b, " [%s..%s]", show(u.Lo), show(u.Hi))
				}
				if u.Cond != nil {
					fmt.Fprintf(&b, " if %s", show(u.Cond))
				}
			}
			b.WriteByte('\n')
		}
	}
	for _, a := range s.Attributes {
		fmt.Fprintf(&b, "attribute %s.%s default %d\n", a.Type.Name, a.Name, a.Default)
		for _, r := range a.Rules {
			fmt.Fprintf(&b, "  %s => %s || %s\n", show(r.Guard), show(r.Value), show(r.Else))
		}
	}
	for _, c := range s.Constraints {
		dumpConstraint(&b, c)
	}
	for _, g := range s.Globals {
		fmt.Fprintf(&b, "global %s %s %#x %d\n", g.Name, g.Layout, g.Addr, g.Size)
	}
	for _, l := range s.Locals {
		for i := range l.Frames {
			v := &l.Frames[i]
			fmt.Fprintf(&b, "local %s %s entry %#x offset %d size %d\n", v.Label(), v.Node.Name, v.Entry, v.Offset, v.Size)
		}
	}
	for _, n := range s.Nils {
		fmt.Fprintf(&b, "nil %s %#x %d", n.Global, n.Addr, n.Size)
		if n.Place != nil {
			fmt.Fprintf(&b, " %s %s", n.Type.Name, showPlace(*n.Place))
		}
		b.WriteByte('\n')
	}
	for _, r := range s.Reaches {
		from := "a global"
		if r.Of != nil {
			from = r.Of.Name
		}
		fmt.Fprintf(&b, "enter %s from %s [%d, %d) any %t\n", r.Type.Name, from, r.Lo, r.Hi, r.Any)
	}
	for _, e := range s.Embeds {
		fmt.Fprintf(&b, "embed %s in %s at %s +%d\n", e.Type.Name, e.Host.Name, e.Member, e.Offset)
	}
	for _, r := range s.Rows {
		last := r.Count() - 1
		fmt.Fprintf(&b, "embed %s in %s +%d … %s +%d\n", r.Type.Name, r.Name(0), r.At(0), r.Name(last), r.At(last))
	}
	for _, m := range s.Members {
		fmt.Fprintf(&b, "member leave=%t %s %s(%d) return=%t if %s\n", m.Leave, m.Type.Name, m.Func, m.Arg, m.Return, show(m.Cond))
	}
	for _, r := range s.Roots {
		fmt.Fprintf(&b, "root %s %s via %v\n", r.Type.Name, showPlace(*r.Place), r.Via)
	}
	for _, p := range s.CPoints {
		fmt.Fprintf(&b, "cpoint %s entry=%t exit=%t each=%t mark=%t %s:%d", p.Func, p.Entry, p.Exit, p.Each, p.Mark, p.File, p.Line)
		if p.For != nil {
			fmt.Fprintf(&b, " for %s", p.For.Name)
		}
		b.WriteByte('\n')
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(&b, "warning %s: %s\n", w.Pos, w.Msg)
	}
	return b.String()
}

func dumpConstraint(b *strings.Builder, c *Constraint) {
	fmt.Fprintf(b, "%s:", c.Label)
	for i, v := range c.Vars {
		q := "exists"
		if i < c.Universal {
			q = "forall"
		}
		fmt.Fprintf(b, " %s %s=$%d", q, v.Name, i)
	}
	for _, l := range c.Loops {
		fmt.Fprintf(b, " for %s in %s to %s", l.Name, show(l.Lo), show(l.Hi))
		if l.Guard != nil {
			fmt.Fprintf(b, " under %s", show(l.Guard))
		}
	}
	fmt.Fprintf(b, "\n  %s\n  => %s\n", show(c.Guard), show(c.Body))
}

func show(e Expr) string {
	switch e := e.(type) {
	case nil:
		return "-"
	case *Const:
		if e.IsFloat {
			return fmt.Sprint(e.Float)
		}
		return fmt.Sprint(e.Int)
	case *Null:
		return "NULL"
	case *Index:
		return fmt.Sprintf("#%d", e.Slot)
	case *Node:
		return fmt.Sprintf("$%d", e.Slot)
	case *GlobalRef:
		return fmt.Sprintf("::%d", e.Global)
	case *Load:
		text := "[" + showPlace(e.Place) + ":" + e.Type.String()
		if e.BitSize > 0 {
			text += fmt.Sprintf(" bits %d+%d", e.BitOffset, e.BitSize)
		}
		if e.Coded.Tags != 0 {
			text += fmt.Sprintf(" &~%#x", e.Coded.Tags)
		}
		if e.Coded.Shift != 0 {
			text += fmt.Sprintf(" ^address>>%d", e.Coded.Shift)
		}
		if e.To != nil {
			text += " to " + e.To.Name
		}
		return text + "]"
	case *FieldN:
		return fmt.Sprintf("field(%s, %s of %s)", show(e.Base), show(e.N), e.Of.Name)
	case *AddrOf:
		return "&" + showPlace(e.Place)
	case *Attr:
		var of []string
		for _, a := range e.Attrs {
			of = append(of, a.Type.Name)
		}
		return fmt.Sprintf("%s.%s(%s)", strings.Join(of, "|"), e.Attrs[0].Name, show(e.Base))
	case *Degree:
		return fmt.Sprintf("degree(%s in=%t %v)", show(e.Base), e.In, e.Fields)
	case *Builtin:
		return fmt.Sprintf("builtin%d(%s %#x)", e.Kind, show(e.Base), e.Coded.Tags)
	case *Unary:
		return fmt.Sprintf("%s(%s)", e.Op, show(e.X))
	case *Binary:
		u := ""
		if e.Unsigned {
			u = "u"
		}
		if e.Elem > 0 {
			u += fmt.Sprintf("[%d]", e.Elem)
		}
		return fmt.Sprintf("(%s %s%s %s)", show(e.X), e.Op, u, show(e.Y))
	case *Cond:
		return fmt.Sprintf("(%s ? %s : %s)", show(e.C), show(e.X), show(e.Y))
	case *Relation:
		return fmt.Sprintf("(%s relation path=%t not=%t %v %s)", show(e.From), e.Path, e.Not, e.Fields, show(e.To))
	case *Aggregate:
		if e.Sum && e.Type != nil {
			return fmt.Sprintf("sum(%s $%d: %s)", e.Type.Name, e.Slot, show(e.Elem))
		}
		if e.Sum {
			return fmt.Sprintf("sum(#%d in %s to %s: %s)", e.Slot, show(e.Lo), show(e.Hi), show(e.Elem))
		}
		return fmt.Sprintf("count(%s $%d: %s)", e.Type.Name, e.Slot, show(e.Guard))
	}
	return fmt.Sprintf("%T", e)
}

func showPlace(p Place) string {
	text := fmt.Sprintf("%s+%d", show(p.Base), p.Offset)
	for _, s := range p.Steps {
		text += fmt.Sprintf("+%s*%d<%d", show(s.I), s.Stride, s.Count)
	}
	if p.Cell != nil {
		text += " in use"
	}
	return text
}
