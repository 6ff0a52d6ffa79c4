// Package overflow follows where addresses come from (package provenance) through a
// recording with instructions, and reports the accesses that left the block, or the
// field, that they had an address of.
package overflow
