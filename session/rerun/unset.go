package rerun

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"

	"mgtrace/replay"
)

// maxUnset bounds the reads of memory that nothing had written of which it is asked whether they matter.
const maxUnset = 4

// Unset are reads of memory of which nothing is known, in the order in which they were made, where the call would have gone another way, written
// elsewhere, or counted on from another number, had something else been there. Only to copy it is none.
func (r *Rerun) Unset() (out []replay.Unset) {
	for _, u := range r.was.Unset[:min(len(r.was.Unset), maxUnset)] {
		if slices.ContainsFunc([]uint64{^u.Value, u.Value + 1, 0}, func(v uint64) bool { return r.steps < maxSteps && r.matters(u, v) }) {
			out = append(out, u)
		}
	}
	return out
}

// matters: the call goes another way if memory of which nothing is known holds a value.
func (r *Rerun) matters(u replay.Unset, value uint64) bool {
	w := *r.in
	w.told = maps.Clone(w.told)
	for i, b := range binary.LittleEndian.AppendUint64(nil, value)[:u.Size] {
		w.told[u.Addr+uint64(i)] = b
	}
	run := r.inWorld(&w, r.again())
	way := func(a, b replay.Decision) bool { return a.PC == b.PC && a.Taken == b.Taken }
	place := func(a, b replay.Effect) bool {
		return a.Kind == b.Kind && a.PC == b.PC && a.Addr == b.Addr && (a.Addr != u.Addr || bytes.Equal(a.Data, b.Data))
	}
	return !slices.EqualFunc(run.Decisions, r.was.Decisions, way) || !slices.EqualFunc(run.Effects, r.was.Effects, place)
}
