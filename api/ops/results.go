package ops

import (
	"slices"
	"strconv"
	"sync"

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

var resultRooms sync.Pool // of *Results: see bulkRoom

func newResults(n int) Results {
	room, _ := resultRooms.Get().(*Results)
	if room == nil || cap(*room) < n {
		return make(Results, n)
	}
	return (*room)[:n]
}

// Release gives the memory of r to a later request. Nothing of r may be used after that. A caller that
// keeps r need not call it.
func (r Results) Release() {
	clear(r) // releases strings
	resultRooms.Put(&r)
}

// The statuses of the answer to a single creation.
const (
	statusOK      = 200
	statusCreated = 201
)

// AppendJSON appends the answer: for each item a link or a problem, with the status that the answer
// to a single creation would have.
func (r Results) AppendJSON(dst []byte) []byte {
	created, existing, failed := r.counts()
	dst = slices.Grow(dst, linkBytes*(1+len(r)))
	dst = strconv.AppendInt(append(dst, `{"created":`...), int64(created), 10)
	dst = strconv.AppendInt(append(dst, `,"existing":`...), int64(existing), 10)
	dst = strconv.AppendInt(append(dst, `,"failed":`...), int64(failed), 10)
	dst = append(dst, `,"results":[`...)
	for i := range r {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = r[i].appendJSON(dst, i)
	}
	return append(dst, "]}"...)
}

func (r Results) counts() (created, existing, failed int) {
	for i := range r {
		switch {
		case r[i].Err != nil:
			failed++
		case r[i].Existed:
			existing++
		default:
			created++
		}
	}
	return created, existing, failed
}

// appendJSON appends the result of item i.
func (r *Result) appendJSON(dst []byte, i int) []byte {
	dst = strconv.AppendInt(append(dst, `{"index":`...), int64(i), 10)
	dst = append(dst, `,"status":`...)
	if r.Err != nil {
		refused, _ := problem.Of(r.Err)
		body := refused.Body()
		dst = append(strconv.AppendInt(dst, int64(body.Status), 10), `,"problem":`...)
		return append(body.AppendJSON(dst), '}')
	}
	status := statusCreated
	if r.Existed {
		status = statusOK
	}
	dst = append(strconv.AppendInt(dst, int64(status), 10), `,"link":`...)
	return append(r.Link.AppendJSON(dst), '}')
}
