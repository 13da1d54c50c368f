package api

import (
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/engine"
)

// maxStatsValueBytes bounds the value of a parameter: the longest that means something is a tag.
const maxStatsValueBytes = engine.MaxTagBytes

// maxTop is the largest top: how many links, or missed codes, are listed at most.
const maxTop = 1000

// statsQuery is what a request asks of the figures of a link, or of an owner.
type statsQuery struct {
	engine.Query
	guard    engine.Guard
	owners   []uint32 // of the links that GET /stats is of
	windowed bool     // from, to or interval is given
	include  included
	tag      string
	top      int // 0: no list
}

// included is what the parameter include adds to the answer.
type included struct {
	any                         bool
	bots, durability, uncertain bool
	lists                       [engine.NumDimensions]bool
}

// listNames are the names of the dimensions in include and in the answer.
var listNames = [engine.NumDimensions]string{
	engine.Referrers: "referrers", engine.Countries: "countries", engine.Devices: "devices", engine.Browsers: "browsers",
}

// linkParameters are the parameters of GET /stats/{code}, ownerParameters those of GET /stats; both know owner too.
var (
	linkParameters = map[string]parameterReader[statsQuery]{
		"from": readFrom, "to": readTo, "interval": readInterval, "include": readInclude,
	}
	ownerParameters = map[string]parameterReader[statsQuery]{
		"from": readFrom, "to": readTo, "interval": readInterval, "include": readInclude, "top": readTop, "tag": readTag,
	}
)

// readStatsQuery reads the query parameters.
func readStatsQuery(
	ctx *fasthttp.RequestCtx, caller account.Caller, readers map[string]parameterReader[statsQuery],
) (q statsQuery, err error) {
	if q.guard, err = readParameters(ctx, caller, &q, readers, maxStatsValueBytes); err != nil {
		return q, err
	}
	q.AllTime, q.Parts = !q.windowed, q.include.parts()
	return q, nil
}

func readFrom(q *statsQuery, value string) (err error) {
	q.windowed = true
	q.From, err = readMoment(value)
	// The engine takes the zero time, which can be written, for none. Nothing is kept of 1969 whatever the second.
	if before := time.Unix(-1, 0); err == nil && q.From.Before(before) {
		q.From = before
	}
	return err
}

func readTo(q *statsQuery, value string) (err error) {
	q.windowed = true
	q.To, err = readMoment(value)
	// The engine counts hours from 1970 without a sign.
	if epoch := time.Unix(0, 0); err == nil && q.To.Before(epoch) {
		q.To = epoch
	}
	return err
}

// readMoment reads an RFC 3339 time, or a date: its midnight in UTC. A + in a query means a space (HTML, 4.10.21.8), and
// people forget to write %2B before an offset; no RFC 3339 time has a space, so there is no doubt what was meant.
func readMoment(value string) (t time.Time, err error) {
	if t, err = time.Parse(time.DateOnly, value); err == nil {
		return t, nil
	}
	value = strings.Replace(value, " ", "+", 1)
	const hourEnd = len("2006-01-02T15")
	// time.Parse also takes an hour of one digit, and a comma before the fraction.
	if len(value) > hourEnd && value[hourEnd] == ':' && !strings.Contains(value, ",") {
		t, err = time.Parse(time.RFC3339, value)
	}
	if t = t.UTC(); err != nil || t.Year() < 0 || t.Year() > 9999 { // an offset can lead to another year
		return time.Time{}, fieldError("", "format",
			"must be a time such as 2026-11-21T12:00:00Z (RFC 3339), or a date such as 2026-11-21")
	}
	return t, nil
}

func readInterval(q *statsQuery, value string) error {
	q.windowed = true
	switch value {
	case "hour":
		q.Interval = engine.Hourly
	case "day":
		q.Interval = engine.Daily
	default:
		return fieldError("", "range", "must be hour or day")
	}
	return nil
}

// readInclude reads a list of names; the same name again does nothing.
func readInclude(q *statsQuery, value string) error {
	q.include.any = true
	for name := range strings.SplitSeq(value, ",") {
		switch name {
		case "bots":
			q.include.bots = true
		case "durability":
			q.include.durability = true
		case "error":
			q.include.uncertain = true
		default:
			if !q.include.list(name) {
				return fieldError("", "range", "must be of bots, "+strings.Join(listNames[:], ", ")+", durability, error")
			}
		}
	}
	return nil
}

// list notes that a list is asked for. It returns false if there is none of that name.
func (i *included) list(name string) bool {
	for d, known := range listNames {
		if name == known {
			i.lists[d] = true
			return true
		}
	}
	return false
}

// parts are those of a tally that are needed.
func (i *included) parts() engine.Parts {
	if i.lists != [engine.NumDimensions]bool{} {
		return engine.Visitors | engine.Breakdowns
	}
	return engine.Visitors
}

func readTop(q *statsQuery, value string) (err error) {
	q.top, err = readCount(value)
	return err
}

// readCount reads a number of rows.
func readCount(value string) (int, error) {
	n, err := strconv.ParseUint(value, 10, 16) // takes no sign
	if err != nil || n < 1 || n > maxTop {
		return 0, fieldError("", "range", "must be 1 to "+strconv.Itoa(maxTop))
	}
	return int(n), nil
}

// readTag takes what a link's tag may be.
func readTag(q *statsQuery, value string) error {
	q.tag = value
	if value == "" {
		return fieldError("", "required", "must not be empty")
	}
	return checkTextParameter(value, engine.MaxTagBytes)
}
