package client

import "bytes"

const (
	// MaxImportLinks is how many links one request may import.
	MaxImportLinks = 1000

	// importBatchBytes bounds the body of a request with more than one link. A link has a few
	// hundred bytes, so most batches have 1,000 links. The server takes 8 MiB.
	importBatchBytes = 1 << 20
)

// An ImportBatch has the links of one request of ImportAll, at most MaxImportLinks and 1 MiB. The
// zero batch is empty. A batch that was reset keeps its memory for the next links.
type ImportBatch struct {
	// Note is for the caller: the package neither reads nor sends it.
	Note any

	body []byte // a line for each link
	ends []int  // of the lines in body, the line feeds included
}

// Add appends a copy of a link, which is a JSON object. It returns false, and appends nothing, if
// the batch is full. An empty batch takes a link of any size. Add does not look into the link: the
// server refuses what is not one.
func (b *ImportBatch) Add(link []byte) bool {
	if len(b.ends) == MaxImportLinks || len(b.ends) > 0 && len(b.body)+len(link) >= importBatchBytes {
		return false
	}
	start := len(b.body)
	b.body = append(b.body, link...)
	line := b.body[start:]
	for i := bytes.IndexByte(line, '\n'); i >= 0; i = bytes.IndexByte(line, '\n') {
		line[i] = '\r' // like LF, it may stand between the parts of JSON, and in no string
	}
	if len(bytes.Trim(line, " \t\r")) == 0 {
		b.body = append(b.body, "null"...) // because the server skips blank lines
	}
	b.body = append(b.body, '\n')
	b.ends = append(b.ends, len(b.body))
	return true
}

// Len returns how many links the batch has.
func (b *ImportBatch) Len() int { return len(b.ends) }

// Link returns link i as it is sent. It is valid until the next Add or Reset.
func (b *ImportBatch) Link(i int) []byte {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.body[start : b.ends[i]-1]
}

// Reset removes all links and the note.
func (b *ImportBatch) Reset() { b.Note, b.body, b.ends = nil, b.body[:0], b.ends[:0] }
