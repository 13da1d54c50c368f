package source

import (
	"errors"
	"io"
	"time"
)

// The log of clicks of a dump comes before the links or after them, so the dump is read twice: first the log, then the
// links.

// logColumns are those by which the table of clicks of YOURLS is known.
var logColumns = []string{"click_id", "click_time", "shorturl"}

// countClicks counts the clicks of a dump. Of the other columns (addresses, user agents, referrers) nothing is kept.
func countClicks(file io.ReaderAt, size int64, asked ClickLog, zone *time.Location) (*clicks, error) {
	d, c, found := newDump(file, size), newClicks(asked), false
	for {
		f, _, refused, err := d.row(func(_ string, columns []string) []string {
			if !isTable(columns, logColumns) {
				return nil
			}
			found = true
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
		at, _ := moment(f["clicktime"].text, zone)
		if err := c.add(f["shorturl"].text, at); err != nil {
			return nil, err
		}
	}
}
