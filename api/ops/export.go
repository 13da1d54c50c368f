package ops

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"shunt/api/account"
	"shunt/api/sheet"
	"shunt/engine"
)

// Limits of exports. Each keeps a snapshot of the store open, so that links deleted since stay on
// disk, and a page of links in memory: about 100 KB, or 2 MB if their targets are as long as
// possible.
const (
	maxExports       = 16
	maxExportsCaller = 2
	exportPage       = 256
)

// An Export reads all links that existed when it began, the newest first, page by page. The hits,
// visitors and states of links are those of the moment at which their page was read. It belongs to
// one goroutine.
type Export struct {
	calls   *Calls
	caller  account.Caller
	asked   ListQuery
	query   engine.LinkQuery // of the next page
	list    *engine.LinkList
	recheck func() error // nil until the first page was read
}

// Export begins an export, which the caller must close. It returns an error if too many are open.
func (c *Calls) Export(caller account.Caller, q ListQuery) (*Export, error) {
	asked, err := c.linkQuery(caller, &q)
	if err != nil {
		return nil, err
	}
	if err := c.exports.Take(KeyOf(caller)); err != nil {
		return nil, err
	}
	list, err := c.o.Engine.OpenList(context.Background())
	if err != nil {
		c.exports.Leave(KeyOf(caller))
		return nil, err
	}
	asked.Limit = exportPage
	return &Export{calls: c, caller: caller, asked: q, query: asked, list: list}, nil
}

// Page reads a page, in turn with other costly work, and calls write with each of its links. more
// reports whether another page follows. From the second page on it first checks that the caller may
// still see the links.
func (x *Export) Page(write func(*Link)) (more bool, err error) {
	if x.recheck == nil {
		scope := account.LinksRead
		if x.asked.Hashes {
			scope = account.Admin
		}
		x.recheck = x.calls.Recheck(x.caller, x.asked.Whose, scope)
	} else if err := x.recheck(); err != nil {
		return false, err
	}
	err = x.calls.InTurn(x.caller, func() error {
		page, err := x.list.Page(context.Background(), x.query)
		if err != nil {
			return err
		}
		for i := range page.Links {
			if l, ok := x.calls.listed(&x.asked, &page.Links[i]); ok {
				write(&l)
			}
		}
		x.query.After = page.Next
		return nil
	})
	return x.query.After != nil, err
}

// Close ends the export, whether or not it was read to its end.
func (x *Export) Close() error {
	defer x.calls.exports.Leave(KeyOf(x.caller))
	return x.list.Close()
}

// listSeparator is between the items of a list in a cell.
const listSeparator = "|"

// A LinkWriter writes links as CSV (RFC 4180): a column for each field of a link object, by its name. A cell is the
// text of a string, a number, true or false, a list of texts with | between them, and JSON for what is none of these;
// null is an empty cell. api/source reads it back.
type LinkWriter struct {
	csv   *csv.Writer
	cells []string
	value []byte
}

// exported are the fields that have a column, in their order.
var exported = slices.DeleteFunc(slices.Clone(table), func(f row) bool { return f.write == nil || f.name == "warnings" })

// NewLinkWriter begins a table with the names of the columns.
func NewLinkWriter(w io.Writer) *LinkWriter {
	x := &LinkWriter{csv: csv.NewWriter(w)}
	for i := range exported {
		x.cells = append(x.cells, exported[i].name)
	}
	_ = x.csv.Write(x.cells) // End returns the error
	return x
}

// Add adds a row.
func (x *LinkWriter) Add(l *Link) {
	for i := range exported {
		f := &exported[i]
		if x.cells[i] = ""; f.omitted == nil || !f.omitted(l) {
			x.value = f.write(x.value[:0], l)
			x.cells[i] = sheet.Harmless(cellOf(x.value))
		}
	}
	_ = x.csv.Write(x.cells) // End returns the error
}

// End writes what is not written yet. It returns the first error.
func (x *LinkWriter) End() error {
	x.csv.Flush()
	return x.csv.Error()
}

// cellOf returns a value of JSON as a cell.
func cellOf(value []byte) string {
	var text string
	var list []string
	switch {
	case string(value) == "null", string(value) == "[]":
		return ""
	case value[0] == '"' && json.Unmarshal(value, &text) == nil:
		return text
	case value[0] == '[' && json.Unmarshal(value, &list) == nil:
		joined := strings.Join(list, listSeparator)
		if strings.Count(joined, listSeparator) == len(list)-1 && joined[0] != '[' {
			return joined
		}
	}
	return string(value)
}

// Recheck returns a function that checks that the caller may still use w and calls that need scope:
// the token may have been revoked, the session may have ended, or the user may have been demoted
// since, or limited to fewer domains. The function returns account.ErrUnauthorized, or an error of reading accounts.
func (c *Calls) Recheck(caller account.Caller, w Whose, scope account.Scope) func() error {
	return func() error {
		now, err := c.o.Accounts.Recheck(caller)
		fewer := w.Every && !caller.Domains.In(now.Domains)
		if err == nil && (!now.Has(scope) || fewer || mayUse(now, w) != nil) {
			err = account.ErrUnauthorized
		}
		return err
	}
}
