package faultloc

import (
	"slices"

	"mgtrace/mgpp"
)

// Crashed answers another question: why did the program die at At, where nothing is broken? Nothing can be traced back then.
// What is left is what goes wrong with memory, the statement in which it died, and experiments with the call in which
// that was: with what would it not have died, and left nothing broken?
func Crashed(in Input) Result {
	suspects := in.beneath(followed(in, odd(in, nil)))
	if !in.stopped() {
		suspects = decided(in, suspects)
	}
	suspects, others := rank(suspects)
	return Result{Suspects: suspects, Others: others, Stopped: in.stopped()}
}

// beneath adds the last free below a call that was still running when the program died, though the structure was whole after that: what called
// both may have kept a pointer to what was freed, as a loop over a list does that goes on from the node that it has had freed.
func (in *Input) beneath(suspects []Suspect) []Suspect {
	told := func(e Evidence) bool { return e.Kind == Freed || e.Kind == Used || e.Kind == Followed }
	if in.Beneath == nil || slices.ContainsFunc(suspects, func(s Suspect) bool { return slices.ContainsFunc(s.Evidence, told) }) {
		return suspects
	}
	for t := in.Healthy; t > 0 && in.At-t < maxOdd; t-- {
		if in.History.Op(t).Kind == mgpp.OpDeath && in.attributed(t) && in.Beneath(t) {
			return charge(*in, suspects, t, Evidence{Kind: Freed, Called: true})
		}
	}
	return suspects
}
