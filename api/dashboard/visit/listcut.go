package visit

import (
	"net/url"
	"strconv"
)

// rowsPerPage is how many rows of a list that is read whole are shown at once.
const rowsPerPage = 100

// A CutPager is the links to the pages before and after of a list that is cut; empty: there is none.
type CutPager struct{ Before, After string }

// Cut returns the rows of a list from the number on that the query names, and its pager.
func Cut[T any](r *Request, rows []T) ([]T, CutPager) {
	from, err := strconv.Atoi(r.Query("from"))
	if err != nil || from < 0 || from >= len(rows) {
		from = 0
	}
	p := CutPager{}
	if from > 0 {
		p.Before = r.pageFrom(max(0, from-rowsPerPage))
	}
	rows = rows[from:]
	if len(rows) > rowsPerPage {
		rows, p.After = rows[:rowsPerPage], r.pageFrom(from+rowsPerPage)
	}
	return rows, p
}

// pageFrom returns the address of this page with rows from a number on.
func (r *Request) pageFrom(from int) string {
	query := url.Values{}
	if q := r.Query("q"); q != "" {
		query.Set("q", q)
	}
	if from > 0 {
		query.Set("from", strconv.Itoa(from))
	}
	if len(query) == 0 {
		return r.path()
	}
	return r.path() + "?" + query.Encode()
}
