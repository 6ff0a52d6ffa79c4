package rerun

import (
	"mgtrace/replay"
	"mgtrace/trace"
)

// Switched is a decision that went the other way in an experiment, behind which nothing is broken.
type Switched struct {
	replay.Decision
	Outcome
	Times int // how often it was made: each time it went the other way
}

// At is the instruction whose line a decision is told by. A move, or a number, that depends on a condition stands
// where the result is used: the comparison is the program's own.
func (s *Switched) At() trace.Addr {
	if s.Jump || s.Flags == 0 {
		return trace.Addr(s.PC)
	}
	return trace.Addr(s.Flags)
}

// Switched makes the experiments with decisions: with each by itself, the last first, and with all of one
// instruction, as where a condition is negated. Few: only with the newest.
func (r *Rerun) Switched(few bool) (out []Switched) {
	each := map[uint64]int{}
	trials, most, steps := 0, maxTrials, maxSteps
	if few {
		most, steps = maxTrials/5, maxSteps/5
	}
	try := func(i, times int, flip func(int, uint64) bool) {
		if trials == most || r.steps >= steps {
			return
		}
		trials++
		c := r.again()
		c.Flip, c.Same = flip, r.was.Decisions[i].Step
		if o, ok := r.judge(r.run(c)); ok {
			out = append(out, Switched{r.was.Decisions[i], o, times})
		}
	}
	for i := len(r.was.Decisions) - 1; i >= 0; i-- {
		pc := r.was.Decisions[i].PC
		if each[pc]++; each[pc] <= maxEach {
			try(i, 1, func(n int, _ uint64) bool { return n == i })
		}
	}
	for i, d := range r.was.Decisions {
		if each[d.PC] > 1 {
			try(i, each[d.PC], func(_ int, at uint64) bool { return at == d.PC })
		}
		each[d.PC] = 0
	}
	return out
}
