package debian

// A Program is a program with a heap data structure, and what makes it work on it.
type Program struct {
	Name      string // its directory below testdata/real
	Package   string // Debian's source package
	Structure string
	Source    string // the file with the structure's operations
	// Make is what builds it in the source package's directory, which Prepare has
	// readied: a shell command that finds compiler flags in $CFLAGS and the program's
	// directory in $HERE.
	Make   string
	Binary string   // what Make makes
	Input  string   // a shell command that makes the input in the working directory
	Args   []string // $HERE is replaced
	Flags  []string // of mgtrace run
	// CPoints is the least number of C-points of a healthy run.
	CPoints int
}

// configure asks the machine the same for each package: the next one finds the answers. Thousands of
// processes are made for that, which are a quarter cheaper if the shell is small.
const configure = `CONFIG_SHELL=/bin/dash dash ./configure -q --cache-file=../config.cache --disable-nls CFLAGS='-g -O2'`

// prepare readies the source packages, in their directories: what all builds share.
var prepare = map[string]string{
	// The generated headers; the rest is made as far as a program needs it.
	"coreutils": `FORCE_UNSAFE_CONFIGURE=1 ` + configure + `
		printf 'include Makefile\nbuilt: $(BUILT_SOURCES)\n' | make -s -f - built
		make -s -j"$(nproc)" src/ls src/tsort`,
	// Debian's package lacks the manual, which other generated files want.
	"bison": configure + `
		printf 'include Makefile\nheaders: $(filter lib/%%,$(BUILT_SOURCES))\n' | make -s -f - pkgdatadir="$PWD/data" headers
		make -s -j"$(nproc)" pkgdatadir="$PWD/data" src/bison`,
	// Debian's patches are newer than what the autotools made of their files.
	"m4": configure + `
		make -s -j"$(nproc)" ACLOCAL=: AUTOMAKE=: AUTOCONF=: AUTOHEADER=: MAKEINFO=: -C lib`,
	// What its tests call.
	"bash": `for p in recho zecho printenv xcase; do gcc -w -I. -Iinclude -o tests/$p support/$p.c; done`,
	// Its tests look for modules in one directory: here are all that are installed.
	"perl": `mkdir installed
		perl -e 'print "$_\n" for grep { -d && m{^/usr/(lib|share)/} } reverse @INC' |
		while read -r d; do cp -rsf "$d/." installed; done`,
}

// Programs are those that are built and tried.
var Programs = []Program{
	{
		Name:      "ls",
		Package:   "coreutils",
		Structure: "linked list: directories still to be listed",
		Source:    "src/ls.c",
		Make:      `make -s CFLAGS="$CFLAGS" src/ls`,
		Binary:    "src/ls",
		Input:     `for d in a b c; do for e in d e f; do mkdir -p tree/$d/$e/g; touch tree/$d/$e/g/file; done; done`,
		Args:      []string{"-R", "tree"},
		CPoints:   2 * 22, // each directory is queued: the root, 3, 9 and 9
	},
	{
		Name:      "tsort",
		Package:   "coreutils",
		Structure: "AVL tree of strings, each with a list of successors",
		Source:    "src/tsort.c",
		Make:      `make -s CFLAGS="$CFLAGS" src/tsort`,
		Binary:    "src/tsort",
		Args:      []string{"$HERE/input"},
		CPoints:   1200,
	},
	{
		Name:      "bison",
		Package:   "bison",
		Structure: "graph of symbols, as lists of neighbours",
		Source:    "src/symtab.c",
		Make:      `make -s CFLAGS="$CFLAGS" src/bison`,
		Binary:    "src/bison",
		Args:      []string{"-Wno-conflicts-rr", "-o", "grammar.c", "$HERE/grammar.y"},
		CPoints:   250,
	},
	{
		Name:      "splay",
		Package:   "libiberty",
		Structure: "splay tree of symbols",
		Source:    "libiberty/splay-tree.c",
		Make: `gcc $CFLAGS -w -Iinclude -DHAVE_STDINT_H -DHAVE_STDLIB_H -DHAVE_STRING_H -DHAVE_UNISTD_H -DHAVE_LIMITS_H \
			-o symbols "$HERE/driver.c" libiberty/splay-tree.c libiberty/xmalloc.c libiberty/xexit.c`,
		Binary:  "symbols",
		Args:    []string{"$HERE/input"},
		CPoints: 800,
	},
	{
		Name:      "cjson",
		Package:   "cjson",
		Structure: "tree of items in doubly-linked lists",
		Source:    "cJSON.c",
		Make:      `gcc $CFLAGS -I. -o edit "$HERE/driver.c" cJSON.c -lm`,
		Binary:    "edit",
		Args:      []string{"$HERE/document.json", "$HERE/commands"},
		CPoints:   80,
	},
	{
		Name:      "libavl",
		Package:   "libavl",
		Structure: "AVL tree with parents, threaded as a list",
		Source:    "avl.c",
		Make:      `gcc $CFLAGS -o setdiff setdiff.c avl.c`,
		Binary:    "setdiff",
		Args:      []string{"$HERE/old", "$HERE/new"},
		CPoints:   600,
	},
	{
		Name:      "m4",
		Package:   "m4",
		Structure: "hash table with sorted chains, and stacks in them",
		Source:    "src/symtab.c",
		Make:      `make -s ACLOCAL=: AUTOMAKE=: AUTOCONF=: AUTOHEADER=: MAKEINFO=: -C src CFLAGS="$CFLAGS" m4`,
		Binary:    "src/m4",
		Args:      []string{"-H", "13", "$HERE/input.m4"},
		CPoints:   2000,
	},
	{
		Name:      "libev",
		Package:   "libev",
		Structure: "heap of timers in an array, four children each",
		Source:    "ev.c",
		Make:      `gcc $CFLAGS -w -I. -o timers "$HERE/driver.c" -lm`,
		Binary:    "timers",
		CPoints:   800,
	},
	{
		Name:      "dict",
		Package:   "redis",
		Structure: "two hash tables of chains, one growing out of the other",
		Source:    "src/dict.c",
		Make:      `gcc $CFLAGS -w -Isrc -o keys "$HERE/driver.c" src/dict.c src/mt19937-64.c`,
		Binary:    "keys",
		CPoints:   1200,
	},
	{
		Name:      "rbtree",
		Package:   "nginx",
		Structure: "red-black tree with a sentinel, and a ring, in the same nodes",
		Source:    "src/core/ngx_rbtree.c",
		Make:      `gcc $CFLAGS -w -I"$HERE" -Isrc/core -o timers "$HERE/driver.c" src/core/ngx_rbtree.c src/core/ngx_queue.c`,
		Binary:    "timers",
		CPoints:   500,
	},
}
