package check

import (
	"fmt"
	"strings"

	"mgtrace/constraints/syntax"
	"mgtrace/types"
)

// textMembers says how many characters a text has, and where they lie.
type textMembers struct{ length, characters []string }

// texts are those of the C++ library (libstdc++: basic_string.h, string_view).
var texts = [...]textMembers{
	{[]string{"_M_string_length"}, []string{"_M_dataplus", "_M_p"}},
	{[]string{"_M_len"}, []string{"_M_str"}},
}

// compareObjects lowers "x == y" of two objects in nodes, as of X.name and Y.name. Texts are compared by their characters; others,
// as pointers to them are, by their place, which is seldom meant.
func (s *scope) compareObjects(e *syntax.Binary, x, y operand, src string) operand {
	lengthX, charX := s.text(e.X, x)
	lengthY, charY := s.text(e.Y, y)
	if lengthX == nil || lengthY == nil {
		s.warnf(e.OpPos, "`%s` and `%s` are compared by where they lie, not by what is in them: name the members that are to be equal", x.src, y.src)
		s.sameObjects(e, x, y)
		return condition(&Binary{Src: src, Op: e.Op, X: x.expr, Y: y.expr, Alike: alike(x, y)})
	}
	lengths := s.lower(&syntax.Binary{Op: "==", X: lengthX, Y: lengthY})
	differ := s.lower(&syntax.Sum{
		Loop: syntax.Loop{Var: textIndex, Lo: &syntax.Number{Text: "0"}, Hi: &syntax.Binary{Op: "-", X: lengthX, Y: &syntax.Number{Text: "1", Int: 1}}},
		Elem: &syntax.Cond{C: &syntax.Binary{Op: "==", X: charX, Y: charY}, X: &syntax.Number{Text: "0"}, Y: &syntax.Number{Text: "1", Int: 1}},
	})
	if lengths.bad() || differ.bad() {
		return operand{}
	}
	differ.expr.(*Aggregate).Src = fmt.Sprintf("the number of characters that differ between %s and %s", x.src, y.src)
	same := Expr(&Binary{Src: src, Op: "and", X: lengths.expr, Y: &Binary{Src: src, Op: "==", X: differ.expr, Y: &Const{Src: "0"}}})
	if e.Op == "!=" {
		same = &Unary{Src: src, Op: "not", X: same}
	}
	return condition(same)
}

// textIndex goes along a text: no name that a user can give.
const textIndex = "the character"

// text makes, of one that x is, its length and the character at textIndex; nil: x is none.
func (s *scope) text(e syntax.Expr, x operand) (length, character syntax.Expr) {
	if t := textOf(x.typ); t != nil {
		length, character = &syntax.Select{X: e, Name: "COUNT"}, &syntax.Index{X: selected(e, t.characters), I: &syntax.Name{Name: textIndex}}
	}
	return length, character
}

// textOf are the members of a type that is a text's, nil if it is none.
func textOf(t *types.Type) *textMembers {
	for i := range texts {
		_, _, length := t.Member(texts[i].length[0])
		if _, _, characters := t.Member(texts[i].characters[0]); length && characters {
			return &texts[i]
		}
	}
	return nil
}

func isText(t *types.Type) bool { return textOf(t) != nil }

// firstCharacter is how the first one of a text is written.
func firstCharacter(e syntax.Expr, x operand) string {
	return syntax.ExprString(&syntax.Index{X: selected(e, textOf(x.typ).characters), I: &syntax.Number{Text: "0"}})
}

// counted are the members by which containers of the C++ library say how many elements they have (libstdc++: stl_list.h, stl_tree.h, hashtable.h).
var counted = [...][]string{
	{"_M_impl", "_M_node", "_M_size"},
	{"_M_t", "_M_impl", "_M_node_count"},
	{"_M_h", "_M_element_count"},
}

// countMembers are those of a type that is such a container, or a text; nil if it is none.
func countMembers(t *types.Type) []string {
	if t == nil || !t.HasMembers() {
		return nil
	}
	if text := textOf(t); text != nil {
		return text.length
	}
	for _, members := range counted {
		if is, err := t.Find(strings.Join(members, ".")); err == nil && is.Type.Kind == types.Uint {
			return members
		}
	}
	return nil
}

func selected(e syntax.Expr, members []string) syntax.Expr {
	for _, m := range members {
		e = &syntax.Select{X: e, Name: m}
	}
	return e
}
