package target

import (
	"bytes"
	"slices"

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
	th := t.threads[t.pid]
	lo, image, err := t.vdso(th)
	if err != nil {
		return
	}
	for _, name := range unseenTimes {
		if i := bytes.Index(image, []byte("\x00"+name+"\x00")); i >= 0 {
			_ = th.memory(t).write(th.tid, lo+uint64(i)+1, []byte{'-'})
		}
	}
}

// vdso reads the vDSO of a thread's process; image is nil if it has none, or can not be read.
func (t *tracer) vdso(th *thread) (lo uint64, image []byte, err error) {
	maps, err := readMaps(th.tid)
	if err != nil {
		return 0, nil, err
	}
	i := slices.IndexFunc(maps, func(m mem.Map) bool { return m.Path == "[vdso]" })
	if i < 0 {
		return 0, nil, nil
	}
	image = make([]byte, maps[i].Size())
	if _, err := th.memory(t).ReadMemory(image, maps[i].Lo); err != nil {
		return 0, nil, nil
	}
	return maps[i].Lo, image, nil
}
