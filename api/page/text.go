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

	packed func() packed
}

// packed is a body in the two encodings that browsers accept; nil: it saves less than a tenth of the body.
type packed struct{ gzip, brotli []byte }

// NewText returns the text whose bytes are body, which it keeps.
func NewText(body []byte) Text {
	return Text{body, sync.OnceValue(func() packed { return pack(body) })}
}

// Gzip returns the body compressed by gzip, or nil if that saves less than a tenth of it. Only the first call of it or
// Brotli compresses, so a flood of error pages costs nothing more than copying them.
func (t Text) Gzip() []byte { return t.packed().gzip }

// Brotli is Gzip for Brotli (RFC 7932), which saves a tenth more.
func (t Text) Brotli() []byte { return t.packed().brotli }

// BrotliLevel is that of pages made for one request: it takes as long as the default level of gzip, and saves a tenth
// more.
const BrotliLevel = 5

// onceLevel takes a tenth of a second for the longest page, the reference, and saves a fifteenth of what 9 leaves; the
// highest one takes more than twice as long for another fiftieth.
const onceLevel = 10

func pack(body []byte) packed {
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is right
	}
	_, _ = w.Write(body) // into memory
	_ = w.Close()
	b, err := brotli.Compress(body, onceLevel)
	if err != nil {
		panic(err) // the level is right
	}
	return packed{worth(zipped.Bytes(), body), worth(b, body)}
}

// worth returns a compressed body if it saves a tenth.
func worth(packed, body []byte) []byte {
	if len(packed) > len(body)-len(body)/10 {
		return nil
	}
	return packed
}
