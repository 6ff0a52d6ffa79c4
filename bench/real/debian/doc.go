// Package debian gives real programs to try mgtrace on: it builds them from Debian's
// source packages, healthy and with one fault each, as Programs lists them.
//
//	built, err := debian.Open("out/real").Build(p, "-O2", nil)        // healthy
//	built, err  = debian.Open("out/real").Build(p, "-O2", &faults[0]) // faulty
//
// The directory testdata/real/NAME holds what is ours of a program: its
// specification, its input, a driver where the package is a library, and one patch
// for each fault. Sources are fetched with apt-get, and not committed.
//
// It neither runs mgtrace nor judges what it says.
package debian
