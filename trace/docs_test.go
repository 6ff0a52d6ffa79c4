package trace

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// TestDocs keeps docs/trace-format.md what the tables say.
func TestDocs(t *testing.T) {
	path := filepath.Join("..", "docs", "trace-format.md")
	want := describeFormat()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("docs/trace-format.md is stale: run go test ./trace -update (-want +got)\n%s", d)
	}
}

func describeFormat() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# The trace format

Generated from the tables in trace/kinds.go and trace/format.go by
`+"`go test ./trace -update`"+`. Do not edit.

A file is the bytes %q, the version (%d; files of version %d, which
have no blocks of allocators, and of version %d, which have none of calls either, are read too) as 32 bits, then blocks to the end.
Numbers of fixed width are little-endian. *Unsigned* is a varint of 7 bits a
byte, lowest first; *difference* is the difference from the value before in the
same column, beginning at 0 in each block, as a zigzag varint.

## Blocks

A block is a header of %d bytes and a payload:

| bytes | content |
|---|---|
| 1 | type |
| 1 | coding of the payload: 0 as it is, 1 zstd |
| 2 | 0 |
| 4 | length of the payload when uncompressed, at most %d |
| 4 | length of the payload in the file, at most %d |
| 4 | count: of events (with stores), of stores, of chunks in an index; 0 in other blocks |
| 4 | CRC-32C of the payload as it is in the file |
| 4 | CRC-32C of the 20 bytes before |

Each block is written as a whole, so a file that ends anywhere is good up to its
last whole block. Types that a reader does not know are skipped. A *chunk* is a
block of events, with the block of stores right before it if it has runs: with the
tables and sites of all blocks before, it can be read alone. While recording the
stores are written uncompressed, and the events of a chunk with runs too unless only the
newest part is kept; packing compresses them and changes nothing else.

Where only the newest part is kept, a file without a trailer goes on in the files
beside it whose names are its own and ".seg-" with a number, in the order of these:
each is the magic, the version, and blocks that begin with that of a segment. They
belong to it if they name its ring. A segment that is in the file as well is read
from its own.

| type | name | payload |
|---|---|---|
`, magic, version, older, oldest, blockHeader, maxBlock, maxBlock)
	for k := blockProgram; k < blockEnd; k++ {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", k, blockSpecs[k].name, blockSpecs[k].doc)
	}
	fmt.Fprintf(&b, storesDoc, maxStores, numCodes-1, slots)
	b.WriteString("\n## Fields\n\nNumbers are unsigned in JSON and text. In the text form an event is its kind, then\n`field=value` for each field that is not zero.\n\n| field | name | meaning | column |\n|---|---|---|---|\n")
	for f := fieldKind; f < numFields; f++ {
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", f, fieldSpecs[f].name, fieldSpecs[f].doc, fieldSpecs[f].coding)
	}
	b.WriteString("\n## Kinds\n\nAll kinds have thread, wall, flags and pc.\n\n| kind | name | meaning | fields |\n|---|---|---|---|\n")
	for k := KindNone + 1; k < kindEnd; k++ {
		var names []string
		for f := fieldKind; f < fieldBytes; f++ {
			if kindSpecs[k].fields.has(f) {
				names = append(names, fieldSpecs[f].name)
			}
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", k, k, kindSpecs[k].doc, strings.Join(names, " "))
	}
	b.WriteString("\n## Flags\n\n| bit | name |\n|---|---|\n")
	for i, name := range flagNames {
		fmt.Fprintf(&b, "| %d | %s |\n", i, name)
	}
	return b.String()
}

const storesDoc = `
## Stores

A store of a run has the thread and wall clock of its run, a site, an address, a
value, and a base if its site wants one. A block has at most %d. Its payload: the
number of stores, the bytes of a site's number (1 to 4), and the lengths of the
last four columns, all unsigned; then the columns:

| column | content |
|---|---|
| codes | one byte for each store: a + 9v + 81m, at most %d |
| sites | if m is 1: the site's number; else it is the one that followed the last site when that was here before |
| addresses | a bytes, 0 to 8: zigzag of the address minus what is predicted: the address of the store before plus the difference that lay there when this site was here before |
| values | v bytes, 0 to 8: exclusive or of the value, or its first 8 bytes, with the one before of this site |
| more | numbers, each a byte with its length, 0 to 8, and that many bytes. For a site with a base in each store: zigzag of the base minus the one before of this site. For a width beyond 8 bytes: each further 8 bytes, exclusive or with the 8 before; what remains in the end as it is |

All numbers are little-endian. What was before is 0 (site 0, address 0) at the
beginning of a block, and is kept by the number of the site modulo %d: sites that
agree in that share it.
`

// TestTables holds the tables to what the code assumes.
func TestTables(t *testing.T) {
	names := map[string]bool{}
	for k := KindNone + 1; k < kindEnd; k++ {
		s := kindSpecs[k]
		if s.name == "" || s.doc == "" || names[s.name] {
			t.Errorf("kind %d: name %q, doc %q", k, s.name, s.doc)
		}
		names[s.name] = true
		if s.fields.has(fieldBase) && !s.fields.has(fieldAddr) {
			t.Errorf("%s has a base without an address", s.name)
		}
	}
}
