package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine/expect"
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

// readAll returns all lines.
func readAll(t rapid.TB, text string, backwards bool, block, longest int) (all []string) {
	t.Helper()
	source, err := Lines(strings.NewReader(text), int64(len(text)), backwards)
	expect.OK(t, err)
	l := source.(*lines)
	l.block, l.longest = int64(block), int64(longest)
	for {
		number := l.number
		line, tooLong, err := l.next()
		if errors.Is(err, io.EOF) {
			return all
		}
		expect.OK(t, err)
		shown := fmt.Sprintf("%d:%s", number, line)
		if tooLong {
			shown = fmt.Sprintf("%d: too long", number)
		}
		all = append(all, shown)
	}
}

func TestLinesAreTheSameFromBothEnds(t *testing.T) {
	piece := rapid.SampledFrom([]string{"\n", "\n", "\r\n", " ", "a", "bc", "\ufeff", "0123456789", strings.Repeat("x", 25)})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "text"), "")
		block, longest := rapid.IntRange(1, 30).Draw(t, "block"), rapid.IntRange(1, 40).Draw(t, "longest")
		want := splitLines(text, longest)
		for _, backwards := range []bool{false, true} {
			if backwards {
				slices.Reverse(want)
			}
			expect.MustSlices(t, readAll(t, text, backwards, block, longest), want, "backwards %v", backwards)
		}
	})
}

func TestRecordsAreLinesThatAreNotBlank(t *testing.T) {
	text := "\ufeff\n{\"a\":1}\r\n \t\n" + strings.Repeat("x", maxLineBytes+1) + "\nno JSON"
	s, err := Lines(strings.NewReader(text), int64(len(text)), false)
	expect.OK(t, err)
	for _, want := range []Record{{Number: 2, Link: []byte(`{"a":1}`)}, {Number: 4, Refused: "has more than 1048576 bytes"}, {Number: 5, Link: []byte("no JSON")}} {
		got, err := s.Next()
		expect.That(t, err == nil && reflect.DeepEqual(got, want), "got %v, %v, want %v", got, err, want)
	}
	if _, err := s.Next(); err != io.EOF || s.Passed() != int64(len(text)) {
		t.Errorf("at the end: got %v after %d bytes of %d", err, s.Passed(), len(text))
	}
}

func TestAFileIsReadFromItsOldestLink(t *testing.T) {
	const old, young = `{"code":"old","created_at":"2020-01-01T00:00:00Z"}`, `{"code":"young","created_at":"2021-01-01T00:00:00Z"}`
	for text, want := range map[string]string{
		old + "\n" + young: "old", young + "\n" + old: "old", "\n" + young + "\n" + old + "\n\n": "old", "{}\n" + old: "{}",
		`{"short_url":"x","code":"first"}` + "\n" + `{"code":"last"}`: "last", "": "", "\n": "",
	} {
		s, err := Open(strings.NewReader(text), int64(len(text)), Options{})
		expect.OK(t, err)
		r, _ := s.Next()
		expect.That(t, strings.Contains(string(r.Link), want) && (want != "" || r.Link == nil), "%q: got %q first, want %q", text, r.Link, want)
	}
}

// shrunk is a file that has become shorter than its size was.
type shrunk struct{ *strings.Reader }

func TestAFileThatShrinksIsAnError(t *testing.T) {
	file := shrunk{strings.NewReader("one\ntwo\n")}
	for _, backwards := range []bool{false, true} {
		expect.Error(t, expect.Err(newLines(file, 100, backwards).Next()), io.ErrUnexpectedEOF, "backwards %v", backwards)
	}
	expect.Error(t, expect.Err(Lines(file, 100, true)), io.ErrUnexpectedEOF, "counting")
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
		file := new(zeros)
		l := newLines(file, size, backwards)
		_, tooLong, err := l.next()
		expect.That(t, err == nil && tooLong && cap(l.buffer)+cap(l.held) <= 2*maxLineBytes && file.read == size,
			"backwards %v: got %v, %v with a buffer of %d bytes after reading %d", backwards, tooLong, err, cap(l.buffer)+cap(l.held), file.read)
		_, _, err = l.next()
		expect.Error(t, err, io.EOF, "backwards %v", backwards)
	}
}

func BenchmarkLines(b *testing.B) {
	text := bytes.Repeat([]byte(`{"code":"abcdefgh","url":"https://example.org/a/b/c?id=abcdefgh","created_at":"2020-01-01T00:00:00Z"}`+"\n"), 10_000)
	for _, backwards := range []bool{false, true} {
		b.Run(fmt.Sprintf("backwards=%v", backwards), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l := newLines(bytes.NewReader(text), int64(len(text)), backwards)
				for err := error(nil); err == nil; {
					_, err = l.Next()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/line")
		})
	}
}
