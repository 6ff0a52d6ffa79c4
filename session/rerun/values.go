package rerun

import (
	"encoding/binary"
	"slices"

	"mgtrace/mgpp"
	"mgtrace/replay"
	"mgtrace/trace"
)

// Altered is a value in whose place another one would have left nothing broken (D. Jeffrey, N. Gupta and R. Gupta,
// "Fault Localization Using Value Replacement", ISSTA 2008).
type Altered struct {
	replay.Value
	Outcome
	Instead uint64
}

// Altered makes the experiments with values: in two rounds, the last value first; at first with what is nearest to it.
func (r *Rerun) Altered() (out []Altered) {
	tried := map[[2]uint64]bool{} // number of the value, and what was tried
	trials, most := 0, r.steps+maxSteps
	led := r.led()
	for round := range 2 {
		for i := len(r.was.Values) - 1; i >= 0; i-- {
			for _, x := range r.instead(i, round, led) {
				if k := [2]uint64{uint64(i), x}; x == r.was.Values[i].Value || tried[k] {
					continue
				} else if tried[k] = true; trials == maxValues || r.steps >= most {
					return out
				}
				trials++
				c := r.again()
				c.Same = r.was.Values[i].Step
				c.Alter = func(n int, _, was uint64) uint64 {
					if n == i {
						return x
					}
					return was
				}
				if o, ok := r.judge(r.run(c)); ok {
					out = append(out, Altered{r.was.Values[i], o, x})
				}
			}
		}
	}
	return out
}

// instead is what may be tried in place of a value: of numbers the neighbours, 0, and other numbers that were computed
// shortly before; of pointers NULL, others that were there shortly before, and, in the second round, where these lead.
func (r *Rerun) instead(i, round int, led []uint64) (out []uint64) {
	v := r.was.Values[i]
	if r.elsewhere(v.Value) || r.given(v) {
		return nil
	}
	pointer := r.pointer(v)
	if round == 0 {
		if !pointer {
			out = append(out, v.Value-1, v.Value+1)
		}
		out = append(out, 0)
	}
	most := 3 + 5*round
	for j := i - 1; j >= 0 && len(out) < most; j-- {
		w := r.was.Values[j]
		if w.Size == v.Size && r.pointer(w) == pointer && !r.elsewhere(w.Value) && w.Value != v.Value && !slices.Contains(out, w.Value) {
			out = append(out, w.Value)
		}
	}
	if round == 1 && pointer {
		out = append(out, led...)
	}
	return out
}

// given: a value is an argument of the call. The program has it from elsewhere. Small numbers are so by chance.
func (r *Rerun) given(v replay.Value) bool {
	return v.Value > 2 && slices.ContainsFunc(r.call.Args, func(a uint64) bool { return a == v.Value || v.Size == 4 && a&0xffff_ffff == v.Value })
}

// pointer: a value is the address of something in a block.
func (r *Rerun) pointer(v replay.Value) bool {
	return v.Size == 8 && v.Value != 0 && r.block(v.Value)
}

// block: an address was in a block when the call began, or ended.
func (r *Rerun) block(addr uint64) bool {
	_, before := r.p.History.NodeAtTime(trace.Addr(addr), r.call.From)
	if before {
		return true
	}
	_, after := r.p.History.NodeAtTime(trace.Addr(addr), r.call.To)
	return after
}

// elsewhere: a value looks like an address of other memory, as of a variable.
func (r *Rerun) elsewhere(v uint64) bool { return v > 1<<32 && v < 1<<47 && !r.block(v) }

// Limits of what is looked at for where pointers lead.
const (
	maxLed    = 8   // blocks
	maxFields = 128 // bytes of each
)

// led are the pointers in the blocks to which values of the call lead.
func (r *Rerun) led() (out []uint64) {
	v := r.p.History.At(r.call.From)
	seen := map[mgpp.NodeID]bool{}
	for _, x := range r.was.Values {
		id, ok := v.NodeAt(trace.Addr(x.Value))
		if !ok || seen[id] || len(seen) == maxLed {
			continue
		}
		seen[id] = true
		n, _ := v.Node(id)
		for off := uint64(0); off+8 <= min(n.Size, maxFields); off += 8 {
			b := mgpp.Bytes{Data: make([]byte, 8)}
			if !v.Read(n.Start+trace.Addr(off), &b) || slices.Contains(b.Written, false) {
				continue
			}
			if to := binary.LittleEndian.Uint64(b.Data); to != 0 && r.block(to) && !slices.Contains(out, to) {
				out = append(out, to)
			}
		}
	}
	return out
}
