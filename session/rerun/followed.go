package rerun

import (
	"slices"

	"mgtrace/mgpp"
	"mgtrace/replay"
)

// Followed is memory on which the address depends at which the program died, the nearest first.
func (r *Rerun) Followed() []replay.Read { return r.was.Reads }

// Before: had an operation before the call, in which the program died, changed nothing, the call would have come through where it died and to
// its end, and left nothing broken. It is not ok where that is not known.
func (r *Rerun) Before(t mgpp.Timestamp) (well, ok bool) {
	if r.call.Died == 0 || t > r.call.From || r.steps >= maxSteps {
		return false, false
	}
	w := *r.in
	w.view = r.p.History.Without(w.view, t)
	op := r.p.History.Op(t)
	was := mgpp.Bytes{Data: make([]byte, op.Size), Written: make([]bool, op.Size)}
	if op.Kind != mgpp.OpStore || !w.view.Read(op.Addr, &was) || slices.Contains(was.Written, false) {
		return false, false
	}
	again := r.again()
	again.Sites, again.Until = true, replay.Moment{PC: uint64(r.call.Died)}
	run := r.inWorld(&w, again)
	if run.Guessed > 0 && r.was.Guessed == 0 {
		return false, false
	}
	if run.Err != nil {
		return false, true
	}
	back := func(s *replay.Site) bool { return s.PC == uint64(r.call.Died)+1 } // from the library function in which it died
	if len(run.Met) == 0 && !slices.ContainsFunc(run.Sites, back) {
		return false, true // it went another way, on which nothing is followed
	}
	changed := replay.Effect{Kind: replay.Store, PC: uint64(op.PC), Addr: uint64(op.Addr), Size: op.Size, Data: was.Data}
	run.Effects = append([]replay.Effect{changed}, run.Effects...)
	_, well = r.judge(run)
	return well, true
}

// inWorld executes the call in another world than that in which it did what was recorded.
func (r *Rerun) inWorld(w *world, call replay.Call) *replay.Run {
	m := replay.New(w)
	m.Knows(r.machine)
	call.Brief, call.Valueless = false, true
	run := m.Run(call)
	r.steps += run.Steps
	return run
}
