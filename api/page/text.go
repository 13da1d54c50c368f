package page

import (
	"bytes"
	"compress/gzip"
	"sync"

	brotli "github.com/molecule-man/go-brrr"
)

// A Text is a page, or a file that pages load, which is the same for everybody. It is read-only,
// and any number of goroutines may use it at once.
type Text struct {
	Body []byte

	gzip, brotli func() []byte
}

// NewText returns the text whose bytes are body, which it keeps.
func NewText(body []byte) Text {
	return Text{body, sync.OnceValue(func() []byte { return worth(zip(body), body) }), sync.OnceValue(func() []byte { return worth(pack(body), body) })}
}

// Gzip returns the body compressed by gzip, or nil if that saves less than a tenth of it. Only the first call
// compresses, so a flood of error pages costs nothing more than copying them.
func (t Text) Gzip() []byte { return t.gzip() }

// Brotli is Gzip for Brotli (RFC 7932), which saves a tenth more.
func (t Text) Brotli() []byte { return t.brotli() }

// BrotliLevel is that of pages made for one request: it takes as long as the default level of gzip, and saves a tenth
// more.
const BrotliLevel = 5

// onceLevel takes a tenth of a second for the longest page, the reference, and saves a fifteenth of what 9 leaves; the
// highest one takes more than twice as long for another fiftieth.
const onceLevel = 10

func zip(body []byte) []byte {
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is right
	}
	_, _ = w.Write(body) // into memory
	_ = w.Close()
	return zipped.Bytes()
}

func pack(body []byte) []byte {
	packed, err := brotli.Compress(body, onceLevel)
	if err != nil {
		panic(err) // the level is right
	}
	return packed
}

// worth returns a compressed body if it saves a tenth.
func worth(packed, body []byte) []byte {
	if len(packed) > len(body)-len(body)/10 {
		return nil
	}
	return packed
}
