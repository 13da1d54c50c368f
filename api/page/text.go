package page

import (
	"sync"

	"github.com/valyala/fasthttp"
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

// brotliLevel takes milliseconds for the longest page; the highest one takes 25 times as long for another tenth.
const brotliLevel = 9

func pack(body []byte) packed {
	worth := func(b []byte) []byte {
		if len(b) > len(body)-len(body)/10 {
			return nil
		}
		return b
	}
	return packed{
		gzip:   worth(fasthttp.AppendGzipBytesLevel(nil, body, fasthttp.CompressBestCompression)),
		brotli: worth(fasthttp.AppendBrotliBytesLevel(nil, body, brotliLevel)),
	}
}
