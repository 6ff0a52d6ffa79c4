// Package undo is a log of changes in another process, kept where it outlives their
// maker: if that is killed, whoever has the other end takes them back.
//
//	maker:    l, err := undo.NewWriter(end); n, err := l.Put(description, files…); … change …; l.Drop(n)
//	survivor: kept, err := undo.Follow(end)   // returns when the maker has ended
//
// An entry must be put before its change is made. What it says is the business of
// the one who makes changes of that kind; files that both need to have (memory that
// is shared, a userfaultfd) go with it.
package undo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Pair makes the two ends, of which the child process gets one.
func Pair() (survivor, maker *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("undo log: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "undo log"), os.NewFile(uintptr(fds[1]), "undo log"), nil
}

// most is how many files an entry has at most, its description included.
const most = 4

// A message is the number of an entry, 8 bytes little-endian. With files it is put,
// without it is dropped.
const messageSize = 8

// Writer is the maker's end.
type Writer struct {
	mu   sync.Mutex // the last entry is free when Put begins
	conn *net.UnixConn
	last uint64
}

// NewWriter takes an end over.
func NewWriter(end *os.File) (*Writer, error) {
	conn, err := connection(end)
	if err != nil {
		return nil, err
	}
	return &Writer{conn: conn}, nil
}

func connection(end *os.File) (*net.UnixConn, error) {
	defer end.Close()
	c, err := net.FileConn(end)
	if err != nil {
		return nil, fmt.Errorf("undo log: %w", err)
	}
	return c.(*net.UnixConn), nil
}

// Put adds an entry, and returns its number. On a nil Writer it does nothing.
func (w *Writer) Put(description []byte, files ...*os.File) (uint64, error) {
	if w == nil {
		return 0, nil
	}
	fd, err := unix.MemfdCreate("undo", unix.MFD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("undo log: %w", err)
	}
	text := os.NewFile(uintptr(fd), "undo")
	defer text.Close()
	if _, err := text.Write(description); err != nil {
		return 0, fmt.Errorf("undo log: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	return w.last, w.send(w.last, append([]*os.File{text}, files...))
}

// Drop takes an entry away: its change has been taken back.
func (w *Writer) Drop(n uint64) error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.send(n, nil)
}

// send fails silently when nobody has the other end any more: then nobody is to
// take anything back.
func (w *Writer) send(n uint64, files []*os.File) error {
	fds, err := duplicates(files)
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	if err != nil {
		return fmt.Errorf("undo log: %w", err)
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_, _, err = w.conn.WriteMsgUnix(binary.LittleEndian.AppendUint64(nil, n), rights, nil)
	if err != nil && !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
		return fmt.Errorf("undo log: %w", err)
	}
	return nil
}

// duplicates are descriptors of the files, for the caller to close. (Fd would make the
// files blocking ones, whose Close does not end a Read.)
func duplicates(files []*os.File) (fds []int, err error) {
	for _, f := range files {
		conn, err := f.SyscallConn()
		if err != nil {
			return fds, err
		}
		var e error
		err = conn.Control(func(fd uintptr) {
			var d int
			if d, e = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); e == nil {
				fds = append(fds, d)
			}
		})
		if err = errors.Join(err, e); err != nil {
			return fds, err
		}
	}
	return fds, nil
}

// Gone returns when nobody has the other end any more.
func (w *Writer) Gone() {
	_, _ = w.conn.Read(make([]byte, 1)) // nothing is ever sent this way
}

// Entry is a change that has not been taken back.
type Entry struct {
	Description []byte
	Files       []*os.File
}

// Follow keeps the entries until the maker has ended, and returns those that are
// left, in the order in which they were put. first is told of the first one as it comes.
func Follow(end *os.File, first func(Entry)) ([]Entry, error) {
	conn, err := connection(end)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	kept := map[uint64][]*os.File{}
	for {
		var message [messageSize]byte
		control := make([]byte, unix.CmsgSpace(4*most))
		n, c, _, _, err := conn.ReadMsgUnix(message[:], control)
		if n < messageSize || err != nil {
			if err == nil || errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
				break
			}
			return nil, fmt.Errorf("undo log: %w", err)
		}
		files, err := received(control[:c])
		if err != nil {
			return nil, err
		}
		number := binary.LittleEndian.Uint64(message[:])
		if len(files) > 0 {
			kept[number] = files
			if number == 1 {
				e, err := entryOf(files)
				if err != nil {
					return nil, err
				}
				first(e)
			}
			continue
		}
		closeAll(kept[number])
		delete(kept, number)
	}
	list := make([]Entry, 0, len(kept))
	for _, n := range slices.Sorted(maps.Keys(kept)) {
		e, err := entryOf(kept[n])
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// entryOf reads an entry, whose description is the first of its files.
func entryOf(files []*os.File) (Entry, error) {
	text, err := io.ReadAll(io.NewSectionReader(files[0], 0, 1<<62))
	if err != nil {
		return Entry{}, fmt.Errorf("undo log: %w", err)
	}
	return Entry{text, files[1:]}, nil
}

// received are the files of a message.
func received(control []byte) (files []*os.File, err error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, fmt.Errorf("undo log: %w", err)
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return nil, fmt.Errorf("undo log: %w", err)
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "undo"))
		}
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
