package trace

import (
	"iter"
	"slices"
)

// located is a block and where its payload lies.
type located struct {
	block
	at int64
}

// blockList is the blocks of a trace in order. Of a long trace whose directory is known, most
// are never asked for: their headers stay as they are.
type blockList struct {
	found []located // in the file; or
	heads []byte    // the headers of all, one behind the other, and
	at    []int64   // where the payload of every listStep-th of these lies
}

const listStep = 64

// listOf is the blocks whose headers those are; the first lies behind the head of the file. It
// returns where the last ends.
func listOf(heads []byte) (l blockList, end int64) {
	l.heads, l.at = heads, make([]int64, 0, len(heads)/blockHeader/listStep+1)
	end = int64(fileHeader)
	for i := range l.len() {
		end += blockHeader
		if i%listStep == 0 {
			l.at = append(l.at, end)
		}
		end += int64(headerLength(heads[i*blockHeader:]))
	}
	return l, end
}

// len is how many there are.
func (l *blockList) len() int { return len(l.found) + len(l.heads)/blockHeader }

// get returns a block.
func (l *blockList) get(i int) located {
	if l.heads == nil {
		return l.found[i]
	}
	at := l.at[i/listStep]
	for k := i / listStep * listStep; k < i; k++ {
		at += int64(headerLength(l.heads[k*blockHeader:])) + blockHeader
	}
	return located{l.header(i), at}
}

// header is a block's header.
func (l *blockList) header(i int) block {
	if l.heads == nil {
		return l.found[i].block
	}
	return knownHeader(l.heads[i*blockHeader:])
}

// kind is a block's.
func (l *blockList) kind(i int) blockType {
	if l.heads == nil {
		return l.found[i].kind
	}
	return blockType(l.heads[i*blockHeader])
}

// count is a block's.
func (l *blockList) count(i int) uint32 {
	if l.heads == nil {
		return l.found[i].count
	}
	return headerCount(l.heads[i*blockHeader:])
}

// all gives all blocks in order.
func (l *blockList) all() iter.Seq2[int, located] {
	if l.heads == nil {
		return slices.All(l.found)
	}
	return func(yield func(int, located) bool) {
		at := int64(fileHeader)
		for i := range l.len() {
			b := located{l.header(i), at + blockHeader}
			if !yield(i, b) {
				return
			}
			at = b.at + int64(b.length)
		}
	}
}
