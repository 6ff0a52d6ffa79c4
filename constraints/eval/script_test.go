package eval_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// kinds of structure for random histories: nodes of a size, with pointers and
// numbers at offsets.
type shape struct {
	typ      string
	size     uint64
	pointers []uint64
	numbers  []uint64
	variable bool // allocated in several sizes
}

var randomSpecs = map[string]struct {
	text   string
	shapes []shape
}{
	"list": {`
struct dnode { int key; int n; struct dnode *next, *prev; };
type dnode;
dnode.LEN; dnode X; X.LEN = (X.next).LEN + 1;
forth: dnode X, Y; X.next == Y => Y.prev == X;
back:  dnode X; X.prev != NULL => X.prev.next == X;
self:  dnode X; X !->>(next) X;
len:   dnode X; X.n == 3 => X.LEN < 4;
order: dnode X, Y; X ->(next) Y => X.key <= Y.key;
some:  dnode X, Y; X.key == 2 => X.next == Y and Y.key > 0;
only:  dnode X; X.key == 1 => COUNT(dnode Y: Y.key == 1) <= 2;
total: SUM(dnode Y: Y.key) <= 6;
ahead: SUM(dnode Y: Y.n == 1 ? Y.next.key : 0) <= 2;
from:  dnode X; X.n == 2 => SUM(dnode Y: Y.next == X ? Y.key : 0) <= SUM(dnode Y: Y.n);
long:  dnode X; X.n == 1 => SUM(dnode Y: Y.key == 2 ? Y.LEN : 0) <= 3;
deep:  dnode X; X.next.next.key != 3;
in:    dnode X; X.INDEGREE(next) <= 1 and X.INDEGREE <= 2;
dang:  dnode X; X.DANGLING == 0;
live:  dnode X; X.next == NULL or (X.next).EXISTS == TRUE;
check dangling for dnode;
`, []shape{{"dnode", 24, []uint64{8, 16}, []uint64{0, 4}, false}}},
	"coded": {`
struct dnode { int key; int n; struct dnode *next, *prev; };
type dnode;
tag dnode.next ^ ADDRESS >> 12; tag dnode.prev ^ ADDRESS >> 12; tag dnode.prev & 7;
dnode.LEN; dnode X; X.LEN = (X.next).LEN + 1;
forth: dnode X, Y; X.next == Y => Y.prev == X;
back:  dnode X; X.prev != NULL => X.prev.next == X;
self:  dnode X; X !->>(next) X;
len:   dnode X; X.n == 3 => X.LEN < 4;
in:    dnode X; X.INDEGREE(next) <= 1 and X.INDEGREE <= 2;
flag:  dnode X; X.prev.TAG == 0 or X.n > 1;
dang:  dnode X; X.DANGLING == 0;
`, []shape{{"dnode", 24, []uint64{8, 16}, []uint64{0, 4}, false}}},
	"reached": {`
struct entry { struct entry *next; int key; int n; };
struct cache { int count; int most; struct entry *list[2]; };
type cache; type entry edges (next);
tag entry.next ^ ADDRESS >> 12;
enter entry from cache.list;
entry.LEN; entry X; X.LEN = (X.next).LEN + 1;
count: cache C; for I in 0 to 1, (C.list[I]).LEN <= C.count;
keys:  entry X; X.next == NULL or X.next.key >= X.key;
in:    entry X; X.INDEGREE <= 1;
acyc:  entry X, Y; X ->> Y => Y !->> X;
few:   COUNT(entry) <= 3;
`, []shape{{"cache", 24, []uint64{8, 16}, []uint64{0, 4}, false}}},
	"overlapping": {`
struct entry { struct entry *next; int key; int n; struct entry *other; long more; };
struct cache { int count; int most; struct entry *list[2]; };
type cache; type entry edges (next);
tag entry.next ^ ADDRESS >> 12;
enter entry from cache.list;
entry.LEN; entry X; X.LEN = (X.next).LEN + 1;
count: cache C; for I in 0 to 1, (C.list[I]).LEN <= C.count;
keys:  entry X; X.next == NULL or X.next.key >= X.key;
other: entry X, Y; X.other == Y => Y.key <= X.key;
in:    entry X; X.INDEGREE <= 1;
few:   COUNT(entry) <= 3;
`, []shape{{"cache", 24, []uint64{8, 16}, []uint64{0, 4}, false}}},
	"entered": {`
struct page { int key; int n; struct page *next, *prev; };
struct box { struct page *first; int n; int most; };
type page edges (next, prev); type box;
enter page at push(1);
leave page at pop(1);
page.LEN; page X; X.LEN = (X.next).LEN + 1;
list:  page X; X.next == NULL or X.next.prev == X;
keys:  page X, Y; X.next == Y => Y.key >= X.key;
in:    page X; X.INDEGREE <= 2;
acyc:  page X; X !->>(next) X;
box:   box B; B.first == NULL or B.first.n < 3;
live:  page X; X.prev == NULL or (X.prev).EXISTS == TRUE;
few:   COUNT(page X: X.key == 1) <= 2;
`, []shape{{"box", 16, []uint64{0}, []uint64{8, 12}, false}, {"", 96, []uint64{8, 16, 32, 40, 56, 64, 80}, []uint64{0, 4, 24, 28, 48, 52, 72}, false}}},
	"apart": {`
struct page { int key; int n; struct page *next, *prev; struct page *spare; long unread; };
struct box { struct page *first; int n; int most; };
type page edges (next, prev); type box;
enter page at push(1);
leave page at pop(1);
list:  page X; X.next == NULL or X.next.prev == X;
head:  page X; X.prev == NULL or X.prev.next == X;
keys:  page X, Y; X.next == Y => Y.key >= X.key;
in:    page X; X.INDEGREE <= 2;
acyc:  page X; X !->>(next) X;
box:   box B; B.first == NULL or B.first.key < 3;
live:  page X; X.prev == NULL or (X.prev).EXISTS == TRUE;
`, []shape{{"box", 16, []uint64{0}, []uint64{8, 12}, false}, {"", 128, []uint64{8, 16, 24, 48, 56, 64, 88, 96, 104}, []uint64{0, 4, 32, 40, 44, 72, 80, 84, 116}, false}}},
	"tree": {`
struct tree { int key; int h; struct tree *left, *right; };
type tree;
tree.H; tree X; X.H = MAX((X.left).H, (X.right).H) + 1;
tree.BIG DEFAULT 0; tree X; X.key == 3 => X.BIG = 1 || X.BIG = (X.left).BIG;
tree.LOW DEFAULT 7; tree X; X.LOW = MIN(X.key, MIN((X.left).LOW, (X.right).LOW));
shape: tree X; X.INDEGREE == 1 or X.INDEGREE == 0 and COUNT(tree Y: Y.ISROOT == TRUE) <= 2;
acyc:  tree X, Y; X ->> Y => Y !->> X;
bal:   tree X; |(X.left).H - (X.right).H| <= 1;
big:   tree X; X.BIG == 0;
low:   tree X; X.LOW >= 0;
order: tree X, Y; X.left == Y or X.right == Y => Y.key <= X.key;
path:  tree X, Y; X.key == 3 and X ->>(left) Y => Y.key != 1;
pair:  tree X, Y; X.key == 3 and Y.key == 3 => X.h == Y.h;
cond:  tree X; (X.key == 1 ? X.left : X.right) == NULL or (X.key == 1 ? X.left : X.right).h < 3;
nolap: tree X, Y; X.left == Y => X.right != Y;
`, []shape{{"tree", 24, []uint64{8, 16}, []uint64{0, 4}, false}}},
	"arrays": {`
struct entry { unsigned hash; int key; struct entry *next; };
struct table { unsigned n; unsigned count; struct entry **bucket; };
type entry; type table;
ARRAY buckets OF struct entry *;
ARRAY nums OF int;
together table, buckets, entry;
size:  table X; (X.bucket).COUNT == X.n;
first: table X; for I in 0 to X.n - 1, X.bucket[I] != NULL => X.bucket[I].hash % X.n == I;
chain: entry X; X.next != NULL => X.next.hash == X.hash;
reach: entry X; table T; T ->> X;
nums:  nums X; for I in 1 to X.COUNT - 1, X[I] <= X[I + 1];
keys:  buckets X; for I in 1 to X.COUNT, X[I] == NULL or X[I].key < 3;
sum:   nums X; SUM(I in 0 to X.COUNT - 1: X[I + 1]) < 9;
cnt:   COUNT(entry) <= 6;
all:   table X; COUNT(entry Y: Y.key == X.count) <= 2;
in:    entry X; X.INDEGREE == 1;
`, []shape{
		{"entry", 16, []uint64{8}, []uint64{0, 4}, false},
		{"table", 16, []uint64{8}, []uint64{0, 4}, false},
		{"buckets", 24, []uint64{0, 8, 16}, nil, true},
		{"nums", 20, nil, []uint64{0, 4, 8, 12, 16}, true},
	}},
	"rows": {`
struct entry { int key; int used; struct entry *next; };
struct table { int n; int count; struct entry *slots; };
type entry; type table;
ARRAY slots OF struct entry;
together table, slots, entry;
place: table T; for I in 0 to T.n - 1, T.slots[I].used == 1 => T.slots[I].key == I;
chain: table T; for I in 0 to T.n - 1, T.slots[I].next != NULL => T.slots[I].next.key == T.slots[I].key;
count: table T; T.count == SUM(I in 0 to T.n - 1: T.slots[I].used);
size:  table T; T.slots.COUNT == T.n;
next:  entry X; X.next == NULL or X.next.key <= X.key;
twice: entry X; X.next == NULL or X.next.next == NULL or X.next.next.used < 2;
in:    entry X; X.INDEGREE <= 1;
entry.LEN; entry X; X.LEN = (X.next).LEN + 1;
len:   entry X; X.LEN < 4;
reach: entry X; table T; T ->> X or X.used == 0;
`, []shape{
		{"entry", 16, []uint64{8}, []uint64{0, 4}, false},
		{"table", 16, []uint64{8}, []uint64{0, 4}, false},
		{"slots", 48, []uint64{8, 24, 40}, []uint64{0, 4, 16, 20, 32, 36}, true},
	}},
	"pairs": {`
struct item { int key; int at; struct item *name, *rank; };
struct heads { struct item *name, *rank; };
type item;
ARRAY pairs OF struct heads;
ARRAY more OF struct item *;
together pairs, more, item;
named: pairs A; COUNT(item X: A ->>(pairs.name, item.name) X) <= 2;
both:  pairs A; item X; A ->>(pairs, name) X => X.key < 3;
cross: pairs A; item X; A ->>(pairs.name, item.rank) X => X.at < 3;
once:  item X; X.INDEGREE(pairs) + X.INDEGREE(more) <= 1;
more:  more A; item X; A ->>(more) X => X.key == X.at;
keys:  pairs A; for I in 1 to 2 * A.COUNT, A[I] == NULL or A[I].key < 3;
acyc:  item X, Y; X ->>(item.rank) Y => Y !->>(item.rank) X;
`, []shape{
		{"item", 24, []uint64{8, 16}, []uint64{0, 4}, false},
		{"pairs", 32, []uint64{0, 8, 16, 24}, nil, true},
		{"more", 16, []uint64{0, 8}, nil, true},
	}},
	"elements": {`
struct base { int active; int at; };
struct timer { int active; int at; struct timer *next; };
struct slot { int at; int pad; struct base *w; };
struct loop { int n; int count; struct slot *timers; };
type timer; type loop;
ARRAY heap OF struct slot;
together loop, heap;
place: loop L; for I in 0 to L.n - 1, L.timers[I].w == NULL or L.timers[I].w.active == I;
cache: loop L; for I in 0 to L.n - 1, L.timers[I].w != NULL => L.timers[I].w.at == L.timers[I].at;
first: loop L; L.timers == NULL or L.timers.w == NULL or L.timers.w.at <= L.count;
next:  timer X; X.next == NULL or X.next.at >= X.at;
`, []shape{
		{"timer", 16, []uint64{8}, []uint64{0, 4}, false},
		{"loop", 16, []uint64{8}, []uint64{0, 4}, false},
		{"heap", 48, []uint64{8, 24, 40}, []uint64{0, 16, 32}, true},
	}},
	"cells": {`
struct btnode { int leaf; int n; int key[2]; struct btnode *child[3]; };
type btnode;
cells btnode: child[0..n] if leaf == 0;
btnode.LEVEL; btnode X; X.leaf == 0 => X.LEVEL = (X.child[0]).LEVEL + 1 || X.LEVEL = 1;
btnode.BELOW; btnode X; X.BELOW = (X.child[0]).BELOW + (X.child[1]).BELOW + (X.child[2]).BELOW + 1;
below: btnode X; X.key[0] == X.BELOW;
full:  btnode X; X.leaf == 0 => X.OUTDEGREE == X.n + 1;
in:    btnode X; X.INDEGREE <= 1;
level: btnode X; X.leaf == 0 => for I in 1 to X.n, (X.child[I]).LEVEL == (X.child[0]).LEVEL;
sort:  btnode X; for I in 1 to X.n - 1, X.key[I - 1] < X.key[I];
down:  btnode X, Y; X -> Y => Y.n <= X.n;
acyc:  btnode X, Y; X ->> Y => Y !->> X;
`, []shape{{"btnode", 40, []uint64{16, 24, 32}, []uint64{0, 4, 8, 12}, false}}},
	"filled": {`
struct item { int key; int pad; struct item *next; };
struct bag { int n; int from; int some; int pad; struct item **item; int *num; };
type item; type bag;
ARRAY items OF struct item *;
ARRAY nums OF int;
cells bag: item[from..n - 1] if some != 2;
cells bag: num[0..n];
together bag, items, item;
single: item X;  X.INDEGREE(items) <= 1;
reach:  bag B; item X;  X.key == 1 => B ->> X;
owned:  item X;  X.INDEGREE >= 1;
keys:   items A;  for I in 1 to A.COUNT, A[I] == NULL or A[I].key < 3;
via:    bag B;  B.item != NULL => for I in 0 to 5, B.item[I] == NULL or B.item[I].key > 0;
count:  bag B;  B.item.COUNT <= B.n;
nums:   nums X;  for I in 1 to X.COUNT - 1, X[I] <= X[I + 1];
sum:    bag B;  B.n < 3 => SUM(I in 0 to B.n: B.num[I]) < 4;
dang:   items A;  A.DANGLING == 0;
acyc:   item X;  X !->> X;
bag.BEST; bag B;  B.BEST = (B.item == NULL or B.item.COUNT == 0) ? 0 : B.item[0].key;
best:   bag B;  B.BEST < 3;
`, []shape{
		{"item", 16, []uint64{8}, []uint64{0, 4}, false},
		{"bag", 32, []uint64{16, 24}, []uint64{0, 4, 8}, false},
		{"items", 24, []uint64{0, 8, 16}, nil, true},
		{"nums", 20, nil, []uint64{0, 4, 8, 12, 16}, true},
	}},
	"stack": {`
struct stack { int n; int used; long *start, *top, *end; void *mark; };
type stack; ARRAY nums OF long;
order: stack S; S.start <= S.top and S.top <= S.end;
used:  stack S; S.used != 0 => S.top - S.start == S.used;
room:  stack S; S.n > 1 => S.end - S.start >= S.n;
each:  stack S; for I in 0 to S.top - S.start - 1, S.start[I] < 3;
last:  stack S; S.top > S.start => S.top[-1] < 3;
mark:  stack S; S.mark != NULL => S.mark <= S.end;
full:  stack S; S.top != S.end or S.used == 2;
two:   stack S, T; S.start == T.start and S.used > 0 => S.top - T.top < 2;
stack.FREE; stack S; S.start != NULL => S.FREE = S.end - S.top || S.FREE = 0;
free:  stack S; S.FREE != 1;
few:   COUNT(stack S: S.end - S.top >= 0) <= 3;
`, []shape{
		{"stack", 40, []uint64{8, 16, 24, 32, 8, 16, 24}, []uint64{0, 4}, false},
		{"nums", 24, nil, []uint64{0, 8, 16}, true},
		{"", 24, nil, []uint64{0, 8, 16}, true},
	}},
	"pushed": {`
struct item { int key; int at; struct item *next; };
struct stack { int n; int used; struct item **start, **top, **end; };
type stack edges (start); type item; ARRAY slots OF struct item *;
together stack, slots, item;
cells stack: start[0..top - start - 1];
order: stack S; S.start <= S.top and S.top <= S.end;
count: stack S; S.start.COUNT == S.top - S.start;
reach: item X; stack S; S ->> X;
in:    item X; X.INDEGREE <= 1;
keys:  stack S; for I in 0 to S.end - S.start - 1, S.start[I] == NULL or S.start[I].key < 3;
last:  stack S; S.used > 1 => S.top[-1].at == S.top - S.start;
`, []shape{
		{"item", 16, []uint64{8}, []uint64{0, 4}, false},
		{"stack", 32, []uint64{8, 16, 24}, []uint64{0, 4}, false},
		{"slots", 24, []uint64{0, 8, 16}, nil, true},
	}},
	"unread": {`
struct item { int key; int pad; struct item *next; struct item *peer; int last; int tail; char *text; long spare[2]; };
struct chunk { struct chunk *next; long a, b; };
type item edges (next);
order: item X, Y; X.next == Y => Y.key >= X.key;
last:  item X; X.next == NULL or X.next.last < 3;
peers: item X; X.peer == NULL or X.peer.last < 2;
in:    item X; X.INDEGREE <= 1 and X.OUTDEGREE <= 1;
acyc:  item X, Y; X ->> Y => Y !->> X;
item.LEN; item X; X.LEN = (X.next).LEN + 1;
len:   item X; X.LEN < 5;
few:   COUNT(item X: X.key == 2) <= 3;
check dangling for item;
`, []shape{
		{"item", 64, []uint64{8, 16, 40, 48}, []uint64{0, 4, 8, 12, 20, 32, 40, 44, 56}, false},
		{"chunk", 24, []uint64{0, 8}, []uint64{8, 16}, false},
	}},
	"narrow": {`
union cell { struct box *p; long n; };
struct box { union cell u; struct box *left, *right; int h; char name[20]; };
type box edges (left, right);
box.H; box X; X.H = MAX((X.left).H, (X.right).H) + 1;
high: box X; X.h == X.H or X.h == 0;
tree: box X; X.INDEGREE <= 1;
`, []shape{{"box", 48, []uint64{0, 8, 16, 32}, []uint64{0, 4, 12, 20, 24, 28, 36, 44}, false}, {"", 32, []uint64{0, 16}, []uint64{8}, true}}},
	"strays": {`
struct dict { int n; int m; struct slot *slots; struct dict *up; };
struct slot { long key; struct dict *d; };
type dict edges (up);
size: dict X; X.slots == NULL or X.slots.key < 3;
back: dict X; X.slots == NULL or X.slots.d == X or X.n == 0;
`, []shape{{"dict", 24, []uint64{8, 16}, []uint64{0, 4}, false}, {"", 16, []uint64{8}, []uint64{0}, false}}},
	"roots": {roots, []shape{{"node", 24, []uint64{8, 16}, []uint64{0, 4}, false}}},
	"embed": {`
struct link { struct link *next; int key; };
struct doc { int id; int n; struct link root; struct link *first; };
type link; type doc;
embed link in doc at root;
together link, doc;
next:  link X, Y; X.next == Y => Y.key >= X.key;
indeg: link X; X.INDEGREE <= 2;
doc:   doc X; X.first == NULL or X.first.key < 3;
own:   doc X; X.root.next == NULL or X.n > 0;
acyc:  link X; X !->> X;
`, []shape{{"link", 16, []uint64{0}, []uint64{8}, false}, {"doc", 32, []uint64{8, 24}, []uint64{0, 4, 16}, false}}},
	"ways": {`
struct node { int key; int n; struct node *next; struct node *other; };
struct head { struct node *first; struct node *last; };
global head;
type node; type head;
from: node X; X.n < 2 => ::head ->> X;
to:   node X; X.n == 2 => X ->> ::head.last;
deep: node X; X.key == 1 => ::head.first ->>(other) X or ::head.first == X;
hop:  node X; X.key == 2 and X.next != NULL => ::head ->> X.next;
few:  node X; X.n == 1 => COUNT(node Y: ::head ->> Y) <= 4;
none: node X; X.n == 3 => X !->>(other) ::head.first;
some: node X, Y; ::head ->> X and X.key == 3 => Y.n == 0 and Y ->>(next) X;
pin:  node X; X.INDEGREE(next) == (::head.first == X ? 1 : 0);
pins: node X; X.n == 0 => X != ::head.last or X.other == NULL;
pinc: node X; X.key == 0 => COUNT(node Y: Y == ::head.last) == 1;
pinb: node X; (X.key == 2 ? ::head.last : ::head.first) == X => X.n != 1;
`, []shape{{"node", 24, []uint64{8, 16}, []uint64{0, 4}, false}}},
	"buckets": {`
struct node { int key; int n; struct node *next; struct node *other; };
struct head { struct node *slot[2]; };
global head;
type node edges (next, other); type head;
chain: node X; X.INDEGREE(next) + (::head.slot[X.key % 2] == X ? 1 : 0) == 1;
first: node X; ::head.slot[X.key] == X => X.n < 2;
none:  node X; X.n == 3 => for I in 0 to 1, ::head.slot[I] != X;
few:   node X; X.n == 1 => COUNT(node Y: ::head.slot[Y.key % 2] == Y) == 1;
pair:  node X, Y; ::head.slot[Y.key % 2] == X and X ->(next) Y => X.n == Y.n;
reach: node X; X.n == 0 => ::head.slot[0] == X or ::head.slot[0] ->> X;
`, []shape{{"node", 24, []uint64{8, 16}, []uint64{0, 4}, false}}},
	"pool": {`
struct node { int key; int n; struct node *next, *other; };
struct head { struct node *first; int used; struct node cells[5]; };
type node edges (next);
embed node in ::head at cells;
node.LEN; node X; X.LEN = (X.next).LEN + 1;
keys:  node X, Y; X.next == Y => Y.key >= X.key;
in:    node X; X.INDEGREE <= 1;
other: node X; X.other == NULL or X.other.n < 3;
live:  node X; X.next == NULL or (X.next).EXISTS == TRUE;
few:   COUNT(node X: X.key == 1) <= 2;
acyc:  node X, Y; X ->> Y => Y !->> X;
`, []shape{{"node", 24, []uint64{8, 16}, []uint64{0, 4}, false}}},
	"named pool": {`
struct node { int key; int n; struct node *next, *other; };
struct head { struct node *first; int used; struct node cells[5]; };
type node edges (next, other);
embed node in ::head at cells;
len:   node X; ::head.first ->>(next) X => X.n < 3;
first: node X; ::head.first == X => X.key <= ::head.used;
cells: for I in 0 to 4, ::head.cells[I].next == NULL or ::head.cells[I].key < 3;
from:  node X; X.key == 2 => X == ::head.cells[1] or ::head.cells[1] ->> X;
back:  for I in 0 to 4, ::head.cells[I].next.other == ::head.cells[I] or ::head.cells[I].n != 1;
in:    node X; X.INDEGREE <= 2;
some:  node X; X.n == 2 => COUNT(node Y: Y.next == X) <= 1;
`, []shape{{"node", 24, []uint64{8, 16}, []uint64{0, 4}, false}}},
	"slotted": {`
struct node { int key; int room; struct node *next; };
struct table { int room; int n; struct node **slot; struct node *few[2]; struct table *next; };
struct head { struct node **slot; int room; int n; };
global head;
type node; type table edges (next);
ARRAY slots OF struct node *;
own:    node X; ::head.slot[X.key % 3] == X => X.room < 2;
chain:  node X; X.INDEGREE(next) + (::head.slot[X.key % ::head.room] == X ? 1 : 0) <= 1;
mine:   table T; node X; T.slot[X.key] == X => X.room == T.room;
few:    table T; node X; X.room == 1 => T.few[X.key % 2] != X;
behind: table T; node X; T.next != NULL and X.room == 2 => T.next.slot[X.key] != X;
count:  node X; X.room == 3 => COUNT(node Y: ::head.slot[Y.key % 2] == Y) == 1;
room:   node X; X.room < ::head.room or X.key == ::head.n;
node.IN; node X; X.IN = ::head.slot[X.key % 2] == X ? 1 : 0;
in:     node X; X.IN + X.key < 3;
`, []shape{
		{"node", 16, []uint64{8}, []uint64{0, 4}, false},
		{"table", 40, []uint64{8, 16, 24, 32}, []uint64{0, 4}, false},
		{"slots", 24, []uint64{0, 8, 16}, nil, true},
	}},
	"table": {`
struct node { int key; int n; struct node *next; struct fan *fan; };
struct fan { struct node *kid[100]; };
struct head { struct node *slot[99]; struct fan *fan; };
global head;
type node; type fan; type head;
reach: node X; X.n < 2 => ::head ->> X;
kids:  fan F; node X; F ->(kid) X and X.key == 2 => X.n != 3;
in:    node X; X.INDEGREE <= 2;
to:    node X; X.n == 3 => X ->> ::head.fan;
acyc:  node X, Y; X ->> Y => Y !->> X;
`, []shape{{"node", 24, []uint64{8, 16}, []uint64{0, 4}, false}, {"fan", 800, []uint64{0, 8, 400, 408, 792}, nil, false}}},
	"sentinel": {`
struct rb { int red; int key; struct rb *left, *right, *parent; };
struct head { struct rb *nil; struct rb *root; };
type rb edges (left, right); type head;
nil head.nil;
rb.BH DEFAULT 1; rb X; X.BH = (X.left).BH + (X.red == 0 ? 1 : 0);
black: rb X; (X.left).BH == (X.right).BH;
red:   rb X, Y; X.red == 1 and X -> Y => Y.red != 1;
up:    rb X, Y; X.left == Y or X.right == Y => Y.parent == X;
in:    rb X; X.INDEGREE <= 1;
`, []shape{{"rb", 32, []uint64{8, 16, 24}, []uint64{0, 4}, false}, {"head", 16, []uint64{0, 8}, nil, false}}},
	"ring": {ringed, []shape{{"node", 24, []uint64{0, 8}, []uint64{16, 20}, false}, {"queue", 32, []uint64{8, 16}, []uint64{0, 24}, false}}},
	"embedded ring": {ringed + `
embed node in queue at head;
all: node X; X.n < 3;
`, []shape{{"node", 24, []uint64{0, 8}, []uint64{16, 20}, false}, {"queue", 32, []uint64{8, 16}, []uint64{0, 24}, false}}},
	"ring at the front": {foremost, []shape{{"node", 24, []uint64{0, 8}, []uint64{16, 20}, false}, {"queue", 40, []uint64{0, 8, 32}, []uint64{16, 24}, false}}},
	"embedded ring at the front": {foremost + `
embed node in queue at head;
`, []shape{{"node", 24, []uint64{0, 8}, []uint64{16, 20}, false}, {"queue", 40, []uint64{0, 8, 32}, []uint64{16, 24}, false}}},
}

// ringed is the specification of lists that close in a member of what holds them.
const ringed = `
struct node { struct node *next, *prev; int key; int n; };
struct queue { long count; struct node head; };
type node; type queue;
nil queue.head;
node.LEN; node X; X.LEN = (X.next).LEN + 1;
back:  node X; X.next != NULL => X.next.prev == X;
len:   queue Q; (Q.head.next).LEN <= Q.count;
in:    node X; X.INDEGREE <= 1 or X.n == 2;
acyc:  node X, Y; X ->>(next) Y => Y !->>(next) X;
reach: forall node X; exists queue Q; X.key == 2 => Q ->> X;
`

// foremost is ringed where the member is the first of what holds it, so that a pointer to the one has the value of one to the other.
const foremost = `
struct node { struct node *next, *prev; int key; int n; };
struct queue { struct node head; long count; struct queue *other; };
type node; type queue;
nil queue.head;
node.LEN; node X; X.LEN = (X.next).LEN + 1;
back:  node X; X.next != NULL => X.next.prev == X;
len:   queue Q; (Q.head.next).LEN <= Q.count;
other: queue Q; Q.other != NULL => Q.other.count != 3;
in:    node X; X.INDEGREE <= 1 or X.n == 2;
most:  queue Q; Q.INDEGREE <= 1;
reach: queue Q, R; Q ->>(other) R => R.count != 2;
`

// roots is the specification with a declared object, which leads to the list
// that counts.
const roots = `
struct node { int key; int n; struct node *next; struct node *other; };
struct list { struct node *first; int count; };
global head;
type node;
root node from ::head via next;
node.LEN; node X; X.LEN = (X.next).LEN + 1;
keys:  node X, Y; X.next == Y => Y.key >= X.key;
reach: node X; ::head ->>(next) X or ::head == X;
first: node X; ::head == X => X.n != 2;
other: node X; X.other == NULL or X.other.key < 3;
len:   node X; X.LEN <= 3;
few:   node X; X.n == 1 => COUNT(node) <= 4;
acyc:  node X, Y; X ->>(next) Y => Y !->>(next) X;
some:  node X, Y; X.n == 2 => Y.key == 1 and Y.n == 2;
`

// script makes random operations of a kind.
type script struct {
	*world
	r       *rand.Rand
	shapes  []shape
	live    []trace.Addr
	kind    map[trace.Addr]*shape
	dead    []trace.Addr
	wild    int             // 1 in wild pointers leads nowhere good
	coded   map[string]bool // shapes whose pointers are combined with their own addresses, by type
	entries []trace.Addr    // where pointers lead; nil: to all that live
	enters  uint64          // calls make nodes in blocks of no type, and end them: their size; 0: they do not
	over    bool            // these nodes may overlap
	inner   bool            // pointers lead to each word of a block, and to its end
}

func newScript(tb testing.TB, name string, seed uint64) *script {
	s := randomSpecs[name]
	defined := &script{world: newWorld(tb, s.text), r: rand.New(rand.NewPCG(seed, 1)), shapes: s.shapes, kind: map[trace.Addr]*shape{}, wild: 12}
	defined.eager = seed%2 != 0
	switch name {
	case "coded":
		defined.coded = map[string]bool{"dnode": true}
	case "reached", "overlapping": // entries are 16 bytes apart, which is less than an overlapping one has
		defined.coded = map[string]bool{"": true}
		const heap = 0x8000 // an allocator's, with memory for entries in front of the blocks
		defined.apply(trace.Event{Kind: trace.KindMap, Addr: heap, Size: 0x40000})
		k := &shape{"", 16, []uint64{0}, []uint64{8, 12}, false}
		for i := range trace.Addr(8) {
			entry := heap + 16*i
			defined.live = append(defined.live, entry)
			defined.entries = append(defined.entries, entry)
			defined.kind[entry] = k
		}
	}
	switch name {
	case "entered":
		defined.enters, defined.over = 24, true
	case "apart":
		defined.enters = 40
	}
	if name == "pool" || name == "named pool" {
		k := &shape{"", 24, []uint64{8, 16}, []uint64{0, 4}, false}
		for i := range trace.Addr(5) {
			cell := staticMemory + 16 + 24*i
			defined.live = append(defined.live, cell)
			defined.kind[cell] = k
		}
	}
	defined.inner = name == "stack" || name == "pushed"
	switch name {
	case "unread":
		defined.wild = 3 // pointers into the middle read what else is unread
	case "ring", "embedded ring":
		defined.wild = 2 // or lead to the queue's head
	}
	if len(defined.spec.Globals) > 0 {
		head := &shape{"", 16, []uint64{0}, []uint64{8}, false}
		switch name {
		case "ways", "buckets":
			head.pointers, head.numbers = []uint64{0, 8}, nil
		case "slotted":
			head.numbers = []uint64{8, 12}
		case "pool", "named pool":
			head = &shape{"", 136, []uint64{0}, []uint64{8}, false}
		case "table":
			head = &shape{"", 800, []uint64{0, 8, 400, 784, 792}, nil, false}
		}
		defined.global(1, "head", staticMemory, make([]byte, head.size))
		defined.live = append(defined.live, staticMemory)
		defined.kind[staticMemory] = head
	}
	return defined
}

func (s *script) step() {
	if len(s.live) == 0 || len(s.live) < 14 && s.r.IntN(8) == 0 {
		k := &s.shapes[s.r.IntN(len(s.shapes))]
		size := k.size
		if k.variable {
			size = uint64(1+s.r.IntN(int(k.size/8)+1)) * 8
		}
		a := s.alloc(k.typ, size, s.r.IntN(3) > 0)
		s.live = append(s.live, a)
		s.kind[a] = k
		return
	}
	i := s.r.IntN(len(s.live))
	a := s.live[i]
	k := s.kind[a]
	if s.enters > 0 && k.typ == "" && s.r.IntN(4) == 0 {
		off := uint64(s.r.IntN(3)) * s.enters
		if s.over {
			off += uint64(s.r.IntN(8) / 7 * 8)
		}
		s.member(a + trace.Addr(off))
		return
	}
	switch n := s.r.IntN(22); {
	case n >= 20:
		s.bulk(a)
	case n == 0 && s.size[a] > 0:
		s.release(a)
		s.live = slices.Delete(s.live, i, i+1)
		s.dead = append(s.dead, a)
	case n == 1 && k.variable:
		s.resize(a)
	case n < 12 && len(k.pointers) > 0:
		cell := a + trace.Addr(k.pointers[s.r.IntN(len(k.pointers))])
		s.put8(cell, s.pointer(k, cell))
	case len(k.numbers) > 0:
		s.put4(a+trace.Addr(k.numbers[s.r.IntN(len(k.numbers))]), uint32(s.r.IntN(4)))
	}
}

// member makes a node of what lies at an address, or ends it.
func (s *script) member(a trace.Addr) {
	ev := trace.Event{Kind: trace.KindCall, Wall: -1, Thread: 1, PC: 7}
	do, mark := s.h.Enter, 0
	if s.r.IntN(3) == 0 {
		do, mark = s.h.Leave, 1
	}
	if _, err := do(&ev, a, s.enters, mark); err != nil {
		s.tb.Fatal(err)
	}
}

// bulk writes part of an object, or all of it and perhaps beyond, at once: the
// same bytes of another one, zeros, or what nobody knows.
func (s *script) bulk(a trace.Addr) {
	size := s.kind[a].size
	if n := s.size[a]; n > 0 {
		size = n
	}
	lo := uint64(0)
	if s.r.IntN(2) == 0 {
		lo = s.r.Uint64N(size)
	}
	ev := trace.Event{Kind: trace.KindBulk, Addr: a + trace.Addr(lo), Size: 1 + s.r.Uint64N(size+4-lo), Name: "memcpy", Thread: 1}
	if s.r.IntN(6) == 0 {
		ev.Kind, ev.Name = trace.KindUnread, "unreadable"
		s.apply(ev)
		return
	}
	ev.Data = make([]byte, ev.Size)
	from := s.live[s.r.IntN(len(s.live))]
	b := mgpp.Bytes{Data: make([]byte, ev.Size)}
	if s.kind[from] == s.kind[a] && s.h.At(s.h.Now()).Read(from+trace.Addr(lo), &b) {
		copy(ev.Data, b.Data)
	}
	s.apply(ev)
}

func (s *script) resize(a trace.Addr) {
	size := uint64(1+s.r.IntN(3)) * 8
	to := a
	if s.r.IntN(2) == 0 {
		to = s.next
		s.next += 64
		i := slices.Index(s.live, a)
		s.live[i] = to
		s.kind[to] = s.kind[a]
	}
	s.apply(trace.Event{Kind: trace.KindRealloc, Aux: uint64(a), Addr: to, Size: size, Name: "realloc " + s.kind[a].typ, Thread: 1})
	s.size[to] = size
}

// pointer is what a cell is to hold.
func (s *script) pointer(k *shape, cell trace.Addr) uint64 {
	p := uint64(s.place())
	if s.coded[k.typ] {
		p ^= uint64(cell) >> 12
	}
	return p
}

func (s *script) place() trace.Addr {
	to := s.live
	if s.entries != nil {
		to = s.entries
	}
	switch s.r.IntN(4) {
	case 0:
		return 0
	case 1:
		if s.r.IntN(s.wild) == 0 && len(s.dead) > 0 && s.entries == nil {
			return s.dead[s.r.IntN(len(s.dead))]
		}
		if s.r.IntN(s.wild) == 0 {
			return to[s.r.IntN(len(to))] + 8
		}
	}
	a := to[s.r.IntN(len(to))]
	if s.inner && s.kind[a].variable {
		for range 3 { // rather into what another pointer leads into, too
			if b := to[s.r.IntN(len(to))]; s.kind[b].variable {
				a = min(a, b)
			}
		}
		return a + trace.Addr(8*s.r.Uint64N(s.size[a]/8+1))
	}
	if s.enters > 0 && s.kind[a].typ == "" {
		a += trace.Addr(uint64(s.r.IntN(3)) * s.enters)
	}
	return a
}

func each(t *testing.T, seeds int, f func(t *testing.T, s *script)) {
	for name := range randomSpecs {
		seeds := seeds
		if name == "entered" {
			seeds *= 6 // nodes that lie over each other, in many ways
		}
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				s := newScript(t, name, uint64(seed))
				f(t, s)
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}
