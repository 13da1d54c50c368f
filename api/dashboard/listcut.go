package dashboard

import (
	"net/url"
	"strconv"
)

// rowsPerPage is how many rows of a list that is read whole are shown at once.
const rowsPerPage = 100

// A cutPager is the links to the pages before and after of a list that is cut; empty: there is none.
type cutPager struct{ Before, After string }

// cut returns the rows of a list from the number on that the query names, and its pager.
func cut[T any](r *request, rows []T) ([]T, cutPager) {
	from, err := strconv.Atoi(r.query("from"))
	if err != nil || from < 0 || from >= len(rows) {
		from = 0
	}
	p := cutPager{}
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
func (r *request) pageFrom(from int) string {
	query := url.Values{}
	if q := r.query("q"); q != "" {
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
