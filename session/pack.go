package session

import (
	"errors"
	"fmt"
	"io"
	"os"

	"mgtrace/flow"
	"mgtrace/report"
	"mgtrace/session/recording"
	"mgtrace/session/transient"
	"mgtrace/trace"
)

// PackOptions say how to pack a trace.
type PackOptions struct {
	Output   string                  // "": in its place
	Progress func(done, total int64) // bytes of the trace; nil: none
}

// Packed says what packing did.
type Packed struct {
	File    string `json:"file"`
	Before  int64  `json:"bytes_before"`
	After   int64  `json:"bytes"`
	Changes uint64 `json:"events"`
	CutOff  bool   `json:"cut_off,omitempty"` // the trace has no end, and has none now
}

// Text prints it.
func (p *Packed) Text(w io.Writer, _ bool) error {
	cut := ""
	if p.CutOff {
		cut = "; its recording was cut off, and what is whole of it was packed"
	}
	_, err := fmt.Fprintf(w, "mgtrace: packed %s events into %s: %s bytes, %s before%s\n",
		report.Thousands(p.Changes), p.File, report.Thousands(uint64(p.After)), report.Thousands(uint64(p.Before)), cut)
	return err
}

// Pack makes a trace compact. The new file appears under its name when it is whole
// and on disk: until then, and if anything fails, there is what was there before.
func Pack(path string, o PackOptions) (*Packed, error) {
	r, err := trace.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	before, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	out := o.Output
	_, whole := r.Trailer()
	if out == "" {
		out = path
		if !whole && r.Program().Last != nil {
			return nil, fmt.Errorf("%s was cut off, and its newest part lies in files beside it: pack them into another file with -o FILE", path)
		}
	}
	p := &Packed{File: out, Before: before.Size(), CutOff: !whole}
	for _, c := range r.Chunks() {
		p.Changes += c.Count
	}
	err = recording.Replace(out, path, transient.Guard, func(f *os.File) error {
		if err := trace.Pack(f, r, o.Progress); err != nil {
			return err
		}
		now, err := os.Stat(path)
		if err == nil && now.Size() != before.Size() {
			err = errors.New("it is still being recorded: pack it when it has ended")
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w (it is as it was)", path, err)
	}
	after, err := os.Stat(out)
	if err != nil {
		return nil, err
	}
	p.After = after.Size()
	return p, packFlow(path, out, r)
}

// packFlow gives a packed trace its executed instructions: they are compact already.
func packFlow(path, out string, r *trace.Reader) error {
	if r.Program().Flow == "" || out == path {
		return nil
	}
	from, err := os.Open(flow.Path(path))
	if errors.Is(err, os.ErrNotExist) {
		return nil // who reads the trace is told
	}
	if err == nil {
		err = recording.Replace(flow.Path(out), flow.Path(path), transient.Guard, func(f *os.File) error {
			_, err := io.Copy(f, from)
			return err
		})
		err = errors.Join(err, from.Close())
	}
	if err != nil {
		return fmt.Errorf("%s is packed, its executed instructions are not beside it: %w", path, err)
	}
	return nil
}
