package target

import (
	"bytes"

	"mgtrace/target/mem"
)

// unseenTimes are functions of the vDSO (vdso(7)) that write for their caller, and that programs call directly: the C library resolves its
// own names to them (IFUNC). clock_gettime is none: the C library's own function calls it, and that can be probed.
var unseenTimes = []string{"__vdso_time", "__vdso_gettimeofday"}

// hideTimes takes these from the names of the process's vDSO, before the dynamic linker has looked for them: the C library makes system
// calls then, as with a kernel that has none. Nothing can be probed in the vDSO, and what it wrote to a node would not be seen. Where
// that can not be done they are as they were. The page is the process's own from then on; what it executes later has another one.
func (t *tracer) hideTimes() {
	if auxv, err := readAuxv(t.pid); err != nil || auxv[mem.AuxBase] == 0 {
		return // it has no dynamic linker
	}
	maps, err := readMaps(t.pid)
	if err != nil {
		return
	}
	for _, m := range maps {
		if m.Path != "[vdso]" {
			continue
		}
		image := make([]byte, m.Size())
		if _, err := t.memory.ReadMemory(image, m.Lo); err != nil {
			return
		}
		for _, name := range unseenTimes {
			if i := bytes.Index(image, []byte("\x00"+name+"\x00")); i >= 0 {
				_ = t.memory.write(t.pid, m.Lo+uint64(i)+1, []byte{'-'})
			}
		}
	}
}
