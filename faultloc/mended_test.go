package faultloc

import "testing"

// TestMended: what a statement has broken before, in calls that ended well, is less against it than what it breaks for the first time.
func TestMended(t *testing.T) {
	const begin = "1: h = calloc heap\n2: h.v[0] = 5\n3: h.n = 1\n20: h.v[1] = 9\n21: h.n = 2\ncpoint\n"
	put := func(times int) (s string) {
		for range times {
			s += "30: h.v[0] = 7\n30: h.v[0] = 12\n31: h.v[0] = 5\ncpoint\n"
		}
		return s
	}
	for _, c := range []struct {
		name   string
		before string
		want   bool
	}{
		{"several times", put(minLike), true}, {"never", "", false}, {"hardly ever", put(minLike - 1), false},
		{"it broke nothing", "30: h.v[0] = 6\ncpoint\n30: h.v[0] = 7\ncpoint\n30: h.v[0] = 8\ncpoint\n30: h.v[0] = 5\ncpoint\n", false},
	} {
		w := newWorld(t, heapSpec)
		w.run(begin)
		w.run(c.before)
		w.run("30: h.v[0] = 12\n")
		in := w.input()
		got := false
		for _, s := range Locate(in).Suspects {
			for _, e := range s.Evidence {
				got = got || e.Kind == Flip && e.Mended
			}
		}
		if got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
