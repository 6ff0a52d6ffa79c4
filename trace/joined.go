package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// segmentPath is the file of a segment of the trace in path.
func segmentPath(path string, n int) string { return fmt.Sprintf("%s.seg-%d", path, n) }

// segmentsOf lists the numbers of the segments that lie beside a trace, in order.
func segmentsOf(path string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var list []int
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".seg-")
		if n, err := strconv.Atoi(rest); ok && err == nil && n > 0 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, nil
}

// removeSegments removes what an earlier recording to the same file has left.
func removeSegments(path string) error {
	list, err := segmentsOf(path)
	for _, n := range list {
		err = errors.Join(err, os.Remove(segmentPath(path, n)))
	}
	return err
}

// joined is several pieces of files, one behind the other.
type joined struct {
	parts []part
	size  int64
}

type part struct {
	file     *os.File
	from     int64 // in the file
	at, size int64 // in the whole
}

func (j *joined) add(f *os.File, from, to int64) {
	j.parts = append(j.parts, part{f, from, j.size, max(0, to-from)})
	j.size += max(0, to-from)
}

// ReadAt implements io.ReaderAt.
func (j *joined) ReadAt(p []byte, off int64) (n int, err error) {
	for i := range j.parts {
		x := &j.parts[i]
		if off >= x.at+x.size || n == len(p) {
			continue
		}
		k := min(int64(len(p)-n), x.at+x.size-off)
		m, err := x.file.ReadAt(p[n:n+int(k)], x.from+off-x.at)
		n, off = n+m, off+int64(m)
		if int64(m) < k {
			return n, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (j *joined) close() error {
	var errs []error
	for _, x := range j.parts {
		errs = append(errs, x.file.Close())
	}
	return errors.Join(errs...)
}

// withSegments reads the trace again with the segments that lie beside it, if it
// is one whose writer has not put them into it: nil if it is not. The file is part
// of the result.
func (t *Reader) withSegments(f *os.File) (*Reader, error) {
	last := t.program.Last
	if last == nil || t.trailer != nil {
		return nil, nil
	}
	numbers, err := segmentsOf(f.Name())
	if err != nil || len(numbers) == 0 {
		return nil, err
	}
	j := &joined{}
	// A segment that was being moved into the file is there in part.
	end, before := t.end, 0
	for _, b := range t.blocks.found {
		if b.kind != blockSegment {
			continue
		}
		if int(b.count) >= numbers[0] {
			end = b.at - blockHeader
			break
		}
		before = int(b.count)
	}
	j.add(f, 0, end)
	var r *Reader
	if err = j.addSegments(f.Name(), last.Ring, before, numbers); err == nil {
		r, err = NewReader(j, j.size)
	}
	if err != nil {
		return nil, errors.Join(err, (&joined{parts: j.parts[1:]}).close())
	}
	r.close = j.close
	return r, nil
}

// addSegments adds the segments of a ring behind segment `before`, 0: the file has none.
// The oldest ones may have been removed since they were listed.
func (j *joined) addSegments(path, ring string, before int, numbers []int) error {
	for _, n := range numbers {
		s, err := os.Open(segmentPath(path, n))
		if errors.Is(err, os.ErrNotExist) && len(j.parts) == 1 {
			continue
		}
		if err == nil && before > 0 && n != before+1 {
			err = errors.Join(fmt.Errorf("%w: segment %d is missing", ErrCorrupt, before+1), s.Close())
		}
		before = n
		if err != nil {
			return err
		}
		info, err := s.Stat()
		if err != nil {
			return errors.Join(err, s.Close())
		}
		j.add(s, int64(fileHeader), info.Size())
		if err := checkSegment(s, ring); err != nil {
			return err
		}
	}
	return nil
}

// checkSegment holds a segment to the ring. One that was killed in its first bytes
// is empty.
func checkSegment(f *os.File, ring string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r := &Reader{r: f, size: info.Size()}
	r.scan()
	if len(r.blocks.found) == 0 {
		return nil
	}
	var s Segment
	if first := r.blocks.found[0]; first.kind != blockSegment || r.decode(first, &s) != nil || s.Ring != ring {
		return fmt.Errorf("%w: %s is of another recording", ErrCorrupt, f.Name())
	}
	return nil
}
