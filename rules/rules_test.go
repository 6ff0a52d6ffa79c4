// Package rules holds the packages to the import rules of
// docs/design/architecture.md. It has tests and nothing else.
package rules

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "mgtrace/"

// imports says which packages of this module each package imports, at most. Its
// order is that of the architecture: a package imports only earlier ones.
var imports = []struct {
	pkg  string
	pure bool
	from string
}{
	// Leaves.
	{"parallel", true, ""},
	{"cxxname", true, ""},
	{"types", true, "cxxname"},
	{"x86", true, ""},
	{"objfile/compilertest", false, ""},
	{"objfile/dwarf", true, ""},
	{"objfile", true, "cxxname objfile/dwarf parallel types"},
	// What the two sides share.
	{"trace", true, ""},
	{"flow", true, "trace x86"},
	// Capture.
	{"probe", true, "cxxname objfile parallel trace types x86"},
	{"probe/evidence", true, "cxxname objfile types x86"},
	{"capture", true, "objfile probe trace"},
	{"capture/syscalls", true, ""},
	{"target/mem", true, ""},
	{"target/mem/memtest", true, "target/mem"},
	{"capture/observe", true, "capture capture/syscalls probe target/mem trace x86"},
	{"target/core", true, "target/mem"},
	{"target", false, "target/mem"},
	{"target/undo", false, ""},
	{"bpf", false, "capture capture/syscalls probe trace x86"},
	{"inline/layout", true, "x86"},
	{"inline/matter", true, "inline/layout trace"},
	{"inline/patch", true, "parallel x86"},
	{"inline/emit", true, "inline/layout inline/patch x86"},
	{"inline/hook", true, "capture capture/syscalls inline/layout inline/matter probe x86"},
	{"inline/log", true, "capture inline/layout probe trace x86"},
	{"inline", false, "capture capture/observe inline/emit inline/hook inline/layout inline/log inline/matter inline/patch probe target target/mem target/undo trace x86"},
	{"translate", true, "flow inline/layout trace x86"},
	{"translate/engine", false, "capture capture/observe capture/syscalls flow inline/hook inline/layout inline/log probe target target/mem trace translate x86"},
	{"step", false, "capture capture/observe flow probe target target/mem trace x86"},
	{"doctor", false, "target"},
	// Analysis.
	{"mgpp/coded", true, ""},
	{"mgpp", true, "mgpp/coded trace"},
	{"mgpp/index", true, "mgpp mgpp/coded parallel trace"},
	{"mgpp/infer", true, "trace"},
	{"mgpp/infer/native", true, "flow mgpp/infer trace x86"},
	{"constraints/syntax", true, ""},
	{"constraints/check", true, "constraints/syntax cxxname mgpp/coded types"},
	{"constraints/graph", true, "constraints/check mgpp mgpp/coded parallel trace types"},
	{"constraints/graph/graphtest", true, "constraints/check constraints/graph constraints/syntax mgpp trace types"},
	{"constraints/describe", true, "constraints/graph mgpp mgpp/coded trace types"},
	{"constraints/eval", true, "constraints/check constraints/graph cxxname mgpp mgpp/coded parallel trace types"},
	{"constraints/mine", true, "constraints/check constraints/eval constraints/graph constraints/syntax cxxname mgpp mgpp/coded trace types"},
	{"faultloc", true, "constraints/eval constraints/graph mgpp mgpp/coded trace"},
	{"render/graphviz", true, ""},
	{"render", true, "constraints/check constraints/describe constraints/graph mgpp render/graphviz trace"},
	{"report", true, "cxxname"},
	{"report/page", true, "report"},
	{"report/sarif", true, "report"},
	{"query", true, "cxxname mgpp mgpp/coded render report trace types"},
	{"provenance", true, "flow trace x86"},
	{"replay", true, "x86"},
	{"slice/cfg", true, ""},
	{"slice", true, "slice/cfg"},
	{"slice/tell", true, "report slice"},
	{"slice/native", true, "flow slice slice/cfg x86"},
	{"report/page/browsertest", false, ""},
	// Edges.
	{"session/symbol", true, "constraints/check cxxname objfile slice/cfg target/mem trace types x86"},
	{"session/callers", true, "objfile session/symbol trace x86"},
	{"session/specfile", true, "constraints/check constraints/syntax cxxname objfile probe report session/symbol trace types"},
	{"session/typing", true, "constraints/check cxxname inline/matter mgpp objfile probe probe/evidence report session/symbol target/core target/mem trace types x86"},
	{"session/contents", true, "capture trace"},
	{"session/rerun", true, "constraints/check constraints/eval constraints/graph mgpp mgpp/coded replay session/symbol trace"},
	{"session/analysis", false, "constraints/check constraints/describe constraints/eval constraints/graph cxxname faultloc mgpp mgpp/coded objfile render replay report session/callers session/rerun session/specfile session/symbol session/typing target/core target/mem trace types"},
	{"session/live", false, "bpf capture capture/observe constraints/check flow inline inline/matter objfile probe report session/contents session/specfile session/symbol session/typing step target target/core target/mem target/undo trace translate/engine types"},
	{"session/transient", false, ""},
	{"session/recording", true, "capture constraints/check flow mgpp/index objfile session/contents session/symbol trace"},
	{"session/allocfree", false, "constraints/check flow mgpp/infer mgpp/infer/native objfile probe report session/recording session/transient session/typing trace"},
	{"session/ask", false, "capture constraints/check constraints/graph flow mgpp mgpp/index mgpp/infer probe/evidence query render report session/allocfree session/analysis session/recording session/specfile session/symbol session/transient session/typing trace types x86"},
	{"session/slicing", false, "constraints/describe faultloc flow mgpp objfile query render report session/ask session/recording session/symbol session/transient slice slice/native slice/tell trace x86"},
	{"session/overflow", false, "constraints/check flow objfile probe provenance report session/analysis session/recording session/symbol trace types"},
	{"session/mining", false, "constraints/check constraints/eval constraints/graph constraints/mine constraints/syntax cxxname mgpp objfile probe probe/evidence session/analysis session/recording session/specfile session/symbol session/typing trace types"},
	{"session", false, "constraints/check constraints/graph constraints/mine flow mgpp objfile render report session/allocfree session/analysis session/ask session/live session/mining session/overflow session/recording session/slicing session/specfile session/symbol session/transient session/typing target target/core target/mem trace"},
	{"cmd/mgtrace", false, "doctor probe report report/page report/sarif session session/allocfree session/ask session/live session/recording session/slicing session/specfile target/undo"},
	{"bench/locate", false, "faultloc report session session/analysis"},
	{"bench/mgpp", false, "mgpp session/ask trace"},
	{"bench/real/debian", false, "report"},
	{"bench/real", false, "bench/real/debian report"},
	{"bench/capture", false, "bench/real/debian"},
	{"bench/slice", false, "flow slice slice/native target translate/engine"},
	{"bench/soak", false, ""},
	{"bench/spec", false, "constraints/mine session session/live session/mining"},
	{"rules", false, ""},
}

// impure is what no pure package imports itself. What a library does (the
// compressor of package trace looks at the processor) is its own business.
var impure = []string{"os/exec", "os/signal", "syscall", "net", "golang.org/x/sys/", "golang.org/x/term", "github.com/cilium/ebpf"}

type listed struct {
	ImportPath string
	Imports    []string
	Module     *struct{ Main bool }
	Deps       []string
	GoFiles    []string
	Doc        string
}

// list runs go list on the module.
func list(t *testing.T) map[string]listed {
	t.Helper()
	out, err := goTool(t, nil, "list", "-deps", "-json=ImportPath,Imports,Deps,Module,GoFiles,Doc", "./...")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]listed{}
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var p listed
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		if p.Module != nil && p.Module.Main {
			all[strings.TrimPrefix(p.ImportPath, module)] = p
		}
	}
}

func goTool(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = ".."
	cmd.Env = append(cmd.Environ(), env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = errors.New(err.Error() + ": " + string(exit.Stderr))
	}
	return string(out), err
}

func TestImports(t *testing.T) {
	all := list(t)
	var known []string
	for _, r := range imports {
		p, ok := all[r.pkg]
		if !ok {
			t.Errorf("%s has a rule and does not exist", r.pkg)
			continue
		}
		allowed := strings.Fields(r.from)
		for _, a := range allowed {
			if !slices.Contains(known, a) {
				t.Errorf("the rule of %s: %s does not come before it", r.pkg, a)
			}
		}
		known = append(known, r.pkg)
		for _, i := range p.Imports {
			own, mine := strings.CutPrefix(i, module)
			if mine && !slices.Contains(allowed, own) {
				t.Errorf("%s imports %s", r.pkg, own)
			}
			if r.pure && slices.ContainsFunc(impure, func(bad string) bool { return i == bad || strings.HasPrefix(i, strings.TrimSuffix(bad, "/")+"/") }) {
				t.Errorf("%s is pure and imports %s", r.pkg, i)
			}
		}
	}
	for name := range all {
		if !slices.Contains(known, name) {
			t.Errorf("%s has no rule", name)
		}
	}
}

// TestStrangers: no chain of imports leads from one of a pair to the other.
func TestStrangers(t *testing.T) {
	all := list(t)
	for _, r := range []struct{ a, b string }{
		{"render", "faultloc"}, {"render", "report"}, {"render", "constraints/eval"},
		{"report", "faultloc"}, {"report", "render"}, {"report", "mgpp"},
		{"faultloc", "report"}, {"faultloc", "render"}, {"faultloc", "objfile"},
		{"mgpp", "types"}, {"mgpp", "objfile"},
		{"constraints/eval", "objfile"}, {"constraints/eval", "probe"},
		{"probe", "constraints/syntax"}, {"bpf", "target"}, {"bpf", "mgpp"}, {"target", "bpf"},
	} {
		if slices.Contains(all[r.a].Deps, module+r.b) {
			t.Errorf("%s depends on %s", r.a, r.b)
		}
	}
}

// TestArchitecture: the page of the architecture says what each package is for.
func TestArchitecture(t *testing.T) {
	page, err := os.ReadFile("../docs/design/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range imports {
		if !strings.HasPrefix(r.pkg, "bench/") && !strings.Contains(string(page), "`"+r.pkg+"`") {
			t.Errorf("docs/design/architecture.md does not name %s", r.pkg)
		}
	}
}

// TestAnySystem: the pure packages are right for the compiler where there is no ptrace and no
// eBPF. Types are checked and nothing is compiled, which takes an eighth of the time.
func TestAnySystem(t *testing.T) {
	var pure []string
	for _, r := range imports {
		if r.pure {
			pure = append(pure, "./"+filepath.ToSlash(r.pkg))
		}
	}
	for _, system := range []string{"windows/arm64"} {
		goos, arch, _ := strings.Cut(system, "/")
		loaded, err := packages.Load(&packages.Config{
			Dir: "..",
			Env: append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0"),
			Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
				packages.NeedTypes | packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedSyntax,
		}, pure...)
		if err != nil {
			t.Fatal(err)
		}
		if len(loaded) != len(pure) {
			t.Errorf("%s: %d packages, want %d", system, len(loaded), len(pure))
		}
		packages.Visit(loaded, nil, func(p *packages.Package) {
			for _, e := range p.Errors {
				t.Errorf("%s: %s: %v", system, p.PkgPath, e)
			}
		})
	}
}

// TestDoc: every package says what it is, in doc.go if it has several files.
func TestDoc(t *testing.T) {
	for name, p := range list(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		if first, _, _ := strings.Cut(p.Doc, " "); first != "Package" && first != "Command" {
			t.Errorf("%s does not say what it is: %q", name, p.Doc)
		}
		if len(p.GoFiles) > 1 && !slices.Contains(p.GoFiles, "doc.go") {
			t.Errorf("%s has no doc.go", name)
		}
	}
}
