package main

import (
	"context"
	"debug/elf"
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mgtrace/flow"
	"mgtrace/slice"
	"mgtrace/slice/native"
	"mgtrace/target"
	"mgtrace/translate/engine"
)

//go:embed testdata/*.c
var sources embed.FS

func main() {
	b := bench{}
	var programs, lengths string
	flag.StringVar(&programs, "programs", "options,cluster", "what to run")
	flag.StringVar(&lengths, "lengths", "1,10,100", "million instructions of a thread, about")
	flag.IntVar(&b.threads, "threads", 4, "of each program")
	flag.IntVar(&b.criteria, "criteria", 5, "slices of each run")
	flag.DurationVar(&b.limit, "limit", time.Minute, "at which algorithms 4 and 5 are stopped")
	flag.StringVar(&b.dir, "dir", "", "`directory` to work in; default: a temporary one")
	flag.Parse()
	if err := b.run(strings.Split(programs, ","), strings.Split(lengths, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "bench/slice:", err)
		os.Exit(1)
	}
}

type bench struct {
	threads, criteria int
	limit             time.Duration
	dir               string
}

func (b *bench) run(programs, lengths []string) error {
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "mgtrace-bench-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		b.dir = dir
	}
	for _, length := range lengths {
		millions, err := strconv.Atoi(length)
		if err != nil || millions < 1 {
			return fmt.Errorf("-lengths: %q is no number of millions", length)
		}
		for _, name := range programs {
			if err := b.measure(name, uint64(millions)*1e6); err != nil {
				return fmt.Errorf("%s, %d million: %w", name, millions, err)
			}
		}
	}
	return nil
}

// used is the processor time of this process and its threads.
func used() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// measure records a program whose threads execute about n instructions each, and
// prints its part of the table.
func (b *bench) measure(name string, n uint64) error {
	text, err := sources.ReadFile("testdata/" + name + ".c")
	if err != nil {
		return err
	}
	source, path := filepath.Join(b.dir, name+".c"), filepath.Join(b.dir, name)
	if err := os.WriteFile(source, text, 0o644); err != nil {
		return err
	}
	if out, err := exec.Command("gcc", "-O2", "-g", "-static", "-no-pie", "-o", path, source, "-lm", "-lpthread").CombinedOutput(); err != nil {
		return fmt.Errorf("gcc: %w\n%s", err, out)
	}
	file := filepath.Join(b.dir, name+".flow")
	rounds, err := b.rounds(path, file, n)
	if err != nil {
		return err
	}
	began, wall := used(), time.Now()
	r, err := b.record(path, file, rounds)
	if err != nil {
		return err
	}
	defer r.Close()
	insts := r.Insts()
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	fmt.Printf("%s %d: %d instructions of %d threads, recorded in %.1f s (%.1f s of it in mgtrace), %.2f bytes an instruction\n",
		name, rounds, insts, b.threads, time.Since(wall).Seconds(), (used() - began).Seconds(), float64(info.Size())/float64(insts))
	image, err := openImage(path)
	if err != nil {
		return err
	}
	return b.slices(native.New(r, image), r, image, insts)
}

// rounds finds how often the program must do its work.
func (b *bench) rounds(path, file string, n uint64) (int, error) {
	length := func(rounds int) (uint64, error) {
		r, err := b.record(path, file, rounds)
		if err != nil {
			return 0, err
		}
		defer r.Close()
		return r.Insts(), nil
	}
	one, err := length(1)
	if err != nil {
		return 0, err
	}
	more, err := length(11)
	if err != nil {
		return 0, err
	}
	return int(max(1, n*uint64(b.threads)*10/(more-one))), nil
}

// record runs the program under the engine.
func (b *bench) record(path, file string, rounds int) (*flow.Reader, error) {
	ctx := context.Background()
	out, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	p, err := target.Launch(ctx, target.Command{Path: path, Args: []string{strconv.Itoa(rounds), strconv.Itoa(b.threads)}, Stdout: null})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	w := flow.NewWriter(out, flow.Head{Path: path})
	e, err := engine.Attach(p, w, engine.Options{})
	if err != nil {
		return nil, err
	}
	status, err := p.Run(ctx, target.Handlers{})
	if err := errors.Join(err, e.Close(), w.Finish(flow.Trailer{Complete: true})); err != nil {
		return nil, err
	}
	if s := status.String(); s != "exit status 0" {
		return nil, fmt.Errorf("the program: %s", s)
	}
	return flow.Open(file)
}

// slices makes the index, and prints what each algorithm takes for each criterion.
func (b *bench) slices(s *native.Source, r *flow.Reader, image *image, insts uint64) error {
	forget()
	began := used()
	p, err := slice.NewProgram(s)
	if err != nil {
		return err
	}
	graphs := used() - began
	file, err := os.Create(filepath.Join(b.dir, "index"))
	if err != nil {
		return err
	}
	defer file.Close()
	began = used()
	// Restores: algorithms 4 and 5 do not bypass them.
	if err := slice.BuildIndex(file, p, slice.BuildOptions{Restores: true}); err != nil {
		return err
	}
	build := used() - began
	info, err := file.Stat()
	if err != nil {
		return err
	}
	fmt.Printf("  index: %.2f s for the graphs, %.2f s (%.1f million instructions a second with both), %.2f bytes an instruction, at most %d MB of memory\n",
		graphs.Seconds(), build.Seconds(), float64(insts)/(graphs+build).Seconds()/1e6, float64(info.Size())/float64(insts), peak()>>20)
	goals, err := b.goals(r, image)
	if err != nil {
		return err
	}
	forget()
	x, err := slice.OpenIndex(file, info.Size(), s)
	if err != nil {
		return err
	}
	type row struct{ plain, filtered, index, elapsed string }
	rows := make([]row, len(goals))
	sizes := make([]uint64, len(goals))
	nodes := make([]slice.Node, len(goals))
	statements := make([]int, len(goals))
	for i, g := range goals {
		began, wall := used(), time.Now()
		if nodes[i], err = x.Find(g); err != nil {
			return err
		}
		sl, err := x.Backward(context.Background(), slice.Criteria{nodes[i]}, slice.Options{})
		if err != nil {
			return err
		}
		rows[i].elapsed = fmt.Sprintf("%.3f", time.Since(wall).Seconds())
		rows[i].index = fmt.Sprintf("%.3f", (used() - began).Seconds())
		sizes[i], statements[i] = sl.Ops, len(sl.Stats())
	}
	indexPeak := peak()
	steps, err := os.Create(filepath.Join(b.dir, "steps"))
	if err != nil {
		return err
	}
	defer steps.Close()
	accesses, err := os.Create(filepath.Join(b.dir, "accesses"))
	if err != nil {
		return err
	}
	defer accesses.Close()
	began = used()
	rec, err := p.Record(steps, accesses)
	if err != nil {
		return err
	}
	fmt.Printf("  the run's steps in a file, for algorithms 4 and 5: %.2f s\n", (used() - began).Seconds())
	plain, filtered := limited{f: rec.Plain}, limited{f: rec.Filtered}
	for i := range goals {
		if rows[i].plain, err = b.backward(&plain, nodes[i], sizes[i]); err != nil {
			return err
		}
		if rows[i].filtered, err = b.backward(&filtered, nodes[i], sizes[i]); err != nil {
			return err
		}
	}
	fmt.Printf("  criterion  plain (4), s  filtered (5), s  index, s  elapsed, s  ops in the slice  of the program\n")
	for i, r := range rows {
		fmt.Printf("  %9d  %12s  %15s  %8s  %10s  %16d  %14d\n", i+1, r.plain, r.filtered, r.index, r.elapsed, sizes[i], statements[i])
	}
	fmt.Printf("  at most %d MB of memory for the slices by the index\n\n", indexPeak>>20)
	return nil
}

// limited is an algorithm that goes through the whole run.
type limited struct {
	f       func(context.Context, slice.Criteria, slice.Options) (slice.Set, error)
	stopped bool // at a criterion: the others, which lie next to it, are not tried
}

// backward times an algorithm and checks its slice.
func (b *bench) backward(a *limited, n slice.Node, size uint64) (string, error) {
	if a.stopped {
		return "not tried", nil
	}
	runtime.GC()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	began := used()
	go func() { // the limit is of processor time: other programs may be running
		for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
			if used()-began > b.limit {
				cancel()
			}
		}
	}()
	set, err := a.f(ctx, slice.Criteria{n}, slice.Options{})
	switch {
	case errors.Is(err, context.Canceled):
		a.stopped = true
		return fmt.Sprintf("> %.0f", b.limit.Seconds()), nil
	case err != nil:
		return "", err
	case uint64(len(set)) != size:
		return "", fmt.Errorf("%d ops are in the slice by this algorithm, %d by the index", len(set), size)
	}
	return fmt.Sprintf("%.2f", (used() - began).Seconds()), nil
}

// goals are the instants of the last reads of memory by the program's own functions,
// the last one first.
func (b *bench) goals(r *flow.Reader, image *image) (goals []uint64, err error) {
	chunks := r.Chunks()
	cr, err := r.NewChunkReader()
	if err != nil {
		return nil, err
	}
	defer cr.Close()
	for i := len(chunks) - 1; i >= 0 && len(goals) < b.criteria; i-- {
		if err := cr.Read(i); err != nil {
			return nil, err
		}
		var rec flow.Record
		for k := cr.Len() - 1; k >= 0 && len(goals) < b.criteria; k-- {
			cr.At(k, &rec)
			if rec.Kind == flow.Exec {
				goals = append(goals, reads(r.Block(rec.Block), &rec, image)...)
			}
		}
	}
	return goals[:min(len(goals), b.criteria)], nil
}

// reads are the instants of an execution's reads of memory other than the stack.
func reads(blk *flow.Block, rec *flow.Record, image *image) (all []uint64) {
	for i := int(rec.From) + int(rec.N) - 1; i >= int(rec.From); i-- {
		in := blk.Insts[i]
		for _, a := range blk.Accesses[in.Access:][:in.NMem] {
			if a.Flags&flow.Reads != 0 && a.Flags&flow.Stack == 0 && image.own(uint64(blk.PC(i))) {
				all = append(all, uint64(rec.Instant)+uint64(i)-uint64(rec.From))
				break
			}
		}
	}
	return all
}

// forget lets peak begin anew (proc_pid_clear_refs(5): 5 resets the peak).
func forget() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // else peaks are of all that was before, too
}

// peak is the most memory that this process has had since forget, in bytes.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, _, _ := strings.Cut(rest, " kB")
	n, err := strconv.ParseInt(strings.TrimSpace(kb), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// image is a static program in its file.
type image struct {
	sections  []*elf.Section
	data      [][]byte
	functions []elf.Symbol
	mine      map[uint64]bool // entries of functions: of the program's own source, and no library's
}

func openImage(path string) (*image, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m := &image{mine: map[uint64]bool{}}
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Type != elf.SHT_PROGBITS {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return nil, err
		}
		m.sections, m.data = append(m.sections, s), append(m.data, data)
	}
	all, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	source := "" // of the local symbols that follow
	for _, s := range all {
		switch t := elf.ST_TYPE(s.Info); {
		case t == elf.STT_FILE:
			source = s.Name
		case t == elf.STT_FUNC && s.Size > 0:
			m.functions = append(m.functions, s)
			m.mine[s.Value] = s.Name == "main" || elf.ST_BIND(s.Info) == elf.STB_LOCAL && source == filepath.Base(path)+".c"
		}
	}
	sort.SliceStable(m.functions, func(i, j int) bool { return m.functions[i].Value < m.functions[j].Value })
	return m, nil
}

// own says that an address is in the program's own source.
func (m *image) own(pc uint64) bool {
	entry, _, ok := m.Function(pc)
	return ok && m.mine[entry]
}

// Code implements native.Files.
func (m *image) Code(pc uint64, n int) []byte {
	for i, s := range m.sections {
		if pc >= s.Addr && pc < s.Addr+uint64(len(m.data[i])) {
			code := m.data[i][pc-s.Addr:]
			return code[:min(n, len(code))]
		}
	}
	return nil
}

// Linker implements native.Files: it is in the file of nothing.
func (m *image) Linker(uint64) bool { return false }

// Function implements native.Files.
func (m *image) Function(pc uint64) (entry uint64, returns, ok bool) {
	i := sort.Search(len(m.functions), func(i int) bool { return m.functions[i].Value > pc }) - 1
	for ; i >= 0; i-- {
		if s := m.functions[i]; pc < s.Value+s.Size {
			return s.Value, true, true
		} else if pc-s.Value > 1<<16 {
			break
		}
	}
	return 0, false, false
}
