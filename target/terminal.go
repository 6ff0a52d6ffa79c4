package target

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal as it was before the program started. A
// program that is killed by us cannot put it back itself. nil: there is none.
type terminal struct {
	file  *os.File
	modes unix.Termios
	group int // foreground process group; 0: not ours
}

func openTerminal() *terminal {
	file, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	modes, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	if err != nil {
		file.Close()
		return nil
	}
	term := &terminal{file: file, modes: *modes}
	if group, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCGPGRP); err == nil && group == unix.Getpgrp() {
		term.group = group
	}
	return term
}

// restore makes us the foreground again, if we were, and sets the modes that
// have changed. All of it is an attempt: the terminal may be gone.
func (term *terminal) restore() {
	if term == nil {
		return
	}
	// A background group that changes its terminal is stopped by SIGTTOU
	// unless it ignores that.
	if !signal.Ignored(unix.SIGTTOU) {
		signal.Ignore(unix.SIGTTOU)
		defer signal.Reset(unix.SIGTTOU)
	}
	fd := int(term.file.Fd())
	if term.group != 0 {
		_ = unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, term.group)
	}
	if now, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil && *now != term.modes {
		_ = unix.IoctlSetTermios(fd, unix.TCSETS, &term.modes)
	}
}

func (term *terminal) close() {
	if term != nil {
		term.file.Close()
	}
}
