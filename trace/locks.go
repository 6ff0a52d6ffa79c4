package trace

import "strings"

// Locks reports whether a writer is a function of the C library that locks, unlocks or
// signals: what it writes is its own object, wherever that lies.
func Locks(writer string) bool {
	for _, prefix := range [...]string{"pthread_", "sem_", "mtx_", "cnd_"} {
		if strings.HasPrefix(writer, prefix) {
			return true
		}
	}
	return false
}
