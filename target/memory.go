package target

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

// memory reads the process's memory through /proc/PID/mem. An open one stays
// with the address space it was opened for: it reads on when the first thread
// has ended and others live, and reads nothing of a program executed later.
type memory struct {
	mu   sync.RWMutex
	file *os.File
}

func (t *tracer) openMemory() error {
	file, err := os.Open(fmt.Sprintf("/proc/%d/mem", t.pid))
	t.memory.set(file)
	if err != nil {
		return fmt.Errorf("memory of process %d: %w", t.pid, err)
	}
	return nil
}

// set replaces the file, nil for none.
func (m *memory) set(file *os.File) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file != nil {
		m.file.Close()
	}
	m.file = file
}

// ReadMemory implements mem.Memory.
func (m *memory) ReadMemory(buf []byte, addr uint64) (int, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(buf) == 0 {
		return 0, nil
	}
	if m.file == nil {
		return 0, &mem.UnreadableError{Addr: addr, Why: "there is no process"}
	}
	n := 0
	for n < len(buf) {
		at := addr + uint64(n)
		if at < addr || at > math.MaxInt64 {
			return n, &mem.UnreadableError{Addr: at, Why: "not a user address"}
		}
		k, err := unix.Pread(int(m.file.Fd()), buf[n:], int64(at))
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EIO):
			return n, &mem.UnreadableError{Addr: at, Why: "not mapped"}
		case err != nil:
			return n, &mem.UnreadableError{Addr: at, Why: err.Error()}
		case k == 0:
			return n, &mem.UnreadableError{Addr: at, Why: "the process has ended"}
		}
		n += max(k, 0)
	}
	return n, nil
}

// readProc reads a small file of /proc/PID into buf.
func readProc(pid int, name string, buf []byte) (int, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Read(buf)
}
