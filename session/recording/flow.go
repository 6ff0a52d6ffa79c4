package recording

import (
	"context"
	"errors"
	"fmt"
	"os"

	"mgtrace/flow"
	"mgtrace/trace"
)

// errNoFlow: a trace was recorded without instructions.
var ErrNoFlow = errors.New("no executed instructions were recorded: record again with --full")

var errCutOff = errors.New("no event is left") // of a trace that was cut off

// Flow opens the executed instructions of the recording.
func (rec *Recording) Flow() (*flow.Reader, error) {
	path := rec.Path
	if rec.Prog.Flow == "" {
		return nil, fmt.Errorf("%s: %w", path, ErrNoFlow)
	}
	r, err := flow.Open(flow.Path(path))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("the executed instructions of %s lie in a file beside it, which is missing: %w", path, err)
	case err != nil:
		return nil, err
	case r.Head().Trace != rec.Prog.Flow:
		return nil, errors.Join(fmt.Errorf("%s is of another recording than %s: bring the file back that was written with it", flow.Path(path), path), r.Close())
	}
	return r, nil
}

// Together gives the events and the executed instructions of a recording in the order of
// their instants: events before the record that has theirs, or that follows. A trace that
// was cut off ends early: instructions behind its last event are left out, for which blocks there are then is not known.
func (rec *Recording) Together(ctx context.Context, f *flow.Reader, event func(*trace.Event) error, record func(*flow.Record) error) error {
	var ev trace.Event
	more, err := rec.Next(&ev)
	if err != nil {
		return err
	}
	upTo := func(at trace.Instant) (err error) {
		for more && ev.Instant <= at {
			if err := event(&ev); err != nil {
				return err
			}
			if more, err = rec.Next(&ev); err != nil {
				return err
			}
		}
		return nil
	}
	_, whole := rec.Reader.Trailer()
	records := 0
	err = f.Scan(1, func(r *flow.Record) error {
		if records++; records&0xfff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		last := r.Instant
		if r.Kind == flow.Exec {
			last += trace.Instant(max(r.N, 1) - 1)
		} else {
			last-- // it stands in front of the next instruction
		}
		if err := upTo(last); err != nil {
			return err
		}
		if !more && !whole {
			return errCutOff
		}
		return record(r)
	})
	if errors.Is(err, errCutOff) {
		return nil
	}
	if err != nil {
		return err
	}
	return upTo(^trace.Instant(0))
}
