package mine

import (
	"context"
	"maps"
	"slices"
)

// points chooses C-points, and checks all candidates there.
func (m *mining) points(ctx context.Context) error {
	m.run.progress("choosing C-points")
	known := make([]map[int]int, len(m.cands))
	for i, c := range m.cands {
		known[i] = c.fails
	}
	err := m.settle(ctx)
	if err != nil { // what the quiet moments told stands
		m.cpoints, m.final = nil, m.quiet
		for i, c := range m.cands {
			c.fails = known[i]
		}
	}
	return err
}

// settle is points, for which the candidates are swept anew.
func (m *mining) settle(ctx context.Context) error {
	facts, err := m.agreed(ctx)
	if err != nil {
		return err
	}
	var sure []*candidate
	for _, c := range facts {
		if ok, _ := c.justified(); ok && !c.weak {
			sure = append(sure, c)
		}
	}
	t, err := compile(m.run, &m.head, sure)
	if err != nil {
		return err
	}
	all := append(thinPlaces(m.land.moments, maxOfPlace), thinPlaces(m.land.idle, maxOfPlace)...)
	inTime(all)
	if err := t.sweep(ctx, all); err != nil {
		return err
	}
	sure = m.land.meant(sure)
	m.cpoints = m.land.choose(sure)
	m.end = m.run.Ended
	for id, p := range m.land.places {
		if p.fn == "" && slices.ContainsFunc(sure, func(c *candidate) bool { return c.fails[id] > 0 }) {
			m.end = false
		}
	}
	m.run.progress("checking at the C-points")
	picked := m.land.picked(m.cpoints, m.end)
	m.final = nil
	for _, q := range m.land.moments {
		if picked[q.place] {
			m.final = append(m.final, q)
		}
	}
	m.final, m.skipped = thin(m.final, maxMoments)
	idle, skipped := thin(m.land.beside(m.final, func(p int) bool { return picked[p] }), maxMoments)
	m.skipped += skipped
	m.final = append(m.final, idle...)
	inTime(m.final)
	if t, err = compile(m.run, &m.head, m.cands); err != nil {
		return err
	}
	return t.sweep(ctx, m.final)
}

// agreed are the facts on which all places agree. A fact that fails at a place which is none then, and for which the other places alone are no
// evidence, as where a queue is empty at all of them, speaks against no place: it is dropped, and the rest is decided anew.
func (m *mining) agreed(ctx context.Context) ([]*candidate, error) {
	places := clone(m.places)
	facts := agree(m.cands, places, m.ends())
	gone := func(p int) bool { return !places[p] }
	var doubtful []*candidate
	for _, c := range facts {
		if slices.ContainsFunc(slices.Collect(maps.Keys(c.fails)), gone) {
			doubtful = append(doubtful, c)
		}
	}
	if len(doubtful) == 0 {
		return facts, nil
	}
	shown, err := m.shownBy(ctx, doubtful, slices.DeleteFunc(slices.Clone(m.quiet), func(q moment) bool { return gone(q.place) }))
	if err != nil {
		return nil, err
	}
	vain := false
	for _, c := range doubtful {
		c.dead = c.dead || !shown[c.key]
		vain = vain || c.dead
	}
	if !vain {
		return facts, nil
	}
	return agree(m.cands, clone(m.places), m.ends()), nil
}

// shownBy tells by their keys for which facts some moments alone are evidence, as if the run had no others.
func (m *mining) shownBy(ctx context.Context, facts []*candidate, moments []moment) (map[string]bool, error) {
	was := *m
	defer func() { m.looks, m.portraits, m.said = was.looks, was.portraits, was.said }()
	m.looks = m.land.looks(moments)
	base, err := compile(m.run, &m.head, nil)
	if err != nil {
		return nil, err
	}
	again := slices.DeleteFunc(m.candidates(base), func(c *candidate) bool {
		return !slices.ContainsFunc(facts, func(f *candidate) bool { return f.key == c.key })
	})
	t, err := compile(m.run, &m.head, again)
	if err != nil {
		return nil, err
	}
	if err := t.look(ctx, m.looks); err != nil {
		return nil, err
	}
	shown := map[string]bool{}
	for _, c := range t.cands {
		c.weigh()
		ok, _ := c.justified()
		shown[c.key] = ok
	}
	return shown, nil
}
