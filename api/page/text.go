package page

import (
	"bytes"
	"compress/gzip"
	"sync"
)

// A Text is a page, or a file that pages load, which is the same for everybody. It is read-only,
// and any number of goroutines may use it at once.
type Text struct {
	Body []byte

	compressed func() []byte
}

// NewText returns the text whose bytes are body, which it keeps.
func NewText(body []byte) Text {
	return Text{body, sync.OnceValue(func() []byte { return compress(body) })}
}

// Gzip returns the body compressed, or nil if that saves less than a tenth of it. Only the first
// call compresses, so a flood of error pages costs nothing more than copying them.
func (t Text) Gzip() []byte { return t.compressed() }

func compress(body []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is right
	}
	_, _ = w.Write(body) // into memory
	_ = w.Close()
	if b.Len() > len(body)-len(body)/10 {
		return nil
	}
	return b.Bytes()
}
