package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Attach stores a file under a name.
func (t *Writer) Attach(name string, r io.Reader) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.err != nil:
		return t.err
	case t.done:
		return errFinished
	case t.attached[name]:
		return fmt.Errorf("attach %s: there is one of this name", name)
	case len(name) > pieceBytes:
		return fmt.Errorf("attach: a name of %d bytes", len(name))
	}
	t.attached[name] = true
	buf := make([]byte, pieceBytes)
	for last := false; !last; {
		n, err := io.ReadFull(r, buf)
		last = err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return fmt.Errorf("attach %s: %w", name, err)
		}
		t.writePiece(name, last, buf[:n])
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

func (t *Writer) writePiece(name string, last bool, data []byte) {
	raw := append(binary.AppendUvarint(t.raw[:0], uint64(len(name))), name...)
	if last {
		raw = append(raw, 1)
	} else {
		raw = append(raw, 0)
	}
	t.raw = append(raw, data...)
	t.writeBlock(blockAttachment, 0, t.raw)
}

// Attachments returns the names of the attached files, sorted.
func (t *Reader) Attachments() []string {
	t.findPieces()
	return slices.Sorted(maps.Keys(t.pieces))
}

func (t *Reader) findPieces() {
	if t.pieces != nil {
		return
	}
	if d := t.blocks.known; d != nil {
		t.pieces = d.pieces
		return
	}
	t.pieces = map[string][]int{}
	for i, b := range t.blocks.found {
		if b.kind != blockAttachment {
			continue
		}
		if name, _, _, err := t.piece(b); err == nil {
			t.pieces[name] = append(t.pieces[name], i)
		} else if t.damage == nil {
			t.damage = err
		}
	}
}

// Attachment returns an attached file. If a piece of it is missing the reader
// ends with an error instead of io.EOF.
func (t *Reader) Attachment(name string) (io.Reader, bool) {
	t.findPieces()
	blocks, ok := t.pieces[name]
	return &attachment{t: t, name: name, blocks: blocks}, ok
}

// ReadAttachment returns what an attached file holds; false if it is not there, or not whole.
func (t *Reader) ReadAttachment(name string) ([]byte, bool) {
	t.findPieces()
	blocks, ok := t.pieces[name]
	room := 0
	for _, i := range blocks {
		if b, err := t.blocks.get(i); err == nil {
			room += int(b.raw)
		}
	}
	b := make([]byte, 0, min(room, maxBlock)) // more is believed when it is there
	for _, i := range blocks {
		_, last, data, err := t.pieceAt(i)
		if err != nil {
			return nil, false
		}
		if b = append(b, data...); last {
			return b, ok
		}
	}
	return nil, false
}

// pieceAt is piece of the block of a number.
func (t *Reader) pieceAt(i int) (name string, last bool, data []byte, err error) {
	b, err := t.blocks.get(i)
	if err != nil {
		return "", false, nil, err
	}
	return t.piece(b)
}

// piece decodes an attachment block; data is valid until the next piece.
func (t *Reader) piece(b located) (name string, last bool, data []byte, err error) {
	raw, err := t.payload(b, &t.other)
	if err != nil {
		return "", false, nil, err
	}
	c := cursor{buf: raw}
	name = string(c.take(c.plain()))
	flag := c.take(1)
	if c.bad {
		return "", false, nil, fmt.Errorf("%w: an attachment", ErrCorrupt)
	}
	return name, flag[0] == 1, c.buf, nil
}

// attachment reads the pieces of one file.
type attachment struct {
	t      *Reader
	name   string
	blocks []int // to come
	data   []byte
	err    error
}

func (a *attachment) Read(p []byte) (int, error) {
	for len(a.data) == 0 && a.err == nil {
		a.advance()
	}
	if len(a.data) == 0 {
		return 0, a.err
	}
	n := copy(p, a.data)
	a.data = a.data[n:]
	return n, nil
}

func (a *attachment) advance() {
	if len(a.blocks) == 0 {
		a.err = fmt.Errorf("attachment %s: %w", a.name, ErrTruncated)
		return
	}
	_, last, data, err := a.t.pieceAt(a.blocks[0])
	a.blocks = a.blocks[1:]
	a.data = slices.Clone(data)
	if last {
		err = io.EOF
	}
	a.err = err
}
