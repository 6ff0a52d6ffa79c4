package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// ringWorld is a program with some blocks, one of which is replaced now and then:
// what a ring must tell at the beginning of each segment.
type ringWorld struct {
	live map[Addr]uint64 // address → number of its allocation
	n    uint64          // events written
}

func (x *ringWorld) snapshot(emit func(*Event) bool) (left uint64) {
	full := false
	for a := Addr(0x1000); a < 0x1000+64*0x100; a += 0x100 {
		if n, ok := x.live[a]; ok {
			if full {
				left++
				continue
			}
			full = !emit(&Event{Kind: KindAlloc, Flags: FlagBefore, Addr: a, Size: 64, Name: fmt.Sprint("alloc", n%7), Stack: []Addr{Addr(n % 5)}, Wall: int64(n)})
		}
	}
	return left
}

// step writes one event or run: its content follows from its number alone.
func (x *ringWorld) step(t *testing.T, r *Ring, sites []StoreSite) {
	t.Helper()
	i := x.n
	a := Addr(0x1000 + i*37%64*0x100)
	var err error
	switch _, alive := x.live[a]; {
	case i%3 != 0:
		s := Stores{Thread: 1, Wall: int64(i)}
		for k := range uint64(8) {
			s.Recs = append(s.Recs, StoreRec{Site: uint32((i + k) % uint64(len(sites))), Addr: i * 8, Value: (i + k) * 0x9e3779b97f4a7c15})
		}
		x.n += 8
		err = r.WriteStores(&s)
		for k := range s.Recs {
			if s.Recs[k].Site != uint32((i+uint64(k))%uint64(len(sites))) {
				t.Fatal("the run was changed")
			}
		}
	case alive:
		delete(x.live, a)
		x.n++
		err = r.Write(&Event{Kind: KindFree, Addr: a, Name: "free", Wall: int64(i)})
	default:
		x.live[a] = i
		x.n++
		err = r.Write(&Event{Kind: KindAlloc, Addr: a, Size: 64, Name: fmt.Sprint("alloc", i%7), Stack: []Addr{Addr(i % 5)}, Wall: int64(i)})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func onDisk(t *testing.T, dir string) (bytes int64, files int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			bytes, files = bytes+info.Size(), files+1
		}
	}
	return bytes, files
}

// checkRing reads a ring and holds it to what was written: what was there at the
// beginning of what is kept, then each event up to the end.
func checkRing(t *testing.T, path string, sites []StoreSite, whole bool) (first, end uint64) {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	live := map[Addr]string{}
	var ev Event
	began := false
	for {
		err := r.Next(&ev)
		if err == io.EOF && whole || errors.Is(err, ErrTruncated) && !whole {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == KindBegin {
			if began || first != 0 || ev.Aux != 0 {
				t.Fatalf("begins again: %+v", ev)
			}
			first, end, began = ev.Size, ev.Size, true
			continue
		}
		if ev.Flags&FlagBefore != 0 {
			if began {
				t.Fatalf("was there, after event %d: %+v", end, ev)
			}
			live[ev.Addr] = fmt.Sprint(ev.Name, ev.Stack, ev.Wall)
			continue
		}
		i := end
		end++
		switch ev.Kind {
		case KindStore, KindBulk:
			k := i - uint64(ev.Wall) // its run's first event
			want := StoreRec{Site: uint32(i % uint64(len(sites))), Addr: (i - k) * 8, Value: i * 0x9e3779b97f4a7c15}
			if k > 7 || ev.PC != sites[want.Site].PC || ev.Name != sites[want.Site].Name || uint64(ev.Addr) != want.Addr || binary.LittleEndian.Uint64(ev.Data) != want.Value {
				t.Fatalf("event %d: %+v", i, ev)
			}
		case KindAlloc:
			if _, ok := live[ev.Addr]; ok || ev.Name != fmt.Sprint("alloc", i%7) || ev.Wall != int64(i) || ev.Stack[0] != Addr(i%5) {
				t.Fatalf("event %d: %+v", i, ev)
			}
			live[ev.Addr] = ""
		case KindFree:
			if _, ok := live[ev.Addr]; !ok {
				t.Fatalf("event %d frees %#x, which is not there", i, ev.Addr)
			}
			delete(live, ev.Addr)
		}
	}
	return first, end
}

// TestRing writes a hundred times what the limit allows. At each moment the files
// take less; what is kept can be read whenever the writer is killed, and in the end
// it is one file.
func TestRing(t *testing.T) {
	const limit = 1<<20 + 1<<17
	const known = 600 // of the sites, before the first call is met
	dir := t.TempDir()
	path := filepath.Join(dir, "t.mgt")
	if err := os.WriteFile(path+".seg-99", []byte("of an earlier recording"), 0o666); err != nil {
		t.Fatal(err)
	}
	x := &ringWorld{live: map[Addr]uint64{}}
	r, err := NewRing(path, limit, Program{Path: "prog"}, x.snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Segments(); err != nil {
		t.Fatal(err)
	}
	sites := make([]StoreSite, 700)
	for i := range sites {
		sites[i] = StoreSite{PC: Addr(0x400000 + 16*i), Width: 8}
		if i >= known {
			sites[i] = CallSite(fmt.Sprint("copy", i%3), sites[i].PC, 8)
		}
	}
	know := func() {
		r.SetSites(sites[:known])
		r.AddSites(sites[known : known+10])
		r.AddSites(sites[known+10:])
	}
	know()
	most, written := int64(0), uint64(0)
	for n := 0; x.n < 5_000_000; n++ {
		x.step(t, r, sites)
		if n%512 == 0 {
			bytes, _ := onDisk(t, dir)
			most = max(most, bytes)
		}
		switch {
		case n%150_000 == 77_777:
			// The same sites, as after a dlopen: they have new numbers in the segment.
			know()
		case n%250_000 == 249_999: // as if it were killed here
			if err := r.w.Flush(); err != nil {
				t.Fatal(err)
			}
			first, end := checkRing(t, path, sites, false)
			if end != x.n || n > 300_000 && first == 0 {
				t.Errorf("of %d events %d to %d are kept", x.n, first, end)
			}
			written++
		}
	}
	if most > limit {
		t.Errorf("%d bytes on disk, the limit is %d", most, limit)
	}
	if err := r.Finish(Trailer{Complete: true}); err != nil {
		t.Fatal(err)
	}
	bytes, files := onDisk(t, dir)
	if files != 1 || bytes > limit {
		t.Errorf("%d files of %d bytes in the end", files, bytes)
	}
	first, end := checkRing(t, path, sites, true)
	if end != x.n || first == 0 || bytes < limit/2 {
		t.Errorf("of %d events %d to %d are kept, in %d bytes", x.n, first, end, bytes)
	}
	t.Logf("%d segments, at most %d bytes on disk; %d of %d events kept in %d bytes", r.number, most, end-first, x.n, bytes)
}

// TestRingKilled cuts the files of a ring wherever its writer may be killed.
func TestRingKilled(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t.mgt")
	x := &ringWorld{live: map[Addr]uint64{}}
	r, err := NewRing(path, 1<<20+1<<17, Program{Path: "prog"}, x.snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Segments(); err != nil {
		t.Fatal(err)
	}
	sites := []StoreSite{{PC: 1, Width: 8}, {PC: 2, Width: 8}, {PC: 3, Width: 8}}
	r.SetSites(sites)
	for x.n < 500_000 {
		x.step(t, r, sites)
	}
	if err := r.Abandon(); err != nil {
		t.Fatal(err)
	}
	_, end := checkRing(t, path, sites, false)
	if end != x.n {
		t.Errorf("%d of %d events", end, x.n)
	}
	newest := segmentPath(path, r.number)
	data, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if err := os.WriteFile(newest, data[:len(data)*i/40], 0o666); err != nil {
			t.Fatal(err)
		}
		if first, end := checkRing(t, path, sites, false); end <= first || end > x.n {
			t.Errorf("cut at %d/40: events %d to %d", i, first, end)
		}
	}
	if err := os.WriteFile(newest, data, 0o666); err != nil {
		t.Fatal(err)
	}
	// Killed while the oldest was being moved into the file.
	oldest := r.segs[0]
	moved, err := os.ReadFile(oldest.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	head, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{fileHeader, fileHeader + 10, len(moved) / 2, len(moved)} {
		if err := os.WriteFile(path, append(head[:len(head):len(head)], moved[fileHeader:n]...), 0o666); err != nil {
			t.Fatal(err)
		}
		if first, end := checkRing(t, path, sites, false); end != x.n || first == 0 {
			t.Errorf("moved up to %d: events %d to %d", n, first, end)
		}
	}
	if err := os.Remove(oldest.file.Name()); err != nil {
		t.Fatal(err)
	}
	if first, end := checkRing(t, path, sites, false); end != x.n || first == 0 {
		t.Errorf("moved: events %d to %d", first, end)
	}
	// The one behind it is missing.
	second := r.segs[1].file.Name()
	if err := os.Rename(second, second+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a segment is missing behind the one in the file: %v", err)
	}
	if err := os.Rename(second+".away", second); err != nil {
		t.Fatal(err)
	}
	// What was opened is closed where it can not be read together.
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, whole := range []bool{false, true} {
		first, err := NewReader(f, int64(len(head)))
		if err != nil {
			t.Fatal(err)
		}
		if !whole {
			first.end = 1
		}
		before := descriptors(t, dir)
		both, err := first.withSegments(f)
		if (err == nil) != whole {
			t.Errorf("whole %v: %v", whole, err)
		}
		opened := descriptors(t, dir) - before
		if (opened > 0) != whole {
			t.Errorf("whole %v: %d files are open", whole, opened)
		}
		if whole {
			if err := both.Close(); err != nil { // and f
				t.Error(err)
			}
		}
	}
	// A segment of another recording is not taken for one of this.
	other, err := NewRing(filepath.Join(dir, "o.mgt"), 1<<21, Program{}, x.snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(other.Segments(), other.Abandon(), os.Rename(segmentPath(filepath.Join(dir, "o.mgt"), 1), newest)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a foreign segment: %v", err)
	}
}

// descriptors counts the files of a directory that are open.
func descriptors(t *testing.T, dir string) (n int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	for _, fd := range fds {
		if path, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && filepath.Dir(path) == dir {
			n++
		}
	}
	return n
}

// TestRingSnapshot: where there is no room to tell all that is there, it is told
// how much is missing; and a limit that leaves no room at all is refused.
func TestRingSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.mgt")
	many := func(emit func(*Event) bool) (left uint64) {
		const n = 1_000_000
		for i := range uint64(n) {
			if !emit(&Event{Kind: KindAlloc, Flags: FlagBefore, Addr: Addr(i * i * 0x9e3779b97f4a7c15), Size: i % 777, Wall: int64(i * i)}) {
				return n - i - 1
			}
		}
		return 0
	}
	r, err := NewRing(path, 1<<21, Program{}, many)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Segments(); err != nil {
		t.Fatal(err)
	}
	for i := range 300_000 {
		if err := r.Write(&Event{Kind: KindFree, Addr: Addr(uint64(i*i) * 0x9e3779b97f4a7c15), PC: Addr(uint64(i*i) * 0x2545f4914f6cdd1d), Wall: int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Finish(Trailer{}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var ev Event
	for n := uint64(0); ; n++ {
		if err := f.Next(&ev); err != nil {
			t.Fatal(err)
		}
		if ev.Kind == KindBegin {
			if ev.Aux+n != 1_000_000 || n < 10_000 {
				t.Errorf("%d told, %d left", n, ev.Aux)
			}
			break
		}
	}
	small, err := NewRing(filepath.Join(t.TempDir(), "s.mgt"), 1<<20, Program{}, many)
	if err != nil {
		t.Fatal(err)
	}
	if err := small.Segments(); err == nil {
		t.Error("a megabyte was enough")
	}
}

// The parts of a ring differ in length. What is put into the one file is the newest part
// without a gap, also where there is no room for a long one beside all others.
func TestRingWhole(t *testing.T) {
	const limit = 1<<20 + 1<<17
	path := filepath.Join(t.TempDir(), "t.mgt")
	x := &ringWorld{live: map[Addr]uint64{}}
	r, err := NewRing(path, limit, Program{Path: "prog"}, x.snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Segments(); err != nil {
		t.Fatal(err)
	}
	sites := []StoreSite{{PC: 1, Width: 8}, {PC: 2, Width: 8}, {PC: 3, Width: 8}}
	r.SetSites(sites)
	for i, kb := range []int64{90, 115, 90, 90, 90, 90, 90, 90, 90, 90, 55} {
		if i > 0 {
			if err := r.next(x.snapshot); err != nil {
				t.Fatal(err)
			}
		}
		for r.length() < kb<<10 {
			for range 20 {
				x.step(t, r, sites)
			}
			if err := r.w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if r.number != 11 {
		t.Fatalf("%d segments", r.number)
	}
	if err := r.Finish(Trailer{Complete: true}); err != nil {
		t.Fatal(err)
	}
	first, end := checkRing(t, path, sites, true)
	if first == 0 || end != x.n {
		t.Errorf("events %d to %d of %d", first, end, x.n)
	}
}
