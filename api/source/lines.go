package source

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

const (
	maxLineBytes = 1 << 20   // more than the server takes of one
	blockBytes   = 256 << 10 // read at once
)

// lines reads the lines of a file from the first to the last, or backwards. It holds a block of the
// file, and of a line that is in several blocks a copy.
type lines struct {
	file      io.ReaderAt
	size      int64
	block     int64 // bytes that are read at once
	longest   int64 // bytes of a line whose text is kept
	backwards bool
	at        int64  // where the line begins, or ends if backwards, that is read next
	number    int64  // of that line
	held      []byte // a block of the file
	heldAt    int64  // its offset, a multiple of block
	buffer    []byte // of a line that is in several blocks
}

func newLines(file io.ReaderAt, size int64, backwards bool) *lines {
	l := &lines{file: file, size: size, block: blockBytes, longest: maxLineBytes, backwards: backwards, number: 1}
	if backwards {
		l.at = size
	}
	return l
}

// count returns how many lines the file has.
func (l *lines) count() (n int64, err error) {
	for at := int64(0); at < l.size; at += int64(len(l.held)) {
		if err := l.hold(at); err != nil {
			return 0, err
		}
		n += int64(bytes.Count(l.held, []byte{'\n'}))
	}
	if l.size > 0 && l.held[len(l.held)-1] != '\n' {
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

// next returns the next line without the spaces around it, valid until the next call; io.EOF after
// the last one. Of a line that is too long there is no text.
func (l *lines) next() (text []byte, tooLong bool, err error) {
	start, end, step := l.at, l.at, int64(1)
	switch {
	case l.backwards && start == 0, !l.backwards && start == l.size:
		return nil, false, io.EOF
	case l.backwards:
		step = -1
		start, err = l.startOf(end)
	default:
		end, err = l.endOf(start)
	}
	if tooLong = end-start > l.longest; err == nil && !tooLong {
		text, err = l.textOf(start, end)
	}
	if err != nil {
		return nil, false, err
	}
	l.number += step
	if l.at = end; l.backwards {
		l.at = start
	}
	return text, tooLong, nil
}

// endOf returns where the line ends that begins at an offset, its line feed included.
func (l *lines) endOf(at int64) (int64, error) {
	for at < l.size {
		if err := l.hold(at); err != nil {
			return 0, err
		}
		rest := l.held[at-l.heldAt:]
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		at += int64(len(rest))
	}
	return l.size, nil
}

// startOf returns where the line begins that ends at an offset.
func (l *lines) startOf(end int64) (int64, error) {
	for at := end - 1; at > 0; at = l.heldAt { // without the last byte, which ends the line
		if err := l.hold(at - 1); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(l.held[:at-l.heldAt], '\n'); i >= 0 {
			return l.heldAt + int64(i) + 1, nil
		}
	}
	return 0, nil
}

// textOf returns the text of a line, valid until the next call.
func (l *lines) textOf(start, end int64) (text []byte, err error) {
	if l.heldAt <= start && end <= l.heldAt+int64(len(l.held)) {
		text = l.held[start-l.heldAt : end-l.heldAt]
	} else {
		l.buffer = slices.Grow(l.buffer[:0], int(end-start))[:end-start]
		text, err = l.buffer, readFull(l.file, l.buffer, start)
	}
	if start == 0 {
		text = bytes.TrimPrefix(text, byteOrderMark)
	}
	return bytes.TrimSpace(text), err
}

// hold reads the block that has the byte at an offset, unless it is held.
func (l *lines) hold(at int64) error {
	block := at - at%l.block
	if l.heldAt == block && l.held != nil {
		return nil
	}
	n := min(l.block, l.size-block)
	l.held, l.heldAt = slices.Grow(l.held[:0], int(n))[:n], block
	return readFull(l.file, l.held, block)
}
