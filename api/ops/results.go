package ops

import (
	"bytes"
	"encoding/json"
	"fmt"

	"shunt/api/problem"
)

// A Result is the outcome of an item of a bulk: a link that was created or existed, or an error.
type Result struct {
	Link    Link
	Existed bool
	Err     error
}

// Results are the outcomes of the items of a bulk, in the order of the items.
type Results []Result

// The statuses of the answer to a single creation.
const (
	statusOK      = 200
	statusCreated = 201
)

// AppendJSON appends the answer: for each item a link or a problem, with the status that the answer
// to a single creation would have.
func (r Results) AppendJSON(dst []byte) []byte {
	created, existing, failed := 0, 0, 0
	items := make([]byte, 0, linkBytes*len(r))
	for i := range r {
		if i > 0 {
			items = append(items, ',')
		}
		item := &r[i]
		switch {
		case item.Err != nil:
			failed++
			items = appendRefused(items, i, item.Err)
		case item.Existed:
			existing++
			items = appendMade(items, i, statusOK, &item.Link)
		default:
			created++
			items = appendMade(items, i, statusCreated, &item.Link)
		}
	}
	dst = fmt.Appendf(dst, `{"created":%d,"existing":%d,"failed":%d,"results":[`, created, existing, failed)
	return append(append(dst, items...), "]}"...)
}

func appendMade(dst []byte, i, status int, l *Link) []byte {
	dst = fmt.Appendf(dst, `{"index":%d,"status":%d,"link":`, i, status)
	return append(l.AppendJSON(dst), '}')
}

func appendRefused(dst []byte, i int, err error) []byte {
	refused, _ := problem.Of(err)
	body := refused.Body()
	dst = fmt.Appendf(dst, `{"index":%d,"status":%d,"problem":`, i, body.Status)
	return append(appendValue(dst, body), '}')
}

// appendValue appends v as encoding/json writes it, without escapes of HTML.
func appendValue(dst []byte, v any) []byte {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false) // keeps addresses readable
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("ops: encoding an answer: %v", err)) // our own types
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
