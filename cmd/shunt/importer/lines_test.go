package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// splitLines is the model: it returns the lines of a text, from the first.
func splitLines(text string, longest int) (all []string) {
	for i, raw := range strings.SplitAfter(text, "\n") {
		if raw == "" {
			continue // after the last line feed
		}
		long := len(raw) > longest
		if i == 0 {
			raw = strings.TrimPrefix(raw, "\ufeff")
		}
		shown := fmt.Sprintf("%d:%s", i+1, strings.TrimSpace(raw))
		if long {
			shown = fmt.Sprintf("%d: too long", i+1)
		}
		all = append(all, shown)
	}
	return all
}

// readAll returns all lines from at on, and the position after each.
func readAll(t rapid.TB, text string, at position, backwards bool, block, longest int) (all []string, after []position) {
	t.Helper()
	l := linesFrom(strings.NewReader(text), int64(len(text)), at, backwards)
	l.block, l.longest = int64(block), int64(longest)
	for {
		read, err := l.next()
		if errors.Is(err, io.EOF) {
			return all, after
		}
		if err != nil {
			t.Fatal(err)
		}
		shown := fmt.Sprintf("%d:%s", read.number, read.text)
		if read.tooLong {
			shown = fmt.Sprintf("%d: too long", read.number)
		}
		all, after = append(all, shown), append(after, l.at)
	}
}

func TestLinesAreTheSameFromBothEnds(t *testing.T) {
	piece := rapid.SampledFrom([]string{"\n", "\n", "\r\n", " ", "a", "bc", "\ufeff", "0123456789", strings.Repeat("x", 25)})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "text"), "")
		block, longest := rapid.IntRange(1, 30).Draw(t, "block"), rapid.IntRange(1, 40).Draw(t, "longest")
		want := splitLines(text, longest)
		n, err := countLines(strings.NewReader(text), int64(len(text)))
		if err != nil || n != int64(len(want)) {
			t.Fatalf("counted %d lines, %v, want %d", n, err, len(want))
		}
		for _, backwards := range []bool{false, true} {
			start := position{0, 1}
			if backwards {
				start = position{int64(len(text)), n}
				slices.Reverse(want)
			}
			got, after := readAll(t, text, start, backwards, block, longest)
			if !slices.Equal(got, want) {
				t.Fatalf("backwards %v: got %q, want %q", backwards, got, want)
			}
			if len(got) == 0 {
				continue
			}
			from := rapid.IntRange(0, len(got)-1).Draw(t, "from")
			if rest, _ := readAll(t, text, after[from], backwards, block, longest); !slices.Equal(rest, want[from+1:]) {
				t.Fatalf("backwards %v, from %v: got %q, want %q", backwards, after[from], rest, want[from+1:])
			}
		}
	})
}

// shrunk is a file that has become shorter than its size was.
type shrunk struct{ *strings.Reader }

func TestAFileThatShrinksIsAnError(t *testing.T) {
	file := shrunk{strings.NewReader("one\ntwo\n")}
	for _, backwards := range []bool{false, true} {
		l := linesFrom(file, 100, position{}, backwards)
		if backwards {
			l = linesFrom(file, 100, position{Offset: 100, Line: 9}, true)
		}
		if _, err := l.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("backwards %v: got %v, want an unexpected end", backwards, err)
		}
	}
	if _, err := countLines(file, 100); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("counting: got %v, want an unexpected end", err)
	}
}

// zeros is a file of one line that has no end in memory.
type zeros struct{ read int64 }

func (z *zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	z.read += int64(len(p))
	return len(p), nil
}

func TestALineOfAGigabyteTakesLittleMemory(t *testing.T) {
	const size = 1 << 30
	for _, backwards := range []bool{false, true} {
		file, start := new(zeros), position{Line: 1}
		if backwards {
			start.Offset = size
		}
		l := linesFrom(file, size, start, backwards)
		read, err := l.next()
		if err != nil || !read.tooLong || cap(l.buffer)+cap(l.held) > 2*maxLineBytes || file.read != size {
			t.Errorf("backwards %v: got %v, %v with a buffer of %d bytes after reading %d", backwards, read.tooLong, err, cap(l.buffer)+cap(l.held), file.read)
		}
		if _, err := l.next(); !errors.Is(err, io.EOF) {
			t.Errorf("backwards %v: got %v, want the end", backwards, err)
		}
	}
}

func BenchmarkLines(b *testing.B) {
	text := bytes.Repeat([]byte(`{"code":"abcdefgh","url":"https://example.org/a/b/c?id=abcdefgh","created_at":"2020-01-01T00:00:00Z"}`+"\n"), 10_000)
	for _, backwards := range []bool{false, true} {
		b.Run(fmt.Sprintf("backwards=%v", backwards), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				start := position{Line: 1}
				if backwards {
					start.Offset = int64(len(text))
				}
				l := linesFrom(bytes.NewReader(text), int64(len(text)), start, backwards)
				for {
					if _, err := l.next(); err != nil {
						break
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/line")
		})
	}
}
