package bpf

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"mgtrace/capture"
	"mgtrace/capture/syscalls"
	"mgtrace/probe"
)

// Options of an engine; zero values stand for the defaults.
type Options struct {
	Ring    int  // bytes of the ring buffer, rounded up to a power of two; default 32 MB, at least 64 KB
	Stack   int  // bytes of stack captured at allocator calls, a power of two from 512 to 4096; default 1024
	MaxData int  // bytes read of one write; default 1 MB, at most an eighth of the ring
	Static  bool // report stores to static data too
	// Freeze holds the target by a cgroup of its own instead of SIGSTOP
	// where cgroup v2 can be written: its sleeps and waits are then not
	// interrupted.
	Freeze    bool
	Unwind    capture.Unwinder
	Libraries capture.Libraries // nil: nobody wants to know
	// Interrupted gives a signal's hit the registers and the stack of its thread, if they are known: the kernel
	// tells of a signal when it is delivered, behind the tracer's stop. nil: they are not.
	Interrupted func(h *capture.Hit)
	// Stripped is told once, by the goroutine of Run, that the kernel has taken breakpoints out since the first thread ended: what is
	// delivered from then on may not be all. Nil: nobody looks.
	Stripped func()
}

const (
	defaultRing    = 32 << 20
	minRing        = 64 << 10
	defaultStack   = 1024
	defaultMaxData = 1 << 20
)

func (o *Options) complete() error {
	if o.Ring == 0 {
		o.Ring = defaultRing
	}
	o.Ring = max(o.Ring, minRing)
	o.Ring = 1 << bits.Len(uint(o.Ring-1))
	if o.Stack == 0 {
		o.Stack = defaultStack
	}
	if o.Stack < 512 || o.Stack > 4096 || o.Stack&(o.Stack-1) != 0 {
		return fmt.Errorf("%d bytes of stack: not a power of two from 512 to 4096", o.Stack)
	}
	if o.MaxData == 0 {
		o.MaxData = defaultMaxData
	}
	o.MaxData = min(o.MaxData, o.Ring/8)
	return nil
}

// Engine records one process. Attach makes it, Run reads it, Close removes it.
type Engine struct {
	pid      int
	plan     *probe.Plan
	opts     Options
	sites    []capture.Site
	objs     programsObjects
	links    []link.Link
	reader   *ringbuf.Reader
	pidfd    int
	freezer  *freezer  // nil: hold by signal
	start    uint64    // CLOCK_MONOTONIC at attach, ns
	began    time.Time // then
	unprobed []probe.Unprobed

	places [][]inherited // of Disown; nil: not asked for yet

	// Only the goroutine of Run uses these.
	late     []library
	warnings []string

	syncs     chan chan struct{}
	done      chan struct{} // closed when Run has returned
	delivered atomic.Uint64
	stops     atomic.Uint64
	answered  uint64 // value of held that the last SIGCONT answered
	lost      uint64 // drops reported so far
	final     atomic.Pointer[capture.Stats]
	closing   sync.Once
	closed    error
}

// Attach probes a process according to the plan. The process must be stopped
// and have the files of the plan mapped; when Attach returns it can run on. On
// an error nothing is left behind.
func Attach(plan *probe.Plan, pid int, opts Options) (*Engine, error) {
	if err := Check(); err != nil {
		return nil, err
	}
	if err := opts.complete(); err != nil {
		return nil, err
	}
	e := &Engine{
		pid:   pid,
		plan:  plan,
		opts:  opts,
		sites: capture.Sites(plan),
		pidfd: -1,
		syncs: make(chan chan struct{}, 16),
		done:  make(chan struct{}),
	}
	if err := e.attach(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Engine) attach() error {
	var err error
	if e.pidfd, err = unix.PidfdOpen(e.pid, 0); err != nil {
		return fmt.Errorf("process %d: %w", e.pid, err)
	}
	maps, err := readMaps(e.pid)
	if err != nil {
		return err
	}
	images := make([]*image, len(e.plan.Images))
	for i, im := range e.plan.Images {
		if images[i], err = findImage(e.pid, im.Path, maps); err != nil {
			return err
		}
	}
	if e.late, err = awaited(images); err != nil {
		return err
	}
	if e.opts.Freeze {
		if e.freezer, err = newFreezer(e.pid); err != nil {
			e.freezer = nil // not to be had here: signals do it too
		}
	}
	var static []addrRange
	if !e.opts.Static && len(images) > 0 {
		static = staticData(e.pid, e.plan, images[0], maps)
	}
	if err := e.load(images, static); err != nil {
		return explain("load the eBPF programs", err)
	}
	if e.reader, err = ringbuf.NewReader(e.objs.Ring); err != nil {
		return explain("open the ring buffer", err)
	}
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return err
	}
	e.start, e.began = uint64(ts.Nano()), time.Now()
	if err := e.follow(); err != nil {
		return err
	}
	return e.probe(images)
}

// load loads the programs and fills their maps.
func (e *Engine) load(images []*image, static []addrRange) error {
	spec, err := loadPrograms()
	if err != nil {
		return err
	}
	for _, p := range spec.Programs {
		// Kernels of 5.0 and later ignore it. Left at 0, the library looks for
		// it in /proc/self/mem, which a binary with file capabilities may not.
		p.KernelVersion = uint32(minKernel[0]<<16 | minKernel[1]<<8)
	}
	var ns unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &ns); err != nil {
		return err
	}
	holdAt := uint64(e.opts.Ring / 2)
	if e.freezer != nil {
		holdAt = uint64(e.opts.Ring / 4 * 3) // the freezer acts at half
	}
	frames := uint32(0)
	if e.plan.Frames() {
		frames = 1
	}
	for name, v := range map[string]any{
		programsVarTarget:     uint32(e.pid),
		programsVarPidns:      uint32(ns.Ino),
		programsVarStackBytes: uint32(e.opts.Stack),
		programsVarFrames:     frames,
		programsVarMaxData:    uint64(e.opts.MaxData),
		programsVarHoldAt:     holdAt,
		programsVarNranges:    uint32(len(static)),
	} {
		if err := spec.Variables[name].Set(v); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	spec.Maps[programsMapRing].MaxEntries = uint32(e.opts.Ring)
	spec.Maps[programsMapSites].MaxEntries = uint32(max(1, len(e.sites)))
	spec.Maps[programsMapStores].MaxEntries = uint32(max(1, len(e.plan.Stores)))
	spec.Maps[programsMapFuncs].MaxEntries = uint32(max(1, len(e.plan.Funcs)))
	if err := spec.LoadAndAssign(&e.objs, nil); err != nil {
		return err
	}
	return e.fill(images, static)
}

func (e *Engine) fill(images []*image, static []addrRange) error {
	sites := make([]siteDesc, len(e.sites))
	for i := range e.sites {
		sites[i] = encodeSite(e.plan, &e.sites[i])
	}
	stores := make([]storeDesc, len(e.plan.Stores))
	for i := range e.plan.Stores {
		stores[i] = encodeStore(i, &e.plan.Stores[i].Effect)
	}
	funcs := make([]funcDesc, len(e.plan.Funcs))
	for i := range e.plan.Funcs {
		f := &e.plan.Funcs[i]
		traced := e.plan.Images[f.Entry.Image].Traced
		var skip addrRange
		if !traced {
			skip = images[f.Entry.Image].code
		}
		funcs[i] = encodeFunc(f, skip, traced)
	}
	calls := make([]syscalls.Desc, e.objs.Syscalls.MaxEntries())
	for nr, d := range syscalls.Writing() {
		calls[nr] = d
	}
	return errors.Join(
		put(e.objs.Sites, sites),
		put(e.objs.Stores, stores),
		put(e.objs.Funcs, funcs),
		put(e.objs.Syscalls, calls),
		put(e.objs.Ranges, static),
	)
}

// put fills an array map from its beginning.
func put[T any](m *ebpf.Map, values []T) error {
	if len(values) == 0 {
		return nil
	}
	keys := make([]uint32, len(values))
	for i := range keys {
		keys[i] = uint32(i)
	}
	if _, err := m.BatchUpdate(keys, values, nil); err != nil {
		return fmt.Errorf("fill map %s: %w", m, err)
	}
	return nil
}

// follow attaches the tracepoints and marks the threads of the process.
func (e *Engine) follow() error {
	for _, p := range []*ebpf.Program{
		e.objs.OnFork, e.objs.OnExec, e.objs.OnExit, e.objs.OnSignal, e.objs.OnSysExit,
	} {
		l, err := link.AttachTracing(link.TracingOptions{Program: p})
		if err != nil {
			return explain("attach "+p.String(), err)
		}
		e.links = append(e.links, l)
	}
	it, err := link.AttachIter(link.IterOptions{Program: e.objs.Adopt})
	if err != nil {
		return explain("list threads", err)
	}
	defer it.Close()
	r, err := it.Open()
	if err != nil {
		return explain("list threads", err)
	}
	_, err = io.Copy(io.Discard, r)
	if err = errors.Join(err, r.Close()); err != nil {
		return explain("list threads", err)
	}
	var adopted uint32
	if err := e.objs.Adopted.Get(&adopted); err != nil {
		return err
	}
	if adopted == 0 {
		return fmt.Errorf("process %d is not visible in this pid namespace", e.pid)
	}
	return nil
}

// probe attaches all sites: one link for each image, another for its
// uretprobes.
func (e *Engine) probe(images []*image) error {
	batches := make([]batch, len(images))
	urets := make([]batch, len(images))
	for i, s := range e.sites {
		batches[s.Image].add(s.Offset, i)
	}
	for i := range e.plan.Funcs {
		f := &e.plan.Funcs[i]
		if f.Uretprobe && len(f.Returns) == 0 {
			urets[f.Entry.Image].add(f.Entry.Offset, i)
		}
	}
	for i, im := range images {
		ex, err := link.OpenExecutable(im.path)
		if err != nil {
			return err
		}
		if err := e.attachBatch(batches[i], func(o *link.UprobeMultiOptions) (link.Link, error) {
			return ex.UprobeMulti(nil, e.objs.OnSite, o)
		}, e.siteUnprobed); err != nil {
			return explain("probe "+im.path, err)
		}
		if err := e.attachBatch(urets[i], func(o *link.UprobeMultiOptions) (link.Link, error) {
			return ex.UretprobeMulti(nil, e.objs.OnUret, o)
		}, e.returnUnprobed); err != nil {
			return explain("probe returns in "+im.path, err)
		}
	}
	return nil
}

// batch is a set of places in one file and their cookies.
type batch struct {
	offsets, cookies []uint64
}

func (b *batch) add(offset uint64, cookie int) {
	b.offsets = append(b.offsets, offset)
	b.cookies = append(b.cookies, uint64(cookie))
}

func (b batch) split() (batch, batch) {
	n := len(b.offsets) / 2
	return batch{b.offsets[:n], b.cookies[:n]}, batch{b.offsets[n:], b.cookies[n:]}
}

// enotsupp is what the kernel says of an instruction that it can not step over.
// It is not part of its user interface and has no name there.
const enotsupp = unix.Errno(524)

// attachBatch attaches a batch with one link. One bad place fails the whole
// batch; the plan should hold none, but if it does, halving finds it, and refused
// is told.
func (e *Engine) attachBatch(b batch, attach func(*link.UprobeMultiOptions) (link.Link, error),
	refused func(cookie int, err error)) error {
	if len(b.offsets) == 0 {
		return nil
	}
	l, err := attach(&link.UprobeMultiOptions{Addresses: b.offsets, Cookies: b.cookies, PID: uint32(e.pid)})
	switch {
	case err == nil:
		e.links = append(e.links, l)
		return nil
	case !errors.Is(err, enotsupp) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EIO):
		return err
	case len(b.offsets) == 1:
		refused(int(b.cookies[0]), err)
		return nil
	case len(e.unprobed) > maxRefused:
		return fmt.Errorf("the kernel refuses too many instructions: %w", err)
	}
	lo, hi := b.split()
	if err := e.attachBatch(lo, attach, refused); err != nil {
		return err
	}
	return e.attachBatch(hi, attach, refused)
}

// maxRefused bounds the search for places that the kernel refuses: each costs
// some tens of milliseconds.
const maxRefused = 100

func (e *Engine) siteUnprobed(cookie int, err error) {
	s := &e.sites[cookie]
	u := probe.Unprobed{Site: s.Site, Reason: fmt.Sprintf("the kernel refuses to probe it (%v)", err)}
	if s.Store >= 0 {
		u.Instruction = e.plan.Stores[s.Store].Effect.Text
	}
	e.unprobed = append(e.unprobed, u)
}

func (e *Engine) returnUnprobed(cookie int, err error) {
	f := &e.plan.Funcs[cookie]
	e.unprobed = append(e.unprobed, probe.Unprobed{
		Site:   f.Entry,
		Reason: fmt.Sprintf("the kernel refuses to probe the return of %s (%v)", f.Name, err),
	})
}

// Unprobed returns the places that the kernel refused beyond those of the plan.
func (e *Engine) Unprobed() []probe.Unprobed { return e.unprobed }
