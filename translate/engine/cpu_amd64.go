package engine

// xsaveSize is how many bytes the processor's whole vector state takes in memory,
// as far as the system has it enabled (CPUID leaf 0xd, EBX); 0: unknown.
func xsaveSize() uint32
