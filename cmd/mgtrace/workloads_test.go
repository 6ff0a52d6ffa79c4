package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/bench/real/debian"
	"mgtrace/session/live"
)

// workload is a real program at work, in an empty directory that `setup`, a shell
// script, has filled. $DATA is testdata/workloads.
type workload struct {
	name    string
	command string // words; a space in one is written "\\ ", a part of gcc gcc:NAME
	flags   string // of mgtrace
	stdin   string // a file of $DATA
	data    bool   // data among the code, which is not probed where it looks like stores
	setup   string
	after   string // what it left behind, compared too
	env     []string
}

const (
	gitEnv  = "git init -q -b main . && git config user.name a && git config user.email b && git config commit.gpgsign false && "
	gitRepo = gitEnv + "for i in $(seq 20); do seq $i 400 >f$i; done && git add . && git commit -qm one && " +
		"git checkout -q -b side && sed -i s/77/x/ f1 && git commit -qam side && git checkout -q main && " +
		"sed -i s/399/y/ f1 && seq 9 >g && git add . && git commit -qm main2"
	gitState = "git log --format=%T --all; git fsck 2>&1; git status --short"
)

var workloads = []workload{
	{name: "bash", command: "bash $DATA/script.sh"},
	{name: "perl", command: "perl $DATA/script.pl"},
	{name: "python3", command: "/usr/bin/python3 $DATA/script.py"},
	{name: "python3-suite", command: "/usr/bin/python3 $DATA/suite.py test.test_dict test.test_exceptions",
		setup: "/usr/bin/python3 -c 'import test.test_dict'"},
	{name: "sqlite3", command: "sqlite3 :memory:", stdin: "script.sql", flags: "--module libsqlite3.so.0"},
	{name: "git-merge", command: "git merge -q --no-edit side", setup: gitRepo, after: gitState},
	{name: "git-rebase", command: "git rebase -q main side", setup: gitRepo, after: gitState},
	{name: "git-gc", command: "git gc -q", setup: gitRepo, after: gitState + "; git count-objects"},
	{name: "git-log", command: "git log -p --stat --format=%s", setup: gitRepo},
	{name: "xz", command: "xz -T2 -2 -kc --block-size=300000 /bin/bash", flags: "--module liblzma.so.5"},
	{name: "zstd", command: "zstd -T2 -q -c /bin/bash"},
	{name: "cc1", command: "gcc:cc1 -quiet -O1 t.i -o t.s", setup: "gcc -E $DATA/../engines/threads.c -o t.i", after: "cat t.s"},
	{name: "cc1plus", command: "gcc:cc1plus -quiet -O0 t.ii -o t.s", setup: "g++ -E $DATA/../engines/points.cpp -o t.ii", after: "cat t.s"},
	{name: "exceptions", command: "./exceptions", flags: "--module libstdc++.so.6", setup: "g++ -O2 -pthread -o exceptions $DATA/exceptions.cpp"},
	{name: "static", command: "./exceptions", setup: "g++ -O2 -static -pthread -o exceptions $DATA/exceptions.cpp"},
	{name: "go", command: "./goroutines", setup: "cp $DATA/goroutines.go.txt goroutines.go && go build goroutines.go"},
	{name: "gdb", command: "gdb -nx -batch -ex ptype\\ main -ex info\\ line\\ main ./p", setup: "gcc -g -o p $DATA/../engines/list.c -w"},
	{name: "make", command: "make -j2 -s", setup: `printf 'all: a.o b.o c.o d.o\n\techo done\n%%.o:\n\techo x >$@\n' >Makefile`, after: "ls"},
	{name: "tar", command: "tar czf - --sort=name --mtime=@0 -C /usr/include linux"},
	{name: "find", command: "find /usr/include/linux -name *.h -size +3k -printf %p:%s\\n"},
	{name: "sort", command: "sort --parallel=4 -S 1M -n numbers", setup: "seq 50000 -1 1 >numbers"},
	{name: "vim", command: "vim -u NONE -es -c %s/1/one/g -c sort -c wq!\\ out numbers", setup: "seq 3000 >numbers", after: "cat out"},
	{name: "openssl", command: "openssl enc -aes-256-cbc -pbkdf2 -S 0102030405060708 -k x -in /bin/bash", flags: "--module libcrypto.so.3", data: true},
	{name: "objdump", command: "objdump -d /bin/true"},
	{name: "busybox", command: "busybox awk {a[$1%7]+=$1}END{print(a[3])} numbers", setup: "seq 5000 >numbers"},
}

// TestWorkloads: real programs at work do under the in-process engine what they
// do alone, everything is recorded, and not one store in a million needs a trap.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			w.compare(t)
		})
	}
}

// suites are parts of programs' own test suites: files that print the same each time. (bash's printf asks the clock
// twice, and complains where a second has begun in between.)
var suites = []struct {
	pkg   string   // Debian's source package
	setup string   // in the directory where a test runs; $SOURCE is the package
	env   []string // of its programs
	run   string   // before the test's name
	tests string
}{
	{
		pkg: "bash", run: "bash ./", setup: `cp -r "$SOURCE/tests/." .`, env: []string{"THIS_SH=/bin/bash"},
		tests: "array casemod comsub exportfunc extglob2 histexp lastpipe mapfile posixpat redir set-x type",
	},
	{
		pkg: "perl", run: "perl t/", setup: `mkdir t && ln -s "$SOURCE"/t/* t && ln -s "$SOURCE/installed" lib`, env: []string{"PERL_HASH_SEED=0"},
		tests: "base/lex op/array op/die op/eval op/hash op/method op/read op/ref op/sort op/split op/tiehandle re/regexp",
	},
}

// TestSuites: what holds for workloads holds for programs' own tests.
func TestSuites(t *testing.T) {
	shop := workshop(t)
	for _, s := range suites {
		t.Run(s.pkg, func(t *testing.T) {
			source, err := shop.Source(s.pkg)
			if errors.Is(err, debian.ErrUnavailable) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			suffix := map[string]string{"bash": ".tests", "perl": ".t"}[s.pkg]
			for test := range strings.FieldsSeq(s.tests) {
				w := workload{name: test, command: s.run + test + suffix, setup: s.setup, env: append(s.env, "SOURCE="+source)}
				t.Run(test, func(t *testing.T) {
					t.Parallel()
					w.compare(t)
				})
			}
		})
	}
}

// compare runs a workload alone and recorded.
func (w *workload) compare(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	alone := w.run(t, dir)
	traced := w.run(t, dir, "record", "--engine", "inline", "--discard", "--json")
	if d := cmp.Diff(alone.output, traced.output); d != "" {
		t.Errorf("(-alone +traced):\n%s", head(d, 40))
	}
	// What mgtrace says is the last of standard error.
	said := strings.LastIndex("\n"+traced.errors, "\n{\n")
	if said < 0 {
		t.Fatalf("nothing recorded:\n%s", traced.errors)
	}
	if d := cmp.Diff(alone.errors, traced.errors[:said]); d != "" {
		t.Errorf("standard error (-alone +traced):\n%s", head(d, 40))
	}
	var sum live.Summary
	if err := json.Unmarshal([]byte(traced.errors[said:]), &sum); err != nil {
		t.Fatalf("%v:\n%s", err, traced.errors[said:])
	}
	if want := fmt.Sprintf("exit status %d", alone.status); sum.Exit != want || traced.status != 0 {
		t.Errorf("%s, want %s; mgtrace: %d", sum.Exit, want, traced.status)
	}
	if !sum.Complete || sum.Stores == 0 || sum.Unprobed > 0 && !w.data {
		t.Errorf("recorded %+v", sum)
	}
	// Traps count for returns too: some of libc's writers end in a byte that
	// no jump fits, and these are few.
	if sum.Traps > 1000+sum.Stores/1_000_000 {
		t.Errorf("%d of %d stores by traps", sum.Traps, sum.Stores)
	}
	t.Logf("%d stores, %d traps", sum.Stores, sum.Traps)
}

// ran is what a program wrote and left behind, and its exit status.
type ran struct {
	output, errors string
	status         int
}

// run runs a workload in a directory of its own, under mgtrace if there are
// arguments for that.
func (w *workload) run(t *testing.T, dir string, mgtrace ...string) ran {
	t.Helper()
	data, err := filepath.Abs("testdata/workloads")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cache := os.Getenv("GOCACHE") // where Go's library is compiled already
	if user, err := os.UserCacheDir(); cache == "" && err == nil {
		cache = filepath.Join(user, "go-build")
	}
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.CommandContext(ctx, name, args...)
		c.Dir = filepath.Join(dir, "work")
		c.Env = append(os.Environ(), "HOME="+dir, "DATA="+data, "GIT_CONFIG_NOSYSTEM=1", "GO111MODULE=off", "GOCACHE="+cache, "PYTHONHASHSEED=1", "LC_ALL=C",
			"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000")
		c.Env = append(c.Env, w.env...)
		return c
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "work")), os.Mkdir(filepath.Join(dir, "work"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if out, err := command("sh", "-ec", w.setup).CombinedOutput(); err != nil {
		t.Skipf("%v\n%s", err, out)
	}
	args := w.words(t, data)
	if len(mgtrace) > 0 {
		mgtrace = append(append(mgtrace, strings.Fields(w.flags)...), args[0], "--")
		args = append(append([]string{tool(t)}, mgtrace...), args[1:]...)
	}
	var out, errs bytes.Buffer
	cmd := command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if w.stdin != "" {
		in, err := os.Open(filepath.Join(data, w.stdin))
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		cmd.Stdin = in
	}
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	left, err := command("sh", "-c", w.after).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", w.after, err, left)
	}
	return ran{out.String() + string(left), errs.String(), cmd.ProcessState.ExitCode()}
}

// words are those of the command. The first is the path of a program; one that is
// not there skips the test.
func (w *workload) words(t *testing.T, data string) []string {
	t.Helper()
	const space = "\x00"
	words := strings.Fields(strings.ReplaceAll(w.command, `\ `, space))
	for i := range words {
		words[i] = strings.NewReplacer(space, " ", "$DATA", data).Replace(words[i])
	}
	if part, ok := strings.CutPrefix(words[0], "gcc:"); ok {
		out, err := exec.Command("gcc", "-print-prog-name="+part).Output()
		if words[0] = strings.TrimSpace(string(out)); err != nil || !filepath.IsAbs(words[0]) {
			t.Skipf("no %s: %v", part, err)
		}
	}
	if strings.HasPrefix(words[0], "./") {
		return words // made by the setup
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		t.Skip(err)
	}
	words[0] = path
	return words
}
