package session

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"mgtrace/capture/observe"
	"mgtrace/flow"
	"mgtrace/report"
	"mgtrace/step"
	"mgtrace/trace"
	translated "mgtrace/translate/engine"
)

// full is a recording of all executed instructions.
type full struct {
	path string
	file *os.File
	w    *flow.Writer
	done bool

	// Which part of the run is wanted; see limitFull.
	window           Window
	from, to, around []trace.FuncID
	recording        func(on bool) error
	limited, on      bool
	over             bool
	calls            uint64 // of from
	ends             *ended // the call whose return ends the part
}

// fullEngines lists the engines that tell all instructions.
func fullEngines(o *CaptureOptions) ([]string, error) {
	switch {
	case o.Watch:
		return nil, errors.New("--full and --watch do not go together: record with --full, then look at the trace")
	case o.Engine == "" || o.Engine == "auto":
		return []string{engineTranslate, engineStep}, nil
	case o.Engine == engineTranslate || o.Engine == engineStep:
		return []string{o.Engine}, nil
	}
	return nil, fmt.Errorf("--engine %s does not see every instruction: leave --engine out with --full, or write --engine translate or step", o.Engine)
}

// engineOf is the engine that --full asks for by name, or "": the trace tells which
// one it was.
func engineOf(o *CaptureOptions) string {
	if o.Engine == "auto" {
		return ""
	}
	return o.Engine
}

// beginFull begins the flow beside the trace, if it is wanted.
func (l *live) beginFull() error {
	if !l.o.Capture.Full {
		return nil
	}
	switch {
	case l.o.Record == "":
		return errors.New("--full writes the executed instructions beside the trace: say where with -o FILE")
	case l.o.Last > 0:
		return errors.New("--full and --last do not go together: limit the part with --from, --to or --around")
	case l.before != nil:
		return errors.New("--full needs a program that mgtrace starts: use record --full")
	}
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return err
	}
	l.prog.Flow = hex.EncodeToString(id[:])
	f := &full{path: flow.Path(l.o.Record), window: l.o.Capture.Window}
	var err error
	if f.file, err = os.Create(f.path); err != nil {
		return fmt.Errorf("record the instructions: %w", err)
	}
	part := f.window.String()
	if a := l.o.Capture.Around; a != "" {
		part = "--around " + a
	}
	f.w = flow.NewWriter(f.file, flow.Head{Trace: l.prog.Flow, Path: l.prog.Path, Args: l.o.Args, Engine: engineOf(&l.o.Capture), Part: part})
	l.full = f
	return nil
}

// attachFull puts one of the engines in that tell all instructions.
func (l *live) attachFull(name string, o observe.DeliveryOptions) (engine, error) {
	var w *flow.Writer
	if l.full != nil {
		w = l.full.w
	}
	var e interface {
		engine
		Recording(on bool) error
	}
	var err error
	if name == engineStep {
		e, err = step.Attach(l.plan, l.proc, step.Options{DeliveryOptions: o, Flow: w})
	} else {
		e, err = translated.Record(l.plan, l.proc, translated.RecordOptions{DeliveryOptions: o, Flow: w})
	}
	if err != nil {
		return nil, err // not e: a nil pointer is no nil engine
	}
	if l.full != nil {
		l.full.recording = e.Recording
	}
	return e, nil
}

// limitFull has only the instructions of a part recorded; events are recorded all.
func (l *live) limitFull() error {
	f, o := l.full, &l.o.Capture
	f.on = true
	f.limited = o.Around != "" || o.Window.set()
	if !f.limited {
		return nil
	}
	if o.Around != "" && o.Window.set() {
		return errors.New("--around says all by itself: leave --from, --to and --after out")
	}
	var err error
	if f.around, err = l.functions("--around", o.Around); err != nil {
		return err
	}
	if f.from, err = l.functions("--from", o.Window.From); err != nil {
		return err
	}
	if f.to, err = l.functions("--to", o.Window.To); err != nil {
		return err
	}
	if o.Around != "" || o.Window.From != "" || o.Window.After > 0 {
		return f.turn(false)
	}
	return nil
}

func (f *full) turn(on bool) error {
	if f.on == on {
		return nil
	}
	f.on = on
	return f.recording(on)
}

// event sees where the part begins and ends.
func (f *full) event(ev *trace.Event) error {
	if !f.limited || f.over {
		return nil
	}
	call, ret := ev.Kind == trace.KindCall, ev.Kind == trace.KindReturn
	if ret && f.ends != nil && f.ends.thread == ev.Thread && f.ends.sp == ev.SP {
		f.ends = nil
		f.over = len(f.around) == 0
		return f.turn(false)
	}
	if !f.on {
		if call && is(f.from, ev) {
			f.calls++
		}
		switch {
		case call && is(f.around, ev):
		case len(f.around) > 0:
			return nil
		case len(f.from) > 0 && (!call || !is(f.from, ev) || f.calls <= f.window.Calls):
			return nil
		case time.Duration(ev.Wall) < f.window.After:
			return nil
		}
		if err := f.turn(true); err != nil {
			return err
		}
	}
	if call && f.ends == nil && (is(f.to, ev) || is(f.around, ev)) {
		f.ends = &ended{ev.Thread, ev.SP}
	}
	return nil
}

// finish ends the flow.
func (f *full) finish(t trace.Trailer) error {
	if f == nil || f.done {
		return nil
	}
	f.done = true
	if err := errors.Join(f.w.Finish(flow.Trailer{Complete: t.Complete, Why: t.Why}), f.file.Close()); err != nil {
		return fmt.Errorf("record the instructions to %s: %w", f.path, err)
	}
	return nil
}

// abandon closes the flow of a recording that failed: it stays readable up to its last
// whole section.
func (f *full) abandon() {
	if f == nil || f.done {
		return
	}
	f.done = true
	_ = f.w.Flush() // the recording has failed already, for a reason that is being reported
	_ = f.file.Close()
}

// FlowSummary says what was recorded of the executed instructions.
type FlowSummary struct {
	File         string  `json:"file"`
	Bytes        uint64  `json:"bytes"`
	Instructions uint64  `json:"instructions"`
	Accesses     uint64  `json:"accesses"` // of memory
	Blocks       int     `json:"blocks"`   // of code
	Gaps         uint64  `json:"gaps"`     // places where instructions are missing
	PerInsn      float64 `json:"bytes_per_instruction"`
}

func (f *full) summary() *FlowSummary {
	if f == nil {
		return nil
	}
	s := f.w.Stats()
	return flowSummary(f.path, s.Bytes, s.Insts, s.Accesses, s.Blocks, s.Gaps)
}

func flowSummary(path string, bytes, insts, accesses uint64, blocks int, gaps uint64) *FlowSummary {
	s := &FlowSummary{File: path, Bytes: bytes, Instructions: insts, Accesses: accesses, Blocks: blocks, Gaps: gaps}
	if insts > 0 {
		s.PerInsn = float64(bytes) / float64(insts)
	}
	return s
}

func (s *FlowSummary) print(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "mgtrace: %s executed instructions with %s accesses to memory, in %s (%s bytes, %.2f an instruction)\n",
		report.Thousands(s.Instructions), report.Thousands(s.Accesses), s.File, report.Thousands(s.Bytes), s.PerInsn)
	return b.Flush()
}
