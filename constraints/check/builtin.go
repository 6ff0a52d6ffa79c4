package check

import (
	"fmt"
	"strconv"
	"strings"

	"mgtrace/constraints/syntax"
	"mgtrace/mgpp/coded"
	"mgtrace/types"
)

// builtinNames are the attributes that every type has (table 2.1 of the thesis
// and language.md, "Completions").
var builtinNames = [...]string{"INDEGREE", "OUTDEGREE", "ISROOT", "ISLEAF", "EXTERNAL", "INTERNAL",
	"SIZE", "COUNT", "DANGLING", "EXISTS", "TAG"}

func isBuiltin(name string) bool {
	for _, b := range builtinNames {
		if b == name {
			return true
		}
	}
	return false
}

// builtin lowers x.INDEGREE and its kin.
func (s *scope) builtin(x operand, e *syntax.Select, src string) operand {
	if !x.reference() || x.kind == kindNull {
		s.errorf(e.NamePos, "`%s` is an attribute of nodes, but %s", e.Name, x.describe())
		return operand{}
	}
	switch e.Name {
	case "SIZE", "COUNT", "DANGLING", "EXISTS", "TAG":
		if e.Fields != nil {
			s.errorf(e.NamePos, "`%s` takes no list of fields", e.Name)
			return operand{}
		}
		return s.objectAttr(x, e, src)
	}
	fields, ok := s.degreeFields(x, e)
	if !ok {
		return operand{}
	}
	degree := func(in bool) *Degree {
		name := "OUTDEGREE"
		if in {
			name = "INDEGREE"
		}
		text := x.src + "." + name
		if e.Fields != nil {
			text += "(" + fieldNames(e.Fields) + ")"
		}
		return &Degree{Src: text, Base: x.expr, In: in, Fields: fields}
	}
	cmp := func(op string, in bool) Expr {
		return &Binary{Src: src, Op: op, X: degree(in), Y: &Const{Src: "0"}}
	}
	switch e.Name {
	case "INDEGREE":
		return number(degree(true))
	case "OUTDEGREE":
		return number(degree(false))
	case "ISROOT":
		return condition(cmp("==", true))
	case "ISLEAF":
		return condition(cmp("==", false))
	case "EXTERNAL":
		return condition(&Binary{Src: src, Op: "or", X: cmp("==", false), Y: cmp("==", true)})
	}
	return condition(&Binary{Src: src, Op: "and", X: cmp("!=", true), Y: cmp("!=", false)})
}

// fieldNames writes a list of fields as it was written.
func fieldNames(list []syntax.Path) string {
	var names []string
	for _, f := range list {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// degreeFields resolves the list of X.INDEGREE(left, right).
func (s *scope) degreeFields(x operand, e *syntax.Select) ([]Field, bool) {
	var fields []Field
	for _, f := range e.Fields {
		found := s.cellNames(x.node, true, f)
		if found == nil {
			return nil, false
		}
		for _, name := range found {
			fields = addOnce(fields, name)
		}
	}
	return fields, true
}

// row takes a pointer to what nodes and the elements of an ARRAY are alike to lead to the ARRAY: it is counted or indexed.
func (s *scope) row(x operand) operand {
	ld, ok := x.expr.(*Load)
	if !ok || x.node == nil || x.kind != kindRef {
		return x
	}
	for _, t := range s.spec.Types {
		if t.rowOf(x.node) {
			down := *ld
			down.To, x.node, x.expr = t, t, &down
			return x
		}
	}
	return x
}

// elementOf is the type of a vector's elements as a specification names it; "" where it is no vector, or they have no name.
func (s *scope) elementOf(x operand) string {
	var elem *types.Type
	if x.cell != nil && x.cell.Fills != nil {
		elem = x.cell.Elem
	} else if x.smart != nil {
		if begin, _, ok := x.smart.typ.Vector(); ok {
			elem = begin.Type.Elem
		}
	}
	switch {
	case elem == nil:
		return ""
	case elem.Kind == types.Pointer && elem.Elem != nil:
		for _, t := range s.spec.Types {
			if t.Layout != nil && t.Layout.Name == elem.Elem.Name {
				return t.Name + " *"
			}
		}
	case strings.ContainsAny(elem.Name, ":<"):
		return strconv.Quote(elem.Name)
	}
	return elem.Name
}

// objectAttr lowers SIZE, COUNT, DANGLING, EXISTS and TAG.
func (s *scope) objectAttr(x operand, e *syntax.Select, src string) operand {
	b := &Builtin{Src: src, Base: x.expr}
	switch e.Name {
	case "SIZE":
		b.Kind = BuiltinSize
	case "COUNT":
		if members := countMembers(x.typ); x.aggregate() && !x.isNode && members != nil { // and no vector, which reads as the pointer to its first element
			n := s.lower(selected(e.X, members))
			if l, ok := n.expr.(*Load); ok {
				l.Src = src
			}
			return n.named(src)
		}
		x = s.row(x)
		b.Base = x.expr
		if x.node == nil || !x.node.Array {
			more := "COUNT(T) counts nodes"
			if elem := s.elementOf(x); elem != "" {
				more = fmt.Sprintf("the block of this vector is one if that is declared: ARRAY slots OF %s;", elem)
			}
			s.errorf(e.NamePos, "COUNT is the number of elements of an ARRAY type, and `%s` is none; %s", x.src, more)
			return operand{}
		}
		b.Kind = BuiltinCount
	case "DANGLING":
		b.Kind = BuiltinDangling
	case "EXISTS":
		b.Kind = BuiltinExists
		return condition(b)
	case "TAG":
		return s.tagBits(x, b, e)
	}
	return number(b)
}

func (s *scope) tagBits(x operand, b *Builtin, e *syntax.Select) operand {
	ld, ok := x.expr.(*Load)
	if !ok || x.cell == nil || x.cell.Coded.Tags == 0 {
		s.errorf(e.NamePos, "`%s` is no tagged pointer; one is declared by: tag T.f & 3;", x.src)
		return operand{}
	}
	raw := *ld
	raw.Coded, raw.To = coded.Plain, nil
	b.Kind, b.Base, b.Coded = BuiltinTag, &raw, x.cell.Coded
	return number(b)
}
