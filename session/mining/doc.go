// Package mining looks at the recording of a healthy run: what held of its structures
// (package constraints/mine) is proposed as a specification, and two specifications are
// compared by what they see of corruptions.
package mining
