package graph

// index finds the dirt of an object in a list of dirt. It is asked at every store of an object:
// a hash table with open addressing, that is emptied as often as the constraints are checked, at
// the cost of what is in it.
type index struct {
	table []int32 // index + 1, 0: empty; a power of two, at most half full
	shift uint8   // of the hash, to the table's size
}

const leastIndex = 6 // bits of a table's size

func (x *index) home(o ObjID) int { return int(uint64(o) * 0x9e3779b97f4a7c15 >> x.shift) }

// find returns where the dirt of o is in the list, -1: nowhere.
func (x *index) find(list []Dirt, o ObjID) int {
	if len(list) == 0 {
		return -1
	}
	for i, mask := x.home(o), len(x.table)-1; ; i++ {
		switch k := x.table[i&mask]; {
		case k == 0:
			return -1
		case list[k-1].Obj == o:
			return int(k - 1)
		}
	}
}

// add enters the last of a list, of which all others are there already.
func (x *index) add(list []Dirt) {
	if 2*len(list) > len(x.table) {
		bits := leastIndex
		for 1<<bits < 4*len(list) {
			bits++
		}
		x.table, x.shift = make([]int32, 1<<bits), uint8(64-bits)
		for k := range list {
			x.put(list[k].Obj, k)
		}
		return
	}
	x.put(list[len(list)-1].Obj, len(list)-1)
}

func (x *index) put(o ObjID, k int) {
	i, mask := x.home(o), len(x.table)-1
	for x.table[i&mask] != 0 {
		i++
	}
	x.table[i&mask] = int32(k + 1)
}

// empty takes out all of a list. What stands together is emptied from the place at which an
// object belongs to the end, and each stands between that place and that end.
func (x *index) empty(list []Dirt) {
	if 8*len(list) > len(x.table) {
		clear(x.table)
		return
	}
	mask := len(x.table) - 1
	for k := range list {
		for i := x.home(list[k].Obj); x.table[i&mask] != 0; i++ {
			x.table[i&mask] = 0
		}
	}
}
