package rerun

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/replay"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// Program is what of a session experiments are made on.
type Program struct {
	Spec    *check.Spec
	History *mgpp.History
	Model   eval.Model
	Typing  graph.Typing
	Symbols *symbol.Table
	Bias    trace.Addr
	// Pointers are what a pointer variable in static memory may hold at a time.
	Pointers func(trace.Addr, mgpp.Timestamp) []uint64
	// Flags is the size of an integer variable in static memory that begins at an address, 0 if none does.
	Flags func(trace.Addr) int
	// Variable is the name of the variable in static memory at an address that the program may write to, "" if there is none. It may be nil.
	Variable func(trace.Addr) string
	// Field is what lies at an address at a time, if it is in a node.
	Field func(trace.Addr, mgpp.Timestamp) (Field, bool)
	// Node is where a node lies.
	Node func(graph.ObjID) trace.Addr
	// Callee is what is known of the function that begins at an address, if it may be called beside; may be nil.
	Callee func(uint64) (Callee, bool)
	// Like is another call, whose code need not be decoded again; may be nil. Of one that has another no experiments are made but Holds.
	Like *Rerun
}

// Call is a call as the history has it.
type Call struct {
	Entry  trace.Addr
	Args   []uint64 // its integer arguments
	Passed []Object // what they lead to on the thread's stack, and text that they lead to
	Floats []uint64 // its floating-point arguments; nil: not known
	// Begun is how it began where the compiler has inlined it, at Entry; nil: it is another one, or that is not known.
	Begun *replay.Begun
	// Unknown are the parameters of a call that was inlined: what was executed then is another copy of the function, and Args is not known.
	// Nil: it was not.
	Unknown []Parameter
	Thread  trace.ThreadID
	From    mgpp.Timestamp // the last operation before it
	To      mgpp.Timestamp // the last one during it
	Over    bool           // it has returned
	// Until is when operation To was the last one, of a call that is not over: what it does from there on is not asked. PC 0: that is
	// not known, or the program ended then.
	Until replay.Moment
	// Broken is what is inconsistent at To, if it is over; none: that is not known.
	Broken []eval.Instance
	// Died is the instruction in which the program died, in this call, while nothing was inconsistent; 0: it is not about that.
	Died trace.Addr
	// Last is the instruction in which the program died, in this call, whatever was inconsistent, 0 if it did not, and Fault the address where
	// it found no memory, 0 if that is not known.
	Last, Fault trace.Addr
}

// Object is memory as it was when a call began.
type Object struct {
	Addr  uint64
	Words []uint64
}

// Rerun is a call that does again what was recorded.
type Rerun struct {
	p                 Program
	call              Call
	machine           *replay.Machine
	births            []mgpp.Op           // during the call
	resizes           []resized           // during the call
	did               map[mgpp.NodeID]int // with each of the blocks that there were before it: how often it wrote there; as much as can be: freed it
	stored            map[mgpp.NodeID]int // so many pointers to each of these
	was               *replay.Run
	ways              map[Way]bool          // what Went knows; nil: it was not asked yet
	matched           []int                 // the effects that were recorded, in order
	wild              uint64                // replay.Crash.Unknown
	in                *world                // the world in which it did what was recorded
	twin              *twin                 // nil: not made yet, or it can not be
	floats            []uint64              // the call's floating-point arguments
	single            uint64                // world.single
	constant          []known               // world.constant
	declared          []uint64              // world.declared
	left              map[int][]replay.Left // what new blocks held
	depends           bool                  // that byte was read: what the call does depends on it
	results           []uint64              // what library functions returned of which nothing tells, the last ever after
	fraction          uint64                // what clocks told beside the seconds
	probed            bool                  // stillBroken has looked for
	probe             *eval.Instance        // the instance that is asked first, nil if there is none
	cost              uint64                // that takes so many steps of evaluation
	asked             bool                  // twin was asked for
	whole, wholeAsked bool                  // nothing was inconsistent at To, if that was asked
	trailed           bool                  // the machine keeps states in between
	steps             int                   // instructions of experiments so far
	checked           uint64                // steps of evaluation of hypothetical views so far
	limit             uint64                // of these
	answers           map[string]answer     // what cures said of bytes that are others

	visits *replay.Run               // what visited says; nil: it was not asked yet
	sites  []*replay.Site            // the instructions that were executed, in the order in which they are edited; nil: not asked yet
	places map[uint64][]*replay.Site // by the frame: what was read or written on the stack
	edited int                       // so many of the sites were
	fields map[uint64]knownField     // what field said
	trials int                       // experiments with edits
	most   int                       // steps until these end
}

// Limits. An instruction takes some 30 ns, 1,000 steps of evaluation some 150 µs.
const (
	maxCall    = 20_000  // instructions of the call as it was
	maxChanges = 1 << 10 // operations of the call as it was
	maxChoices = 4       // of what pointer variables may hold
	maxFloats  = 3       // that may be an argument
	maxTold    = 4       // runs until it does what was recorded
	maxSteps   = 100_000 // instructions of all experiments with decisions, and of all with values
	maxTrials  = 120     // experiments with decisions
	maxEach    = 12      // of them with one instruction
	maxValues  = 300     // experiments with values
	maxChecked = 1 << 15 // steps of evaluation of hypothetical views
)

// New executes a call as it was. The error says why it could not be, or what of it may be why it did not do what was recorded.
func New(p Program, call Call) (*Rerun, error) {
	r := &Rerun{p: p, call: call, limit: maxChecked, answers: map[string]answer{}, fields: map[uint64]knownField{}}
	was, err := r.recorded()
	if err != nil {
		return nil, err
	}
	r.constant = outputs(p.Symbols)
	at, _ := p.Symbols.Exported(singleThreaded)
	for _, r.single = range [2]uint64{uint64(at), 0} {
		if err = r.reproduce(was); err == nil || !r.depends {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// reproduce executes the call as it was, with what may be guessed, until it does what was recorded.
func (r *Rerun) reproduce(was []replay.Effect) error {
	call := r.call
	r.floats = call.Floats
	if call.Unknown != nil && !r.unknown(was) {
		return errArgs
	}
	tries := maxTries
	r.guesses(func(w *world) bool {
		if r.matched != nil {
			return true
		}
		if r.execute(w, was); r.matched == nil {
			r.counters(w, was, &tries)
		}
		return r.fits()
	})
	if r.matched == nil && r.was.Results > 0 {
		r.unknown(was)
	}
	if r.matched == nil && call.Died != 0 && r.was.Guessed > 0 { // what nobody knows may be what it died of
		r.wild = r.machine.Elsewhere(r.crash())
		r.guesses(func(w *world) bool {
			r.execute(w, was)
			return r.fits()
		})
	}
	for _, v := range floats(was) {
		if r.matched != nil || call.Floats != nil {
			break
		}
		r.floats = []uint64{v}
		w := r.world()
		w.noting = true
		r.execute(w, was)
		w.noting = false
	}
	if call.Over && r.was.Err != nil || r.matched == nil || call.Died != 0 && !r.dies() {
		return r.unlike()
	}
	return r.ends(was)
}

// Midway: the call is looked at where it was not over, and experiments end there.
func (r *Rerun) Midway() bool { return r.call.Until.PC != 0 }

// ends has the call and its experiments end where it is looked at, if it is not over then: what comes later has nothing to do with
// what is broken there.
func (r *Rerun) ends(was []replay.Effect) error {
	if r.call.Until.PC == 0 {
		return nil
	}
	done := 0 // effects when what was recorded had been done
	if n := len(r.matched); n > 0 {
		done = r.matched[n-1] + 1
	}
	i := slices.IndexFunc(r.was.Met, func(effects int) bool { return effects >= done })
	if i < 0 {
		return errMoment
	}
	r.call.Until.Times = i + 1
	if r.execute(r.in, was); r.matched == nil {
		return r.unlike()
	}
	return nil
}

// Why a call can not be executed again.
var (
	errArgs    = errors.New("its arguments are not known, as of one that was inlined")
	errFrame   = errors.New("what it does depends on the frame of the function that it is inlined into, or on memory, that is not recorded")
	errLong    = fmt.Errorf("it made more than %d changes", maxChanges)
	errThreads = errors.New("another thread made changes meanwhile")
	errUnread  = errors.New("what it made of some memory is not known")
	errMembers = errors.New("it made something a node or had it be none any more (enter, leave)")
	errUnknown = errors.New("what it does depends on memory that is not recorded: more is with --everything")
	errMoment  = errors.New("it was not over, and executed on what was recorded it does not come to this C-point")
	errOther   = errors.New("executed on what was recorded it does something else: it depends on static memory, on a stack, on blocks that can not matter to the specification (--everything records these), or on what the kernel told")
)

// unlike is why a call that was executed did not do what was recorded.
func (r *Rerun) unlike() error {
	switch {
	case errors.Is(r.was.Err, replay.ErrLibrary), errors.Is(r.was.Err, replay.ErrCode), errors.Is(r.was.Err, replay.ErrEndless):
		return r.was.Err
	case r.was.Guessed > 0 && r.call.Begun != nil:
		return errFrame
	case r.was.Guessed > 0:
		return r.telling(errUnknown)
	}
	return r.telling(errOther)
}

// maxNamed bounds the variables that are named.
const maxNamed = 8

// telling adds which variables in static memory the call has read that are not recorded, which declaring them changes.
func (r *Rerun) telling(err error) error {
	var names []string
	for _, at := range r.in.statics {
		for a := at; r.p.Variable != nil && a < at+8 && len(names) < maxNamed; a++ {
			if _, recorded := r.in.view.NodeAt(a); recorded {
				break
			}
			if name := r.p.Variable(a); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return err
	}
	return fmt.Errorf("%w; with `global %s;` it is known what lies there", err, strings.Join(names, ", "))
}

// recorded is what the call did as it was recorded; the error says why that is more than can be executed again.
func (r *Rerun) recorded() (was []replay.Effect, err error) {
	if r.call.To-r.call.From > maxChanges {
		return nil, errLong
	}
	r.did, r.stored = map[mgpp.NodeID]int{}, map[mgpp.NodeID]int{}
	for t := r.call.From + 1; t <= r.call.To; t++ {
		op := r.p.History.Op(t)
		e, ok := effect(r.p.History, &op)
		switch {
		case op.Thread != r.call.Thread:
			return nil, errThreads
		case !ok:
			return nil, notExecuted(op.Kind)
		}
		switch id, ok := r.p.History.NodeAtTime(op.Addr, r.call.From); {
		case e.Kind == replay.Alloc:
			r.births = append(r.births, op)
		case e.Kind == replay.Resize:
			r.resizes = append(r.resizes, resized{from: e.From, to: e.Addr, size: e.Size, was: r.p.History.NodeSize(op.Node, t-1)})
		case !ok:
		case e.Kind == replay.Free:
			r.did[id] += maxChanges
		default:
			r.did[id]++
		}
		if e.Kind == replay.Store && len(e.Data) == 8 {
			if id, ok := r.p.History.NodeAtTime(trace.Addr(binary.LittleEndian.Uint64(e.Data)), r.call.From); ok {
				r.stored[id]++
			}
		}
		was = append(was, e)
	}
	return was, nil
}

// notExecuted is why a call with a change that is no effect of an execution is not executed again.
func notExecuted(kind mgpp.OpKind) error {
	switch kind {
	case mgpp.OpEnter, mgpp.OpLeave:
		return errMembers
	}
	return errUnread
}

// world is the program as it was when the call began.
func (r *Rerun) world() *world {
	told := map[uint64]byte{}
	for _, o := range r.call.Passed {
		for i, w := range o.Words {
			for k := range 8 {
				told[o.Addr+uint64(8*i+k)] = byte(w >> (8 * k))
			}
		}
	}
	if r.declared == nil {
		r.declared = []uint64{}
		for _, g := range r.p.Spec.Globals {
			r.declared = append(r.declared, g.Addr+uint64(r.p.Bias))
		}
		slices.Sort(r.declared)
	}
	return &world{
		declared: r.declared,
		single:   r.single, asked: &r.depends, constant: r.constant,
		view: r.p.History.At(r.call.From), history: r.p.History, symbols: r.p.Symbols, told: told, flags: r.p.Flags,
		pointers: func(addr trace.Addr) []uint64 { return r.likely(r.p.Pointers(addr, r.call.From)) },
	}
}

// likely orders nodes to which a pointer may lead: those that the call freed, then those to which it wrote most often, then those to
// which it stored pointers: who puts a node before a list's first may write to nothing but the new one.
func (r *Rerun) likely(list []uint64) []uint64 {
	did := func(addr uint64) (did, led int) {
		id, ok := r.p.History.NodeAtTime(trace.Addr(addr), r.call.From)
		if !ok {
			return 0, 0
		}
		return r.did[id], r.stored[id]
	}
	slices.SortStableFunc(list, func(a, b uint64) int {
		didA, ledA := did(a)
		didB, ledB := did(b)
		return cmp.Or(didB-didA, ledB-ledA)
	})
	return list
}

// guesses tries what may lie in static memory that was not recorded, until it fits.
func (r *Rerun) guesses(fits func(*world) bool) {
	w := r.world()
	w.noting = true
	defer func() { w.noting = false }() // experiments do not ask for them
	for _, w.set = range [2]bool{false, true} {
		for w.choice = 0; w.choice < maxChoices && w.choice <= w.most; w.choice++ {
			if fits(w) {
				return
			}
		}
		if r.p.Flags == nil {
			return
		}
	}
}

// fits: the call did what was recorded, as executed last. One in which the program died has to die there.
func (r *Rerun) fits() bool {
	if r.call.Died != 0 && r.matched != nil && !r.dies() {
		r.matched = nil
	}
	return r.matched != nil
}

// dies: the call ends where the program died, by an access to where no memory is, or of itself.
func (r *Rerun) dies() bool {
	return (errors.Is(r.was.Err, replay.ErrFault) || errors.Is(r.was.Err, replay.ErrEnded)) && r.was.PC == uint64(r.call.Died)
}

// floats are what may be a floating-point argument, which is not recorded: what the call stored and looks like one.
func floats(was []replay.Effect) (out []uint64) {
	for i := range was {
		e := &was[i]
		if e.Kind != replay.Store || len(e.Data) != 8 || len(out) == maxFloats {
			continue
		}
		v := binary.LittleEndian.Uint64(e.Data)
		if exp := v >> 52 & 0x7ff; exp > 0x3ff-64 && exp < 0x3ff+64 && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// execute executes the call as it was, and learns what it can of memory from what was recorded.
func (r *Rerun) execute(w *world, was []replay.Effect) {
	r.left = nil
	for range maxTold {
		r.in, r.machine = w, replay.New(w)
		if r.p.Like != nil {
			r.machine.Knows(r.p.Like.machine)
		}
		r.was = nil
		again := r.again()
		again.MaxSteps, again.Brief, again.Valueless = maxCall, false, r.p.Like != nil
		r.was = r.machine.Run(again)
		if told := r.was.Guessed > 0 && w.learn(r.was, was); !(r.was.Guessed > 0 && r.leave(was)) && !told {
			break
		}
	}
	r.matched = reproduces(r.was, was, r.call.Unknown != nil)
}

// crash is where the program died in this call.
func (r *Rerun) crash() replay.Crash {
	return replay.Crash{PC: uint64(r.call.Last), Addr: uint64(r.call.Fault), Unknown: r.wild}
}

// again is the call, for an experiment.
func (r *Rerun) again() replay.Call {
	c := replay.Call{Entry: uint64(r.call.Entry), Args: r.call.Args, Begun: r.call.Begun, Floats: r.floats, Place: r.place, Left: r.left, Resize: r.resize, Brief: true, Results: r.result, Written: r.written, Fraction: r.fraction, Until: r.call.Until}
	if r.call.Last != 0 {
		c.Crash = r.crash()
	}
	if r.was != nil {
		c.MaxSteps = 2*min(r.was.Steps, maxCall/4) + 2000
	}
	return c
}

// Changed: in the calls with these return addresses, innermost first, something was done to memory.
func (r *Rerun) Changed(calls []uint64) bool {
	return slices.ContainsFunc(r.was.Effects, func(e replay.Effect) bool {
		stack := e.Stack
		if e.Kind != replay.Store && len(stack) > 0 {
			stack = stack[1:] // the first is that of the library function
		}
		return len(stack) >= len(calls) && slices.Equal(stack[len(stack)-len(calls):], calls)
	})
}

// From is the last operation before the call.
func (r *Rerun) From() mgpp.Timestamp { return r.call.From }

// To is the last operation during the call.
func (r *Rerun) To() mgpp.Timestamp { return r.call.To }

// Steps is how many instructions the call took as it was.
func (r *Rerun) Steps() int { return r.was.Steps }

// Way is a decision of an instruction.
type Way struct {
	PC    uint64
	Taken bool
}

// Went: a decision of the call as it was went that way.
func (r *Rerun) Went(way Way) bool {
	if r.ways == nil {
		r.ways = map[Way]bool{}
		for i := range r.was.Decisions {
			d := &r.was.Decisions[i]
			r.ways[Way{d.PC, d.Taken}] = true
		}
	}
	return r.ways[way]
}

// run makes an experiment.
func (r *Rerun) run(c replay.Call) *replay.Run {
	if c.Same > 0 && !r.trailed {
		r.trailed = true
		r.machine.Trail(r.again(), r.was.Steps)
	}
	run := r.machine.Run(c)
	r.steps += run.Steps - min(c.Same, run.Steps)
	return run
}

// resized is what realloc did with a block in the call as it was: where it lay, and then, and how large it was, and then.
type resized struct{ from, to, was, size uint64 }

// resize is where a block lies to which an experiment gives the size that the call gave it, and how large it was. Which other size
// it could have had there nobody knows.
func (r *Rerun) resize(n int, addr, size uint64) (at, was uint64, ok bool) {
	same := func(x resized) bool { return x.from == addr && x.size == size }
	k := slices.IndexFunc(r.resizes[min(n, len(r.resizes)):], same) // what was not recorded was not counted either
	if k >= 0 {
		k += n
	} else if k = slices.IndexFunc(r.resizes, same); k < 0 {
		return 0, 0, false
	}
	return r.resizes[k].to, r.resizes[k].was, true
}

// place is where an allocation of a size lay, as far as there was one.
func (r *Rerun) place(n int, size uint64) uint64 {
	if n < len(r.births) && r.births[n].Size == size {
		return uint64(r.births[n].Addr)
	}
	return 0
}

// Time is that of the last operation that was recorded before the n-th effect.
func (r *Rerun) Time(n int) mgpp.Timestamp {
	return r.call.From + mgpp.Timestamp(sort.SearchInts(r.matched, n))
}

// Effect is what an operation of the call was when it was executed again.
func (r *Rerun) Effect(t mgpp.Timestamp) (*replay.Effect, bool) {
	if t <= r.call.From || t > r.call.To {
		return nil, false
	}
	return &r.was.Effects[r.matched[t-r.call.From-1]], true
}
