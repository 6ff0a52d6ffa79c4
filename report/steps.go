package report

import (
	"slices"
	"strings"
)

// Step is one change of memory on the way from the last C-point where all was
// well to one where it is not. The first step is where that way begins, the last
// one the C-point: they change nothing.
type Step struct {
	Timestamp uint64 `json:"timestamp"`
	Place     string `json:"place,omitempty"` // the first and last step: what it is
	File      string `json:"file,omitempty"`
	Path      string `json:"path,omitempty"` // File with its directories
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	Function  string `json:"function,omitempty"`
	Source    string `json:"source,omitempty"`
	Address   string `json:"address,omitempty"`
	Change    string `json:"change,omitempty"`
	When      string `json:"when,omitempty"`
	Thread    uint32 `json:"thread,omitempty"`
	Suspect   int    `json:"suspect,omitempty"`  // rank of the suspect whose change it is; 0: of none
	LeftOut   int    `json:"left_out,omitempty"` // changes before it that are not listed
	// Broken are those of the C-point's inconsistencies, by index, that are there
	// after the step; nil: not known.
	Broken []int `json:"broken"`
}

// Film shows the steps of a C-point as pictures with one layout.
type Film struct {
	Drawing     string // an SVG of everything that is in any frame, elements with ids
	First, Last string // SVGs of the first and the last frame
	Frames      []Frame
	Room        int // letters of a value that a cell has room for
	Drawn       int // objects
	Objects     int // of so many
}

// Frame is what the drawing shows at one step: a letter for each node and edge,
// the values that differ from the frame before, and the cells that are marked.
// The letters are those of package render.
type Frame struct {
	Nodes  string
	Edges  string
	Values []CellText
	Marks  []CellText
}

// CellText is a cell of the drawing with its text or mark.
type CellText struct {
	Cell int
	Text string
}

// SourceFile is what a page shows of a source file.
type SourceFile struct {
	Path  string
	Parts []SourcePart
}

// SourcePart is some lines of a file, the first one numbered First.
type SourcePart struct {
	First int
	Lines []string
}

// Title says where and when a step is: "change 120, in call 5 of insert: quad.c:69 in split".
func (s *Step) Title() string {
	if s.Place != "" {
		return s.Place
	}
	place := s.Address
	if s.File != "" {
		place = position(s.File, s.Line, s.Column)
	}
	if s.Function != "" {
		place += " in " + s.Function
	}
	return s.When + ": " + place
}

// Mends reports whether a frame shows an edge that would mend something.
func (f *Film) Mends() bool {
	return slices.ContainsFunc(f.Frames, func(fr Frame) bool { return strings.Contains(fr.Edges, "r") })
}
