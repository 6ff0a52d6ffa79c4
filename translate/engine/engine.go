package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"mgtrace/flow"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/translate"
)

// Sink takes what the program executes; a flow.Writer is one.
type Sink interface {
	Block(b flow.Block) (flow.BlockID, error)
	Exec(thread trace.ThreadID, id flow.BlockID, from, n int, mem []flow.Mem) (trace.Instant, error)
	Other(r *flow.Record) error
}

// ErrRefused: the program did what can not be translated, and has been ended. What it
// executed before is recorded; executed step by step all of it can be.
var ErrRefused = errors.New("can not be translated")

// Options of an engine; zero values stand for the defaults.
type Options struct {
	Buffer int // bytes of a thread's log; default 1 MB
	// Ahead is how many blocks are translated at once, following the direct jumps
	// from the one that is needed; default 64.
	Ahead int
}

// Stats counts what the engine did.
type Stats struct {
	Blocks   int // translated
	Bytes    int // of translations
	Misses   int // stops for a block that had no translation
	Drains   int // logs that were full
	Syscalls int // stops at system calls
	Signals  int // that met a thread in a translation
	Execs    uint64
	Sites    int // stops at sites of a plan
	Fetches  int // threads that had got to the program's own code
}

// Engine runs one process. But for Attach and Close everything happens on the
// tracer's goroutine.
type Engine struct {
	proc  *target.Process
	sink  Sink
	opts  Options
	stats Stats

	shared  *target.Shared
	tables  []byte // our view of what lies at tablesAt
	regions []*region
	space   *space

	blocks  []*block // by the number in their records; 0 is none
	hot     []hot    // likewise
	byPC    map[uint64]*block
	waiting map[uint64][]exitRef // exits whose targets have no translation
	threads map[int]*thread
	unused  []*thread    // whose slots are free
	flow    *flow.Writer // the sink, if it is one: it only needs the addresses that do not follow from others
	ranges  []flow.Mem   // of exec
	xsave   uint32       // bytes that xsave writes at most
	rec     *Recorder    // nil: nobody wants events
	brk     uint64       // the program break; 0: not known yet
	over    bool
	failure error
}

// block is a translated block.
type block struct {
	id     uint32
	r      *region
	at     uint32 // in the region
	size   uint32
	entry  uint32 // in the region
	layout *translate.Layout
	exits  []translate.Exit
	traps  []translate.Trap
	in     []exitRef // exits that lead here
	dead   bool      // its code is not there any more
	flow   flow.BlockID
	told   []address // if hot.many
	why    string
}

// hot is what reading a block's records needs, in one place: 64 bytes, a line of the cache.
type hot struct {
	entire flow.EntireBlock // if the record is not slow
	size   uint16           // of a whole record, bytes
	insts  uint16
	// slow: the addresses are to be worked out by Layout.Ranges, or the flow has not got
	// the block yet.
	slow   bool
	stores bool  // there are such whose values are recorded
	many   bool  // addresses: those of the block
	told   uint8 // else so many: each is an offset in the record of what is there, and what is added
	at     [maxHot]uint16
	add    [maxHot]uint64
}

const maxHot = 4

// address is one that is told: what lies in the record at an offset, if mask is all ones,
// and what is added; the FS base too if fs is all ones.
type address struct {
	add, fs, mask uint64
	at            uint32
}

func newHot(l *translate.Layout) hot {
	return hot{size: uint16(l.Size()), insts: uint16(len(l.Insts)), slow: true, stores: len(l.Stores) > 0}
}

// quick notes how a block's addresses are told, which a flow has got; unless it takes
// Layout.Ranges.
func (e *Engine) quick(b *block, h *hot) error {
	l := b.layout
	for i := range l.Accesses {
		if a := &l.Accesses[i]; a.Low || a.Shape != translate.Fixed {
			return nil
		}
	}
	for i := range l.Accesses {
		a := &l.Accesses[i]
		if l.Follows(i) {
			continue
		}
		t := address{add: a.Add}
		if a.FS {
			t.fs = ^uint64(0)
		}
		if a.Part >= 0 {
			t.at, t.mask = uint32(translate.PartAt(int(a.Part))), ^uint64(0)
		}
		b.told = append(b.told, t)
		if len(b.told) > maxHot || a.FS || a.Part < 0 {
			h.many = true
			continue
		}
		n := len(b.told) - 1
		h.at[n], h.add[n], h.told = uint16(t.at), t.add, uint8(n+1)
	}
	if !h.many {
		b.told = nil
	}
	var err error
	h.entire, err = e.flow.Entire(b.flow)
	h.slow = err != nil
	return err
}

type exitRef struct {
	from *block
	exit int
}

// Attach makes a process that stands before its first instruction run as
// translations. The process can run on when it returns.
func Attach(p *target.Process, sink Sink, o Options) (*Engine, error) {
	return attach(p, sink, o, nil)
}

func attach(p *target.Process, sink Sink, o Options, rec *Recorder) (e *Engine, err error) {
	if o.Buffer == 0 {
		o.Buffer = 1 << 20
	}
	if o.Ahead == 0 {
		o.Ahead = 64
	}
	e = &Engine{
		proc: p, sink: sink, opts: o, rec: rec, blocks: make([]*block, 1), hot: make([]hot, 1), byPC: map[uint64]*block{},
		waiting: map[uint64][]exitRef{}, threads: map[int]*thread{},
	}
	e.flow, _ = sink.(*flow.Writer)
	if rec != nil {
		rec.Engine = e
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	e.xsave = target.XsaveSize()
	maps, err := p.Maps()
	if err != nil {
		return e, err
	}
	e.space = new(space)
	if err := e.share(maps); err != nil {
		return e, err
	}
	if err := e.takeExec(maps); err != nil {
		return e, err
	}
	tids, err := p.Threads()
	if err != nil {
		return e, err
	}
	if len(tids) != 1 {
		return e, fmt.Errorf("the process has %d threads already", len(tids))
	}
	var inner error
	err = p.Do(func() {
		th, terr := p.Thread(tids[0])
		if terr != nil {
			inner = terr
			return
		}
		regs, terr := th.Regs()
		if terr != nil {
			inner = terr
			return
		}
		if inner = e.begin(th, &regs, 0); inner == nil {
			t := e.threads[th.TID()]
			t.epoch = 0
			t.set(translate.Holds, 1)
			inner = e.enter(th, &regs, regs.RIP)
		}
	})
	if err = errors.Join(err, inner); err != nil {
		return e, err
	}
	if err := p.SetInterceptor((*interceptor)(e)); err != nil {
		return e, err
	}
	return e, p.Linger(true)
}

// Close gives back what the engine has. The process must have ended, or be about to:
// it can not go on without the engine.
func (e *Engine) Close() error {
	err := e.proc.Do(func() {
		e.over = true
		clear(e.threads)
	})
	if errors.Is(err, target.ErrExited) {
		err = nil
	}
	if e.shared != nil {
		e.shared.Close()
		e.shared = nil
	}
	return errors.Join(e.failure, err)
}

// Stats returns the counts.
func (e *Engine) Stats() Stats { return e.stats }

// fail notes that the engine can not go on, and ends the program.
func (e *Engine) fail(err error) {
	if e.failure == nil {
		e.failure = err
		if e.rec != nil {
			e.rec.Finish(err)
		}
		_ = unix.Kill(e.proc.PID(), unix.SIGKILL)
	}
}

// takeExec takes PROT_EXEC from the program's code. The vdso keeps it: there the
// tracer makes its system calls.
func (e *Engine) takeExec(maps []mem.Map) error {
	var reqs []target.SyscallReq
	for i, m := range maps {
		if !m.Exec || m.Lo >= highest || e.region(m.Lo) != nil {
			continue
		}
		c, prot := codeRange{lo: m.Lo, hi: m.Hi, writable: m.Write, shared: m.Shared, grows: m.Path == "[stack]"}, uint64(unix.PROT_READ)
		if c.grows {
			c.lo -= min(c.lo, target.StackRoom)
			if i > 0 {
				c.lo = max(c.lo, maps[i-1].Hi)
			}
		}
		if m.Write {
			prot |= unix.PROT_WRITE
		}
		e.space.addExec(c)
		if m.Path == "[vdso]" {
			continue
		}
		reqs = append(reqs, target.SyscallReq{Nr: unix.SYS_MPROTECT, Args: [6]uint64{m.Lo, m.Size(), prot}})
	}
	return e.protect(reqs, "take PROT_EXEC from the program's code")
}

// giveExec gives the program's code PROT_EXEC back.
func (e *Engine) giveExec() error {
	return e.protect(e.space.withExec(), "give the program's code PROT_EXEC back")
}

// protect makes system calls that must all succeed; what says what they are for.
func (e *Engine) protect(reqs []target.SyscallReq, what string) error {
	if err := e.proc.Syscalls(reqs); err != nil {
		return err
	}
	for i := range reqs {
		if reqs[i].Err != nil {
			return fmt.Errorf("%s: %w", what, reqs[i].Err)
		}
	}
	return nil
}

// translation is the block at pc, and what can be reached from it directly.
func (e *Engine) translation(pc uint64) (*block, error) {
	if b := e.byPC[pc]; b != nil {
		return b, nil
	}
	first, err := e.make(pc)
	if err != nil {
		return nil, err
	}
	work := []*block{first}
	for n := 1; len(work) > 0 && n < e.opts.Ahead; {
		b := work[0]
		work = work[1:]
		ahead := func(to uint64) {
			if e.byPC[to] != nil || n >= e.opts.Ahead {
				return
			}
			// What can not be translated is not reached, or will be told then.
			if nb, err := e.make(to); err == nil {
				n++
				work = append(work, nb)
			}
		}
		for i := range b.exits {
			ahead(b.exits[i].Target)
		}
		if len(b.exits) < 2 && len(b.layout.Insts) > 0 {
			if end := b.layout.PC(len(b.layout.Insts)); calls(b) {
				ahead(end)
			}
		}
	}
	return first, nil
}

// calls says whether a block ends with a call: what follows will be needed.
func calls(b *block) bool {
	last := &b.layout.Insts[len(b.layout.Insts)-1]
	code := b.layout.Code[last.Off:]
	for len(code) > 1 && code[0]&0xf0 == 0x40 {
		code = code[1:]
	}
	return code[0] == 0xe8 || code[0] == 0xff && len(code) > 1 && code[1]>>3&7 == 2
}

// make translates one block and links it.
func (e *Engine) make(pc uint64) (*block, error) {
	var buf [1024]byte
	code := buf[:e.space.execFrom(pc, len(buf))]
	if len(code) == 0 {
		return nil, translate.ErrNoCode
	}
	n, err := e.proc.ReadMemory(code, pc)
	if n == 0 {
		return nil, errors.Join(translate.ErrNoCode, err)
	}
	r := e.regionFor(pc)
	if r == nil {
		return nil, fmt.Errorf("%w: code at %#x: there is no room for translations within 2 GB of it", ErrRefused, pc)
	}
	const most = 64 << 10 // bytes of one translation
	if r.next+most > len(r.mem) {
		return nil, fmt.Errorf("%w: code at %#x: the room for translations near it is used up (%d MB)", ErrRefused, pc, len(r.mem)>>20)
	}
	env := e.env(r)
	env.Checked = e.space.changes(pc)
	if e.rec != nil {
		env.Site = e.rec.site
	}
	id := uint32(len(e.blocks))
	c, err := translate.Translate(pc, append([]byte(nil), code[:n]...), id, r.addr+uint64(r.next), env)
	if err != nil {
		return nil, err
	}
	b := &block{
		id: id, r: r, at: uint32(r.next), size: uint32(len(c.Bytes)), entry: uint32(r.next + c.Entry),
		layout: &c.Layout, exits: c.Exits, traps: c.Traps, why: c.Why,
	}
	for i := range c.Accesses {
		if a := &c.Accesses[i]; a.Shape == translate.State {
			a.Size = e.xsave
		}
	}
	copy(r.mem[r.next:], c.Bytes)
	r.blocks = append(r.blocks, b)
	r.next = (r.next + len(c.Bytes) + 15) &^ 15
	e.blocks = append(e.blocks, b)
	e.hot = append(e.hot, newHot(b.layout))
	e.byPC[pc] = b
	e.stats.Blocks++
	e.stats.Bytes += len(c.Bytes)
	for i := range b.exits {
		to := b.exits[i].Target
		if tb := e.byPC[to]; tb == nil || !e.link(exitRef{b, i}, tb) {
			e.waiting[to] = append(e.waiting[to], exitRef{b, i})
		}
	}
	if refs := e.waiting[pc]; refs != nil {
		delete(e.waiting, pc)
		for _, x := range refs {
			if !e.link(x, b) {
				e.waiting[pc] = append(e.waiting[pc], x)
			}
		}
	}
	e.addTarget(b)
	return b, nil
}

// link makes an exit lead to a block; false: it is too far away.
func (e *Engine) link(x exitRef, to *block) bool {
	from := x.from.r.addr + uint64(x.from.at) + uint64(x.from.exits[x.exit].At) + 4
	d := int64(to.r.addr + uint64(to.entry) - from)
	if d != int64(int32(d)) {
		return false
	}
	x.from.patch(x.exit, int32(d))
	to.in = append(to.in, x)
	return true
}

// patch writes the displacement of an exit, while threads may execute it: it is
// aligned, so they see the old or the new one.
func (b *block) patch(exit int, d int32) {
	at := int(b.at) + b.exits[exit].At
	atomic.StoreInt32((*int32)(unsafe.Pointer(&b.r.mem[at])), d)
}

// forget takes the translations of [lo, hi) away: other code will be there.
func (e *Engine) forget(lo, hi uint64) {
	e.drop(func(b *block) bool { return b.layout.Start < hi && b.layout.PC(len(b.layout.Insts)) > lo })
}

// drop takes the translations of blocks away that are not wanted.
func (e *Engine) drop(unwanted func(*block) bool) {
	for _, b := range e.byPC {
		if unwanted(b) {
			e.discard(b)
		}
	}
	for pc, refs := range e.waiting {
		live := refs[:0]
		for _, x := range refs {
			if !x.from.dead {
				live = append(live, x)
			}
		}
		if e.waiting[pc] = live; len(live) == 0 {
			delete(e.waiting, pc)
		}
	}
}

// discard takes a block's translation away. Its exits may still be waited for.
func (e *Engine) discard(b *block) {
	pc := b.layout.Start
	delete(e.byPC, pc)
	b.dead = true
	for _, x := range b.in {
		if x.from.dead {
			continue
		}
		x.from.patch(x.exit, int32(x.from.exits[x.exit].Stub-(x.from.exits[x.exit].At+4)))
		e.waiting[pc] = append(e.waiting[pc], x)
	}
	b.in = nil
	e.dropTarget(b)
}

// addTarget makes a block be found by who computes its address.
func (e *Engine) addTarget(b *block) {
	h := translate.Hash(b.layout.Start)
	for i := h; i < h+translate.Probe; i++ {
		at := translate.Second + 16*i
		if k := binary.LittleEndian.Uint64(e.tables[at:]); k == 0 || k == tombstone {
			binary.LittleEndian.PutUint64(e.tables[at+8:], b.r.addr+uint64(b.at))
			atomic.StoreUint64((*uint64)(unsafe.Pointer(&e.tables[at])), b.layout.Start)
			return
		}
	}
	// Then each jump there stops; that many with one hash do not occur.
}

// tombstone is the key of an entry that was taken away: no target.
const tombstone = 1

func (e *Engine) dropTarget(b *block) {
	h := translate.Hash(b.layout.Start)
	for i := h; i < h+translate.Probe; i++ {
		at := translate.Second + 16*i
		if binary.LittleEndian.Uint64(e.tables[at:]) == b.layout.Start {
			atomic.StoreUint64((*uint64)(unsafe.Pointer(&e.tables[at])), tombstone)
		}
	}
	at := translate.First + 8*int(b.layout.Start&0xffff)
	if binary.LittleEndian.Uint64(e.tables[at:]) == b.r.addr+uint64(b.at) {
		atomic.StoreUint64((*uint64)(unsafe.Pointer(&e.tables[at])), e.regions[0].miss())
	}
}
