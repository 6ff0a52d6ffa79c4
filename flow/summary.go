package flow

// Summary says what was recorded of the executed instructions.
type Summary struct {
	File         string  `json:"file"`
	Bytes        uint64  `json:"bytes"`
	Instructions uint64  `json:"instructions"`
	Accesses     uint64  `json:"accesses"` // of memory
	Blocks       int     `json:"blocks"`   // of code
	Gaps         uint64  `json:"gaps"`     // places where instructions are missing
	PerInsn      float64 `json:"bytes_per_instruction"`
}

// Summarise makes a summary of counts.
func Summarise(path string, bytes, insts, accesses uint64, blocks int, gaps uint64) *Summary {
	s := &Summary{File: path, Bytes: bytes, Instructions: insts, Accesses: accesses, Blocks: blocks, Gaps: gaps}
	if insts > 0 {
		s.PerInsn = float64(bytes) / float64(insts)
	}
	return s
}
