package probe

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mgtrace/objfile"
	"mgtrace/parallel"
	"mgtrace/trace"
	"mgtrace/x86"
)

// Options are what planning needs from outside the files.
type Options struct {
	// Resolve calls an IFUNC resolver in the stopped process and returns the
	// chosen function, as a virtual address of the same image. nil: IFUNCs are
	// not captured, with a warning.
	Resolve func(im *Image, resolver uint64) (uint64, error)
	// Source reads a source file for its ##C-POINT marks. nil: there are none.
	Source func(path string) ([]byte, error)
	// InProcess plans for an engine that moves instructions out of the way:
	// it can take any of them, reads a written value right behind its store,
	// and has no uretprobes. Otherwise the plan is for the kernel's probes.
	InProcess bool
}

// probeable says whether the engine can take the instruction at the start of
// code, and why not.
func (o *Options) probeable(code []byte) (ok bool, reason string) {
	if o.InProcess {
		_, err := x86.Decode(code, 0)
		return err == nil, "not a known instruction"
	}
	return x86.KernelProbeable(code)
}

// Build plans the capture of a request. images are the program and the
// libraries that are mapped with it, the program first; those that the request
// names in Modules, the program, and those that are Traced already have their
// stores captured.
func Build(req Request, images []*Image, o Options) (*Plan, error) {
	if len(images) == 0 {
		return nil, errors.New("no program to plan for")
	}
	b := &builder{request: req, options: o, ids: map[watchKey]trace.FuncID{}, exitsOf: map[exitsKey][]Site{}, plan: Plan{Inlined: map[trace.FuncID][]Instance{}}}
	if err := b.takeImages(images); err != nil {
		return nil, err
	}
	b.sweepImages()
	if err := errors.Join(b.planFuncs(), b.planLocals(), b.planWatched(), b.planLines(), b.planMarks()); err != nil {
		return nil, err
	}
	b.planLandings()
	for i := range b.plan.Images {
		if b.plan.Images[i].Traced {
			b.planStores(i)
			b.planStacks(i)
		}
	}
	b.planOperations()
	b.plan.Globals, b.plan.Inside = slices.Clone(req.Globals), req.Inside
	b.sort()
	b.markPlain()
	return &b.plan, nil
}

// builder collects a plan.
type builder struct {
	request Request
	options Options
	plan    Plan
	sweeps  []*sweep // by image; nil where its code is not needed
	library [][]bool // by image and range: code of the C library in a static program
	ids     map[watchKey]trace.FuncID
	exitsOf map[exitsKey][]Site
}

// takeImages copies the images and marks those that are traced.
func (b *builder) takeImages(images []*Image) error {
	for _, im := range images {
		c := *im
		b.plan.Images = append(b.plan.Images, &c)
	}
	b.plan.Images[0].Traced = true
	b.sweeps = make([]*sweep, len(images))
	b.library = make([][]bool, len(images))
	var errs []error
	for _, m := range b.request.Modules {
		found := false
		for _, im := range b.plan.Images {
			if matchesModule(im.Path, m) {
				im.Traced, found = true, true
			}
		}
		if !found {
			errs = append(errs, fmt.Errorf("the program does not load a module %q; it loads %s", m, b.modules()))
		}
	}
	return errors.Join(errs...)
}

// matchesModule: a path, or a base name with or without its version:
// "libfoo.so.1", "libfoo.so", "libfoo".
func matchesModule(path, module string) bool {
	base := filepath.Base(path)
	rest, ok := strings.CutPrefix(base, module)
	return path == module || ok && (rest == "" || rest[0] == '.')
}

func (b *builder) modules() string {
	var names []string
	for _, im := range b.plan.Images[1:] {
		names = append(names, filepath.Base(im.Path))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// sweepImages decodes the code of the traced images.
func (b *builder) sweepImages() {
	parallel.Do(len(b.plan.Images), func(i int) { // what files keep once it has been asked for
		im := b.plan.Images[i]
		im.File.FuncsLinked(func(string) bool { return false })
		if im.Traced || b.options.InProcess {
			im.File.CodeRanges()
		}
	})
	for i, im := range b.plan.Images {
		if im.Traced {
			b.sweeps[i] = newSweep(im.File, b.wanted(i))
			b.library[i] = make([]bool, len(b.sweeps[i].ranges))
			if _, guessed := im.File.CodeRanges(); guessed {
				b.warn("%s: no function boundaries known: whole sections are taken for code", im.Path)
			}
		}
	}
}

// code returns the decoded code of an image that may not be traced.
func (b *builder) code(image int) *sweep {
	if b.sweeps[image] == nil {
		b.sweeps[image] = &sweep{file: b.plan.Images[image].File}
	}
	return b.sweeps[image]
}

func (b *builder) warn(format string, args ...any) {
	b.plan.Warnings = append(b.plan.Warnings, fmt.Sprintf(format, args...))
}

// sort gives the plan its order: by image and address, warnings as they came.
func (b *builder) sort() {
	p := &b.plan
	slices.SortStableFunc(p.Stores, func(x, y Store) int { return compareSites(x.Site, y.Site) })
	slices.SortStableFunc(p.Funcs, func(x, y Func) int {
		return cmp.Or(compareSites(x.Entry, y.Entry), cmp.Compare(frameFirst(x.Role), frameFirst(y.Role)))
	})
	slices.SortFunc(p.Landings, compareSites)
	p.Landings = slices.Compact(p.Landings)
	slices.SortFunc(p.Stacks, compareSites)
	slices.SortStableFunc(p.Points, func(x, y Point) int { return compareSites(x.Site, y.Site) })
	slices.SortStableFunc(p.Unprobed, func(x, y Unprobed) int { return compareSites(x.Site, y.Site) })
	for i := range p.Points {
		p.Points[i].ID = trace.PointID(i + 1)
	}
	p.Warnings = compact(p.Warnings)
}

// frameFirst puts a function's frame before its call: it is there before that begins, and ends after it.
func frameFirst(r Role) int {
	if r == RoleFrame {
		return -1
	}
	return int(r)
}

func compareSites(x, y Site) int {
	return cmp.Or(cmp.Compare(x.Image, y.Image), cmp.Compare(x.Addr, y.Addr))
}

// compact drops repetitions, keeping the order.
func compact(list []string) []string {
	seen := map[string]bool{}
	out := list[:0]
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// traced lists the indices of the images whose stores are captured, the
// program first.
func (b *builder) traced() []int {
	var list []int
	for i, im := range b.plan.Images {
		if im.Traced {
			list = append(list, i)
		}
	}
	return list
}

// find returns the functions that a pattern names: in traced images, else in
// any.
func (b *builder) find(pattern string) (found []located) {
	for _, traced := range [...]bool{true, false} {
		for i, im := range b.plan.Images {
			if im.Traced != traced || i > 0 && strings.HasPrefix(pattern, "0x") {
				continue
			}
			for _, fn := range im.File.FuncsNamed(pattern) {
				found = append(found, located{i, fn})
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return found
}

// located is a function of an image.
type located struct {
	image int
	fn    objfile.Func
}
