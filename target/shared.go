package target

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Shared is memory that the process and the tracer have in common: a memfd that the
// process made, of which both map pieces. A forked child runs without them, and no core
// file has them.
type Shared struct {
	p    *Process
	file *os.File
	fd   uint64 // in the process
	size int64
	maps [][]byte
}

// sharedName is what the kernel shows it as.
const sharedName = "mgtrace"

// Share makes shared memory, of which nothing is mapped yet. Call Mapped when all is, and
// Close in the end.
func (p *Process) Share() (*Shared, error) {
	fd, err := p.memfd()
	if err != nil {
		return nil, err
	}
	s := &Shared{p: p, fd: fd}
	if s.file, err = os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", p.PID(), fd), os.O_RDWR, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("shared memory of the process: %w", err), s.Mapped())
	}
	return s, nil
}

// memfd has the process make a memfd, and returns its descriptor there.
func (p *Process) memfd() (fd uint64, err error) {
	page, err := p.Syscall(unix.SYS_MMAP, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
	if err != nil {
		return 0, fmt.Errorf("map memory in the process: %w", err)
	}
	if err := p.WriteMemory([]byte(sharedName+"\x00"), page); err != nil {
		return 0, err
	}
	fd, err = p.Syscall(unix.SYS_MEMFD_CREATE, page, unix.MFD_CLOEXEC)
	if err != nil {
		err = fmt.Errorf("make shared memory in the process: %w", err)
	}
	_, uerr := p.Syscall(unix.SYS_MUNMAP, page, pageSize)
	return fd, errors.Join(err, uerr)
}

// File is the memory: what is mapped first begins at its start.
func (s *Shared) File() *os.File { return s.file }

// Map maps size more bytes into the process, at addr with protection prot, and here,
// where they are valid until Close and can be written. They are zeros.
func (s *Shared) Map(addr, size uint64, prot int) ([]byte, error) {
	if err := s.file.Truncate(s.size + int64(size)); err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	b, err := unix.Mmap(int(s.file.Fd()), s.size, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map the shared memory: %w", err)
	}
	if _, err := s.p.Syscall(unix.SYS_MMAP, addr, size, unix.PROT_NONE,
		unix.MAP_SHARED|unix.MAP_NORESERVE|unix.MAP_FIXED_NOREPLACE, s.fd, uint64(s.size)); err != nil {
		if errors.Is(err, unix.EAGAIN) {
			err = fmt.Errorf("%w: it has locked its memory (mlockall), of which it may not have so much (RLIMIT_MEMLOCK, ulimit -l)", err)
		}
		return nil, errors.Join(fmt.Errorf("map %d MB of shared memory at %#x in the process: %w", size>>20, addr, err), unix.Munmap(b))
	}
	s.size += int64(size)
	s.maps = append(s.maps, b)
	// In a process that has locked what it will map (mlockall) the kernel would have filled it.
	if _, err := s.p.Syscall(unix.SYS_MPROTECT, addr, size, uint64(prot)); err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	for _, advice := range []uint64{unix.MADV_DONTFORK, unix.MADV_DONTDUMP} {
		if _, err := s.p.Syscall(unix.SYS_MADVISE, addr, size, advice); err != nil {
			return nil, fmt.Errorf("shared memory: %w", err)
		}
	}
	return b, nil
}

// Mapped closes the memfd in the process, which has all that it will have of it.
func (s *Shared) Mapped() error {
	_, err := s.p.Syscall(unix.SYS_CLOSE, s.fd)
	return err
}

// Unshare takes out of the stopped process what a tracer that was killed has shared with it.
func (p *Process) Unshare() error {
	maps, err := p.Maps()
	if err != nil {
		return err
	}
	var reqs []SyscallReq
	for _, m := range maps {
		if m.Path == "/memfd:"+sharedName {
			reqs = append(reqs, SyscallReq{Nr: unix.SYS_MUNMAP, Args: [6]uint64{m.Lo, m.Size()}})
		}
	}
	dir := fmt.Sprintf("/proc/%d/fd/", p.PID())
	fds, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("descriptors of the process: %w", err)
	}
	for _, f := range fds {
		to, err := os.Readlink(dir + f.Name())
		if n, e := strconv.Atoi(f.Name()); err == nil && e == nil && strings.HasPrefix(to, "/memfd:"+sharedName+" ") {
			reqs = append(reqs, SyscallReq{Nr: unix.SYS_CLOSE, Args: [6]uint64{uint64(n)}})
		}
	}
	return p.Syscalls(reqs)
}

// Close unmaps what is mapped here. What the process has it keeps.
func (s *Shared) Close() {
	for _, m := range s.maps {
		_ = unix.Munmap(m)
	}
	s.maps = nil
	_ = s.file.Close()
}
