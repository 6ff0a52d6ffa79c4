package syntax

import "fmt"

// Pos is a position in a specification; line and column count from 1, columns
// in characters.
type Pos struct {
	File string
	Line int
	Col  int
}

func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }

// Error is one message about a specification. Format prints it with its source
// line and a caret.
type Error struct {
	Pos     Pos
	Msg     string
	Warning bool
}

func (e Error) Error() string { return fmt.Sprintf("%s: %s", e.Pos, e.Msg) }
