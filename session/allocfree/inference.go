package allocfree

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/flow"
	"mgtrace/mgpp/infer"
	"mgtrace/mgpp/infer/native"
	"mgtrace/objfile"
	"mgtrace/probe"
	"mgtrace/report"
	"mgtrace/session/recording"
	"mgtrace/session/transient"
	"mgtrace/session/typing"
	"mgtrace/trace"
)

// Options asks for a history whose blocks are found without knowing the allocator: by
// what the program's instructions compute addresses from (mgpp/infer).
type Options struct {
	// Allocators are the functions that are left out: NAME gives out blocks, NAME(N)
	// takes back the one that its N-th argument points to; one that is both moves it. None: the allocator may be
	// anywhere in the program's own code.
	Allocators []string
	// Heap names objects in static memory that are heap. Their stores must have been
	// recorded (CaptureOptions.Globals).
	Heap []string
}

// nodesPath is where the history without knowledge of the allocator lies: a trace beside
// the one that it was made of.
func nodesPath(path string) string { return path + ".nodes" }

// version is that of what a trace of blocks tells: one of another version is made again.
const version = 2

// Path returns the path of the trace that is asked: path itself, or the one
// whose blocks were found without knowing the allocator, which is made if it is not there.
func Path(ctx context.Context, path string, files recording.Files, o *Options) (string, error) {
	if o == nil {
		return path, nil
	}
	rec, err := recording.Open(path, files)
	if err != nil {
		return "", err
	}
	defer rec.Close()
	want := &trace.Inferred{Version: version, Flow: rec.Prog.Flow, Allocators: o.Allocators, Heap: o.Heap}
	out := nodesPath(path)
	if r, err := trace.Open(out); err == nil {
		have := r.Program().Inferred
		_, whole := r.Trailer()
		_ = r.Close() // only read from
		if whole && reflect.DeepEqual(have, want) {
			return out, nil
		}
	}
	f, err := rec.Flow()
	if err != nil {
		return "", err
	}
	defer f.Close()
	i := &inference{rec: rec, flow: f}
	if err := i.follow(ctx, o); err != nil {
		return "", err
	}
	err = recording.Replace(out, rec.Path, transient.Guard, func(file *os.File) error { return i.write(trace.NewWriter(file, i.program(want))) })
	if err != nil {
		return "", fmt.Errorf("write the blocks that were found: %w", err)
	}
	return out, nil
}

// inference makes a trace of another one.
type inference struct {
	rec    *recording.Recording
	flow   *flow.Reader
	feed   *native.Feed
	heap   []addrRange // by address
	stacks []addrRange // threads' stacks among what was mapped
	blocks []infer.Block
}

// addrRange is a half-open range.
type addrRange struct{ lo, hi trace.Addr }

// follow builds the graph.
func (i *inference) follow(ctx context.Context, o *Options) error {
	if err := i.ranges(o.Heap); err != nil {
		return err
	}
	roles, err := i.roles(o.Allocators)
	if err != nil {
		return err
	}
	i.feed = native.New(native.Options{
		Heap: i.inHeap, Allocators: roles,
		Own:     func(pc trace.Addr) bool { im, ok := i.rec.Symbols.Image(pc); return ok && im.Traced },
		Static:  func(a trace.Addr) bool { _, ok := i.rec.Symbols.Image(a); return ok },
		StackAt: i.noHeap,
	})
	err = i.rec.Together(ctx, i.flow, func(ev *trace.Event) error {
		i.feed.Event(ev)
		return nil
	}, func(r *flow.Record) error {
		if r.Kind == flow.Exec && !i.feed.Has(r.Block) {
			i.feed.Block(r.Block, i.flow.Block(r.Block))
		}
		i.feed.Record(r)
		return nil
	})
	i.blocks = i.feed.Graph().Blocks()
	return err
}

// ranges finds what is heap: what the program mapped (brk, mmap), and named objects.
func (i *inference) ranges(named []string) error {
	for _, name := range named {
		k := slices.IndexFunc(i.rec.Prog.Globals, func(g trace.Global) bool { return g.Name == name })
		if k < 0 {
			return fmt.Errorf("--heap %s: the stores to it were not recorded: record again with --global %s", name, name)
		}
		g := &i.rec.Prog.Globals[k]
		i.heap = append(i.heap, addrRange{g.Addr, g.Addr + trace.Addr(g.Size)})
	}
	err := i.rec.Each(func(ev *trace.Event) error {
		if ev.Kind == trace.KindMap {
			i.heap = append(i.heap, addrRange{ev.Addr, ev.Addr + trace.Addr(ev.Size)})
		}
		return nil
	})
	slices.SortFunc(i.heap, func(a, b addrRange) int { return cmp.Compare(a.lo, b.lo) })
	joined := i.heap[:0]
	for _, r := range i.heap {
		if k := len(joined) - 1; k >= 0 && r.lo <= joined[k].hi {
			joined[k].hi = max(joined[k].hi, r.hi)
			continue
		}
		joined = append(joined, r)
	}
	i.heap = joined
	return err
}

// rangeAt finds the range that has an address, of ranges by address.
func rangeAt(all []addrRange, a trace.Addr) (addrRange, bool) {
	k, found := slices.BinarySearchFunc(all, a, func(r addrRange, a trace.Addr) int { return cmp.Compare(r.lo, a) })
	if !found {
		k--
	}
	if k < 0 || !found && a >= all[k].hi {
		return addrRange{}, false
	}
	return all[k], true
}

func (i *inference) inHeap(a trace.Addr) bool {
	if _, mapped := rangeAt(i.heap, a); !mapped {
		return false
	}
	_, stack := rangeAt(i.stacks, a)
	return !stack
}

// maxStackSize is how far below and above an address of a mapped stack the stack reaches
// at most, bytes: the usual size of a thread's.
const maxStackSize = 8 << 20

// noHeap takes an address of a thread's stack.
func (i *inference) noHeap(a trace.Addr) {
	if !i.inHeap(a) {
		return
	}
	r, _ := rangeAt(i.heap, a)
	i.stacks = append(i.stacks, addrRange{max(r.lo, a-min(a, maxStackSize)), min(r.hi, a+maxStackSize)})
	slices.SortFunc(i.stacks, func(a, b addrRange) int { return cmp.Compare(a.lo, b.lo) })
}

// roles finds the allocators by the names that the user gives.
func (i *inference) roles(names []string) (map[trace.Addr]native.Role, error) {
	out := map[trace.Addr]native.Role{}
	for _, text := range names {
		name, role := text, native.Role{Gives: true}
		if strings.Contains(text, "(") {
			fr, err := probe.ParseFree(text)
			if err != nil {
				return nil, fmt.Errorf("--allocator %s: %w", text, err)
			}
			name, role = fr.Free, native.Role{Takes: fr.FreeArg}
		}
		found := false
		for _, im := range i.rec.Symbols.Images {
			if im.Obj == nil {
				continue
			}
			var fns []objfile.Func
			if im.Traced {
				fns = im.Obj.FuncsNamed(name)
			} else if probe.IsAllocator(name) {
				fns = im.Obj.FuncsLinked(func(linkage string) bool { return linkage == name })
			}
			for _, fn := range fns {
				at := im.Bias + trace.Addr(fn.Addr)
				out[at] = native.Role{Gives: role.Gives || out[at].Gives, Takes: max(role.Takes, out[at].Takes)}
				found = true
			}
		}
		if !found {
			return nil, fmt.Errorf("--allocator %s: neither the program nor a library has such a function", text)
		}
	}
	return out, nil
}

// program is the description of the trace that is made.
func (i *inference) program(what *trace.Inferred) trace.Program {
	p := i.rec.Prog
	p.Flow, p.Inferred = "", what
	merged := 0
	for _, b := range i.blocks {
		if b.Into != 0 {
			merged++
		}
	}
	p.Warnings = append(slices.Clone(p.Warnings), fmt.Sprintf("%s found without knowing the allocator: a block ends with its last byte that is ever used, and memory faults are not looked for",
		report.Plural(len(i.blocks), "block was", "blocks were")))
	if merged > 0 {
		p.Notes = append(slices.Clone(p.Notes), fmt.Sprintf("%s merged into the one in front of it", report.Plural(merged, "block was", "blocks were")))
	}
	if n := len(i.feed.Graph().Suspects()); n > 0 {
		p.Notes = append(slices.Clone(p.Notes), fmt.Sprintf("%s from a block reached another one: an overflow, or memory that was given out anew (mgtrace overflow tells more where the allocator is known)",
			report.Plural(n, "address that was computed", "addresses that were computed")))
	}
	return p
}

// write makes the trace: events of the recording, with the births and deaths of the blocks
// that were found in place of those that its allocators told.
func (i *inference) write(w *trace.Writer) error {
	r := i.rec.Reader
	for _, name := range r.Attachments() {
		if from, ok := r.Attachment(name); ok {
			if err := w.Attach(name, from); err != nil {
				return err
			}
		}
	}
	if err := attachClusters(w, i.feed.Graph()); err != nil {
		return err
	}
	lives := i.lives()
	upTo := func(at trace.Instant, wall int64) error {
		for len(lives) > 0 && lives[0].Instant <= at {
			lives[0].Wall = wall
			if err := w.Write(&lives[0]); err != nil {
				return err
			}
			lives = lives[1:]
		}
		return nil
	}
	inside, last := i.feed.Inside(), int64(0)
	err := i.rec.Each(func(ev *trace.Event) error {
		last = max(last, ev.Wall)
		if err := upTo(ev.Instant, last); err != nil {
			return err
		}
		switch ev.Kind {
		case trace.KindAlloc, trace.KindFree, trace.KindRealloc, trace.KindRefused:
			return nil
		case trace.KindGlobal:
			if i.inHeap(ev.Addr) {
				return nil
			}
		case trace.KindStore, trace.KindBulk: // an allocator's own are its business
			for len(inside) > 0 && inside[0].Last < ev.Instant {
				inside = inside[1:]
			}
			if len(inside) > 0 && ev.Instant >= inside[0].First {
				return nil
			}
		}
		return w.Write(ev)
	})
	if err == nil {
		err = upTo(^trace.Instant(0), last)
	}
	if err != nil {
		return err
	}
	t, ok := r.Trailer()
	if !ok {
		t = trace.Trailer{Why: "the trace has no end: its writer was killed"}
	}
	t.Audit = nil // of other blocks
	return w.Finish(t)
}

// lives are the births, growths and deaths of the blocks, in order of instants.
func (i *inference) lives() []trace.Event {
	var out []trace.Event
	sites := typing.New(&check.Spec{}, i.rec.Symbols)
	add := func(k trace.Kind, m infer.Moment, name string, b *infer.Block, size uint64) {
		ev := trace.Event{Kind: k, Thread: m.Thread, Instant: m.Instant, PC: m.PC, Addr: b.Start, Size: size, Name: name, Stack: m.Stack}
		if k == trace.KindRealloc {
			ev.Aux = uint64(b.Start)
		}
		out = append(out, ev)
	}
	by, moves := map[infer.NodeID]*infer.Block{}, map[infer.NodeID]bool{}
	for _, b := range i.blocks {
		moves[b.From] = true
	}
	for k := range i.blocks {
		b := &i.blocks[k]
		by[b.Node] = b
		if old := by[b.From]; old != nil {
			add(trace.KindRealloc, b.Born, "", b, b.Size)
			out[len(out)-1].Aux = uint64(old.Start)
		} else if b.Given {
			add(trace.KindAlloc, b.Born, "", b, b.Size)
		} else {
			born := b.Born
			born.PC++ // events of calls have the address behind the call
			name, access := i.accessed(sites, b)
			born.Stack = append([]trace.Addr{access.PC + 1}, access.Stack...)
			add(trace.KindAlloc, born, name, b, b.Size)
		}
		for _, g := range b.Grown {
			g.At.PC++
			add(trace.KindRealloc, g.At, "merge", b, g.Size)
		}
		if b.Died.Instant != 0 && !moves[b.Node] {
			name := ""
			if b.Into != 0 {
				name = "merge"
				b.Died.PC++
			}
			add(trace.KindFree, b.Died, name, b, 0)
		}
	}
	order := map[trace.Kind]int{trace.KindFree: 0, trace.KindRealloc: 1, trace.KindAlloc: 2}
	slices.SortStableFunc(out, func(a, b trace.Event) int {
		return cmp.Or(cmp.Compare(a.Instant, b.Instant), cmp.Compare(order[a.Kind], order[b.Kind]))
	})
	return out
}

// accessed finds the first access to a block that shows its type, else the first.
func (i *inference) accessed(t *typing.Blocks, b *infer.Block) (name string, a *infer.Access) {
	name, a = typing.FirstAccess, &b.Accesses[0]
	for k := range b.Accesses {
		x := &b.Accesses[k]
		e := t.ForAccess(x.PC)
		switch {
		case e.Type == nil:
		case x.Addr-trace.Addr(e.Offset) == b.Start:
			return typing.FirstAccess, x
		case k == 0:
			name = typing.PartAccess
		}
	}
	return name, a
}
