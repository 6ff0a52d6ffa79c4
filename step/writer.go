package step

import (
	"mgtrace/flow"
	"mgtrace/trace"
)

// writer is the flow as the engine writes it: consecutive instructions of one thread
// in one block become one execution.
type writer struct {
	w   *flow.Writer // nil: nobody wants a flow
	err error

	at   *trace.Instant // of the instruction that is being executed; 0: none
	open exec
}

// exec is an execution that may go on.
type exec struct {
	thread  trace.ThreadID
	piece   *piece
	from, n int
	mem     []flow.Mem
}

// newWriter makes a writer, which sets at.
func newWriter(w *flow.Writer, at *trace.Instant) *writer { return &writer{w: w, at: at} }

// executing says that a thread is at its instruction i of a piece, and which instant that
// will be. Before others may say anything, the execution that was open is written.
func (f *writer) executing(thread trace.ThreadID, p *piece, i int) {
	o := &f.open
	if o.n > 0 && (o.thread != thread || o.piece != p || o.from+o.n != i) {
		f.settle()
	}
	*f.at = 0
	if f.w != nil && !f.w.Paused() {
		*f.at = f.w.Instant() + trace.Instant(o.n)
	}
}

// executed says that the instruction has been executed, with these accesses.
func (f *writer) executed(thread trace.ThreadID, p *piece, i int, mem []flow.Mem) {
	if f.w == nil {
		return
	}
	f.executing(thread, p, i)
	o := &f.open
	if o.n == 0 {
		o.thread, o.piece, o.from = thread, p, i
	}
	o.n++
	o.mem = append(o.mem, mem...)
	if o.from+o.n == len(p.block.Insts) {
		f.settle()
	}
}

// settle writes the open execution.
func (f *writer) settle() {
	o := &f.open
	if o.n == 0 {
		return
	}
	if f.w.Paused() {
		f.w.Pass(o.n)
		o.n, o.mem = 0, o.mem[:0]
		return
	}
	if o.piece.id == 0 {
		id, err := f.w.Block(o.piece.block)
		f.note(err)
		o.piece.id = id
	}
	if f.err == nil {
		_, err := f.w.Exec(o.thread, o.piece.id, o.from, o.n, o.mem)
		f.note(err)
	}
	o.n, o.mem = 0, o.mem[:0]
}

func (f *writer) note(err error) {
	if f.err == nil {
		f.err = err
	}
}

// recording says whether instructions are wanted from the one on that is executed.
func (f *writer) recording(on bool) {
	if f.w == nil || on != f.w.Paused() {
		return
	}
	f.settle()
	if on {
		f.note(f.w.Resume())
	} else {
		f.w.Pause()
	}
}

// flush writes what there is to the file.
func (f *writer) flush() {
	if f.w == nil {
		return
	}
	f.settle()
	f.note(f.w.Flush())
}

// other writes a record that is no execution.
func (f *writer) other(r *flow.Record) error {
	if f.w == nil {
		return nil
	}
	f.settle()
	f.note(f.w.Other(r))
	return f.err
}

func (f *writer) begin(thread trace.ThreadID, from int) error {
	return f.other(&flow.Record{Kind: flow.Start, Thread: thread, Number: uint64(from)})
}

// gap says that instructions of a thread (0: of all) are not in the flow.
func (f *writer) gap(thread trace.ThreadID, why string) error {
	return f.other(&flow.Record{Kind: flow.Gap, Thread: thread, Why: why})
}

// modules tells of files that have been mapped.
func (f *writer) modules(news []trace.Module) error {
	for i := range news {
		if err := f.other(&flow.Record{Kind: flow.Map, Module: &news[i]}); err != nil {
			return err
		}
	}
	return nil
}
