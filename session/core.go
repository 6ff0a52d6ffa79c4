package session

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/objfile"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/session/typing"
	"mgtrace/target/core"
	"mgtrace/target/mem"
	"mgtrace/trace"
)

// checkCore checks a specification on the heap of a core file. There is no
// history: what was allocated is read from glibc's chunk headers, and types
// from the typed pointers that lead there, else from sizes.
func checkCore(ctx context.Context, path, program string, o AnalysisOptions) (*report.Report, error) {
	f, err := core.Open(path, core.Options{})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	exe, images, failed, err := coreImages(f, program, o)
	if err != nil {
		return nil, err
	}
	symbols := symbol.New(images, &symbol.Sources{Dirs: o.SourceDirs})
	var main *symbol.Image
	for i := range symbols.Images {
		if symbols.Images[i].Path == exe {
			main = &symbols.Images[i]
		}
	}
	spec, err := loadSpec(o.Spec, coreProgram(main, symbols))
	if err != nil {
		return nil, err
	}
	prog := &trace.Program{Path: exe, PID: f.PID, Engine: "core"}
	for _, im := range symbols.Images {
		prog.Modules = append(prog.Modules, im.Module)
	}
	heap := core.Blocks(f, f.Maps)
	a := newAnalysis(spec, prog, symbols, o, typing.Infer(f, heap, spec, main))
	a.noLocate = true
	if err := a.loadCore(f, heap, spec); err != nil {
		return nil, err
	}
	if f.Signal != 0 {
		a.exit = &report.Exit{Signal: unix.SignalName(syscall.Signal(f.Signal))}
	}
	a.checkAt(eval.CPoint{Kind: "crash"})
	r := &report.Report{Program: exe, Engine: "core", Complete: len(f.Missing) == 0, Why: f.Missing}
	for _, err := range failed {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%v: its functions have no names", err))
	}
	for _, p := range heap.Problems {
		r.Warnings = append(r.Warnings, "heap: "+p)
	}
	r.Notes = append(r.Notes, "a core file has no history: it tells what is broken, not who broke it")
	return r, a.finish(ctx, r)
}

// coreImages opens the files that were mapped; program stands for the file of
// the program itself if it lies elsewhere now.
func coreImages(f *core.File, program string, o AnalysisOptions) (exe string, images []symbol.Image, failed []error, err error) {
	for _, m := range f.Maps {
		if m.File() && (program == "" || filepath.Base(m.Path) == filepath.Base(program)) {
			exe = m.Path
			break
		}
	}
	if exe == "" {
		return "", nil, nil, fmt.Errorf("the core file does not name its program: say which it was with --program FILE")
	}
	maps := append([]mem.Map(nil), f.Maps...)
	for i := range maps {
		maps[i].Exec = maps[i].Exec || maps[i].File() // note NT_FILE has no permissions
	}
	images, failed = loadImages(maps, exe, "", nil, objfile.Options{DebugDirs: o.DebugDirs})
	if program != "" {
		p, err := objfile.Open(program, objfile.Options{DebugDirs: o.DebugDirs})
		if err != nil {
			return "", nil, nil, err
		}
		for i := range images {
			if images[i].Path == exe {
				images[i].Obj, images[i].BuildID = p, p.BuildID()
			}
		}
	}
	return exe, images, failed, nil
}

func coreProgram(main *symbol.Image, symbols *symbol.Table) check.Program {
	if main == nil || main.Obj == nil {
		return nil
	}
	return &symbol.Program{Objs: []*objfile.File{main.Obj}, Sources: symbols.Sources}
}

// loadCore makes a history of one moment: every block is born, then gets its
// bytes, so that pointers lead to blocks that are there.
func (a *Analysis) loadCore(m mem.Memory, heap *core.Heap, spec *check.Spec) error {
	blocks := heap.InUse()
	for _, b := range blocks {
		if _, err := a.hist.Apply(&trace.Event{Kind: trace.KindAlloc, Addr: trace.Addr(b.Addr), Size: b.Size, Name: "malloc"}); err != nil {
			return err
		}
	}
	for _, b := range blocks {
		data := make([]byte, b.Size)
		n, _ := m.ReadMemory(data, b.Addr) // n tells
		if n == 0 {
			continue
		}
		if _, err := a.hist.Apply(&trace.Event{Kind: trace.KindBulk, Name: "core", Addr: trace.Addr(b.Addr), Size: uint64(n), Data: data[:n]}); err != nil {
			return err
		}
	}
	for i, g := range spec.Globals {
		ev := trace.Event{Kind: trace.KindGlobal, Addr: a.bias() + trace.Addr(g.Addr), Size: uint64(g.Size), Aux: uint64(i + 1), Name: g.Name, Data: make([]byte, g.Size)}
		if _, err := m.ReadMemory(ev.Data, uint64(ev.Addr)); err != nil {
			return fmt.Errorf("read the global %s: %w", g.Name, err)
		}
		if _, err := a.hist.Apply(&ev); err != nil {
			return err
		}
	}
	return nil
}
