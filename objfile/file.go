package objfile

import (
	"errors"
	"io"

	"mgtrace/types"
)

// Why a file can not be used.
var (
	ErrNotELF        = errors.New("not an ELF file")
	Err32Bit         = errors.New("a 32-bit program; only 64-bit ones are supported")
	ErrMachine       = errors.New("built for another machine; only x86-64 is supported")
	ErrNotExecutable = errors.New("neither an executable nor a shared object")
	ErrNoDebug       = errors.New("no debug information")
)

type File struct{}

func Open(path string, o Options) (*File, error)                           { return &File{}, nil }
func Parse(name string, r io.ReaderAt, debug ...io.ReaderAt) (*File, error) { return &File{}, nil }
func (f *File) Close() error                                               { return nil }
func (f *File) Path() string                                               { return "" }
func (f *File) DebugPath() string                                          { return "" }
func (f *File) BuildID() string                                            { return "" }
func (f *File) PIE() bool                                                  { return false }
func (f *File) Static() bool                                               { return false }
func (f *File) SharedObject() bool                                         { return false }
func (f *File) Interp() string                                             { return "" }
func (f *File) Needed() []string                                           { return nil }
func (f *File) Entry() uint64                                              { return 0 }
func (f *File) Offset(vaddr uint64) (uint64, bool)                         { return 0, false }
func (f *File) Vaddr(offset uint64) (uint64, bool)                         { return 0, false }
func (f *File) Code(vaddr uint64, n int) []byte                            { return nil }
func (f *File) CodeRanges() (ranges [][2]uint64, guessed bool)             { return nil, false }
func (f *File) LoadRange() (lo, hi uint64)                                 { return 0, 0 }
func (f *File) HasDWARF() bool                                             { return false }
func (f *File) Funcs() []Func                                              { return nil }
func (f *File) FuncAt(addr uint64) (Func, bool)                            { return Func{}, false }
func (f *File) FuncsNamed(pattern string) []Func                           { return nil }
func (f *File) Frames(addr uint64) []Frame                                 { return nil }
func (f *File) LineAddrs(file string, line int) []uint64                   { return nil }
func (f *File) NearestLine(file string, line int) (int, bool)              { return 0, false }
func (f *File) SourceFiles() []string                                      { return nil }
func (f *File) Inlined(pattern string) []Inlined                           { return nil }
func (f *File) Variables(addr uint64) []Variable                           { return nil }
func (f *File) Params(fn uint64) []Variable                                { return nil }
func (f *File) ReturnType(fn uint64) *types.Type                           { return nil }
func (f *File) Globals() []Variable                                        { return nil }
func (f *File) Global(name, file string) (Variable, bool)                  { return Variable{}, false }
func (f *File) Universe() *types.Universe                                  { return nil }
func (f *File) Step(pc uint64, regs *Regs, mem ReadMem, bias uint64) (Regs, bool) {
	return Regs{}, false
}
