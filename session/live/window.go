package live

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Window says which part of a run is recorded. The zero Window is all of it.
type Window struct {
	From  string        // a function: begin when it is called
	To    string        // a function: end when its call returns
	Calls uint64        // begin after so many calls of From
	After time.Duration // begin after this time, not before
}

// ParseAfter parses the value of --after: a number of calls or a time.
func (w *Window) ParseAfter(s string) error {
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		w.Calls = n
		if w.From == "" {
			return fmt.Errorf("--after %s: so many calls of what? add --from FUNCTION, or write a time (%ss)", s, s)
		}
		return nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return fmt.Errorf("--after %s: write a number of calls (500), or a time (10s, 5m)", s)
	}
	w.After = d
	return nil
}

func (w *Window) set() bool { return *w != Window{} }

func (w *Window) String() string {
	var parts []string
	if w.From != "" {
		parts = append(parts, "--from "+w.From)
	}
	if w.Calls > 0 {
		parts = append(parts, "--after "+strconv.FormatUint(w.Calls, 10))
	}
	if w.After > 0 {
		parts = append(parts, "--after "+w.After.String())
	}
	if w.To != "" {
		parts = append(parts, "--to "+w.To)
	}
	return strings.Join(parts, " ")
}
