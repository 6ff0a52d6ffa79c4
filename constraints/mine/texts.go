package mine

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/types"
)

// Texts by which nodes are in order, as names in a list or words in a search tree. The language compares numbers: it is the first character that
// does not fall, without its sign, as strcmp has it.

// maxTexts bounds those of a node that are looked at.
const maxTexts = 4

// textsOf lists the first characters of a node's texts: arrays of characters, and what pointers to such lead to.
func textsOf(t *types.Type) (out []string) {
	if t == nil {
		return nil
	}
	for _, s := range t.Scalars() {
		switch path, first := strings.CutSuffix(s.Path, "[0]"); {
		case s.Type == nil || internal(s.Path) || strings.Contains(path, "[") || len(out) == maxTexts:
		case first && isChar(s.Type):
			out = append(out, s.Path)
		case s.Type.Kind == types.Pointer && !first && s.Type.Elem != nil && isChar(s.Type.Elem):
			out = append(out, s.Path+"[0]")
		}
	}
	return out
}

func isChar(t *types.Type) bool { return t.Kind == types.Int && t.Size == 1 && t.Name == "char" }

// textOrders makes the candidates about them: along lists, and of search trees.
func (m *maker) textOrders(s shape) {
	if s.kind == scattered {
		return
	}
	lists := m.seconds(s)
	if len(s.links) == 1 && !s.links[0].array && s.links[0].typed {
		lists = append(slices.Clone(s.links), lists...)
	}
	ptrs := s.pointersOf()
	for _, text := range textsOf(m.typ.Layout) {
		char := func(node string) string { return fmt.Sprintf("%s.%s & 255", node, text) }
		name := strings.TrimSuffix(text, "[0]")
		order := func(key, words, guard, left, op, right string, operands ...string) *candidate {
			c := m.compare(key+" "+name, words, guard, left, op, right, 0)
			rel := c.holds
			c.holds = func(a, b float64) bool { return rel(unsignedChar(a), unsignedChar(b)) }
			c.left, c.right, c.need = operands[0], operands[1], 6
			return c
		}
		for _, q := range lists {
			next := "X." + q.name
			order("text "+q.name, fmt.Sprintf("%s is in order along %s, by its first character", name, q.name), q.on(), char("X"), "<=", char(next), "X."+text, next+"."+text)
		}
		if s.kind != tree || len(ptrs) != 2 {
			continue
		}
		id := strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
		for _, side := range []struct{ l, r string }{{ptrs[0], ptrs[1]}, {ptrs[1], ptrs[0]}} {
			high, low := "HIGH_"+id, "LOW_"+id
			most := attribute{high, fmt.Sprintf("%s.%s;  %s X;  X.%s = MAX(%s, (X.%s).%s, (X.%s).%s);", m.name, high, m.name, high, char("X"), ptrs[0], high, ptrs[1], high)}
			least := attribute{low, fmt.Sprintf("%s.%s DEFAULT 256;  %s X;  X.%s = MIN(%s, (X.%s).%s, (X.%s).%s);", m.name, low, m.name, low, char("X"), ptrs[0], low, ptrs[1], low)}
			below, above := fmt.Sprintf("(X.%s).%s", side.l, high), fmt.Sprintf("(X.%s).%s", side.r, low)
			c := order("below "+side.l, fmt.Sprintf("search tree: %s in all of %s comes before, by its first character", name, side.l), fmt.Sprintf("X.%s != NULL", side.l), below, "<=", char("X"), below, "X."+text).with(most)
			d := order("above "+side.r, fmt.Sprintf("search tree: %s in all of %s comes after, by its first character", name, side.r), fmt.Sprintf("X.%s != NULL", side.r), char("X"), "<=", above, "X."+text, above).with(least)
			c.halves, d.halves = []string{d.key}, []string{c.key}
			c.alone, d.alone = strings.Replace(c.Words, "search tree", "heap order", 1), strings.Replace(d.Words, "search tree", "heap order", 1)
		}
	}
}

// unsignedChar is a character's number without its sign; what is no character stays as it is.
func unsignedChar(x float64) float64 {
	if x < 0 {
		return x + 256
	}
	return x
}
