package eval_test

import (
	"testing"

	"mgtrace/trace"
)

// What a path from a table to each of its items costs at a check grows as the table does, and
// what is lost is found.
func TestPathsFromOne(t *testing.T) {
	const spec = `
struct item { struct item *next; };
struct table { struct item *slot[64]; };
type table; type item; together table, item;
reach: table T; item E; T ->> E;
`
	cost := func(items int) uint64 {
		w := newWorld(t, spec)
		table := w.alloc("table", 8*64, true)
		var last trace.Addr
		for i := range items {
			item := w.alloc("item", 8, true)
			at := table + trace.Addr(8*(i%64))
			w.put8(item, 0)
			if i >= 64 {
				w.put8(item, uint64(last)) // all further ones in one chain
				at = table + 8*63
			}
			w.put8(at, uint64(item))
			last = item
		}
		if found := w.check(); found != nil {
			t.Fatalf("%d items: %d are lost", items, len(found))
		}
		w.put8(table+8*63, 0) // loses the chain
		if found := w.check(); len(found) != items-63 {
			t.Errorf("%d items: %d are lost, want %d", items, len(found), items-63)
		}
		if all := w.all(); len(all) != items-63 {
			t.Errorf("%d items: %d are lost in all, want %d", items, len(all), items-63)
		}
		return w.c.PathCost()
	}
	small, large := cost(200), cost(2000)
	if large > 20*small {
		t.Errorf("200 items cost %d nodes, 2,000 cost %d", small, large)
	}
}
