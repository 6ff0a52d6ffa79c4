package target

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// robustList is a list of robust futexes (struct robust_list_head in linux/futex.h) of
// one entry: what the kernel marks when the thread that has registered it ends.
type robustList struct {
	next    uintptr // the entry, or the list itself: it is empty
	offset  int     // from an entry to its futex
	pending uintptr
	entry   uintptr // its next: the list again
}

// MarkEnd has the kernel set FUTEX_OWNER_DIED in a word of memory that the process
// shares, when this process is killed: before it lets any thread of the process go,
// so that none runs untraced that can not see it. Nothing else may write the word,
// but 0, which ends it; it must stay mapped.
func (p *Process) MarkEnd(word *uint32) error {
	// The kernel reads the list when Go is no more.
	page, err := unix.Mmap(-1, 0, int(unsafe.Sizeof(robustList{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("list of robust futexes: %w", err)
	}
	list := (*robustList)(unsafe.Pointer(&page[0]))
	list.entry = uintptr(unsafe.Pointer(list))
	list.next = uintptr(unsafe.Pointer(&list.entry))
	list.offset = int(uintptr(unsafe.Pointer(word)) - list.next)
	e := p.do(func() {
		*word = uint32(unix.Gettid())
		if _, _, errno := unix.Syscall(unix.SYS_SET_ROBUST_LIST, uintptr(unsafe.Pointer(list)), unsafe.Offsetof(list.entry), 0); errno != 0 {
			err = fmt.Errorf("list of robust futexes: %w", errno)
		}
	})
	return errors.Join(e, err)
}
