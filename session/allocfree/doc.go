// Package allocfree makes, of a recording with instructions, one whose blocks were found
// without knowing the allocator (package mgpp/infer): by what addresses are computed from.
// It lies beside the recording and is made once.
package allocfree
