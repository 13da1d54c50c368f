package shlink

import (
	"strconv"

	"shunt/api/jsonbody"
)

// Pages have numbers in Shlink, and cursors here. So page n is read through all pages before it, up to a fixed depth,
// and what has no order here is sorted in memory, up to the same number of links.
const (
	maxDepth     = 10_000
	defaultItems = 10
	everything   = "-1" // as itemsPerPage
)

// A Pagination says where a page stands.
type Pagination struct {
	CurrentPage        int    `json:"currentPage"`
	PagesCount         uint64 `json:"pagesCount"`
	ItemsPerPage       int    `json:"itemsPerPage"`
	ItemsInCurrentPage int    `json:"itemsInCurrentPage"`
	TotalItems         uint64 `json:"totalItems"`
}

// A place is the page that a request asks for.
type place struct{ page, items int }

// begin returns how many items come before those of p.
func (p place) begin() int { return (p.page - 1) * p.items }

// maxPage keeps the number of all items before a page in an int of 32 bits.
const maxPage = 100_000

// readPlace reads page and itemsPerPage. A page has usual items without a word, and most at most.
func readPlace(q query, usual, most int) (p place, err error) {
	if p.page, err = readNumber(q, "page", 1, maxPage); err != nil {
		return p, err
	}
	if q.one("itemsPerPage") == everything {
		return place{p.page, most}, nil
	}
	p.items, err = readNumber(q, "itemsPerPage", usual, 1<<30)
	p.items = min(p.items, most)
	return p, err
}

// readNumber reads a parameter from 1 to most.
func readNumber(q query, name string, usual, most int) (int, error) {
	text := q.one(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, jsonbody.FieldError(name, "range", "must be a number from 1 to "+strconv.Itoa(most))
	}
	return n, nil
}

// in returns where a page of total items stands that has n of them.
func (p place) in(total uint64, n int) Pagination {
	pages := max(1, (total+uint64(p.items)-1)/uint64(p.items))
	return Pagination{CurrentPage: p.page, PagesCount: pages, ItemsPerPage: p.items, ItemsInCurrentPage: n, TotalItems: total}
}

// cut returns the items of a page, and where it stands.
func cut[T any](p place, all []T) ([]T, Pagination) {
	begin := min(p.begin(), len(all))
	items := all[begin:min(begin+p.items, len(all))]
	return items, p.in(uint64(len(all)), len(items))
}

// A Paged is a page as an answer has it.
type Paged[T any] struct {
	Data       []T        `json:"data"`
	Pagination Pagination `json:"pagination"`
}
