package target

// XsaveSize is how many bytes xsave writes at most: those of the processor's whole
// vector state, as far as the system has it enabled (CPUID leaf 0xd, EBX).
func XsaveSize() uint32 {
	const legacy = 576 // the x87 and SSE state and the header, where there is no more
	return max(xsaveSize(), legacy)
}

func xsaveSize() uint32

// stateAt is where a component lies in the vector state as ptrace gives it, bytes (CPUID
// leaf 0xd, EBX); 0: there is none.
func stateAt(component uint32) uint32
