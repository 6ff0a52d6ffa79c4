package graphtest

import (
	"mgtrace/constraints/check"
	"mgtrace/types"
)

// Program is what check asks where a test has no program but C declarations: it has their types, functions of all names, code on
// all lines, and nothing else. A test embeds it and defines what else there is.
type Program struct{ Decls *types.Decls }

// NewProgram returns one without types.
func NewProgram() Program { return Program{types.NewDecls(types.NewUniverse(nil))} }

// LookupType implements types.Loader.
func (p Program) LookupType(name string) []*types.Type {
	if x := p.Decls.Lookup(name); x != nil {
		return []*types.Type{x}
	}
	return nil
}

// The rest of check.Program.

func (Program) Const(string) (int64, bool)                       { return 0, false }
func (Program) TypeNames() []string                              { return nil }
func (Program) LookupFunc(name string) []string                  { return []string{name} }
func (Program) FuncNames() []string                              { return nil }
func (Program) LookupGlobal(file, name string) []check.Variable  { return nil }
func (Program) GlobalNames() []string                            { return nil }
func (Program) LookupLocal(string, string) []check.LocalVariable { return nil }
func (Program) LocalNames(string) []string                       { return nil }
func (Program) Inlined(string) (string, string, int)             { return "", "", 0 }
func (Program) Scattered(string) bool                            { return false }
func (Program) HasLine(string, int) (bool, int)                  { return true, 0 }
func (Program) Files() []string                                  { return nil }
func (Program) Marks() []check.Mark                              { return nil }
func (Program) LibraryOf(string) string                          { return "" }
func (Program) Defined(string) (string, int, string)             { return "", 0, "" }
