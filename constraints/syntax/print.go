package syntax

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Print returns the file in canonical form, without comments.
func Print(f *File) string {
	var b strings.Builder
	for _, s := range f.Stmts {
		b.WriteString(StmtString(s))
		b.WriteByte('\n')
	}
	return b.String()
}

// StmtString returns a statement in canonical form.
func StmtString(s Stmt) string {
	switch s := s.(type) {
	case *TypeDecl:
		return typeString(s)
	case *Layout:
		return strings.TrimSpace(s.Text)
	case *AttrDecl:
		if s.Default != nil {
			return fmt.Sprintf("%s.%s DEFAULT %s;", s.Type.Name, s.Name, ExprString(s.Default))
		}
		return fmt.Sprintf("%s.%s;", s.Type.Name, s.Name)
	case *Rule:
		return ruleString(s)
	case *Constraint:
		label := ""
		if s.Label.Name != "" {
			label = s.Label.Name + ": "
		}
		return label + s.Text()
	case *Const:
		return fmt.Sprintf("const %s = %s;", s.Name, ExprString(s.Value))
	case *Tag:
		if s.Shift != nil {
			return fmt.Sprintf("tag %s.%s ^ ADDRESS >> %s;", s.Type.Name, s.Field.Name, ExprString(s.Shift))
		}
		return fmt.Sprintf("tag %s.%s & %s;", s.Type.Name, s.Field.Name, ExprString(s.Mask))
	case *Nil:
		if s.Global.Name != "" {
			return fmt.Sprintf("nil ::%s;", s.Global.Name)
		}
		return fmt.Sprintf("nil %s.%s;", s.Type.Name, s.Field.Name)
	case *Global:
		if s.File != "" {
			return fmt.Sprintf("global %s:%s;", rawString(s.File), s.Name)
		}
		return fmt.Sprintf("global %s;", rawString(s.Name))
	case *Local:
		return fmt.Sprintf("local %s in %s;", s.Name, rawString(s.Func))
	case *Embed:
		host := s.Host.Name
		if s.Global != nil {
			host = ExprString(s.Global)
		}
		if s.Member.Name != "" {
			host += " at " + s.Member.Name
		}
		return fmt.Sprintf("embed %s in %s;", s.Type.Name, host)
	case *Together:
		return fmt.Sprintf("together %s;", idents(s.Types))
	case *NoEnd:
		return "no cpoint end;"
	}
	return directiveString(s)
}

func directiveString(s Stmt) string {
	switch s := s.(type) {
	case *Member:
		return memberString(s)
	case *Root:
		via := ""
		if s.Via != nil {
			via = " via " + paths(s.Via)
		}
		return fmt.Sprintf("root %s from %s%s;", s.Type.Name, ExprString(s.From), via)
	case *Alloc:
		sites := make([]string, len(s.Sites))
		for i, site := range s.Sites {
			sites[i] = siteString(site)
		}
		return fmt.Sprintf("alloc %s at %s;", s.Type.Name, strings.Join(sites, ", "))
	case *Allocator:
		return allocatorString(s)
	case *CPoint:
		points := make([]string, len(s.Points))
		for i, p := range s.Points {
			points[i] = pointString(p)
		}
		text := "cpoint " + strings.Join(points, ", ")
		if s.For != nil {
			text += " for " + idents(s.For)
		}
		return text + ";"
	case *Cells:
		return cellsString(s)
	case *Check:
		text := "check " + s.What
		if s.No {
			text = "no " + text
		}
		if s.For != nil {
			text += " for " + idents(s.For)
		}
		return text + ";"
	}
	return ""
}

func typeString(t *TypeDecl) string {
	if t.Array {
		if t.Of != "" {
			return fmt.Sprintf("ARRAY %s OF %s;", t.Name, rawString(t.Of))
		}
		return fmt.Sprintf("ARRAY %s;", t.Name)
	}
	text := t.Name
	if t.Keyword {
		text = "type " + text
	}
	if t.Source != "" {
		text += " = " + quote(t.Source)
	}
	if t.Counts {
		text += fmt.Sprintf(" FIELD %d EDGE %d", t.Fields, t.Edges)
	}
	if t.List != nil {
		if t.Keyword {
			text += " edges"
		}
		text += " (" + paths(t.List) + ")"
	}
	return text + ";"
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// rawString prints what raw read: quoted if it would be read differently else.
func rawString(s string) string {
	if s != "" && rawLen(s, []string{"if", "for", "call", "offset", "frees"}) == len(s) && s[0] != '"' &&
		s == strings.Join(strings.Fields(s), " ") && !strings.HasPrefix(s, ":") { // behind a word it would make that a label
		return s
	}
	return quote(s)
}

func ruleString(r *Rule) string {
	text := declsString(r.Decls)
	if r.Guard != nil {
		text += ExprString(r.Guard) + " => "
	}
	text += assignString(r.Then)
	if r.Else != nil {
		text += " || " + assignString(*r.Else)
	}
	return text + ";"
}

func assignString(a Assign) string { return ExprString(a.Target) + " = " + ExprString(a.Value) }

// Text returns the constraint in canonical form without its label.
func (c *Constraint) Text() string {
	text := declsString(c.Decls)
	for _, p := range c.Prefixes {
		if p.Guard != nil {
			text += ExprString(p.Guard) + " => "
		} else {
			text += "for " + rangeString(p.Loop) + ", "
		}
	}
	return text + ExprString(c.Body) + ";"
}

func declsString(decls []Decl) string {
	text := ""
	for _, d := range decls {
		if d.Quantifier != "" {
			text += d.Quantifier + " "
		}
		text += d.Type.Name + " " + idents(d.Vars) + "; "
	}
	return text
}

func rangeString(l Loop) string {
	return fmt.Sprintf("%s in %s to %s", l.Var, ExprString(l.Lo), ExprString(l.Hi))
}

func memberString(m *Member) string {
	if m.From != nil {
		return fmt.Sprintf("enter %s from %s;", m.Type.Name, ExprString(m.From))
	}
	if m.Of.Name != "" {
		return fmt.Sprintf("enter %s from %s.%s;", m.Type.Name, m.Of.Name, m.Field.Name)
	}
	word, arg := "enter", "return"
	if m.Leave {
		word = "leave"
	}
	if m.Arg > 0 {
		arg = strconv.Itoa(m.Arg)
	}
	text := fmt.Sprintf("%s %s at %s", word, m.Type.Name, rawString(m.Func+"("+arg+")"))
	if m.Cond != nil {
		text += " if " + ExprString(m.Cond)
	}
	return text + ";"
}

func siteString(s AllocSite) string {
	text := rawString(s.Func)
	if s.Func == "" {
		text = rawString(fmt.Sprintf("%s:%d", s.File, s.Line))
	}
	if s.Call > 0 {
		text += fmt.Sprintf(" call %d", s.Call)
	}
	if s.Offset > 0 {
		text += fmt.Sprintf(" offset %d", s.Offset)
	}
	return text
}

func allocatorString(a *Allocator) string {
	var args []string
	if a.Size > 0 {
		args = append(args, fmt.Sprintf("size=%d", a.Size))
	}
	if a.Count > 0 {
		args = append(args, fmt.Sprintf("count=%d", a.Count))
	}
	if a.Bytes > 0 {
		args = append(args, fmt.Sprintf("bytes=%d", a.Bytes))
	}
	if a.Old > 0 {
		args = append(args, fmt.Sprintf("old=%d", a.Old))
	}
	text := "allocator " + rawString(a.Func+"("+strings.Join(args, ", ")+")")
	if a.Free != "" {
		text += " frees " + rawString(fmt.Sprintf("%s(%d)", a.Free, a.FreeArg))
	}
	if a.Later {
		text += " and later"
	}
	return text + ";"
}

func pointString(p Point) string {
	if p.Func == "" {
		return rawString(fmt.Sprintf("%s:%d", p.File, p.Line))
	}
	text := p.Func
	if !p.Exit {
		text += ":entry"
	}
	if !p.Entry {
		text += ":exit"
	}
	if p.Each {
		text += ":each"
	}
	return rawString(text)
}

func cellsString(c *Cells) string {
	text := fmt.Sprintf("cells %s: %s", c.Type.Name, c.Field.Name)
	switch {
	case c.Lo != nil && c.Hi == c.Lo:
		text += fmt.Sprintf("[%s]", ExprString(c.Lo))
	case c.Lo != nil:
		text += fmt.Sprintf("[%s..%s]", ExprString(c.Lo), ExprString(c.Hi))
	}
	if c.Cond != nil {
		text += " if " + ExprString(c.Cond)
	}
	return text + ";"
}

func idents(list []Ident) string {
	names := make([]string, len(list))
	for i, x := range list {
		names[i] = x.Name
	}
	return strings.Join(names, ", ")
}

func paths(list []Path) string {
	names := make([]string, len(list))
	for i, x := range list {
		names[i] = x.Name
	}
	return strings.Join(names, ", ")
}

// ExprString returns an expression in canonical form.
func ExprString(e Expr) string {
	switch e := e.(type) {
	case *Name:
		return e.Name
	case *Number:
		return e.Text
	case *Bool:
		if e.Value {
			return "TRUE"
		}
		return "FALSE"
	case *Null:
		return "NULL"
	case *Return:
		return "return"
	case *GlobalName:
		return "::" + e.Name
	case *Paren:
		return "(" + ExprString(e.X) + ")"
	case *Select:
		text := ExprString(e.X) + "." + e.Name
		if e.Fields != nil {
			text += "(" + paths(e.Fields) + ")"
		}
		return text
	case *Index:
		dot := ""
		if e.Dot {
			dot = "."
		}
		return ExprString(e.X) + dot + "[" + ExprString(e.I) + "]"
	}
	return operationString(e)
}

// chainString is ExprString of operators in a row, which lean to the left.
func chainString(e *Binary) string {
	var right []string
	var x Expr = e
	for {
		b, ok := x.(*Binary)
		if !ok {
			break
		}
		right = append(right, " "+b.Op+" "+ExprString(b.Y))
		x = b.X
	}
	slices.Reverse(right)
	return ExprString(x) + strings.Join(right, "")
}

func operationString(e Expr) string {
	switch e := e.(type) {
	case *Unary:
		if e.Op == "not" {
			return "not " + ExprString(e.X)
		}
		return e.Op + ExprString(e.X)
	case *Abs:
		return "|" + ExprString(e.X) + "|"
	case *Binary:
		return chainString(e)
	case *Cond:
		return ExprString(e.C) + " ? " + ExprString(e.X) + " : " + ExprString(e.Y)
	case *Relation:
		return ExprString(e.X) + " " + relationOp(e) + " " + ExprString(e.Y)
	case *Count:
		if e.Var.Name == "" {
			return "COUNT(" + e.Type.Name + ")"
		}
		return fmt.Sprintf("COUNT(%s %s: %s)", e.Type.Name, e.Var.Name, ExprString(e.Guard))
	case *Sum:
		if e.Type.Name != "" {
			return fmt.Sprintf("SUM(%s %s: %s)", e.Type.Name, e.Var.Name, ExprString(e.Elem))
		}
		return fmt.Sprintf("SUM(%s: %s)", rangeString(e.Loop), ExprString(e.Elem))
	case *MinMax:
		args := make([]string, len(e.Args))
		for i, a := range e.Args {
			args[i] = ExprString(a)
		}
		if e.Max {
			return "MAX(" + strings.Join(args, ", ") + ")"
		}
		return "MIN(" + strings.Join(args, ", ") + ")"
	}
	return ""
}

func relationOp(r *Relation) string {
	op := "->"
	if r.Path {
		op = "->>"
	}
	if r.Not {
		op = "!" + op
	}
	if r.Fields != nil {
		op += "(" + paths(r.Fields) + ")"
	}
	return op
}
