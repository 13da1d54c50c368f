package door

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"shunt/api/problem"
	"shunt/engine/expect"
)

// TestAListByPagesEndsInTime: each page has a time of its own, and a request for a late one reads all before it.
func TestAListByPagesEndsInTime(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		page  time.Duration // that one takes
		pages int           // that there are; 0: no end
		err   error         // of the last
		read  int
		kind  *problem.Kind
	}{
		"few pages":             {page: 4 * time.Second, pages: 3, read: 3},
		"too many slow pages":   {page: 4 * time.Second, read: 4, kind: problem.Overloaded},
		"one that takes longer": {page: 20 * time.Second, pages: 1, read: 1},
		"a page with an error":  {page: time.Second, pages: 2, err: broken, read: 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			read := 0
			err := EachPage(func() (more bool, err error) {
				time.Sleep(c.page)
				if read++; read == c.pages {
					err = c.err
				}
				return read != c.pages, err
			})
			p, _ := problem.Of(err)
			expect.Equal(t, read, c.read, name+": pages")
			expect.That(t, c.kind == nil && errors.Is(err, c.err) || c.kind != nil && p.Kind == c.kind, "%s: %v", name, err)
		})
	}
}
