package live

import "mgtrace/target"

// Impatient calls urge at the first signal that asks mgtrace to end while the program is not there any more, which such
// signals were for until then. That one alone: mgtrace dies of another that is not of the same request, or if it was asked before. done ends that.
func (l *Program) Impatient(urge func()) (done func()) {
	if l.urges {
		return func() {}
	}
	return target.AskedOnce(urge)
}
