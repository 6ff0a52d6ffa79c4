package live

import (
	"maps"
	"slices"

	"mgtrace/objfile"
	"mgtrace/probe"
	"mgtrace/session/typing"
	"mgtrace/target/core"
	"mgtrace/trace"
)

// found is what a process has when recording begins.
type found struct {
	l      *Program
	blocks []core.Block // in use, by address
	stacks []stack      // of its threads
}

// stack is the activations of a thread, innermost first.
type stack struct {
	thread trace.ThreadID
	levels []objfile.Level
}

// find looks at the heap and the stacks of the process, which is held, and says
// in the program's description what is there.
func (l *Program) find() (*found, error) {
	maps, err := l.proc.Maps()
	if err != nil {
		return nil, err
	}
	f := &found{l: l}
	heap := core.Blocks(l.proc, maps)
	f.blocks = heap.InUse()
	b := &trace.Before{Blocks: len(f.blocks)}
	for _, x := range f.blocks {
		b.Bytes += x.Size
	}
	switch {
	case len(heap.Problems) > 0:
		b.Unknown = "heap: " + heap.Problems[0]
	case len(f.blocks) == 0:
		b.Unknown = "no heap of glibc's malloc was found, and blocks of other allocators can not be listed"
	}
	if err := f.unwind(); err != nil {
		return nil, err
	}
	stacks := make([][]objfile.Level, len(f.stacks))
	for i := range stacks {
		stacks[i] = f.stacks[i].levels
	}
	b.Roots = typing.Roots(l.proc, l.Symbols, f.blocks, stacks)
	l.Prog.Before = b
	return f, nil
}

// unwind finds the activations of all threads.
func (f *found) unwind() error {
	tids, err := f.l.proc.Threads()
	if err != nil {
		return err
	}
	for _, tid := range tids {
		regs, err := f.l.proc.Regs(tid)
		if err != nil {
			continue // in an uninterruptible sleep, or ending
		}
		f.stacks = append(f.stacks, stack{trace.ThreadID(tid), typing.Activations(&regs, f.l.Symbols.File, f.l.proc)})
	}
	return nil
}

// openCalls are the calls of watched functions that have not returned, each
// thread's outermost first.
func (f *found) openCalls(plan *probe.Plan) []probe.OpenCall {
	watched := map[trace.Addr]int{}
	for i := range plan.Funcs {
		if fn := &plan.Funcs[i]; fn.Role == probe.RoleWatch {
			watched[trace.Addr(plan.Images[fn.Entry.Image].Bias+fn.Entry.Addr)] = i
		}
	}
	var out []probe.OpenCall
	for _, s := range f.stacks {
		for k := len(s.levels) - 2; k >= 0; k-- {
			level, caller := &s.levels[k], &s.levels[k+1]
			file, bias, ok := f.l.Symbols.File(level.Lookup())
			if !ok {
				continue
			}
			image := slices.IndexFunc(plan.Images, func(im *probe.Image) bool { return im.File == file })
			fn, ok := file.FuncAt(level.Lookup() - bias)
			entry := trace.Addr(bias + fn.Addr)
			if i, is := watched[entry]; ok && is && !(level.Exact && trace.Addr(level.Regs.PC()) == entry) {
				out = append(out, probe.OpenCall{Thread: s.thread, Func: i, SP: caller.Regs.SP() - 8, Ret: caller.Regs.PC()})
			}
			for _, id := range slices.Sorted(maps.Keys(plan.Inlined)) {
				if point := plan.InstanceAt(id, image, level.Lookup()-bias); image >= 0 && point != 0 {
					out = append(out, probe.OpenCall{Thread: s.thread, Point: point, SP: caller.Regs.SP() - 16, Ret: level.Lookup()})
				}
			}
		}
	}
	return out
}
