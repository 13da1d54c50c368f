package source

import (
	"bytes"
	"compress/gzip"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds the memory that unpacking zstd takes.
const maxWindow = 128 << 20

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// IsPacked reports whether a file that begins with head is one of gzip or zstd.
func IsPacked(head []byte) bool {
	return bytes.HasPrefix(head, gzipMagic) || bytes.HasPrefix(head, zstdMagic)
}

// Unpack returns what a file of gzip or zstd has, which begins with head.
func Unpack(head []byte, file io.Reader) (io.ReadCloser, error) {
	if bytes.HasPrefix(head, gzipMagic) {
		return gzip.NewReader(file)
	}
	z, err := zstd.NewReader(file, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}
