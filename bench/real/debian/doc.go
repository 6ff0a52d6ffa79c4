// Package debian gives real programs to try mgtrace on: it builds them from Debian's
// source packages, healthy and with one fault each, as Programs lists them.
//
//	w, err := debian.Open("out/real", "testdata/real")
//	healthy, err := w.Build(p, "-O2", nil)
//	faulty, err := w.Build(p, "-O2", &faults[0])
//
// The directory testdata/real/NAME holds what is ours of a program: its
// specification, its input, a driver where the package is a library, and one patch
// for each fault. Sources are fetched with apt-get, and not committed.
//
// It does not run mgtrace; Built.Rank says where a report names the fault.
package debian
