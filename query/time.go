package query

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mgtrace/mgpp"
)

// TimeKind says how a time was named.
type TimeKind uint8

// The kinds.
const (
	AtChange TimeKind = iota // number N of the history; 0 is before the first
	AtEnd
	AtCrash
	AtCall   // before the first change of call N of Func
	AtReturn // after the last change of call N of Func
	AtLine   // after change N that File:Line made; N 0: the last
	AtWall   // Wall since recording began
	AtClock  // Clock, a time of day or a date
)

// Time is a time as a user names it.
type Time struct {
	Kind  TimeKind
	N     uint64
	Func  string
	File  string
	Line  int
	Wall  time.Duration
	Clock string // RFC 3339, or 15:04:05 with a fraction
}

// TimeForms is how a time is written, for help texts.
const TimeForms = `a change number, end, crash, "call N of F", "return N of F", "line FILE:LINE#N", +1.5s, or 15:04:05.25`

// ParseTime reads a time as a user writes it. "" is the end.
func ParseTime(s string) (Time, error) {
	words := strings.Fields(s)
	if len(words) == 0 {
		return Time{Kind: AtEnd}, nil
	}
	switch words[0] {
	case "end":
		return only(words, Time{Kind: AtEnd})
	case "crash":
		return only(words, Time{Kind: AtCrash})
	case "start":
		return only(words, Time{Kind: AtChange})
	case "change":
		if len(words) != 2 {
			return Time{}, fmt.Errorf("%q: write change N", s)
		}
		return parseChange(words[1], s)
	case "call", "return":
		return parseCall(words, s)
	case "line":
		return parseLine(strings.Join(words[1:], ""), s)
	}
	if len(words) > 1 && !strings.Contains(words[0], "-") {
		return Time{}, notTime(s)
	}
	return parseWord(strings.Join(words, "T"), s)
}

func only(words []string, t Time) (Time, error) {
	if len(words) > 1 {
		return Time{}, fmt.Errorf("%q: nothing follows %s", strings.Join(words, " "), words[0])
	}
	return t, nil
}

// notTime says what can be written, and what was perhaps meant.
func notTime(s string) error {
	for _, w := range []string{"end", "crash", "start", "call", "return", "line", "change"} {
		if first, _, _ := strings.Cut(s, " "); len(first) > 2 && first != w && (strings.HasPrefix(w, first) || strings.HasPrefix(first, w)) {
			return fmt.Errorf("%q is no time (did you mean %s?): write %s", s, w, TimeForms)
		}
	}
	return fmt.Errorf("%q is no time: write %s", s, TimeForms)
}

func parseNumber(s string) (uint64, bool) {
	n, err := strconv.ParseUint(strings.ReplaceAll(s, ",", ""), 10, 64)
	return n, err == nil
}

func parseChange(number, s string) (Time, error) {
	n, ok := parseNumber(number)
	if !ok {
		return Time{}, notTime(s)
	}
	return Time{Kind: AtChange, N: n}, nil
}

// parseCall reads "call 3 of insert"; a function's name may have spaces
// ("operator new").
func parseCall(words []string, s string) (Time, error) {
	t := Time{Kind: AtCall}
	if words[0] == "return" {
		t.Kind = AtReturn
	}
	if len(words) < 4 || words[2] != "of" {
		return Time{}, fmt.Errorf("%q: write %s N of FUNCTION, N counting from 1", s, words[0])
	}
	var ok bool
	if t.N, ok = parseNumber(words[1]); !ok || t.N == 0 {
		return Time{}, fmt.Errorf("%q: %s is no number of a call; calls count from 1", s, words[1])
	}
	t.Func = strings.Join(words[3:], " ")
	return t, nil
}

// parseLine reads "list.c:15#3".
func parseLine(rest, s string) (Time, error) {
	bad := fmt.Errorf("%q: write line FILE:LINE, or line FILE:LINE#N for the N-th change that it made", s)
	place, number, counted := strings.Cut(rest, "#")
	t := Time{Kind: AtLine}
	if counted {
		var ok bool
		if t.N, ok = parseNumber(number); !ok || t.N == 0 {
			return Time{}, bad
		}
	}
	i := strings.LastIndexByte(place, ':')
	if i < 1 {
		return Time{}, bad
	}
	n, err := strconv.ParseInt(place[i+1:], 10, 32)
	if err != nil || n < 1 {
		return Time{}, bad
	}
	t.File, t.Line = place[:i], int(n)
	return t, nil
}

// parseWord reads what is one word: a number, a duration, a clock.
func parseWord(w, s string) (Time, error) {
	if n, ok := parseNumber(w); ok {
		return Time{Kind: AtChange, N: n}, nil
	}
	if d, err := time.ParseDuration(strings.TrimPrefix(w, "+")); err == nil {
		if d < 0 {
			return Time{}, fmt.Errorf("%q lies before the recording", s)
		}
		return Time{Kind: AtWall, Wall: d}, nil
	}
	if _, err := parseClock(w); err == nil {
		return Time{Kind: AtClock, Clock: w}, nil
	}
	return Time{}, notTime(s)
}

// clocks are the ways to write a time of day.
var clocks = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "15:04:05.999999999", "15:04"} // read-only

func parseClock(s string) (time.Time, error) {
	for _, form := range clocks {
		if t, err := time.Parse(form, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("no clock")
}

// SinceStart turns a clock into the time since the recording began, at an RFC
// 3339 time. Without a date it is that of the recording, or the next day's if it
// lasted until then; without a zone it is the recording's.
func (t Time) SinceStart(began string, lasted time.Duration) (time.Duration, error) {
	if t.Kind == AtWall {
		return t.Wall, nil
	}
	start, err := time.Parse(time.RFC3339Nano, began)
	if err != nil {
		return 0, fmt.Errorf("%s: the trace does not say when it was recorded; write the time since then, +1.5s", t.Clock)
	}
	c, err := parseClock(t.Clock)
	if err != nil {
		return 0, err
	}
	if _, zone := time.Parse(time.RFC3339Nano, t.Clock); zone != nil {
		year, month, day := c.Date()
		if year == 0 {
			year, month, day = start.Date()
		}
		c = time.Date(year, month, day, c.Hour(), c.Minute(), c.Second(), c.Nanosecond(), start.Location())
		dated := strings.Contains(t.Clock, "-")
		if pastMidnight := start.Add(lasted).YearDay() != start.YearDay(); pastMidnight && !dated && c.Before(start) {
			c = c.AddDate(0, 0, 1)
		}
	}
	if c.Before(start) {
		return 0, fmt.Errorf("%s lies before the recording, which began at %s", t.Clock, began)
	}
	return c.Sub(start), nil
}

// String is the time as ParseTime reads it.
func (t Time) String() string {
	switch t.Kind {
	case AtEnd:
		return "end"
	case AtCrash:
		return "crash"
	case AtCall:
		return fmt.Sprintf("call %d of %s", t.N, t.Func)
	case AtReturn:
		return fmt.Sprintf("return %d of %s", t.N, t.Func)
	case AtLine:
		if t.N > 0 {
			return fmt.Sprintf("line %s:%d#%d", t.File, t.Line, t.N)
		}
		return fmt.Sprintf("line %s:%d", t.File, t.Line)
	case AtWall:
		return "+" + t.Wall.String()
	case AtClock:
		return t.Clock
	}
	return strconv.FormatUint(t.N, 10)
}

// Times knows what happened when in a run.
type Times interface {
	Now() mgpp.Timestamp
	// Crash is when the program crashed.
	Crash() (mgpp.Timestamp, bool)
	// Calls are the outermost calls of a function, nil if it was not watched.
	Calls(function string) CallLog
	// OnLine returns change n that a statement of the line made, from 1, of n 0
	// the last, and how many there are.
	OnLine(file string, line int, n uint64) (t mgpp.Timestamp, count uint64, err error)
	// AtWall returns the last change at or before a time since recording began.
	AtWall(ns int64) mgpp.Timestamp
	// Began is when recording began, in RFC 3339.
	Began() string
	// Lasted is when the last event came, since then.
	Lasted() time.Duration
}

// CallLog is the calls of one function in order of their beginning.
type CallLog interface {
	Len() int
	// Call returns call i, from 0: its changes are in (from, to]. It is open if it
	// has not returned.
	Call(i int) (from, to mgpp.Timestamp, open bool)
}

// Find turns a time into a timestamp.
func Find(t Time, in Times) (mgpp.Timestamp, error) {
	switch t.Kind {
	case AtEnd:
		return in.Now(), nil
	case AtCrash:
		if at, ok := in.Crash(); ok {
			return at, nil
		}
		return 0, errors.New("the program did not crash; try: end, or the number of a change")
	case AtCall, AtReturn:
		return findCall(t, in)
	case AtLine:
		at, n, err := in.OnLine(t.File, t.Line, t.N)
		switch {
		case err != nil:
			return 0, err
		case n == 0:
			return 0, fmt.Errorf("no recorded change was made by %s:%d", t.File, t.Line)
		case t.N > n:
			return 0, fmt.Errorf("%s:%d made %d changes, not %d", t.File, t.Line, n, t.N)
		}
		return at, nil
	case AtWall, AtClock:
		d, err := t.SinceStart(in.Began(), in.Lasted())
		if err != nil {
			return 0, err
		}
		return in.AtWall(int64(d)), nil
	}
	if t.N > math.MaxInt64 || mgpp.Timestamp(t.N) > in.Now() {
		return 0, fmt.Errorf("change %d: the history has %d changes", t.N, in.Now())
	}
	return mgpp.Timestamp(t.N), nil
}

func findCall(t Time, in Times) (mgpp.Timestamp, error) {
	log := in.Calls(t.Func)
	if log == nil {
		return 0, fmt.Errorf("%s: calls of %s were not recorded: record again with --cpoint %s", t, t.Func, t.Func)
	}
	if t.N > uint64(log.Len()) {
		return 0, fmt.Errorf("%s: %s was called %d times", t, t.Func, log.Len())
	}
	from, to, open := log.Call(int(t.N - 1))
	switch {
	case t.Kind == AtCall:
		return from, nil
	case open:
		return 0, fmt.Errorf("%s: it never returned", t)
	}
	return to, nil
}

// SameFile reports whether a source file is meant by a name: a tail of its path.
func SameFile(path, tail string) bool {
	path, tail = filepath.ToSlash(filepath.Clean(path)), filepath.ToSlash(filepath.Clean(tail))
	return path == tail || strings.HasSuffix(path, "/"+tail)
}
