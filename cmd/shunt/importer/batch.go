package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"shunt/api/client"
	"shunt/api/source"
)

// maxBatchBytes bounds the body of a request with more than one link. A link has a few hundred bytes,
// so most batches have all that a request may have. A line of 128 kbit/s takes half a minute for one.
const maxBatchBytes = 512 << 10

// batchesAhead is how many batches wait to be sent.
const batchesAhead = 2

// A batch is the records of one request, and those among them that are not sent.
type batch struct {
	links   []json.RawMessage // what is sent
	records []record
	to      int   // records of the import up to its end
	passed  int64 // bytes of the file up to there
}

// A record is one of a batch. If refused is set, it is not sent, for that reason.
type record struct {
	number  int64
	refused string
	rest    []byte // of one that is refused
}

// readAhead reads batches on a goroutine, until ctx ends. The first batch ends after the record
// firstEnd, if that is not 0. After the last batch, ended returns how they ended.
func readAhead(ctx context.Context, from source.Source, at, firstEnd int) (batches <-chan *batch, ended func() error) {
	read, failed := make(chan *batch, batchesAhead), make(chan error, 1)
	go func() {
		defer close(read)
		for {
			b, err := readBatch(from, at, firstEnd)
			if err != nil || len(b.records) == 0 {
				failed <- err
				return
			}
			select {
			case read <- b:
				at, firstEnd = b.to, 0
			case <-ctx.Done():
				failed <- ErrInterrupted
				return
			}
		}
	}()
	return read, func() error { return <-failed }
}

// readBatch reads the batch after the record at. It has no records if there are none.
func readBatch(from source.Source, at, end int) (*batch, error) {
	b := &batch{to: at}
	for bytesOf := 0; len(b.records) < client.MaxImportLinks && bytesOf < maxBatchBytes && (end == 0 || b.to < end); b.to++ {
		r, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		b.records = append(b.records, record{r.Number, r.Refused, bytes.Clone(r.Rest)})
		if r.Refused == "" {
			b.links = append(b.links, bytes.Clone(r.Link))
		}
		bytesOf += len(r.Link) + len(r.Rest)
	}
	b.passed = from.Passed()
	return b, nil
}
