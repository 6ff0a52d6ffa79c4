package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	"mgtrace/constraints/check"
	"mgtrace/objfile"
	"mgtrace/report"
	"mgtrace/session/analysis"
	"mgtrace/session/specfile"
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
	exe, images, err := coreImages(f, program, o)
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
	spec, err := specfile.Load(o.Spec, coreProgram(main, symbols))
	if err != nil {
		return nil, err
	}
	prog := &trace.Program{Path: exe, PID: f.PID, Engine: "core"}
	for _, im := range symbols.Images {
		prog.Modules = append(prog.Modules, im.Module)
	}
	heap := core.Blocks(f, f.Maps)
	stacks := make([][]objfile.Level, len(f.Threads))
	for i := range f.Threads {
		stacks[i] = typing.Activations(&f.Threads[i].Regs, symbols.File, f)
	}
	ao := o.analysis()
	inferred := typing.Infer(f, heap, spec, symbols, stacks)
	ao.NoLocate, ao.Typing = true, inferred
	a := analysis.New(spec, prog, symbols, ao)
	if err := a.LoadCore(f, heap); err != nil {
		return nil, err
	}
	a.Crashed(syscall.Signal(f.Signal))
	r := &report.Report{Program: exe, Engine: "core", Complete: len(f.Missing) == 0, Why: f.Missing}
	for i := range images {
		if err := images[i].Err; err != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%v: its functions have no names", err))
		}
	}
	r.Warnings = append(r.Warnings, inferred.Warnings()...)
	for _, p := range heap.Problems {
		r.Warnings = append(r.Warnings, "heap: "+p)
	}
	r.Notes = append(r.Notes, "a core file has no history: it tells what is broken, not who broke it")
	return r, a.Finish(ctx, r)
}

// coreImages opens the files that were mapped; program stands for the file of
// the program itself if it lies elsewhere now.
func coreImages(f *core.File, program string, o AnalysisOptions) (exe string, images []symbol.Image, err error) {
	for _, m := range f.Maps {
		switch {
		case !m.File():
		case exe == "": // the kernel maps the program first
			exe = m.Path
		case program != "" && filepath.Base(exe) != filepath.Base(program) && filepath.Base(m.Path) == filepath.Base(program):
			exe = m.Path
		}
	}
	switch {
	case exe == "" && program == "":
		return "", nil, errors.New("the core file does not name its program: say which it was with --program FILE")
	case exe == "":
		return "", nil, errors.New("the core file does not tell where its program was mapped")
	}
	maps := append([]mem.Map(nil), f.Maps...)
	for i := range maps {
		maps[i].Exec = maps[i].Exec || maps[i].File() // note NT_FILE has no permissions
	}
	images = symbol.Load(maps, exe, "", nil, objfile.Options{DebugDirs: o.DebugDirs})
	if program != "" {
		p, err := objfile.Open(program, objfile.Options{DebugDirs: o.DebugDirs})
		if err != nil {
			return "", nil, err
		}
		for i := range images {
			if images[i].Path == exe {
				if id := images[i].BuildID; id != "" && p.BuildID() != "" && id != p.BuildID() && filepath.Base(exe) != filepath.Base(program) {
					return "", nil, fmt.Errorf("%s is not the program that dumped the core file: that was %s", program, exe)
				}
				images[i].Obj, images[i].BuildID, images[i].Err = p, p.BuildID(), nil
			}
		}
	}
	symbol.Own(images)
	return exe, images, nil
}

func coreProgram(main *symbol.Image, symbols *symbol.Table) check.Program {
	if main == nil || main.Obj == nil {
		return nil
	}
	p := &symbol.Program{Objs: []*objfile.File{main.Obj}, Paths: []string{main.Path}, Sources: symbols.Sources}
	for i := range symbols.Images {
		if im := &symbols.Images[i]; im.Traced && im != main {
			p.Objs, p.Paths = append(p.Objs, im.Obj), append(p.Paths, im.Path)
		}
	}
	return p
}
