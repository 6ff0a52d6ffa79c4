package session

import (
	"context"

	"mgtrace/flow"
	"mgtrace/trace"
)

// together gives the events and the executed instructions of a recording in the order of
// their instants: events before the record that has theirs, or that follows. A trace that
// was cut off ends early.
func (rec *recording) together(ctx context.Context, f *flow.Reader, event func(*trace.Event) error, record func(*flow.Record) error) error {
	var ev trace.Event
	more, err := rec.next(&ev)
	if err != nil {
		return err
	}
	upTo := func(at trace.Instant) (err error) {
		for more && ev.Instant <= at {
			if err := event(&ev); err != nil {
				return err
			}
			if more, err = rec.next(&ev); err != nil {
				return err
			}
		}
		return nil
	}
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
		return record(r)
	})
	if err != nil {
		return err
	}
	return upTo(^trace.Instant(0))
}
