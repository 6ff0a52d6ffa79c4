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

// memory reads and writes the process's memory through /proc/PID/mem. An open one stays
// with the address space it was opened for: it reads on when the first thread
// has ended and others live, and reads nothing of a program executed later.
type memory struct {
	mu   sync.RWMutex
	file *os.File
}

func (t *tracer) openMemory() error {
	t.vdsoCall = 0
	return t.memory.open(t.pid)
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

// WriteMemory writes to the process's memory, read-only pages included: such a
// page becomes the process's own copy. A running process may see parts of it.
func (p *Process) WriteMemory(b []byte, addr uint64) error {
	_, err := p.t.memory.pwrite(addr, b)
	if err == nil {
		return nil
	}
	e := p.do(func() { err = p.t.writeMemory(p.t.live(), addr, b) })
	return errors.Join(e, err)
}

func (t *tracer) writeMemory(tid int, addr uint64, b []byte) error {
	return t.memory.write(tid, addr, b)
}

// write writes on the tracer's thread. Where the kernel does not let
// /proc/PID/mem override protection (proc_mem.force_override), ptrace(2) may.
func (m *memory) write(tid int, addr uint64, b []byte) error {
	n, err := m.pwrite(addr, b)
	if err == nil {
		return nil
	}
	return poke(tid, addr+uint64(n), b[n:])
}

func (m *memory) pwrite(addr uint64, b []byte) (int, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.file == nil {
		return 0, &mem.UnreadableError{Addr: addr, Why: "there is no process"}
	}
	n := 0
	for n < len(b) {
		k, err := unix.Pwrite(int(m.file.Fd()), b[n:], int64(addr+uint64(n)))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return n, fmt.Errorf("write to %#x of the program: %w", addr+uint64(n), err)
		case k == 0:
			return n, ErrExited
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

func (m *memory) isOpen() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.file != nil
}

// readMaps lists what is mapped in the address space of a thread.
func readMaps(tid int) ([]mem.Map, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", tid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return mem.ParseMaps(f)
}
