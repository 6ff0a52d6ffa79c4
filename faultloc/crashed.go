package faultloc

// Crashed answers another question: why did the program die at At, where nothing is broken? Nothing can be traced back then.
// What is left is what goes wrong with memory, the statement in which it died, and experiments with the call in which
// that was: with what would it not have died, and left nothing broken?
func Crashed(in Input) Result {
	suspects := followed(in, odd(in, nil))
	if !in.stopped() {
		suspects = decided(in, suspects)
	}
	suspects, others := rank(suspects)
	return Result{Suspects: suspects, Others: others, Stopped: in.stopped()}
}
