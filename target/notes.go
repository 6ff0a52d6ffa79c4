package target

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

// Notes are memory in which the tracer of a process that outlives it notes what it
// does to threads for a moment: detours, and the code that these need. If the tracer
// is killed, another process that has the memory puts the threads right (Process.PutRight).
// What is noted is noted before it is done, and a note is taken away afterwards.
type Notes struct {
	file *os.File
	mem  []byte
	free []int // entries that are not in use
}

// Where things lie in that memory: first what the process has one of, then an entry for
// each thread that is on a detour.
const (
	notedSize = 4096
	notedMost = 4096 // threads on detours at the same time

	notedGate  = 0  // u64: address of the gate's code, 0: there is none
	notedCode  = 8  // what was there
	notedLoop  = 24 // u64: address of the page of a batch's code, 0: none
	notedCalls = 32 // u64, u64: address and size of its entries
	notedFull  = 48 // u64: 1 if there was no room for a thread once
	notedBy    = 56 // u64: the tracer's thread, which an heir may trace
	notedHeir  = 64 // u64: 0 until it is known whether there is one; heirThere, heirNot
	notedTrap  = 72 // u64: 1 + what the process does at SIGTRAP, which leads to the gate; 0: it does not

	entryTID   = 0                        // u32, 0: not in use
	entryCall  = 4                        // u32: what the thread executes is not its own
	entryOwed  = 8                        // u32: the signal of entryInfo was taken from it
	entryMask  = 16                       // u64
	entryRegs  = 24                       // struct user_regs_struct, with entryCall
	entryInfo  = entryRegs + mem.RegsSize // siginfo_t
	entryNoted = 512
)

// Whether there is an heir.
const (
	heirThere = 1 + iota
	heirNot
)

const notesSize = notedSize + notedMost*entryNoted

// NewNotes makes notes.
func NewNotes() (*Notes, error) {
	fd, err := unix.MemfdCreate("notes", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("notes: %w", err)
	}
	f := os.NewFile(uintptr(fd), "notes")
	if err := f.Truncate(notesSize); err != nil {
		f.Close()
		return nil, fmt.Errorf("notes: %w", err)
	}
	return OpenNotes(f)
}

// OpenNotes takes over the file of notes that another process has made.
func OpenNotes(f *os.File) (*Notes, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, notesSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("notes: %w", err)
	}
	n := &Notes{file: f, mem: b}
	for i := notedMost - 1; i >= 0; i-- {
		n.free = append(n.free, i)
	}
	return n, nil
}

// File is the memory's.
func (n *Notes) File() *os.File { return n.file }

// Close lets the notes go. The process must not be traced with them any more.
func (n *Notes) Close() error { return errors.Join(unix.Munmap(n.mem), n.file.Close()) }

func (n *Notes) set(at int, v uint64) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&n.mem[at])), v)
}

func (n *Notes) get(at int) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&n.mem[at])))
}

// heirPatience is how long the tracer waits for its heir, before it attaches: nobody stands still meanwhile.
const heirPatience = 10 * time.Second

// await waits for a word to be set; 0: the context was over before.
func (n *Notes) await(ctx context.Context, at int) uint64 {
	for ; ; time.Sleep(time.Millisecond) {
		if v := n.get(at); v != 0 || ctx.Err() != nil {
			return v
		}
	}
}

// keepNotes has the tracer note what it does, and waits for its heir, if there can be one.
func (t *tracer) keepNotes(ctx context.Context, n *Notes) error {
	// An heir would be told of each signal, most of which say that the program has stopped.
	// A fault that is blocked would end this process without a word.
	var mask unix.Sigset_t
	mask.Val[0] = ^uint64(detourSignals)
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &mask, nil); err != nil {
		return fmt.Errorf("block the signals of the tracer: %w", err)
	}
	t.notes = n
	n.set(notedBy, uint64(t.thread))
	ctx, cancel := context.WithTimeout(ctx, heirPatience)
	defer cancel()
	n.await(ctx, notedHeir)
	return nil
}

// Inherit makes this process the heir of the tracer of process pid that keeps the notes, or
// soon will: it waits for that until the context is over. It is nil then, and if the kernel does not permit it.
func (n *Notes) Inherit(ctx context.Context, pid int) *Heir {
	h, err := inherit(int(n.await(ctx, notedBy)), pid)
	if err != nil {
		n.set(notedHeir, heirNot)
		return nil
	}
	n.set(notedHeir, heirThere)
	return h
}

// entry is a thread's place in the notes; nil: it has none.
type entry []byte

func (n *Notes) entry(i int) entry { return n.mem[notedSize+i*entryNoted:][:entryNoted] }

func (e entry) word(at int) *uint32 { return (*uint32)(unsafe.Pointer(&e[at])) }

// noteDetour notes a thread that is about to make a detour: its mask, and the signal
// that it was about to get.
func (t *tracer) noteDetour(th *thread, mask uint64, info *Siginfo) {
	n := t.notes
	if n == nil {
		return
	}
	if th.noted == nil {
		if len(n.free) == 0 {
			n.set(notedFull, 1)
			return
		}
		th.notedAt = n.free[len(n.free)-1]
		n.free = n.free[:len(n.free)-1]
		th.noted = n.entry(th.notedAt)
	}
	binary.LittleEndian.PutUint64(th.noted[entryMask:], mask)
	copy(th.noted[entryInfo:], info.raw[:])
	atomic.StoreUint32(th.noted.word(entryTID), uint32(th.tid))
}

// noteSignal notes the signal in hand of a thread that has just stopped: it is the tracer's
// since that was told of it. A fault comes again by itself.
func (t *tracer) noteSignal(th *thread) {
	if t.notes == nil || !th.inHand() {
		return
	}
	info, err := getSiginfo(th.tid)
	if err != nil || info.Synchronous() {
		return
	}
	t.noteDetour(th, detourMask, &info) // which no mask is exchanged for
	th.noteOwed(true)
}

// noteCall notes that a thread will execute what is not its own, and its registers; nil: it
// has them again.
func (th *thread) noteCall(regs *mem.Regs) {
	if th.noted == nil {
		return
	}
	if regs == nil {
		atomic.StoreUint32(th.noted.word(entryCall), 0)
		return
	}
	copy(th.noted[entryRegs:], (*[mem.RegsSize]byte)(unsafe.Pointer(regs))[:])
	atomic.StoreUint32(th.noted.word(entryCall), 1)
}

// noteOwed notes whether the signal in hand of a thread is still to be sent on to it.
func (th *thread) noteOwed(owed bool) {
	if th.noted == nil {
		return
	}
	var w uint32
	if owed {
		w = 1
	}
	atomic.StoreUint32(th.noted.word(entryOwed), w)
}

// denote takes back what was noted of a thread.
func (t *tracer) denote(th *thread) {
	if th.noted == nil {
		return
	}
	atomic.StoreUint32(th.noted.word(entryTID), 0)
	*th.noted.word(entryCall), *th.noted.word(entryOwed) = 0, 0
	t.notes.free = append(t.notes.free, th.notedAt)
	th.noted = nil
}

// noteGate notes the code that the gate's is about to be written over; nil: that is
// there again.
func (t *tracer) noteGate(at uint64, old []byte) {
	switch {
	case t.notes == nil:
	case old == nil:
		t.notes.set(notedGate, 0)
	default:
		copy(t.notes.mem[notedCode:], old)
		t.notes.set(notedGate, at)
	}
}

// noteBatch notes the memory of a batch.
func (t *tracer) noteBatch(code, calls, size uint64) {
	if t.notes == nil {
		return
	}
	t.notes.set(notedCalls, calls)
	t.notes.set(notedCalls+8, size)
	t.notes.set(notedLoop, code)
}

// callGrace is how long a function may take that a tracer which was killed has called.
const callGrace = 2 * time.Second

// PutRight ends the detours that a tracer of this process, which is held, had begun
// when it was killed. Signals that it had taken from threads are sent to them again.
func (p *Process) PutRight(n *Notes) error {
	for end := time.Now().Add(callGrace); ; {
		var left bool
		var err error
		if e := p.do(func() { left, err = p.t.putRight(n) }); e != nil || err != nil {
			return errors.Join(e, err)
		}
		if !left || time.Now().After(end) {
			break
		}
		// A function that was called has not returned to the gate yet.
		if err := p.Resume(); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
		if err := p.Interrupt(); err != nil {
			return err
		}
	}
	var err error
	e := p.do(func() { err = p.t.clearUp(n) })
	if n.get(notedFull) != 0 {
		e = errors.Join(e, fmt.Errorf("%d threads were not where they had been at a time; others may be left so", notedMost))
	}
	return errors.Join(e, err)
}

// putRight puts threads right that are at the gate or did not get so far; left: one may
// still come there.
func (t *tracer) putRight(n *Notes) (left bool, err error) {
	var errs []error
	for i := range notedMost {
		e := n.entry(i)
		tid := int(*e.word(entryTID))
		th := t.threads[tid]
		if tid == 0 || th == nil || !th.stopped || th.ends() {
			continue
		}
		if *e.word(entryCall) != 0 {
			regs, err := getRegs(tid)
			if err != nil {
				continue // killed meanwhile
			}
			noted := *(*mem.Regs)(unsafe.Pointer(&e[entryRegs]))
			switch {
			case n.inside(regs.RIP):
				errs = append(errs, setRegs(tid, noted))
			case regs.RIP == noted.RIP && regs.RSP == noted.RSP: // it was not called yet
			default:
				left = true // it has not returned, or has gone on
				continue
			}
			*e.word(entryCall) = 0
		}
		errs = append(errs, t.putBack(th, e))
	}
	return left, errors.Join(errs...)
}

// putBack puts mask and signal of a thread back, unless it has gone on.
func (t *tracer) putBack(th *thread, e entry) error {
	*e.word(entryTID) = 0
	if mask, err := getSigmask(th.tid); err == nil && mask == detourMask {
		if err := setSigmask(th.tid, binary.LittleEndian.Uint64(e[entryMask:])); err != nil {
			return err
		}
	}
	if *e.word(entryOwed) == 0 {
		return nil
	}
	return send(t.pid, th.tid, decodeSiginfo([128]byte(e[entryInfo:])))
}

// inside says whether code at an address is the tracer's.
func (n *Notes) inside(pc uint64) bool {
	gate, loop := n.get(notedGate), n.get(notedLoop)
	return gate != 0 && pc-gate <= uint64(len(gateCode)) || loop != 0 && pc-loop <= uint64(len(batchCode))
}

// clearUp takes the code out of the process that detours needed.
func (t *tracer) clearUp(n *Notes) error {
	for i := range notedMost {
		// Mask and signal of those that were not called after all.
		e := n.entry(i)
		if th := t.threads[int(*e.word(entryTID))]; th != nil && th.stopped && !th.ends() {
			if err := t.putBack(th, e); err != nil {
				return err
			}
		}
	}
	if trap := n.get(notedTrap); trap != 0 {
		if err := t.trapTo(trap - 1); err != nil {
			return err
		}
	}
	if at := n.get(notedGate); at != 0 {
		if err := t.writeMemory(t.live(), at, n.mem[notedCode:notedCode+len(gateCode)]); err != nil {
			return err
		}
	}
	maps, err := readMaps(t.live())
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range [][2]uint64{{n.get(notedLoop), pageSize}, {n.get(notedCalls), n.get(notedCalls + 8)}} {
		m, ok := mem.FindMap(maps, r[0])
		if !ok || m.Lo != r[0] || m.Size() != r[1] || m.Path != "" {
			continue
		}
		th, err := t.worker()
		if err == nil {
			_, err = t.syscall(th, unix.SYS_MUNMAP, r[0], r[1])
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
