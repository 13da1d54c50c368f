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
	text := ""
	if from > 0 {
		text = strconv.Itoa(from)
	}
	return Address(r.Path(), "q", r.Query("q"), "from", text)
}

// Address returns the address of a page with parameters, names and values; empty ones are left out.
func Address(path string, pairs ...string) string {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}
