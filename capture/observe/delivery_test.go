package observe

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/capture"
	"mgtrace/probe"
	"mgtrace/trace"
)

func newDelivery() *Delivery {
	plan := &probe.Plan{Images: []*probe.Image{{Path: "p", Traced: true}, {Path: "l"}}}
	images := []Image{{Mapped: true, Bias: 0x40000, Code: [2]uint64{0x41000, 0x42000}}, {}}
	d := NewDelivery(memory{})
	d.Begin(plan, images, 0, DeliveryOptions{})
	return d
}

// TestDelivery: what is taken is with the sink before it goes on, with the instant of
// its instruction, and counted.
func TestDelivery(t *testing.T) {
	d := newDelivery()
	broken := errors.New("broken")
	type event struct {
		Kind    trace.Kind
		Thread  trace.ThreadID
		Instant trace.Instant
	}
	var got []event
	sink := capture.Events(func(ev *trace.Event) error {
		got = append(got, event{ev.Kind, ev.Thread, ev.Instant})
		return nil
	})
	served := make(chan error)
	go func() { served <- d.Serve(context.Background(), sink, func() {}) }()

	d.Instant = 7
	if err := d.Take(&capture.Hit{Op: capture.ThreadExit, Thread: 2}); err != nil {
		t.Fatal(err)
	}
	if err := d.Tell(capture.Hit{Op: capture.Exit, Thread: 1}); err != nil {
		t.Fatal(err)
	}
	want := []event{{trace.KindThreadExit, 2, 7}, {trace.KindExit, 1, 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := d.Stats(); s.Hits != 2 || s.Delivered != 2 || s.Stores != 0 {
		t.Errorf("counted %+v", s)
	}
	if d.Finished() {
		t.Error("finished before the end")
	}
	d.Finish(broken)
	d.Finish(nil) // too late
	if err := <-served; err != broken || !d.Finished() {
		t.Errorf("Serve returned %v", err)
	}
}

// TestDeliveryEnded: who serves no longer says why.
func TestDeliveryEnded(t *testing.T) {
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	if err := newDelivery().Serve(ctx, capture.Events(nil), func() {}); err != why {
		t.Errorf("Serve returned %v", err)
	}
}

// TestDeliveryModules: a file is told of once, when it is mapped.
func TestDeliveryModules(t *testing.T) {
	d := newDelivery()
	first := trace.Module{Path: "p", Bias: 0x40000, Lo: 0x41000, Hi: 0x42000, Traced: true}
	if diff := cmp.Diff([]trace.Module{first}, d.Modules()); diff != "" {
		t.Error(diff)
	}
	if news := d.Modules(); news != nil {
		t.Errorf("told again: %v", news)
	}
	images := append([]Image(nil), d.Images...)
	images[1] = Image{Mapped: true, Bias: 0x50000, Code: [2]uint64{0x51000, 0x52000}}
	d.Remap(images)
	if diff := cmp.Diff([]trace.Module{{Path: "l", Bias: 0x50000, Lo: 0x51000, Hi: 0x52000}}, d.Modules()); diff != "" {
		t.Error(diff)
	}
	if at := d.Plan.Images[1].Bias; at != 0x50000 {
		t.Errorf("the plan has the file at %#x", at)
	}
}
