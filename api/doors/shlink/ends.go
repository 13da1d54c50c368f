package shlink

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"shunt/api/account"
	"shunt/api/ops"
)

// maxEnds bounds the ends of pages that are remembered, of all callers together: 200 bytes each.
const maxEnds = 1000

// ends remembers where pages beyond maxDepth begin: at the end of the one before. So who reads a list page by page
// comes to its end, however long it is, and no page is read through all before it. Any number of goroutines may use it.
type ends struct {
	mu      sync.Mutex
	cursors map[end]string
	kept    []end // the keys of cursors, the oldest first
}

// An end is a number of links from the beginning of a list.
type end struct {
	list  [sha256.Size]byte
	after int
}

func endOf(caller account.Caller, q *ops.ListQuery, after int) end {
	return end{sha256.Sum256(fmt.Appendf(nil, "%d %v %q", caller.User.ID, q.Whose, fmt.Sprint(q.Listed))), after}
}

// cursor returns the cursor of a page by the number of links before it; empty: the page before was not read lately.
func (e *ends) cursor(at end) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cursors[at]
}

// keep keeps the cursor of a page. The oldest one makes room for it.
func (e *ends) keep(at end, cursor string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cursors == nil {
		e.cursors = make(map[end]string)
	}
	if _, known := e.cursors[at]; !known {
		if e.kept = append(e.kept, at); len(e.kept) > maxEnds {
			delete(e.cursors, e.kept[0])
			e.kept = e.kept[1:]
		}
	}
	e.cursors[at] = cursor
}
