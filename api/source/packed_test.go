package source

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"shunt/engine/expect"
)

// packed returns a text as gzip and zstd have it.
func packed(t testing.TB, text []byte) [][]byte {
	t.Helper()
	var g, z bytes.Buffer
	zip := gzip.NewWriter(&g)
	_, err := zip.Write(text)
	expect.OK(t, err)
	expect.OK(t, zip.Close())
	to, err := zstd.NewWriter(&z)
	expect.OK(t, err)
	_, err = to.Write(text)
	expect.OK(t, err)
	expect.OK(t, to.Close())
	return [][]byte{g.Bytes(), z.Bytes()}
}

func unpacked(file []byte, most int64) (text []byte, err error) {
	r, err := Unpack(file, bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	text, err = io.ReadAll(io.LimitReader(r, most))
	_ = r.Close() // it was only read
	return text, err
}

func TestPackedFilesAreWhatWasPacked(t *testing.T) {
	text := bytes.Repeat([]byte("url,code\nhttps://a.example/,one\n"), 10_000)
	for i, file := range packed(t, text) {
		got, err := unpacked(file, 1<<20)
		expect.That(t, IsPacked(file) && err == nil && bytes.Equal(got, text), "%d: got %d bytes, %v", i, len(got), err)
		_, err = unpacked(file[:len(file)-3], 1<<20)
		expect.That(t, err != nil, "%d: a file that was cut is no error", i)
		_, err = Open(bytes.NewReader(file), int64(len(file)), Options{})
		expect.Error(t, err, ErrPacked)
	}
	expect.That(t, !IsPacked(text) && !IsPacked(nil), "a text is packed")
}

// FuzzUnpack reads any bytes as packed: it ends, and a second reading is the same.
func FuzzUnpack(f *testing.F) {
	files, err := filepath.Glob("testdata/files/yourls*")
	expect.OK(f, err)
	for _, path := range files {
		text, err := os.ReadFile(path)
		expect.OK(f, err)
		for _, file := range packed(f, text) {
			f.Add(file)
			f.Add(file[:len(file)/2])
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if !IsPacked(file) {
			return
		}
		const most = 1 << 20
		first, err := unpacked(file, most)
		again, err2 := unpacked(file, most)
		expect.That(t, bytes.Equal(first, again) && (err == nil) == (err2 == nil), "got %d bytes, %v, and then %d, %v", len(first), err, len(again), err2)
	})
}
