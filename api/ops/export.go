package ops

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/sheet"
	"shunt/engine"
	"shunt/engine/daily"
)

// Limits of exports. Each keeps a snapshot of the store open, so that links deleted since stay on
// disk, and a page of links in memory: about 100 KB, or 2 MB if their targets are as long as
// possible.
const (
	maxExports       = 16
	maxExportsCaller = 2
	exportPage       = 256
)

// An Export reads all links of a list that existed when it began, in the order of the list, page by page. The hits,
// visitors and states of links are those of the moment at which their page was read; an order by what changes meanwhile
// may miss some. It belongs to one goroutine.
type Export struct {
	calls   *Calls
	caller  account.Caller
	asked   ListQuery
	query   engine.LinkQuery // of the next page
	list    *engine.LinkList
	recheck func() error // nil until the first page was read
	end     func()       // of the scan
}

// Export begins an export, which the caller must close. It returns an error if too many are open. Of q, the length of
// pages, the cursor and the total do not matter.
func (c *Calls) Export(caller account.Caller, q ListQuery) (*Export, error) {
	if q.Cursor, q.Total = "", false; q.State == engine.StateDeleted {
		return nil, errTrashExported
	}
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
	return &Export{calls: c, caller: caller, asked: q, query: asked, list: list, end: c.o.BeginScan()}, nil
}

// Page reads a page, in turn with other costly work, and calls write with each of its links, which it may not keep.
// more reports whether another page follows. From the second page on it first checks that the caller may still see the
// links.
func (x *Export) Page(write func(*Link)) (more bool, err error) {
	if x.recheck == nil {
		scope := account.LinksRead
		if x.asked.Hashes {
			scope = account.Admin
		}
		x.recheck = x.calls.RecheckList(x.caller, &x.asked, scope)
	} else if err := x.recheck(); err != nil {
		return false, err
	}
	var page engine.LinkPage
	if x.chooses() {
		if page, err = x.list.Next(context.Background(), x.query, x.calls.turns(x.caller)); err != nil {
			return false, err
		}
	}
	err = x.calls.inSteps(x.caller, func(pause func() error) (err error) {
		if !x.chooses() {
			page, err = x.list.Page(context.Background(), x.query)
		}
		if err != nil {
			return err
		}
		if x.asked.Daily {
			err = x.writeDaily(page.Links, write, pause)
		} else {
			var l Link
			for i := range page.Links {
				if x.calls.listed(&x.asked, &l, &page.Links[i]) {
					write(&l)
				}
			}
		}
		x.query.After = page.Next
		return err
	})
	return x.query.After != nil, err
}

// chooses reports whether the links are not just all that there are, the newest first.
func (x *Export) chooses() bool { return x.asked.Listed != Listed{Folder: x.asked.Folder} }

// writeDaily writes the links of a page with their hits by day. It calls pause between the steps of reading these.
func (x *Export) writeDaily(page []engine.Detail, write func(*Link), pause func() error) error {
	links := x.calls.listedOf(&x.asked, page)
	if err := x.calls.readDays(links, pause); err != nil {
		return err
	}
	for i := range links {
		write(&links[i])
	}
	return nil
}

// dailySeries is how many links of an export are read at a time for their hits by day: with 400 days each they take 400
// KB for a moment.
const dailySeries = 16

// readDays gives links of an export their hits by day, the last daily.Max days at most, so that an import takes them
// back. A link has no fewer hits than its days.
func (c *Calls) readDays(links []Link, pause func() error) error {
	zone := c.o.Engine.Zone()
	_, first := c.o.Engine.KeptSince()
	today := zone.Day(hourOf(c.o.Now()))
	if oldest := today - min(today, daily.Max-1); zone.Day(hourOf(first)) < oldest {
		first = time.Unix(int64(zone.Begin(oldest))*3600, 0)
	}
	for part := range slices.Chunk(links, dailySeries) {
		ids := make([]uint64, len(part))
		for i := range part {
			ids[i] = part[i].ID
		}
		if err := pause(); err != nil {
			return err
		}
		series, err := c.o.Engine.SeriesOf(context.Background(), ids, engine.Query{Interval: engine.Daily, From: first, Pause: pause})
		if err != nil {
			return err
		}
		for i := range part {
			l := &part[i]
			l.WithDaily = true
			sum := uint64(0)
			for _, b := range series[i] {
				if day := zone.Day(hourOf(b.From)); b.Hits > 0 && day > 0 {
					l.Daily = append(l.Daily, daily.Hits{Day: day, Hits: b.Hits})
					sum += b.Hits
				}
			}
			l.Hits = max(l.Hits, sum)
		}
	}
	return nil
}

var errTrashExported = jsonbody.FieldError("state", "range", "must be that of a link which is not deleted: the trash has no export")

// Close ends the export, whether or not it was read to its end.
func (x *Export) Close() error {
	defer x.calls.exports.Leave(KeyOf(x.caller))
	defer x.end()
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
		_, err := c.recheck(caller, w, scope)
		return err
	}
}

// recheck returns the caller as of now, who may still use w and calls that need scope.
func (c *Calls) recheck(caller account.Caller, w Whose, scope account.Scope) (now account.Caller, err error) {
	now, err = c.o.Accounts.Recheck(caller)
	fewer := w.Every && !caller.Domains.In(now.Domains)
	if err == nil && (!now.Has(scope) || fewer || mayUse(now, w) != nil) {
		err = account.ErrUnauthorized
	}
	return now, err
}
