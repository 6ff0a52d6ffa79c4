package render

// Mark brings out a node, a field or an edge.
type Mark uint8

// The marks, in order of precedence where two apply.
const (
	Plain   Mark = iota
	Old          // no longer valid: dashed
	Folded       // stands for others
	Merged       // joins what became one
	Changed      // differs between the pictures of a pair
	Broken       // part of what is wrong
	Hidden       // keeps its place but is not drawn
)

// Graph is a drawing.
type Graph struct {
	Title string
	Notes []string // lines below the title
	Nodes []Node
	Edges []Edge
	Boxes []Box

	ordered bool   // nodes stand in the order of the fields that lead to them
	widths  widths // set by Align
}

// Node is a box. ID is unique in its Graph.
type Node struct {
	ID     string
	Title  string
	Tip    string // shown when pointed at
	Fields []Field
	Mark   Mark

	widths widths // set by Align
}

// Field is a row of a Node. Port names it for edges, "" if none leaves it.
type Field struct {
	Name  string
	Value string
	Port  string
	Mark  Mark
}

// Edge leads from a node, or its field Port, to a node.
type Edge struct {
	From  string
	Port  string
	To    string
	Label string
	Mark  Mark
}

// Box is drawn around nodes.
type Box struct {
	Title string
	Nodes []string // their IDs
}
