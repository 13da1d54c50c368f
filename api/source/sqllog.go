package source

import (
	"cmp"
	"errors"
	"io"
	"strings"
	"time"
)

// The log of clicks of a dump comes before the links or after them, so the dump is read twice: first the log, then the
// links.

// logColumns are those by which the table of clicks of YOURLS is known.
var logColumns = []string{"click_id", "click_time", "shorturl"}

// logOf returns the name of the log of a table of links; empty: it can have any name.
func logOf(links string) string {
	const suffix = "url"
	if n := len(links) - len(suffix); n >= 0 && strings.EqualFold(links[n:], suffix) {
		return links[:n] + "log"
	}
	return ""
}

// asWritten returns the time that YOURLS wrote, of the text that a dump has of it. Since 1.7.2 YOURLS writes UTC as
// text. The database takes the text for a time of its own zone, and a dump has that time in UTC. So the text of a
// database in Madrid is an hour or two behind what was written, and at that time the clocks of Madrid show what was
// written. To the database, times of clicks are no times, but texts that it leaves as they are.
func asWritten(text string, database *time.Location) string {
	at, ok := moment(text, time.UTC)
	if !ok || at.IsZero() {
		return text
	}
	return at.In(database).Format(time.DateTime)
}

// countClicks counts the clicks that a dump has of a table of links. Of the other columns (addresses, user agents,
// referrers) nothing is kept.
func countClicks(file io.ReaderAt, size int64, links string, asked ClickLog) (*clicks, error) {
	d, c, log, found := newDump(file, size), newClicks(asked), logOf(links), false
	for {
		f, _, refused, err := d.row(func(table string, columns []string) []string {
			if !isTable(columns, logColumns) || !d.isSame(strings.ToLower(table), strings.ToLower(cmp.Or(log, table))) {
				return nil
			}
			log, found = table, true
			return only(columns, "clicktime", "shorturl")
		})
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the links say so again
			if c.end(); !found {
				return nil, ErrNoLog
			}
			return c, nil
		case err != nil:
			return nil, err
		case refused != nil:
			c.met.All++
			c.met.NoDay++
			continue
		}
		at, _ := moment(f["clicktime"].text, cmp.Or(asked.Zone, time.UTC))
		if err := c.add(f["shorturl"].text, at); err != nil {
			return nil, err
		}
	}
}
