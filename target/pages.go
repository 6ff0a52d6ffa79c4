package target

import (
	"encoding/binary"
	"fmt"
	"os"
)

const pageSize = 4096

// A word of /proc/PID/pagemap tells of a page (Documentation/admin-guide/mm/pagemap.rst).
const (
	pageWord    = 8
	pageOfFile  = 1 << 61 // the file's, or memory that is shared
	pageSwapped = 1 << 62
	pagePresent = 1 << 63
)

// OwnPages lists the pages between two addresses, which are those of pages, that the process
// has for itself: in a private mapping of a file those that were written to.
func (p *Process) OwnPages(lo, hi uint64) ([]uint64, error) { return ownPages(p.PID(), lo, hi) }

func ownPages(tid int, lo, hi uint64) ([]uint64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", tid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	words := make([]byte, (hi-lo)/pageSize*pageWord)
	if _, err := f.ReadAt(words, int64(lo/pageSize*pageWord)); err != nil {
		return nil, fmt.Errorf("pages of process %d: %w", tid, err)
	}
	var own []uint64
	for i := 0; i < len(words); i += pageWord {
		w := binary.LittleEndian.Uint64(words[i:])
		if w&pageSwapped != 0 || w&pagePresent != 0 && w&pageOfFile == 0 {
			own = append(own, lo+uint64(i/pageWord*pageSize))
		}
	}
	return own, nil
}
