package several

import (
	"bytes"
	"cmp"
	"strconv"
	"time"

	"shunt/api/dashboard/fieldtext"
	"shunt/api/dashboard/visit"
	"shunt/api/ops"
	"shunt/api/sheet"
	"shunt/api/tagtext"
)

// maxTableBytes bounds a list as a file, which is made in memory, so that its name can say whether it has all links.
const maxTableBytes = 4 << 20

// A Table is links as CSV.
type Table struct {
	rows   *sheet.Table
	text   bytes.Buffer
	owners map[uint32]string // their names; nil: no column says whose a link is
	links  int
}

// NewTable returns a table without links.
func NewTable(owners map[uint32]string) *Table {
	t := &Table{owners: owners}
	headings := []string{
		"code", "short_url", "url", "title", "note", "tags", "state", "created_at", "updated_at", "starts_at", "expires_at", "expired_url", "max_hits", "hits",
		"visitors", "visitors_as_of",
	}
	if owners != nil {
		headings = append(headings, "owner")
	}
	t.rows = sheet.NewTable(&t.text, headings...)
	return t
}

// Add adds a link, whose visitors are as of a time.
func (t *Table) Add(l *ops.Link, asOf time.Time) {
	visitors, as := strconv.FormatUint(l.Unique, 10), visit.Moment(asOf)
	if Uncounted(l) {
		visitors, as = "", ""
	}
	cells := []string{
		l.Code, l.ShortURL, l.Target, l.Title, l.Note, tagtext.Join(l.Tags), string(l.State), visit.Moment(l.CreatedAt), visit.Moment(l.UpdatedAt),
		visit.Moment(l.StartsAt), visit.Moment(l.ExpiresAt), l.ExpiredURL, fieldtext.MaxHits(l), strconv.FormatUint(l.Hits, 10), visitors, as,
	}
	if t.owners != nil {
		cells = append(cells, cmp.Or(t.owners[l.Owner], "user "+strconv.FormatUint(uint64(l.Owner), 10)))
	}
	t.rows.Row(cells...)
	t.links++
}

// Full reports whether no more links may be added.
func (t *Table) Full() bool { return t.links >= ops.MaxSeveral || t.text.Len() >= maxTableBytes }

// End returns the file.
func (t *Table) End() ([]byte, error) {
	err := t.rows.End()
	return t.text.Bytes(), err
}

// Name returns the name of the file. That of one that was cut says how many links it has.
func (t *Table) Name(cut bool) string {
	if cut {
		return "links-first-" + strconv.Itoa(t.links) + ".csv"
	}
	return "links.csv"
}

// Uncounted reports whether a link has hits whose visitors were not summed up yet.
func Uncounted(l *ops.Link) bool { return l.Unique == 0 && l.Hits > l.ImportedHits }
