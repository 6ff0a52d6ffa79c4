package slicing

import (
	"fmt"
	"path/filepath"
	"strings"

	"mgtrace/query"
	"mgtrace/session/symbol"
	"mgtrace/slice"
	"mgtrace/slice/tell"
	"mgtrace/trace"
)

// files is native.Files over the images of a recording.
type files struct{ s *symbol.Table }

func (f files) Code(pc uint64, n int) []byte {
	im, ok := f.s.Image(trace.Addr(pc))
	if !ok || im.Obj == nil {
		return nil
	}
	return im.Obj.Code(pc-uint64(im.Bias), n)
}

func (f files) Function(pc uint64) (entry uint64, returns, ok bool) {
	im, ok := f.s.Image(trace.Addr(pc))
	if !ok || im.Obj == nil {
		return 0, true, false
	}
	fn, ok := im.Obj.FuncAt(pc - uint64(im.Bias))
	return fn.Addr + uint64(im.Bias), !fn.NoReturn && !neverReturns[fn.Base], ok
}

func (f files) Linker(pc uint64) bool {
	im, ok := f.s.Image(trace.Addr(pc))
	return ok && linker(im)
}

// linker says that an image is the dynamic linker.
func linker(im *symbol.Image) bool {
	name := filepath.Base(im.Path)
	return strings.HasPrefix(name, "ld-") || name == "ld.so"
}

// neverReturns are functions of libraries without debug information.
var neverReturns = map[string]bool{ // read-only
	"abort": true, "exit": true, "_exit": true, "_Exit": true, "quick_exit": true, "__assert_fail": true, "__assert": true,
	"__stack_chk_fail": true, "__fortify_fail": true, "__chk_fail": true, "longjmp": true, "siglongjmp": true, "__longjmp_chk": true,
	"pthread_exit": true, "__cxa_throw": true, "__cxa_rethrow": true, "_Unwind_Resume": true, "__libc_fatal": true, "__libc_message": true,
}

// names is tell.Program.
type names struct {
	s     *symbol.Table
	cells *query.Names // of the history
}

func (n names) Place(pc uint64) tell.Place {
	at := trace.Addr(pc)
	f, _, source := n.s.Where(at)
	p := tell.Place{File: symbol.Short(f.File), Path: f.File, Line: f.Line, Function: f.Function, Source: source, Address: n.s.Address(at), Module: "code in no file"}
	if im, ok := n.s.Image(at); ok {
		p.Module, p.Own, p.Linker = filepath.Base(im.Path), im.Traced, linker(im)
		if p.File != "" && p.Line == 0 {
			n.near(&p, at)
		}
		if p.Function == "" && im.Obj != nil {
			if fn, ok := im.Obj.FuncAt(pc - uint64(im.Bias)); ok {
				p.Function = fn.Name
			}
		}
	}
	return p
}

// near gives an instruction that is of no line the one before.
func (n names) near(p *tell.Place, pc trace.Addr) {
	file, line := n.s.LineBefore(pc)
	if line == 0 {
		return
	}
	p.File, p.Path, p.Line, p.Near = symbol.Short(file), file, line, true
	source, _ := n.s.Sources.Line(file, line)
	p.Source = strings.TrimSpace(source)
}

func (n names) Kernel(c slice.Cause) string {
	switch c.Kind {
	case slice.Syscall:
		return "system call " + trace.SyscallName(uint64(c.Number))
	case slice.SignalFrame:
		return fmt.Sprintf("signal %d", c.Number)
	case slice.Gap:
		return "unknown: instructions that were not recorded"
	}
	return "unknown: another process or thread wrote there"
}
