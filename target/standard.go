package target

import "golang.org/x/sys/unix"

// closedAtStart has bit N if the standard descriptor N was closed when this process began.
// Go's runtime opens /dev/null for such a one before any Go code runs, and nothing tells it
// from a /dev/null that was given, so entry notes it: the entry point of mgtrace, if it is
// linked so (see Makefile). In other binaries it is 0. The program gets them closed too.
var closedAtStart uint64

// Closed says whether the standard descriptor fd was closed when this process began.
func Closed(fd int) bool { return closedAtStart>>fd&1 != 0 }

// The numbers in entry.
var (
	_ [unix.SYS_FCNTL - 72]struct{}
	_ [72 - unix.SYS_FCNTL]struct{}
	_ [unix.F_GETFD - 1]struct{}
)
