package session

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"mgtrace/faultloc"
	"mgtrace/flow"
	"mgtrace/mgpp"
	"mgtrace/query"
	"mgtrace/render"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/slice"
	"mgtrace/slice/native"
	"mgtrace/slice/tell"
	"mgtrace/trace"
	"mgtrace/x86"
)

// SliceOptions say what slice is asked for, and in what form.
type SliceOptions struct {
	Suspect   int    // slice from this suspect of the specification's report; 0: from a criterion
	At        string // the time at which a cell is looked at
	Forward   bool
	NoAddress bool
	NoControl bool
	All       bool // library code line by line
	Most      int  // statements; 0: all
	Path      string
	DOT, SVG  bool
	Progress  func(done, total int64) // of making the index; nil: none
}

// slicer is a full recording that can be sliced.
type slicer struct {
	rec    *recording
	flow   *flow.Reader
	source *native.Source
	x      *slice.Index
	file   *os.File
}

// slicePath is where the index of a trace's flow lies: beside it.
func slicePath(trace string) string { return trace + ".slice" }

// openSlicer opens the flow of a trace and its index, which is made first if it is
// not there.
func openSlicer(path string, rec *recording, progress func(done, total int64)) (*slicer, error) {
	f, err := openFlow(path, &rec.prog)
	if err != nil {
		return nil, err
	}
	s := &slicer{rec: rec, flow: f}
	s.source = native.New(f, sliceFiles{rec.symbols})
	if err := s.index(slicePath(path), progress); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *slicer) close() {
	_ = s.flow.Close() // only read from
	if s.file != nil {
		_ = s.file.Close()
	}
}

// key names the flow that an index is of, and how the index was made.
func (s *slicer) key() (k [16]byte) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v %d %d restores=no", s.flow.Head(), s.flow.Insts(), s.flow.Blocks()))
	copy(k[:], sum[:])
	return k
}

// index opens the index, or makes it.
func (s *slicer) index(path string, progress func(done, total int64)) error {
	if s.open(path) == nil {
		return nil
	}
	p, err := slice.NewProgram(s.source)
	if err != nil {
		return err
	}
	o := slice.BuildOptions{Key: s.key()}
	if total := int64(s.flow.Insts()); progress != nil {
		o.Progress = func(at uint64) { progress(int64(at), total) }
		defer progress(total, total)
	}
	if err := replace(path, func(f *os.File) error { return slice.BuildIndex(f, p, o) }); err != nil {
		return fmt.Errorf("make the index of the instructions: %w", err)
	}
	return s.open(path)
}

func (s *slicer) open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		s.x, err = slice.OpenIndex(f, info.Size(), s.source)
	}
	if err == nil && s.x.Key != s.key() {
		err = slice.ErrIndex
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	s.file = f
	return nil
}

// sliceFiles is native.Files over the images of a recording.
type sliceFiles struct{ s *symbol.Table }

func (f sliceFiles) Code(pc uint64, n int) []byte {
	im, ok := f.s.Image(trace.Addr(pc))
	if !ok || im.Obj == nil {
		return nil
	}
	return im.Obj.Code(pc-uint64(im.Bias), n)
}

func (f sliceFiles) Function(pc uint64) (entry uint64, returns, ok bool) {
	im, ok := f.s.Image(trace.Addr(pc))
	if !ok || im.Obj == nil {
		return 0, true, false
	}
	fn, ok := im.Obj.FuncAt(pc - uint64(im.Bias))
	return fn.Addr + uint64(im.Bias), !fn.NoReturn && !neverReturns[fn.Base], ok
}

// neverReturns are functions of libraries without debug information.
var neverReturns = map[string]bool{ // read-only
	"abort": true, "exit": true, "_exit": true, "_Exit": true, "quick_exit": true, "__assert_fail": true, "__assert": true,
	"__stack_chk_fail": true, "__fortify_fail": true, "__chk_fail": true, "longjmp": true, "siglongjmp": true, "__longjmp_chk": true,
	"pthread_exit": true, "__cxa_throw": true, "__cxa_rethrow": true, "_Unwind_Resume": true, "__libc_fatal": true, "__libc_message": true,
}

// sliceNames is tell.Program.
type sliceNames struct {
	s     *symbol.Table
	cells *query.Names // of the history
}

func (n sliceNames) Place(pc uint64) tell.Place {
	at := trace.Addr(pc)
	f, _, source := n.s.Where(at)
	p := tell.Place{File: symbol.Short(f.File), Path: f.File, Line: f.Line, Function: f.Function, Source: source, Address: n.s.Address(at), Module: "code in no file"}
	if im, ok := n.s.Image(at); ok {
		p.Module, p.Own = filepath.Base(im.Path), im.Traced
		p.Linker = strings.HasPrefix(p.Module, "ld-") || p.Module == "ld.so"
		if p.Function == "" && im.Obj != nil {
			if fn, ok := im.Obj.FuncAt(pc - uint64(im.Bias)); ok {
				p.Function = fn.Name
			}
		}
	}
	return p
}

func (n sliceNames) Kernel(c slice.Cause) string {
	switch c.Kind {
	case slice.Syscall:
		if name := syscallNames[c.Number]; name != "" {
			return "system call " + name
		}
		return fmt.Sprintf("system call %d", c.Number)
	case slice.SignalFrame:
		return fmt.Sprintf("signal %d", c.Number)
	case slice.Gap:
		return "unknown: instructions that were not recorded"
	}
	return "unknown: another process or thread wrote there"
}

// syscallNames are those of system calls that write to memory (asm/unistd_64.h).
var syscallNames = map[int64]string{ // read-only
	0: "read", 4: "stat", 5: "fstat", 6: "lstat", 7: "poll", 9: "mmap", 11: "munmap", 12: "brk", 13: "rt_sigaction", 14: "rt_sigprocmask", 16: "ioctl", 17: "pread64",
	19: "readv", 22: "pipe", 25: "mremap", 35: "nanosleep", 45: "recvfrom", 47: "recvmsg", 56: "clone", 59: "execve", 61: "wait4", 63: "uname", 72: "fcntl",
	78: "getdents", 79: "getcwd", 89: "readlink", 96: "gettimeofday", 97: "getrlimit", 98: "getrusage", 99: "sysinfo", 158: "arch_prctl",
	202: "futex", 204: "sched_getaffinity", 217: "getdents64", 218: "set_tid_address", 228: "clock_gettime", 232: "epoll_wait", 262: "newfstatat",
	267: "readlinkat", 273: "set_robust_list", 281: "epoll_pwait", 293: "pipe2", 295: "preadv", 302: "prlimit64", 318: "getrandom", 332: "statx", 334: "rseq", 435: "clone3",
}

// sliceCriterion is where a slice begins.
type sliceCriterion struct {
	nodes slice.Criteria
	words string
}

// registerAt is a criterion like rax@0x401234#3: the register before the third
// execution of the instruction; or like rax@crash.
var registerAt = regexp.MustCompile(`^([a-z][a-z0-9]*)@(?:crash|(0x[0-9a-fA-F]+)(?:#([0-9]+))?)$`)

// instantAt is a criterion like @12345: the instruction with that number.
var instantAt = regexp.MustCompile(`^@([0-9]+)$`)

// Slice tells where a value came from, or what depends on it: of a suspect, of a
// cell as Who takes it, of a register before an execution of an instruction
// (rax@0x401234#3) or at the crash (rax@crash), of the instruction executed at an
// instant (@12345), or of what the program crashed with (crash).
func (q *Queries) Slice(ctx context.Context, path, criterion string, o SliceOptions) error {
	s, err := openSlicer(path, q.rec, o.Progress)
	if err != nil {
		return err
	}
	defer s.close()
	var c sliceCriterion
	if o.Suspect > 0 {
		c, err = q.sliceSuspect(ctx, s, path, o.Suspect)
	} else {
		c, err = q.sliceFrom(ctx, s, criterion, o.At)
	}
	if err != nil {
		return err
	}
	a, err := s.tell(ctx, c, q.answers.Names, o)
	if err != nil {
		return err
	}
	return q.printSlice(ctx, a, o)
}

// tell computes a slice and puts it into words.
func (s *slicer) tell(ctx context.Context, c sliceCriterion, cells *query.Names, o SliceOptions) (*report.Slice, error) {
	compute := s.x.Backward
	if o.Forward {
		compute = s.x.Forward
	}
	sl, err := compute(ctx, c.nodes, slice.Options{NoAddress: o.NoAddress, NoControl: o.NoControl})
	if err != nil {
		return nil, err
	}
	a, err := tell.Slice(s.x, sl, sliceNames{s.rec.symbols, cells}, tell.Options{Criterion: c.words, Forward: o.Forward, Most: o.Most, All: o.All})
	if err != nil {
		return nil, err
	}
	if s.source.Unknown > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("%s not in the table of effects: taken to read and write everything", report.Plural(s.source.Unknown, "instruction is", "instructions are")))
	}
	if err := s.flow.Err(); err != nil {
		a.Notes = append(a.Notes, fmt.Sprintf("the instructions end early: %v", err))
	}
	return a, nil
}

// sliceSuspect is the change of a suspect.
func (q *Queries) sliceSuspect(ctx context.Context, s *slicer, path string, n int) (sliceCriterion, error) {
	o := q.o.Analysis
	o.Slice = 0
	r, err := Locate(ctx, path, o)
	if err != nil {
		return sliceCriterion{}, err
	}
	for i := range r.CPoints {
		if su := r.CPoints[i].Suspects; len(su) >= n {
			return s.suspect(q.answers.History(), &su[n-1])
		}
	}
	return sliceCriterion{}, fmt.Errorf("--suspect %d: there is none of that number; mgtrace locate lists them", n)
}

// suspect is what a suspect wrote. If it did not, it is the branch that decided that it
// does not run, and what is there instead.
func (s *slicer) suspect(h opHistory, su *report.Suspect) (sliceCriterion, error) {
	words := fmt.Sprintf("suspect %d, %s: %s", su.Rank, su.Place(), su.Change)
	if su.Kind != string(faultloc.Omitted) {
		return s.change(h, mgpp.Timestamp(su.Timestamp), words)
	}
	c := sliceCriterion{}
	var parts []string
	branch, err := s.passedBy(h, su.Omission)
	if err != nil {
		return c, err
	}
	if branch != 0 {
		c.nodes, parts = append(c.nodes, branch), append(parts, "who decided that it does not run")
	}
	if t := mgpp.Timestamp(su.Omission.Instead); t != 0 {
		instead, err := s.change(h, t, words)
		if err != nil {
			return c, err
		}
		c.nodes, parts = append(c.nodes, instead.nodes...), append(parts, "what is there instead")
	}
	if len(c.nodes) == 0 {
		return c, fmt.Errorf("%s: what should have led to it is not known, there is nothing to slice from", words)
	}
	c.words = words + " (" + strings.Join(parts, ", and ") + ")"
	return c, nil
}

// passedBy is the branch that led past a statement that should have run: of what
// leads to it where it runs, the execution next to the omission. 0: it is not known.
func (s *slicer) passedBy(h opHistory, o report.Omission) (slice.Node, error) {
	if o.Elsewhere == 0 || o.Beside == 0 {
		return 0, nil
	}
	var at [2]slice.Node
	for i, t := range []uint64{o.Elsewhere, o.Beside} {
		op := h.Op(mgpp.Timestamp(t))
		if op.Instant == 0 {
			return 0, nil
		}
		var err error
		if at[i], err = s.x.Find(uint64(op.Instant)); err != nil {
			return 0, err
		}
	}
	return s.x.Branch(at[0], at[1])
}

// opHistory is a history, in memory or in an index.
type opHistory interface {
	Op(mgpp.Timestamp) mgpp.Op
}

// change is a change of the history.
func (s *slicer) change(h opHistory, t mgpp.Timestamp, words string) (c sliceCriterion, err error) {
	if t == 0 {
		return c, fmt.Errorf("%s: it is no change, there is nothing to slice from", words)
	}
	op := h.Op(t)
	if op.Instant == 0 {
		return c, fmt.Errorf("%s: which instruction made change %d was not recorded; ask for one of its values with REG@PC", words, t)
	}
	c.words = words
	c.nodes, err = s.x.Written(uint64(op.Instant))
	return c, err
}

// slices says of the first suspects where their values came from. A suspect of which
// that cannot be said has a warning.
func (rec *recording) slices(ctx context.Context, path string, r *report.Report, h *mgpp.History, o AnalysisOptions) error {
	s, err := openSlicer(path, rec, nil)
	if err != nil {
		return err
	}
	defer s.close()
	t, err := newQueryTyping(rec, o)
	if err != nil {
		return err
	}
	origins, all := query.CountOrigins(h)
	t.origins = all
	cells := query.NewNames(h, origins, t)
	for i := range r.CPoints {
		su := r.CPoints[i].Suspects
		for k := range su[:min(len(su), o.Slice)] {
			c, err := s.suspect(h, &su[k])
			if err != nil {
				r.Warnings = append(r.Warnings, fmt.Sprintf("no slice: %v", err))
				continue
			}
			if su[k].Slice, err = s.tell(ctx, c, cells, SliceOptions{Most: o.SliceMost, NoAddress: o.NoAddress}); err != nil {
				return err
			}
		}
	}
	return nil
}

// sliceFrom finds what the user names.
func (q *Queries) sliceFrom(ctx context.Context, s *slicer, criterion, at string) (c sliceCriterion, err error) {
	if m := instantAt.FindStringSubmatch(criterion); m != nil {
		n, err := strconv.ParseUint(m[1], 10, 64)
		if err != nil {
			return c, err
		}
		c.words = "instruction " + report.Thousands(n)
		c.nodes, err = s.x.Written(n)
		return c, err
	}
	if m := registerAt.FindStringSubmatch(criterion); m != nil {
		units, ok := sliceRegister(m[1])
		switch {
		case !ok:
			return c, fmt.Errorf("%s is no register that can be asked for: rax … r15, xmm0 … xmm15, or flags", m[1])
		case m[2] == "":
			return q.sliceRegisterAtCrash(s, m[1], units)
		}
		return s.register(ctx, units, m[1], m[2], m[3])
	}
	if criterion == atCrash {
		return q.sliceCrash(s)
	}
	p, err := query.ParsePath(criterion)
	if err != nil {
		return c, err
	}
	t, err := q.time(at)
	if err != nil {
		return c, err
	}
	cell, err := q.answers.Resolve(p, q.answers.History().At(t))
	if err != nil {
		return c, q.explain(err, t)
	}
	for w := range q.answers.Writers(cell, t) {
		return s.change(q.answers.History(), w.Op.Time, fmt.Sprintf("%s, written at %s: %s", criterion, s.rec.symbols.Place(w.Op.PC), w.What))
	}
	if err := q.failed(); err != nil {
		return c, err
	}
	return c, fmt.Errorf("%s: no recorded change wrote it at change %d or before", criterion, t)
}

// register is what a register was before an execution of an instruction.
func (s *slicer) register(ctx context.Context, units slice.Regs, reg, address, nth string) (c sliceCriterion, err error) {
	pc, err := strconv.ParseUint(strings.TrimPrefix(address, "0x"), 16, 64)
	if err != nil {
		return c, err
	}
	n := uint64(0)
	if nth != "" {
		if n, err = strconv.ParseUint(nth, 10, 64); err != nil {
			return c, err
		}
	}
	at, count, err := s.x.Executed(ctx, pc, n)
	switch {
	case err != nil:
		return c, err
	case at == 0:
		return c, fmt.Errorf("%s: the instruction was executed %s", address, report.Plural(int(count), "time", "times"))
	}
	defs, _, err := s.x.Defined(at, units)
	if err != nil {
		return c, err
	}
	if len(defs) == 0 {
		return c, fmt.Errorf("%s at %s: nothing in the recording wrote it before", reg, address)
	}
	if n == 0 {
		n = count
	}
	c.nodes = defs
	c.words = fmt.Sprintf("%s before execution %d of %s", reg, n, s.rec.symbols.Address(trace.Addr(pc)))
	return c, nil
}

// sliceRegister returns the units of a register by its name.
func sliceRegister(name string) (slice.Regs, bool) {
	for i, r := range []string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"} {
		if r == name {
			return slice.Regs(x86.GPR(x86.Reg(i), 0, 8)), true
		}
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "xmm")); err == nil && strings.HasPrefix(name, "xmm") && n >= 0 && n < 32 {
		return slice.Regs(x86.Vector(n, 0, 16)), true
	}
	if name == "flags" {
		var s x86.RegSet
		for _, u := range []x86.Unit{x86.UnitCF, x86.UnitPF, x86.UnitAF, x86.UnitZF, x86.UnitSF, x86.UnitOF} {
			s.Add(u)
		}
		return slice.Regs(s), true
	}
	return slice.Regs{}, false
}

// printSlice writes the answer in the form that was asked for.
func (q *Queries) printSlice(ctx context.Context, a *report.Slice, o SliceOptions) error {
	dot := o.DOT || strings.HasSuffix(o.Path, ".dot")
	switch {
	case dot || o.SVG || strings.HasSuffix(o.Path, ".svg"):
		picture := a.DOT()
		if !dot {
			var err error
			if picture, err = render.LayOut(ctx, picture); err != nil {
				return err
			}
		}
		if o.Path == "" || o.Path == "-" {
			_, err := q.o.Out.Write(picture)
			return err
		}
		return os.WriteFile(o.Path, picture, 0o666)
	case o.Path != "" && o.Path != "-":
		return fmt.Errorf("-o %s: name a picture .svg or .dot; text and JSON go to standard output", o.Path)
	case q.o.JSON:
		e := json.NewEncoder(q.o.Out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(a)
	}
	return a.Text(q.o.Out, report.TextOptions{Color: q.o.Color})
}
