package target

// XsaveSize is how many bytes xsave writes at most: those of the processor's whole
// vector state, as far as the system has it enabled (CPUID leaf 0xd, EBX).
func XsaveSize() uint32 {
	const legacy = 576 // the x87 and SSE state and the header, where there is no more
	return max(xsaveSize(), legacy)
}

func xsaveSize() uint32

// opmaskAt is where the opmask registers lie in the vector state as ptrace gives it,
// bytes (CPUID leaf 0xd, subleaf 5, EBX); 0: there are none.
func opmaskAt() uint32
