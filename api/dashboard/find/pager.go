package find

import (
	"strconv"
	"strings"

	"shunt/api/dashboard/visit"
)

// A Pager leads from page to page of the list. Cursors lead only to older links, so the address of
// a page has the cursors of the pages between the first one and itself. All is in the address, so a
// page survives reload, and can be kept as a bookmark.
type Pager struct {
	Page                int    // from 1 on
	First, Newer, Older string // addresses; "": there is no such page, or the way there is not known
	Cursor              string // of this page; "": the first

	back []string // the cursors of the pages before, without the first page's
}

// maxBack bounds how many pages the address leads back: 4.5 KB of cursors.
const maxBack = 100

const cursorSeparator = "." // not a character of cursors

// NewPager returns the pager of the request: where it is, and how to go back.
func NewPager(r *visit.Request, s *Search) Pager {
	p := Pager{Page: 1, Cursor: r.Query("cursor")}
	if p.Cursor == "" {
		return p
	}
	n, _ := strconv.Atoi(r.Query("page"))
	p.Page = min(max(n, 2), 1e6)
	if back := r.Query("back"); back != "" {
		p.back = strings.Split(back, cursorSeparator)
	}
	p.First = s.Address()
	switch before := len(p.back) - 1; {
	case p.Page == 2:
		p.Newer = p.First
	case before >= 0:
		p.Newer = p.address(s, p.Page-1, p.back[before], p.back[:before])
	}
	return p
}

// Turn sets the way to the next page; next is its cursor, empty if there is none.
func (p *Pager) Turn(s *Search, next string) {
	if next == "" {
		return
	}
	back := p.back
	if p.Cursor != "" {
		back = append(back[:len(back):len(back)], p.Cursor)
	}
	p.Older = p.address(s, p.Page+1, next, back[max(0, len(back)-maxBack):])
}

func (p *Pager) address(s *Search, page int, cursor string, back []string) string {
	return s.Address("cursor", cursor, "page", strconv.Itoa(page), "back", strings.Join(back, cursorSeparator))
}
