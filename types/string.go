package types

import "strconv"

// String returns t as C writes it, without the words struct, union and enum:
// "qdtree *", "int [4]", "void (*)()".
func (t *Type) String() string { return t.declare("", 0) }

// maxDeclarator bounds the spelling of a type: no honest one is nested deeper.
const maxDeclarator = 64

// declare spells t around a declarator, from the inside out.
func (t *Type) declare(inner string, depth int) string {
	if t == nil {
		return join("void", inner)
	}
	if depth > maxDeclarator {
		return join("…", inner)
	}
	switch {
	case t.Kind == Pointer && t.Name != "":
		return join(t.Name, inner)
	case t.Kind == Pointer:
		inner = "*" + inner
		if t.Elem != nil && (t.Elem.Kind == Array || t.Elem.Kind == Func) {
			inner = "(" + inner + ")"
		}
		return t.Elem.declare(inner, depth+1)
	case t.Kind == Array:
		n := ""
		if t.Count >= 0 {
			n = strconv.FormatInt(t.Count, 10)
		}
		return t.Elem.declare(inner+"["+n+"]", depth+1)
	case t.Kind == Func:
		return t.Elem.declare(inner+"()", depth+1)
	}
	return join(t.plainName(), inner)
}

func join(name, inner string) string {
	if inner == "" {
		return name
	}
	return name + " " + inner
}

func (t *Type) plainName() string {
	if t.Name != "" {
		return t.Name
	}
	switch t.Kind {
	case Void:
		return "void"
	case Struct:
		return "struct {…}"
	case Union:
		return "union {…}"
	case Enum:
		return "enum {…}"
	case Bool:
		return "bool"
	case Int:
		return "int" + strconv.FormatInt(t.Size*8, 10) + "_t"
	case Uint:
		return "uint" + strconv.FormatInt(t.Size*8, 10) + "_t"
	case Float:
		return "float" + strconv.FormatInt(t.Size*8, 10)
	}
	return "?"
}
