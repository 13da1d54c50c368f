package importer

import (
	"bytes"
	"errors"
	"io"
)

const (
	maxLineBytes = 1 << 20   // more than the server takes of one
	blockBytes   = 256 << 10 // read at once
)

// A position is between two lines, or at an end of the file.
type position struct {
	Offset int64 `json:"offset"` // bytes of the file before it
	Line   int64 `json:"line"`   // the number of the line that is read next there
}

// lines reads the lines of a file from the first to the last, or backwards. It holds a block of the
// file, or more if a line is longer.
//
//	            forwards                                  backwards
//	┌──────────┬─────────────┬───────┐      ┌───────┬─────────────┬──────────┐
//	│ read     │ held        │       │      │       │        held │ read     │
//	└──────────┴─────────────┴───────┘      └───────┴─────────────┴──────────┘
//	     at.Offset, heldAt                        heldAt      at.Offset
type lines struct {
	file      io.ReaderAt
	size      int64
	block     int // bytes that are read at once
	longest   int // bytes of a line whose text is kept
	backwards bool
	at        position
	buffer    []byte
	held      []byte // of the file: a part of buffer, which begins at the same byte if backwards
	heldAt    int64  // the offset of held
}

// A line is one line of a file, without the spaces around it. Of a line that is too long there is
// no text.
type line struct {
	number  int64
	text    []byte // valid until the next call
	tooLong bool
}

// linesFrom returns the lines of a file that are read from at on.
func linesFrom(file io.ReaderAt, size int64, at position, backwards bool) *lines {
	return &lines{file: file, size: size, block: blockBytes, longest: maxLineBytes, backwards: backwards, at: at, heldAt: at.Offset}
}

// countLines returns how many lines a file has.
func countLines(file io.ReaderAt, size int64) (n int64, err error) {
	block, last := make([]byte, blockBytes), byte('\n')
	for at := int64(0); at < size; {
		read := block[:min(blockBytes, size-at)]
		if err := readFull(file, read, at); err != nil {
			return 0, err
		}
		n += int64(bytes.Count(read, []byte{'\n'}))
		at, last = at+int64(len(read)), read[len(read)-1]
	}
	if last != '\n' {
		n++
	}
	return n, nil
}

// readFull reads all of p. If the file is shorter than it was, the error is io.ErrUnexpectedEOF.
func readFull(file io.ReaderAt, p []byte, at int64) error {
	n, err := file.ReadAt(p, at)
	switch {
	case n == len(p):
		return nil
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

// byteOrderMark may begin a file made on Windows.
var byteOrderMark = []byte("\ufeff")

// errLong is the error of a line of which the text was not kept.
var errLong = errors.New("the line is too long")

// next returns the next line, io.EOF after the last one.
func (l *lines) next() (line, error) {
	read, step, find := line{number: l.at.Line}, int64(1), l.nextLine
	if l.backwards {
		step, find = -1, l.previousLine
	}
	start := l.at.Offset
	raw, err := find()
	if read.tooLong = errors.Is(err, errLong) || len(raw) > l.longest; err != nil && !read.tooLong {
		return line{}, err
	}
	l.at.Line += step
	if min(start, l.at.Offset) == 0 {
		raw = bytes.TrimPrefix(raw, byteOrderMark)
	}
	if !read.tooLong {
		read.text = bytes.TrimSpace(raw)
	}
	return read, nil
}

func (l *lines) nextLine() ([]byte, error) {
	if l.at.Offset == l.size {
		return nil, io.EOF
	}
	for searched := 0; ; {
		if end := bytes.IndexByte(l.held[searched:], '\n'); end >= 0 {
			return l.takeFirst(searched + end + 1), nil
		}
		if searched = len(l.held); l.heldAt+int64(searched) == l.size {
			return l.takeFirst(searched), nil
		}
		if searched > l.longest {
			return nil, l.skipForwards()
		}
		if err := l.holdAfter(); err != nil {
			return nil, err
		}
	}
}

// skipForwards drops what is held and all that follows up to the end of the line.
func (l *lines) skipForwards() error {
	for {
		l.takeFirst(len(l.held))
		if l.at.Offset == l.size {
			return errLong
		}
		if err := l.holdAfter(); err != nil {
			return err
		}
		if end := bytes.IndexByte(l.held, '\n'); end >= 0 {
			l.takeFirst(end + 1)
			return errLong
		}
	}
}

// takeFirst takes the first n bytes of what is held.
func (l *lines) takeFirst(n int) (taken []byte) {
	taken, l.held = l.held[:n], l.held[n:]
	l.heldAt += int64(n)
	l.at.Offset = l.heldAt
	return taken
}

// holdAfter reads the block after what is held.
func (l *lines) holdAfter() error {
	n := len(l.held)
	after := l.heldAt + int64(n)
	block := int(min(int64(l.block), l.size-after))
	l.growTo(n + block)
	copy(l.buffer, l.held)
	l.held = l.buffer[:n+block]
	return readFull(l.file, l.held[n:], after)
}

// growTo makes buffer as large as size. What is held may stay in the old one.
func (l *lines) growTo(size int) {
	if size > len(l.buffer) {
		l.buffer = make([]byte, max(size, 2*l.block))
	}
}

func (l *lines) previousLine() ([]byte, error) {
	if l.at.Offset == 0 {
		return nil, io.EOF
	}
	for fresh := len(l.held) - 1; ; { // without the last byte, which ends the line
		if start := bytes.LastIndexByte(l.held[:max(fresh, 0)], '\n'); start >= 0 {
			return l.takeLast(start + 1), nil
		}
		if l.heldAt == 0 {
			return l.takeLast(0), nil
		}
		if len(l.held) > l.longest {
			return nil, l.skipBackwards()
		}
		had := len(l.held)
		if err := l.holdBefore(); err != nil {
			return nil, err
		}
		if fresh = len(l.held) - had; had == 0 {
			fresh--
		}
	}
}

// skipBackwards drops what is held and all that is before it up to the beginning of the line.
func (l *lines) skipBackwards() error {
	for {
		l.takeLast(0)
		if l.at.Offset == 0 {
			return errLong
		}
		if err := l.holdBefore(); err != nil {
			return err
		}
		if start := bytes.LastIndexByte(l.held, '\n'); start >= 0 {
			l.takeLast(start + 1)
			return errLong
		}
	}
}

// takeLast takes what is held from start on.
func (l *lines) takeLast(start int) (taken []byte) {
	taken, l.held = l.held[start:], l.held[:start]
	l.at.Offset = l.heldAt + int64(start)
	return taken
}

// holdBefore reads the block before what is held.
func (l *lines) holdBefore() error {
	n := len(l.held)
	block := int(min(int64(l.block), l.heldAt))
	l.growTo(block + n)
	copy(l.buffer[block:], l.held)
	l.held = l.buffer[:block+n]
	l.heldAt -= int64(block)
	return readFull(l.file, l.held[:block], l.heldAt)
}
