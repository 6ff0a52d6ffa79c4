package mine

import (
	"slices"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// TestIdle: a call that changes nothing is a C-point all the same where others of the function change the structure; it
// is looked at if it shows a state that no other moment shows. Functions that never change it are no C-points.
func TestIdle(t *testing.T) {
	call := func(fn string, enter, leave mgpp.Timestamp) Call {
		return Call{Func: fn, Parent: -1, Enter: enter, Leave: leave, Left: true}
	}
	land := &terrain{
		run: &Run{History: mgpp.New(mgpp.Options{}), Calls: []Call{
			call("insert", 0, 2),
			call("insert", 2, 2), // as it was left
			call("find", 2, 2),
			call("sweep", 3, 5),
			call("insert", 4, 4), // in the middle of a change
			call("find", 4, 4),
			call("insert", 4, 4), // nothing new
		}},
		changes: []mgpp.Timestamp{1, 2, 4, 5},
		by:      map[trace.ThreadID][]mgpp.Timestamp{0: {1, 2, 4, 5}},
	}
	land.boundaries()
	var got []mgpp.Timestamp
	for _, m := range land.beside(land.moments, func(int) bool { return true }) {
		if land.places[m.place].fn != "insert" {
			t.Errorf("a moment of %s", land.places[m.place].fn)
		}
		got = append(got, m.at)
	}
	if !slices.Equal(got, []mgpp.Timestamp{4}) {
		t.Errorf("idle moments at %v, not at 4 alone", got)
	}
	if n := len(land.idle); n != 6 {
		t.Errorf("%d idle moments, not the 6 of insert", n)
	}
	if got := land.beside(land.moments, func(p int) bool { return land.places[p].fn == "sweep" }); len(got) > 0 {
		t.Errorf("%d idle moments of a place that has none", len(got))
	}
}
