package log

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"mgtrace/inline/layout"
)

// An exchange is a locked or exchanging store of which it is known what was there before. It has
// executed between two stamps, and where others have written its word in between, the values tell
// which was first: what each of them found is what the one before it has left.
type exchange struct {
	word   uint64 // its address
	width  uint8  // bytes that are compared, at most 8
	known  bool   // old is; else it only says what it has left
	old    uint64 // what it found
	new    uint64 // what it has left
	since  uint64 // a stamp taken before it, or the place of the record before it if that is later
	stamp  uint64 // and one behind it
	brief  bool   // no stamp was taken in between
	thread *thread
}

// words are the values that exchanges have left last, of some words. A plain store in between is not
// known here: then the next exchange finds something else.
type words [1 << wordBits]struct {
	word, value uint64
	width       uint8
}

const wordBits = 10

func (w *words) at(word uint64) int { return int(word * 0x9e3779b97f4a7c15 >> (64 - wordBits)) }

func (w *words) set(x *exchange) {
	e := &w[w.at(x.word)]
	e.word, e.value, e.width = x.word, x.new, x.width
}

// value is what lies in the word of x as far as it is known.
func (w *words) value(x *exchange) (value uint64, known bool) {
	e := &w[w.at(x.word)]
	return e.value, e.word == x.word && e.width == x.width
}

// exchangeOf decodes a record whose form has formOld or only formStamp. place is that of the record
// before it.
func (t *thread) exchangeOf(f *storeForm, r []byte, place uint64) exchange {
	x := exchange{thread: t, word: binary.LittleEndian.Uint64(r[layout.StoreAddr:]) + f.disp, width: min(f.width, 8)}
	var value, old [8]byte
	copy(value[:], r[layout.StoreValue:][:x.width])
	x.new = binary.LittleEndian.Uint64(value[:])
	stamp, _ := layout.Stamped(binary.LittleEndian.Uint64(r[f.stamp:]))
	x.stamp = max(place, stamp)
	x.since = x.stamp
	if f.form&formOld != 0 {
		copy(old[:], r[f.old+8:][:x.width])
		x.known, x.old = true, binary.LittleEndian.Uint64(old[:])
		since := binary.LittleEndian.Uint64(r[f.old:])
		x.since, x.brief = max(place, since), since+1 == stamp
	}
	return x
}

// turn says where the exchange that is next in its thread is placed, and whether it is delivered now
// (empty). It goes as early as it can: what happens behind it in other threads may have seen it and
// have a stamp of before its own. If another one of its word goes first it waits, up to a later place
// or until that is delivered (beyond). Records may be missing that have to go first (unclear).
func (m *Merger) turn(t *thread, x *exchange) (place uint64, st state) {
	now := max(t.next, x.since)
	switch {
	case now >= x.stamp:
		return x.since, empty
	case x.stamp > m.order:
		return x.since, unclear
	case x.brief && x.since > m.cut:
		// Who executes while it does has an earlier stamp of before, and has been looked at
		// already: but for what the last cut's counter was put in the place of.
		return x.since, empty
	}
	m.rivals = append(m.rivals[:0], *x)
	for _, other := range m.written {
		if other != t && (other.next <= x.stamp || other.word != 0) {
			m.overlapping(other, x)
		}
	}
	first := m.first()
	if first.thread == t {
		return x.since, empty
	}
	t.word = x.word
	m.waiters++
	if first.since <= now {
		return x.stamp, beyond
	}
	return min(first.since, x.stamp), beyond
}

// overlapping appends the exchanges of a thread that may have come before x to the rivals, the first few.
func (m *Merger) overlapping(t *thread, x *exchange) {
	place, n := t.place, 0
	for i := range t.segments {
		s := &t.segments[i]
		place = max(place, s.floor)
		for b := s.buf; len(b) > 0; {
			size, f := m.table.record(b)
			if size == 0 || place > x.stamp || n == maxRivals {
				return // of what is malformed deliver will say why
			}
			switch {
			case f == nil:
				place = max(place, binary.LittleEndian.Uint64(b[layout.SpecialStamp:]))
			case f.form&formStamp != 0:
				y := t.exchangeOf(f, b, place)
				if y.since > x.stamp {
					return
				}
				if f.wrote(b) && y.word == x.word && y.width == x.width && y.stamp >= x.since {
					m.rivals = append(m.rivals, y)
					n++
				}
				place = y.stamp
			}
			b = b[size:]
		}
	}
}

// Bounds of the search for an order: so many exchanges of each thread, and of all those that begin
// first; and so many steps.
const (
	maxRivals = 8
	maxSteps  = 2000
)

// first is the first of the rivals in the order that the values contradict least; of several such
// orders, in the one that is nearest to that of the stamps.
func (m *Merger) first() *exchange {
	all := m.rivals
	slices.SortFunc(all, func(a, b exchange) int { return cmp.Compare(a.since, b.since) })
	s := search{all: all, beyond: math.MaxUint64, best: math.MaxInt}
	if len(all) > maxRivals {
		s.all, s.beyond = all[:maxRivals], all[maxRivals].since
	}
	slices.SortFunc(s.all, func(a, b exchange) int { return cmp.Compare(a.stamp, b.stamp) })
	value, known := m.words.value(&all[0])
	s.try(value, known, 0, 0, 0)
	return &all[s.first]
}

// search looks for that order, depth first.
type search struct {
	all    []exchange // by stamp
	beyond uint64     // what has a stamp from here on may come behind those that are not looked at
	best   int        // contradictions of the best order so far
	first  int        // which is first in it
	steps  int
}

// try goes on behind the exchanges in done, a set, which have left a value.
func (s *search) try(value uint64, known bool, done uint32, wrong, first int) {
	if s.steps++; s.steps > maxSteps && s.best < math.MaxInt || wrong >= s.best {
		return
	}
	if done != 0 && s.whole(done) {
		s.best, s.first = wrong, first
		return
	}
	for i := range s.all {
		if done>>i&1 != 0 || !s.next(i, done) {
			continue
		}
		x := &s.all[i]
		w := wrong
		if x.known && (known && x.old != value || !known && s.leaves(i, x.old)) {
			w++
		}
		if done == 0 {
			first = i
		}
		s.try(x.new, true, done|1<<i, w, first)
	}
}

// leaves says that another than i leaves a value: where nothing is known, that one comes before it.
func (s *search) leaves(i int, value uint64) bool {
	for j := range s.all {
		if j != i && s.all[j].new == value {
			return true
		}
	}
	return false
}

// whole says that what is left may come behind those that are not looked at.
func (s *search) whole(done uint32) bool {
	for i := range s.all {
		if done>>i&1 == 0 && s.all[i].stamp < s.beyond {
			return false
		}
	}
	return true
}

// next says whether i may come next: nothing is left that must come before it.
func (s *search) next(i int, done uint32) bool {
	for j := range s.all {
		before := j != i && done>>j&1 == 0
		if before && (s.all[j].stamp < s.all[i].since || s.all[j].thread == s.all[i].thread && j < i) {
			return false
		}
	}
	return true
}

// left notes what an exchange has left, and has those look again that wait for its word. It says
// whether there are any.
func (m *Merger) left(x *exchange, place uint64) (moved bool) {
	m.words.set(x)
	if m.waiters == 0 {
		return false
	}
	for _, t := range m.queue {
		if t != x.thread && t.word == x.word {
			t.word, t.next, moved = 0, place, true
			m.waiters--
		}
	}
	return moved
}

// An object is published by an exchange that stores its address.
const (
	objectSize = 256 // bytes of it that are looked at
	maxPrivate = 16  // stores
	// Addresses lie in these bits; the others may be a mark or a count.
	addressBits = 1<<48 - 16
)

// retain takes the stores at the end of the run back that have filled in the object which an exchange, the
// next of the thread, is to publish: nobody else has seen them, so they can come as late as it does. A
// plain load may have told what they store, of which the thread's last stamp knows nothing.
func (m *Merger) retain(t *thread, x *exchange) {
	recs := m.run.Recs
	object := x.new & addressBits
	if x.width < 8 || object == 0 {
		return
	}
	n := len(recs)
	for n > 0 && len(recs)-n < maxPrivate {
		r := &recs[n-1]
		if uint64(r.Site) >= uint64(len(m.table.stores)) || m.table.stores[r.Site].form&^formBase != 0 || r.Addr-object >= objectSize {
			break
		}
		n--
	}
	t.private = append(t.private, recs[n:]...)
	m.run.Recs = recs[:n]
}

// publish puts back what was retained, right before the exchange.
func (m *Merger) publish(t *thread) error {
	if len(m.run.Recs)+len(t.private) >= batch {
		if err := m.flush(t); err != nil {
			return err
		}
	}
	if len(m.run.Recs) == 0 {
		m.run.Recs = m.room(batch)
	}
	m.run.Recs = append(m.run.Recs, t.private...)
	t.private = t.private[:0]
	return nil
}
