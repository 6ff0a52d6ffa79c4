package faultloc

import (
	"slices"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Where a number stopped to be that of the blocks:
//
//  1. It rests where it is ahead of the blocks by as much as it was when the first blocks were born: by none, or by one less, as where a
//     list has a head of its own. Each instruction that stores it leaves it ahead by a number that is the same each time: that of rest, if it
//     comes last in its operation. Before the next store it comes to rest.
//  2. The first store that leaves another number, or behind which there is no rest, ends that. From there on it stays so.
//  3. Of the changes of the blocks between rest and that store the first was not counted, if there are more than ever were before the
//     stores of that instruction. Where nothing came or went, the store is wrong.

// kept is a store of the number, with the changes of the blocks up to the next one.
type kept struct {
	store   *change
	pc      trace.Addr
	changes []change
	rests   []int // after so many of the changes it is at rest
}

// usual is what an instruction does that stores the number.
type usual struct {
	left        int64 // how far ahead of the blocks the number is after it
	times       int
	most, least int // changes of the blocks there were between rest and it
}

// accounts are what is known of a number's stores up to one of them.
type accounts struct {
	in    *Input
	z     int64 // where it rests
	off   int64 // by how much it is not at rest at the end
	usual map[trace.Addr]*usual
	// begun are the instructions that changed the blocks, and others behind them before the next store took that back.
	begun map[trace.Addr]bool
}

// broke is the change up to which the number was that of the blocks, after how many stores, and whether one of these had lowered it; nil: it
// never was, or is still, or it can not be told which change it is.
func (in *Input) broke(steps []change, z int64) (broke *change, often int, falls bool) {
	a := accounts{in: in, z: z, off: steps[len(steps)-1].ahead - z, usual: map[trace.Addr]*usual{}, begun: map[trace.Addr]bool{}}
	if a.off == 0 {
		return nil, 0, false
	}
	stores := a.divide(steps)
	for i := range stores {
		k := &stores[i]
		u := a.usual[k.pc]
		if u != nil && u.left != k.store.ahead || len(k.rests) == 0 {
			if i < minCounted || !a.stays(stores[i+1:]) {
				return nil, 0, false
			}
			if broke = a.wrong(&stores[i-1], k); broke == stores[i-1].store {
				i--
			}
			return broke, i, falls
		}
		a.learn(stores, i)
		falls = falls || k.store.by < 0 && i > 0
	}
	last := &stores[len(stores)-1]
	pending := a.pending(last)
	for i := range stores[:len(stores)-1] {
		if k := &stores[i]; in.beginsLike(k.changes[k.rests[0]:], pending) {
			return nil, 0, false // as often before: the store may be yet to come
		}
	}
	if len(stores) < minCounted || len(pending) == 0 {
		return nil, 0, false
	}
	return &pending[0], len(stores), falls
}

// divide divides steps, of which the first is a store, at the stores.
func (a *accounts) divide(steps []change) (out []kept) {
	for i := range steps {
		s := &steps[i]
		if s.stores {
			out = append(out, kept{store: s, pc: a.pc(s)})
		}
		k := &out[len(out)-1]
		if !s.stores {
			k.changes = append(k.changes, *s)
		}
		if s.ahead == a.z {
			k.rests = append(k.rests, len(k.changes))
		}
	}
	return out
}

func (a *accounts) pc(c *change) trace.Addr { return a.in.History.Deed(c.at).PC }

// learn notes what a store did, and what came before it, where all is as it should be.
func (a *accounts) learn(stores []kept, i int) {
	k := &stores[i]
	u := a.usual[k.pc]
	if u == nil {
		u = &usual{left: k.store.ahead, least: -1}
		a.usual[k.pc] = u
	}
	u.times++
	if i == 0 {
		return
	}
	p := &stores[i-1]
	for j, at := range p.rests[:len(p.rests)-1] {
		if p.rests[j+1] > at {
			a.begun[a.pc(&p.changes[at])] = true
		}
	}
	n := len(p.changes) - p.rests[len(p.rests)-1]
	u.most = max(u.most, n)
	if u.least < 0 || n < u.least {
		u.least = n
	}
}

// pending are the changes behind the first rest after a store, without those that are mostly taken back.
func (a *accounts) pending(k *kept) []change {
	at := k.rests[0]
	for _, next := range k.rests[1:] {
		if !a.begun[a.pc(&k.changes[at])] {
			break
		}
		at = next
	}
	return k.changes[at:]
}

// wrong is what the number does not answer, of what came before a store, and that; nil: it can not be told.
func (a *accounts) wrong(before, k *kept) *change {
	pending := a.pending(before)
	u := a.usual[k.pc]
	switch {
	case u != nil && u.left == k.store.ahead, u == nil && len(pending) == 0:
		return k.store // nothing answers it
	case u == nil && len(k.changes) > 0:
		if answers(k.changes, k.store.by) {
			return &pending[0]
		}
	case u == nil && len(pending) > 1:
		tail := slices.Clone(pending[1:])
		if slices.Reverse(tail); answers(tail, k.store.by) {
			return &pending[0]
		}
	case u == nil:
		if pending[0].by > 0 == (k.store.by > 0) {
			return k.store
		}
	case u.times == 1:
	case len(pending) > u.most:
		return &pending[0]
	case len(pending) < u.least: // what came before was no rest
		if a.usual[before.pc].times == 1 {
			return before.store
		}
	case len(pending) == 0:
		return k.store
	}
	return nil
}

// stays: the stores leave the number off, in the direction in which it is at the end, and by no more.
func (a *accounts) stays(stores []kept) bool {
	for i := range stores {
		u := a.usual[stores[i].pc]
		if u == nil {
			continue
		}
		if by := stores[i].store.ahead - u.left; by == 0 || by > 0 != (a.off > 0) || max(by, -by) > max(a.off, -a.off) {
			return false
		}
	}
	return true
}

// answers: the first of some changes come to as much as a number grew by.
func answers(changes []change, by int64) bool {
	sum := int64(0)
	for i := range changes {
		if sum += changes[i].by; sum == by {
			return true
		}
	}
	return false
}

// beginsLike: the first of some changes were done by the same instructions as others.
func (in *Input) beginsLike(changes, others []change) bool {
	if len(changes) < len(others) {
		return false
	}
	for i := range others {
		if in.History.Deed(changes[i].at).PC != in.History.Deed(others[i].at).PC {
			return false
		}
	}
	return true
}

// resting is by how much the number is ahead of the blocks when nothing is on its way, as it mostly is when a block is born.
func resting(steps []change, births []mgpp.Timestamp) (z int64, ok bool) {
	first := births[:min(len(births), 2*minCounted)]
	often := map[int64]int{}
	at := 0
	for _, t := range first {
		for at+1 < len(steps) && steps[at+1].at < t {
			at++
		}
		if steps[at].at < t {
			often[steps[at].ahead]++
		}
	}
	if often[-1] > often[0] {
		z = -1
	}
	return z, often[z] >= minCounted && 2*often[z] > len(first)
}
