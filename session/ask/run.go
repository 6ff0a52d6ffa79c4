package ask

import (
	"time"

	"mgtrace/capture"
	"mgtrace/mgpp"
	"mgtrace/query"
	"mgtrace/session/analysis"
	"mgtrace/session/recording"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// builtRun is a run whose history is in memory: it is built from the events.
type builtRun struct {
	rec     *recording.Recording
	hist    *mgpp.History
	calls   *query.Calls
	sites   []trace.StoreSite
	crash   mgpp.Timestamp
	crashed bool
	faults  trace.Faults
	seen    Seen
	kinds   [trace.NumKinds]uint64
	events  uint64
	total   uint64
	ceiling ceiling
}

// Seen is what events tell about a recording as a whole.
type Seen struct {
	Begins *infoBegins `json:"begins,omitempty"`
	Ceases string      `json:"ceases,omitempty"`
	Lasted int64       `json:"lasted"`
	Held   held        `json:"held,omitzero"`
}

// event takes in event number n, from 0, each store counted.
func (s *Seen) event(ev *trace.Event, n uint64) {
	s.Lasted = max(s.Lasted, ev.Wall)
	s.Held.event(ev, n)
	switch ev.Kind {
	case trace.KindBegin:
		b := analysis.BeginOf(ev)
		s.Begins = &infoBegins{b.Wall, b.Event, b.Why, b.Left, b.String()}
	case trace.KindCease:
		s.Ceases = ev.Name
	}
}

var _ capture.Sink = (*builtRun)(nil)

// Event implements capture.Sink.
func (r *builtRun) Event(ev *trace.Event) error {
	analysis.CallSite(ev)
	if _, err := r.hist.Apply(ev); err != nil {
		return err
	}
	r.note(ev)
	r.kinds[ev.Kind]++
	r.seen.event(ev, r.events)
	r.events++
	return r.room()
}

// room fails where the history is more than memory may hold.
func (r *builtRun) room() error {
	if !r.ceiling.over() {
		return nil
	}
	return r.ceiling.refuse("the history of the trace", r.hist.Stats().Bytes, r.events, r.total)
}

// note takes down what happens when; the history has the event.
func (r *builtRun) note(ev *trace.Event) {
	r.calls.Event(ev, r.hist.Now())
	if r.faults.Event(ev) && !r.crashed {
		r.crash, r.crashed = r.hist.Now(), true
	}
}

// Sites implements capture.Sink.
func (r *builtRun) Sites(sites []trace.StoreSite) error { r.sites = sites; return nil }

// Stores implements capture.Sink.
func (r *builtRun) Stores(run *trace.Stores) error {
	r.kinds[trace.KindStore] += uint64(len(run.Recs))
	r.faults.Stores(run)
	r.seen.Lasted = max(r.seen.Lasted, run.Wall)
	r.events += uint64(len(run.Recs))
	if err := r.room(); err != nil {
		return err
	}
	_, err := r.hist.ApplyRun(run, r.sites)
	return err
}

// Place implements query.Run.
func (r *builtRun) Place(pc trace.Addr) query.Place { return queryPlace(r.rec.Symbols, pc) }

// During implements query.Run.
func (r *builtRun) During(t mgpp.Timestamp) string { return r.calls.During(t) }

// Now implements query.Times, as what follows.
func (r *builtRun) Now() mgpp.Timestamp { return r.hist.Now() }

func (r *builtRun) Crash() (mgpp.Timestamp, bool) { return r.crash, r.crashed }

func (r *builtRun) Calls(function string) query.CallLog { return r.calls.Of(function) }

func (r *builtRun) Began() string { return r.rec.Prog.Began }

func (r *builtRun) Lasted() time.Duration { return time.Duration(r.seen.Lasted) }

func (r *builtRun) OnLine(file string, line int, n uint64) (at mgpp.Timestamp, count uint64, err error) {
	for t := mgpp.Timestamp(1); t <= r.hist.Now(); t++ {
		if onLine(r.rec.Symbols, r.hist.Op(t).PC, file, line) {
			if count++; n == 0 || count <= n {
				at = t
			}
		}
	}
	return at, count, nil
}

func (r *builtRun) AtWall(ns int64) (at mgpp.Timestamp) {
	for t := mgpp.Timestamp(1); t <= r.hist.Now(); t++ {
		if w := r.hist.Op(t).Wall; w >= 0 && w <= ns {
			at = t
		}
	}
	return at
}

// onLine reports whether an address is of a source line.
func onLine(s *symbol.Table, pc trace.Addr, file string, line int) bool {
	f := s.Frames(pc)
	return len(f) > 0 && f[0].Line == line && query.SameFile(f[0].File, file)
}

// queryPlace is where a statement stands.
func queryPlace(s *symbol.Table, pc trace.Addr) query.Place {
	f, outer, source := s.Where(pc)
	p := query.Place{File: symbol.Short(f.File), Path: f.File, Line: f.Line, Function: f.Function, Source: source, Address: s.Address(pc)}
	p.Inlined = analysis.PlacesOf(outer)
	return p
}

// Moments finds times of a history that somebody else builds.
type Moments struct{ run builtRun }

// NewMoments are the times of a history; whoever builds it gives each event to Note too.
func NewMoments(rec *recording.Recording, h *mgpp.History) *Moments {
	return &Moments{builtRun{rec: rec, hist: h, calls: query.NewCalls(&rec.Prog), faults: trace.Faults{Program: &rec.Prog}}}
}

// Note takes down what happens when; the history has the event.
func (m *Moments) Note(ev *trace.Event) { m.run.note(ev) }

// Find turns a time as the user writes it into a timestamp.
func (m *Moments) Find(s string) (mgpp.Timestamp, error) {
	t, err := query.ParseTime(s)
	if err != nil {
		return 0, err
	}
	return query.Find(t, &m.run)
}
