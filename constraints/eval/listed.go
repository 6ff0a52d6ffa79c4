package eval

// listed finds a binding in a list without looking through it: a hash table with open addressing, whose room serves
// again.
type listed struct {
	table []int32 // index in the list + 1, 0: empty; a power of two, at most half full
	shift uint8   // of the hash, to the table's size
}

const leastListed = 6 // bits of a table's size

func (x *listed) home(b *binding) int {
	h := uint64(b.constraint)
	for _, o := range b.nodes {
		h = (h ^ uint64(o)) * 0x9e3779b97f4a7c15
	}
	return int(h >> x.shift)
}

// find reports whether a binding is in the list, of which all were added.
func (x *listed) find(list []binding, b *binding) bool {
	for i, mask := x.home(b), len(x.table)-1; ; i++ {
		switch k := x.table[i&mask]; {
		case k == 0:
			return false
		case list[k-1] == *b:
			return true
		}
	}
}

// fill enters a whole list, and nothing else.
func (x *listed) fill(list []binding) {
	bits := leastListed
	for 1<<bits < 4*len(list) {
		bits++
	}
	if 1<<bits > len(x.table) {
		x.table, x.shift = make([]int32, 1<<bits), uint8(64-bits)
	} else {
		clear(x.table)
	}
	for k := range list {
		x.put(list, k)
	}
}

// add enters the last of a list, of which all others are there already.
func (x *listed) add(list []binding) {
	if 2*len(list) > len(x.table) {
		x.fill(list)
		return
	}
	x.put(list, len(list)-1)
}

func (x *listed) put(list []binding, k int) {
	i, mask := x.home(&list[k]), len(x.table)-1
	for x.table[i&mask] != 0 {
		i++
	}
	x.table[i&mask] = int32(k + 1)
}
