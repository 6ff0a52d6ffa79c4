package slicing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"mgtrace/flow"
	"mgtrace/query"
	"mgtrace/render"
	"mgtrace/report"
	"mgtrace/session/ask"
	"mgtrace/session/recording"
	"mgtrace/session/transient"
	"mgtrace/slice"
	"mgtrace/slice/native"
	"mgtrace/slice/tell"
)

// Options say what slice is asked for, and in what form.
type Options struct {
	Suspect   *report.Suspect // slice from this one; nil: from a criterion
	At        string          // the time at which a cell is looked at
	Forward   bool
	NoAddress bool
	NoControl bool
	All       bool                    // library code line by line
	Most      int                     // statements; 0: all
	Progress  func(done, total int64) // of making the index; nil: none
	ask.Form
}

// slicer is a full recording that can be sliced.
type slicer struct {
	rec    *recording.Recording
	flow   *flow.Reader
	source *native.Source
	x      *slice.Index
	file   *os.File
	unkept error // why the index is not beside the trace; nil: it is
}

// indexPath is where the index of a trace's flow lies: beside it.
func indexPath(trace string) string { return trace + ".slice" }

// openSlicer opens the flow of a trace and its index, which is made first if it is
// not there.
func openSlicer(rec *recording.Recording, progress func(done, total int64)) (*slicer, error) {
	f, err := rec.Flow()
	if err != nil {
		return nil, err
	}
	s := &slicer{rec: rec, flow: f}
	s.source = native.New(f, files{rec.Symbols})
	if err := s.index(indexPath(rec.Path), progress); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *slicer) close() {
	_ = s.flow.Close() // only read from
	if s.file != nil {
		_ = s.file.Close()
	}
}

// key names the flow that an index is of, and how the index was made.
func (s *slicer) key() (k [16]byte) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v %d %d restores=no", s.flow.Head(), s.flow.Insts(), s.flow.Blocks()))
	copy(k[:], sum[:])
	return k
}

// index opens the index, or makes it.
func (s *slicer) index(path string, progress func(done, total int64)) error {
	o := slice.BuildOptions{Key: s.key()}
	if s.open(path, o.Key) == nil {
		return nil
	}
	if total := int64(s.flow.Insts()); progress != nil {
		o.Progress = func(at uint64) { progress(int64(at), total) }
		progress(0, max(total, 1)) // the first reading does not tell how far it is
		defer progress(total, total)
	}
	p, err := slice.NewProgram(s.source)
	if err != nil {
		return err
	}
	if s.source.Damage != nil {
		o.Key = [16]byte{} // it is made again the next time, when that is to be said again
	}
	build := func(f *os.File) error { return slice.BuildIndex(f, p, o) }
	if s.unkept = recording.Replace(path, s.rec.Path, transient.Guard, build); s.unkept == nil {
		return s.open(path, o.Key)
	}
	if err := s.aside(build); err != nil {
		return fmt.Errorf("make the index of the instructions: %w", errors.Join(s.unkept, err))
	}
	return nil
}

// aside makes an index where temporary files are, which nobody else sees: beside the trace
// there is no room for it, or no right to write.
func (s *slicer) aside(build func(*os.File) error) error {
	f, err := os.CreateTemp("", "mgtrace-slice-*")
	if err != nil {
		return err
	}
	s.file = f
	if err := os.Remove(f.Name()); err != nil {
		return err
	}
	if err := build(f); err != nil {
		return err
	}
	return s.read(f)
}

func (s *slicer) open(path string, key [16]byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = s.read(f)
	if err == nil && s.x.Key != key {
		err = slice.ErrIndex
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	s.file = f
	return nil
}

// read reads the index that a file has.
func (s *slicer) read(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	s.x, err = slice.OpenIndex(f, info.Size(), s.source)
	return err
}

// Print tells where a value came from, or what depends on it: of a suspect, of a
// cell as Who takes it, of a register before an execution of an instruction
// (rax@0x401234#3) or at the crash (rax@crash), of the instruction executed at an
// instant (@12345), or of what the program crashed with (crash).
func Print(ctx context.Context, q *ask.Queries, criterion string, o Options) error {
	s, err := openSlicer(q.Recording, o.Progress)
	if err != nil {
		return err
	}
	defer s.close()
	var c start
	if o.Suspect != nil {
		c, err = s.suspect(q.Answers.History(), o.Suspect)
	} else {
		c, err = s.from(ctx, q, criterion, o.At)
	}
	if err != nil {
		return s.explain(err)
	}
	a, err := s.tell(ctx, c, q.Answers.Names, o)
	if err != nil {
		return s.explain(err)
	}
	picture := func(dot bool) ([]byte, error) {
		if dot {
			return a.DOT(), nil
		}
		return render.LayOut(ctx, a.DOT())
	}
	return q.Show(o.Form, picture, func() ask.Answer { return answer{a} })
}

// explain adds to an error what is wrong with the files.
func (s *slicer) explain(err error) error {
	if errors.Is(err, slice.ErrIndex) {
		path := indexPath(s.rec.Path)
		return fmt.Errorf("%s is damaged (%w): delete it, and it is made again", path, err)
	}
	if damage := s.damage(); damage != nil {
		return fmt.Errorf("%w; the instructions end early: %v", err, damage)
	}
	return err
}

// damage is why the instructions end early; nil if they do not.
func (s *slicer) damage() error { return cmp.Or(s.flow.Err(), s.source.Damage) }

// longSlice is how long a slice is computed before debug information is read beside it: a
// short one needs little of that, and would wait for it.
const longSlice = 50 * time.Millisecond

// prepare reads debug information, which telling needs, beside the computation of a long
// slice, the program's own first: of libc it takes as long as a small slice. The function
// that it returns ends that behind the file that is being read.
func (s *slicer) prepare() (end func()) {
	var reader sync.WaitGroup
	enough := make(chan struct{})
	reader.Go(func() {
		select {
		case <-enough:
			return
		case <-time.After(longSlice):
		}
		for _, own := range []bool{true, false} {
			for i := range s.rec.Symbols.Images {
				im := &s.rec.Symbols.Images[i]
				if im.Obj == nil || im.Traced != own {
					continue
				}
				select {
				case <-enough:
					return
				default:
					im.Obj.Prepare()
				}
			}
		}
	})
	return func() {
		close(enough)
		reader.Wait()
	}
}

// tell computes a slice and puts it into words.
func (s *slicer) tell(ctx context.Context, c start, cells *query.Names, o Options) (*report.Slice, error) {
	compute := s.x.Backward
	if o.Forward {
		compute = s.x.Forward
	}
	prepared := s.prepare()
	sl, err := compute(ctx, c.nodes, slice.Options{NoAddress: o.NoAddress, NoControl: o.NoControl})
	prepared()
	if err != nil {
		return nil, err
	}
	a, err := tell.Slice(s.x, sl, names{s.rec.Symbols, cells}, tell.Options{Criterion: c.words, Forward: o.Forward, Most: o.Most, All: o.All})
	if err != nil {
		return nil, err
	}
	if s.source.Unknown > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("%s not in the table of effects: taken to read and write everything", report.Plural(s.source.Unknown, "instruction is", "instructions are")))
	}
	if s.unkept != nil {
		a.Notes = append(a.Notes, fmt.Sprintf("the index is made for each question, it can not be kept: %v", s.unkept))
	}
	if err := s.damage(); err != nil {
		a.Notes = append(a.Notes, fmt.Sprintf("the instructions end early: %v", err))
	}
	return a, nil
}

// Suspects says of the first n suspects of each C-point where their values came from.
// A suspect of which that cannot be said has a warning.
func Suspects(ctx context.Context, rec *recording.Recording, r *report.Report, cells *query.Names, n int, o Options) error {
	s, err := openSlicer(rec, o.Progress)
	if err != nil {
		return err
	}
	defer s.close()
	for i := range r.CPoints {
		su := r.CPoints[i].Suspects
		for k := range su[:min(len(su), n)] {
			c, err := s.suspect(cells.History(), &su[k])
			if err != nil {
				r.Warnings = append(r.Warnings, fmt.Sprintf("no slice: %v", err))
				continue
			}
			if su[k].Slice, err = s.tell(ctx, c, cells, o); err != nil {
				return s.explain(err)
			}
		}
	}
	return nil
}

// answer is a slice that is printed like other answers.
type answer struct{ *report.Slice }

func (a answer) Text(w io.Writer, color bool) error {
	return a.Slice.Text(w, report.TextOptions{Color: color})
}
