package query

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

func TestParseTime(t *testing.T) {
	for _, c := range []struct {
		text string
		want Time
		err  string
	}{
		{"", Time{Kind: AtEnd}, ""},
		{" end ", Time{Kind: AtEnd}, ""},
		{"end of all", Time{}, "nothing follows end"},
		{"crash", Time{Kind: AtCrash}, ""},
		{"start", Time{}, ""},
		{"0", Time{}, ""},
		{"48,112", Time{N: 48112}, ""},
		{"change 48,112", Time{N: 48112}, ""},
		{"change", Time{}, "write change N"},
		{"change x", Time{}, "is no time"},
		{"18446744073709551616", Time{}, "is no time"},
		{"-1", Time{}, "is no time"},
		{"call 511 of insert", Time{Kind: AtCall, N: 511, Func: "insert"}, ""},
		{"return 1 of operator new", Time{Kind: AtReturn, N: 1, Func: "operator new"}, ""},
		{"call 0 of insert", Time{}, "calls count from 1"},
		{"call insert", Time{}, "write call N of FUNCTION"},
		{"line list.c:15", Time{Kind: AtLine, File: "list.c", Line: 15}, ""},
		{"line src/list.c:15#3", Time{Kind: AtLine, File: "src/list.c", Line: 15, N: 3}, ""},
		{"line list.c:15 #3", Time{Kind: AtLine, File: "list.c", Line: 15, N: 3}, ""},
		{"line list.c", Time{}, "write line FILE:LINE"},
		{"line list.c:0", Time{}, "write line FILE:LINE"},
		{"line :3", Time{}, "write line FILE:LINE"},
		{"line list.c:15#0", Time{}, "write line FILE:LINE"},
		{"+1.5s", Time{Kind: AtWall, Wall: 1500 * time.Millisecond}, ""},
		{"250ms", Time{Kind: AtWall, Wall: 250 * time.Millisecond}, ""},
		{"-5s", Time{}, "before the recording"},
		{"15:04:05.25", Time{Kind: AtClock, Clock: "15:04:05.25"}, ""},
		{"2026-11-21 15:04:05", Time{Kind: AtClock, Clock: "2026-11-21T15:04:05"}, ""},
		{"noon", Time{}, "is no time"},
		{"crashed", Time{}, "did you mean crash?"},
		{"call5 of insert", Time{}, "did you mean call?"},
	} {
		got, err := ParseTime(c.text)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: error %v, want %q", c.text, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, d)
		}
	}
}

// run is a run of 100 changes: two calls of insert and one of f that never
// returns, and a crash at 90.
type run struct {
	calls   *Calls
	crashed bool
	lasted  time.Duration
}

func newRun() *run {
	r := &run{lasted: time.Minute, calls: NewCalls(&trace.Program{Funcs: []trace.Func{{Name: "tree::insert(int)"}, {Name: "f"}}}), crashed: true}
	for _, x := range []struct {
		kind trace.Kind
		fn   uint64
		sp   trace.Addr
		now  mgpp.Timestamp
	}{
		{trace.KindCall, 1, 0x100, 10}, {trace.KindCall, 1, 0x80, 12}, {trace.KindReturn, 1, 0x80, 14}, {trace.KindReturn, 1, 0x100, 20},
		{trace.KindCall, 2, 0x100, 30}, {trace.KindCall, 1, 0x90, 40}, {trace.KindReturn, 1, 0x90, 50},
	} {
		r.calls.Event(&trace.Event{Kind: x.kind, Aux: x.fn, SP: x.sp, Thread: 7}, x.now)
	}
	return r
}

func (r *run) Now() mgpp.Timestamp            { return 100 }
func (r *run) Crash() (mgpp.Timestamp, bool)  { return 90, r.crashed }
func (r *run) Calls(function string) CallLog  { return r.calls.Of(function) }
func (r *run) AtWall(ns int64) mgpp.Timestamp { return mgpp.Timestamp(min(ns/1e9, 100)) }
func (r *run) Began() string                  { return "2026-11-21T23:59:50+01:00" }
func (r *run) Lasted() time.Duration          { return r.lasted }

func (r *run) OnLine(file string, line int, n uint64) (mgpp.Timestamp, uint64, error) {
	if file != "list.c" || line != 15 {
		return 0, 0, nil
	}
	if n == 0 {
		n = 3
	}
	return mgpp.Timestamp(60 + n), 3, nil
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		text string
		want mgpp.Timestamp
		err  string
	}{
		{"end", 100, ""},
		{"crash", 90, ""},
		{"0", 0, ""},
		{"100", 100, ""},
		{"101", 0, "the history has 100 changes"},
		{"18446744073709551615", 0, "the history has 100 changes"},
		{"call 1 of insert", 10, ""},
		{"return 1 of insert", 20, ""},
		{"call 2 of tree::insert", 40, ""},
		{"return 2 of tree::insert(int)", 50, ""},
		{"call 3 of insert", 0, "insert was called 2 times"},
		{"call 1 of f", 30, ""},
		{"return 1 of f", 0, "it never returned"},
		{"call 1 of delete", 0, "record again with --cpoint delete"},
		{"line list.c:15", 63, ""},
		{"line list.c:15#2", 62, ""},
		{"line list.c:15#4", 0, "list.c:15 made 3 changes, not 4"},
		{"line list.c:16", 0, "no recorded change was made by list.c:16"},
		{"+5s", 5, ""},
		{"23:59:57", 7, ""},
		{"00:00:10", 20, ""}, // past midnight
		{"2026-11-22T00:00:00+01:00", 10, ""},
		{"2026-11-21T23:00:00Z", 10, ""},
		{"2026-11-21 10:00", 0, "is no time"},
		{"2026-11-21T10:00:00", 0, "before the recording"},
	} {
		w, err := ParseTime(c.text)
		var got mgpp.Timestamp
		if err == nil {
			got, err = Find(w, newRun())
		}
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %d, error %v, want %q", c.text, got, err, c.err)
			}
		case err != nil || got != c.want:
			t.Errorf("%q: %d, %v, want %d", c.text, got, err, c.want)
		}
	}
	calm := newRun()
	calm.crashed = false
	if _, err := Find(Time{Kind: AtCrash}, calm); err == nil || !strings.Contains(err.Error(), "did not crash") {
		t.Errorf("crash of a run that did not: %v", err)
	}
}

func TestDuring(t *testing.T) {
	r := newRun()
	for at, want := range map[mgpp.Timestamp]string{
		10: "", 11: "call 1 of tree::insert(int)", 20: "call 1 of tree::insert(int)", 21: "", 31: "call 1 of f",
		41: "call 2 of tree::insert(int)", 51: "call 1 of f",
	} {
		if got := r.calls.During(at); got != want {
			t.Errorf("change %d: %q, want %q", at, got, want)
		}
	}
}

// FuzzParseTime: what was read is read again from its own text.
func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"end", "crash", "call 3 of insert", "return 1 of a b", "line a.c:3#4", "+1.5s", "12:00:01.5", "2026-11-21 15:04:05", "1,000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x, err := ParseTime(s)
		if err != nil {
			return
		}
		y, err := ParseTime(x.String())
		if err != nil || x != y {
			t.Errorf("%q: %+v, again from %q: %+v, %v", s, x, x.String(), y, err)
		}
		_, _ = Find(x, newRun())
	})
}

// A clock before the beginning is tomorrow's only if the run lasted until tomorrow.
func TestFindEarlier(t *testing.T) {
	r := newRun()
	r.lasted = 9 * time.Second // until 23:59:59
	w, err := ParseTime("23:00:00")
	if err != nil {
		t.Fatal(err)
	}
	if at, err := Find(w, r); err == nil || !strings.Contains(err.Error(), "lies before the recording") {
		t.Errorf("%d, %v", at, err)
	}
}
