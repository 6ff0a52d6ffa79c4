package slice

// Node is an op of a step: step<<opBits | op. 0: before the recording.
type Node uint64

// A step has at most 64 ops: a word has a bit for each.
const (
	opBits     = 6
	maxStepOps = 1 << opBits
)

func node(s StepID, op uint16) Node { return Node(uint64(s)<<opBits | uint64(op)) }

// Step is the step that the op is of.
func (n Node) Step() StepID { return StepID(n >> opBits) }

// Op is the number of the op in the step.
func (n Node) Op() uint16 { return uint16(n) & (1<<opBits - 1) }

// shadow has for every byte of memory the op that wrote it last. It is as large as
// twice the memory that was written, eight times where that was done byte by byte;
// not as the run is long.
type shadow struct {
	pages map[uint64]*page
	near  [256]struct { // pages met last, by number
		key uint64 // page number + 1
		p   *page
	}
	floor Node // no writer is older: at a gap, all that was before is forgotten
}

const (
	pageBits = 12
	wordBits = 2
)

// page holds the writers of 4096 bytes, by words of 4 bytes until one is written in part.
type page struct {
	words [1 << (pageBits - wordBits)]Node
	bytes *[1 << pageBits]Node
}

func newShadow() *shadow { return &shadow{pages: map[uint64]*page{}} }

func (s *shadow) page(n uint64) *page {
	c := &s.near[n%uint64(len(s.near))]
	if c.key == n+1 {
		return c.p
	}
	p := s.pages[n]
	if p != nil {
		c.key, c.p = n+1, p
	}
	return p
}

func (p *page) split() {
	p.bytes = new([1 << pageBits]Node)
	for i := range p.bytes {
		p.bytes[i] = p.words[i>>wordBits]
	}
}

// write makes n the writer of a range.
func (s *shadow) write(addr uint64, size uint64, n Node) {
	for size > 0 {
		at := addr & (1<<pageBits - 1)
		k := min(size, 1<<pageBits-at)
		number := addr >> pageBits
		p := s.page(number)
		if p == nil {
			p = &page{}
			s.pages[number] = p
		}
		if p.bytes == nil && (at|k)&3 != 0 {
			p.split()
		}
		if p.bytes != nil {
			for i := at; i < at+k; i++ {
				p.bytes[i] = n
			}
		} else {
			for i := at >> wordBits; i < (at+k)>>wordBits; i++ {
				p.words[i] = n
			}
		}
		addr += k
		size -= k
	}
}

// move gives pages another address: their writers stay. Where they were nothing was written.
func (s *shadow) move(to, from, size uint64) {
	clear(s.near[:])
	for at := uint64(0); at < size; at += 1 << pageBits {
		old, now := (from+at)>>pageBits, (to+at)>>pageBits
		if p := s.pages[old]; p != nil {
			s.pages[now] = p
		} else {
			delete(s.pages, now)
		}
		delete(s.pages, old)
	}
}

// read appends the writers of a range to out, without repetition of neighbours.
func (s *shadow) read(addr uint64, size uint64, out []Node) []Node {
	for size > 0 {
		at := addr & (1<<pageBits - 1)
		k := min(size, 1<<pageBits-at)
		switch p := s.page(addr >> pageBits); {
		case p == nil:
			out = s.put(out, 0)
		case p.bytes != nil:
			for i := at; i < at+k; i++ {
				out = s.put(out, p.bytes[i])
			}
		default:
			for i := at >> wordBits; i <= (at+k-1)>>wordBits; i++ {
				out = s.put(out, p.words[i])
			}
		}
		addr += k
		size -= k
	}
	return out
}

func (s *shadow) put(out []Node, n Node) []Node {
	n = max(n, s.floor)
	if k := len(out); k > 0 && out[k-1] == n {
		return out
	}
	return append(out, n)
}
