package dashboard

import (
	"strconv"
	"strings"
)

// A pager leads from page to page of the list. Cursors lead only to older links, so the address of
// a page has the cursors of the pages between the first one and itself. All is in the address, so a
// page survives reload, and can be kept as a bookmark.
type pager struct {
	Page                int    // from 1 on
	First, Newer, Older string // addresses; "": there is no such page, or the way there is not known

	cursor string   // of this page; "": the first
	back   []string // the cursors of the pages before, without the first page's
}

// maxBack bounds how many pages the address leads back: 3.4 KB of cursors.
const maxBack = 100

const cursorSeparator = "." // not a character of cursors

// pager returns the pager of the request: where it is, and how to go back.
func (r *request) pager(s *linkSearch) pager {
	p := pager{Page: 1, cursor: r.query("cursor")}
	if p.cursor == "" {
		return p
	}
	n, _ := strconv.Atoi(r.query("page"))
	p.Page = min(max(n, 2), 1e6)
	if back := r.query("back"); back != "" {
		p.back = strings.Split(back, cursorSeparator)
	}
	p.First = s.address()
	switch before := len(p.back) - 1; {
	case p.Page == 2:
		p.Newer = p.First
	case before >= 0:
		p.Newer = p.address(s, p.Page-1, p.back[before], p.back[:before])
	}
	return p
}

// turn sets the way to the next page; next is its cursor, empty if there is none.
func (p *pager) turn(s *linkSearch, next string) {
	if next == "" {
		return
	}
	back := p.back
	if p.cursor != "" {
		back = append(back[:len(back):len(back)], p.cursor)
	}
	p.Older = p.address(s, p.Page+1, next, back[max(0, len(back)-maxBack):])
}

func (p *pager) address(s *linkSearch, page int, cursor string, back []string) string {
	return s.address("cursor", cursor, "page", strconv.Itoa(page), "back", strings.Join(back, cursorSeparator))
}
