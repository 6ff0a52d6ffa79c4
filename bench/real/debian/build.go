package debian

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// ErrUnavailable is a source package that can not be had: there is no apt-get, no
// network, or the archive does not have it.
var ErrUnavailable = errors.New("source package not available")

// A Workshop is where programs are built. What was built is found there the next
// time, unless something that it is made from has changed.
//
// Its methods may be called at the same time, but for Build of one and the same program.
type Workshop struct {
	dir  string
	ours string // testdata/real

	sources sync.Map // of a source package's name: a *sync.Mutex, held while it is made ready

	fetching  sync.Mutex // held while apt-get runs
	lists     bool       // the package lists were fetched
	preparing sync.Mutex // held while a package is readied: what it asks the machine the next need not ask
}

// Open is a workshop in dir, for the programs of testdata. It is made a module of its own: the go
// command, which may look for packages of this one meanwhile, does not enter it then, where
// directories come and go.
func Open(dir, testdata string) (*Workshop, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	testdata, err = filepath.Abs(testdata)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module sources\n"), 0o666); err != nil {
		return nil, err
	}
	return &Workshop{dir: dir, ours: testdata}, os.MkdirAll(filepath.Join(dir, "lists", "partial"), 0o777)
}

// Home is the program's directory below testdata.
func (w *Workshop) Home(p Program) string { return filepath.Join(w.ours, p.Name) }

// Spec is the program's specification.
func (w *Workshop) Spec(p Program) string { return filepath.Join(w.Home(p), p.Name+".cons") }

// Args are the program's arguments.
func (w *Workshop) Args(p Program) []string {
	var args []string
	for _, a := range p.Args {
		args = append(args, strings.ReplaceAll(a, "$HERE", w.Home(p)))
	}
	return args
}

// MakeInput makes the program's input in the directory where it is going to run.
func (w *Workshop) MakeInput(p Program, dir string) error {
	return w.shell(dir, p.Input, "HERE="+w.Home(p))
}

// Built is a program that is ready to run.
type Built struct {
	Binary string
	Tree   string // the source package's directory, that of the debug information
	Source string // the file with the structure's operations
}

// Build builds the program with the given optimisation, healthy if there is no fault.
// Each is built in a tree of its own, so that the debug information of each names the
// source that it was built from.
func (w *Workshop) Build(p Program, optimise string, fault *Fault) (Built, error) {
	name, patch := "healthy", ""
	if fault != nil {
		name, patch = fault.Name, fault.patch
	}
	tree := filepath.Join(w.dir, p.Name, name+optimise)
	b := Built{Binary: filepath.Join(tree, p.Binary), Tree: tree, Source: filepath.Join(tree, p.Source)}
	drivers, err := filepath.Glob(filepath.Join(w.Home(p), "*.[ch]"))
	if err != nil {
		return Built{}, err
	}
	stamp := newStamp(prepare[p.Package], p.Make, optimise)
	if err := stamp.files(append(drivers, patch)...); err != nil {
		return Built{}, err
	}
	if stamp.on(tree) {
		return b, nil
	}
	prepared, err := w.prepared(p.Package)
	if err != nil {
		return Built{}, err
	}
	if err := os.RemoveAll(tree); err != nil {
		return Built{}, err
	}
	if err := os.MkdirAll(filepath.Dir(tree), 0o777); err != nil {
		return Built{}, err
	}
	// A tree is large, and few of its files change: those that do must not be
	// written in place. patch does not; the compiler might.
	if err := w.shell("", `cp -al "$FROM" "$TO"`, "FROM="+prepared, "TO="+tree); err != nil {
		return Built{}, err
	}
	if patch != "" {
		if err := w.shell(tree, `patch -s -p1 <"$PATCH"`, "PATCH="+patch); err != nil {
			return Built{}, err
		}
	}
	if err := removeMade(tree, p); err != nil {
		return Built{}, err
	}
	if err := w.shell(tree, p.Make, "HERE="+w.Home(p), "CFLAGS=-g "+optimise); err != nil {
		return Built{}, err
	}
	return b, stamp.put(tree)
}

// removeMade removes what has to be made anew: the program and its source's objects.
func removeMade(tree string, p Program) error {
	object := strings.TrimSuffix(filepath.Base(p.Source), ".c") + ".o"
	return filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if path == filepath.Join(tree, p.Binary) || strings.HasSuffix(path, object) || filepath.Base(path) == stampFile {
			return os.Remove(path)
		}
		return nil
	})
}

// Source is the directory of a source package, ready to be built or tested.
func (w *Workshop) Source(pkg string) (string, error) { return w.prepared(pkg) }

// prepared fetches, unpacks and readies a source package.
func (w *Workshop) prepared(pkg string) (string, error) {
	one, _ := w.sources.LoadOrStore(pkg, new(sync.Mutex))
	one.(*sync.Mutex).Lock()
	defer one.(*sync.Mutex).Unlock()
	tree := filepath.Join(w.dir, "packages", pkg)
	stamp := newStamp(prepare[pkg])
	if stamp.on(tree) {
		return tree, nil
	}
	if err := os.RemoveAll(tree); err != nil {
		return "", err
	}
	if err := os.MkdirAll(tree, 0o777); err != nil {
		return "", err
	}
	if err := w.fetch(pkg); err != nil {
		return "", err
	}
	if err := w.shell(tree, `tar xf "$(ls ../"$PKG"_*.orig.tar.* | grep -v "[.]asc$")" --strip-components 1`, "PKG="+pkg); err != nil {
		return "", err
	}
	w.preparing.Lock()
	defer w.preparing.Unlock()
	if err := w.shell(tree, prepare[pkg]); err != nil {
		return "", err
	}
	return tree, stamp.put(tree)
}

// unavailable is what apt-get says if it is not the caller's mistake.
var unavailable = regexp.MustCompile(`Could not resolve|Unable to connect|Failed to fetch|Temporary failure|apt-get: not found`)

// fetch downloads a source package, with package lists of our own: the machine's
// need not name sources.
func (w *Workshop) fetch(pkg string) error {
	w.fetching.Lock()
	defer w.fetching.Unlock()
	aptGet := fmt.Sprintf(`apt-get -qq -o Dir::Etc::SourceList='%[1]s/sources.list' -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists='%[1]s/lists'`, w.dir)
	script := aptGet + ` source --download-only "$PKG"`
	if !w.lists {
		script = fmt.Sprintf(`echo "deb-src http://deb.debian.org/debian $(. /etc/os-release && echo "$VERSION_CODENAME") main" >'%s/sources.list'
			%s update
			`, w.dir, aptGet) + script
	}
	err := w.shell(filepath.Join(w.dir, "packages"), script, "PKG="+pkg)
	if err != nil && unavailable.MatchString(err.Error()) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	w.lists = err == nil
	return err
}

// shell runs a command in a directory; its output is the error's text.
func (w *Workshop) shell(dir, command string, env ...string) error {
	cmd := exec.Command("sh", "-euc", command)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("in %s: %s: %w\n%s", dir, command, err, out)
	}
	return nil
}

// A stamp is a sum over all that a tree is made from. It is put into the tree last.
type stamp [sha256.Size]byte

const stampFile = ".made-from"

func newStamp(texts ...string) stamp {
	return sha256.Sum256([]byte(strings.Join(texts, "\x00")))
}

func (s *stamp) files(names ...string) error {
	for _, name := range names {
		if name == "" {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		*s = sha256.Sum256(append(s[:], b...))
	}
	return nil
}

func (s *stamp) on(tree string) bool {
	b, err := os.ReadFile(filepath.Join(tree, stampFile))
	return err == nil && string(b) == string(s[:])
}

func (s *stamp) put(tree string) error {
	return os.WriteFile(filepath.Join(tree, stampFile), s[:], 0o666)
}
