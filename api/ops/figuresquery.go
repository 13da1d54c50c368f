package ops

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/when"
	"shunt/engine"
	"shunt/engine/zone"
)

// maxFiguresValueBytes is the limit of a parameter's value; the longest valid value has all parts, but for codes.
const maxFiguresValueBytes = len("bots,scans,referrers,countries,devices,browsers,durability,error,targets")

// maxCompared is how many links can be compared in one answer.
const maxCompared = 5

// The parameter codes is a list, and so may be longer than others.
const (
	codesName     = "codes"
	maxCodesBytes = maxCompared * (engine.MaxCodeBytes + 1)
)

// maxTop is the largest value of the parameter top, in links or missed codes.
const maxTop = 1000

// A FiguresQuery is a query for the figures of a link, or of an owner.
type FiguresQuery struct {
	engine.Query
	Whose    Whose // whose link, or links
	windowed bool  // from, to or interval is given
	include  included
	days     [2]bool // whether from and to are dates, which are days of the zone in use: see useDays
	tag      string
	folder   uint32   // all links in it, whoever's they are; 0: those of the owner
	top      int      // 0: no list
	codes    []string // links to compare; none: all of the owner, of the tag or of the folder
}

// included says which parts the parameter include adds to the answer.
type included struct {
	any                         bool
	bots, durability, uncertain bool
	scans                       bool
	lists                       [engine.NumDimensions]bool
}

// listNames are the names of the dimensions in include and in the answer.
var listNames = [engine.NumDimensions]string{
	engine.Referrers: "referrers", engine.Countries: "countries", engine.Devices: "devices", engine.Browsers: "browsers",
}

// linkParameters are the parameters of the figures of a link, ownerParameters those of an owner;
// both have owner, too.
var (
	linkParameters = map[string]parameterReader[FiguresQuery]{
		"from": readFrom, "to": readTo, "interval": readInterval, "include": readLinkInclude, "time_zone": readZone, "target": readTargetNumber,
	}
	ownerParameters = map[string]parameterReader[FiguresQuery]{
		"from": readFrom, "to": readTo, "interval": readInterval, "include": readInclude, "time_zone": readZone, "top": readTop, "tag": readTag, "folder": readFiguresFolder, codesName: readCodes,
	}
)

// ParseFigures reads the parameters of the figures of a link.
func (c *Calls) ParseFigures(caller account.Caller, p Parameters) (FiguresQuery, error) {
	q, err := parseFiguresQuery(c, caller, p, linkParameters)
	if err == nil && q.Targets && q.Target != 0 {
		err = jsonbody.FieldError("target", codeConflict, "cannot be combined with include=targets")
	}
	return q, err
}

// ParseOwnerFigures reads the parameters of the figures of an owner.
func (c *Calls) ParseOwnerFigures(caller account.Caller, p Parameters) (FiguresQuery, error) {
	q, err := parseFiguresQuery(c, caller, p, ownerParameters)
	if err == nil && len(q.codes) > 0 && (q.tag != "" || q.folder != 0 || q.top > 0) {
		err = jsonbody.FieldError("codes", "invalid", "cannot be combined with tag, folder or top")
	}
	return q, err
}

func parseFiguresQuery(
	c *Calls, caller account.Caller, p Parameters, readers map[string]parameterReader[FiguresQuery],
) (q FiguresQuery, err error) {
	if q.Whose, err = readParameters(c, caller, p, &q, readers, maxFiguresValueBytes); err != nil {
		return q, err
	}
	q.AllTime, q.Parts = !q.windowed, q.include.parts()
	return q, nil
}

// Heavy reports whether the query asks for more than the two counts of a link.
func (q *FiguresQuery) Heavy() bool { return q.windowed || q.include.any || q.Target != 0 }

func readFrom(q *FiguresQuery, value string) (err error) {
	q.windowed = true
	q.days[0] = isDate(value)
	q.From, err = readMoment(value, when.Begin)
	// A client can send the zero time, but the engine takes it for no time. Any moment of 1969 does
	// as well, because no figures are older.
	if before := time.Unix(-1, 0); err == nil && q.From.Before(before) {
		q.From = before
	}
	return err
}

func readTo(q *FiguresQuery, value string) (err error) {
	q.windowed = true
	q.days[1] = isDate(value)
	q.To, err = readMoment(value, when.End)
	// The engine counts hours from 1970 without a sign.
	if epoch := time.Unix(0, 0); err == nil && q.To.Before(epoch) {
		q.To = epoch
	}
	return err
}

func isDate(value string) bool {
	_, ok := when.Day(value, time.UTC)
	return ok
}

// readZone reads the zone of days.
func readZone(q *FiguresQuery, value string) (err error) {
	q.windowed = true
	q.Zone, err = zone.Load(value)
	switch {
	case errors.Is(err, zone.ErrUnknown):
		return jsonbody.FieldError("", "range", "must be the name of a time zone, such as Europe/Berlin or UTC")
	case err != nil: // figures by the hour cannot be added up to its days
		q.Zone = nil
	}
	return nil
}

// useDays makes the dates of q days of the zone whose days its window has: its own, or, where hours are not kept for
// that, the store's.
func (q *FiguresQuery) useDays(e *engine.Engine) {
	days := e.Zone()
	if q.Zone != nil {
		asked := *q
		asked.setDays(q.Zone)
		if e.DaysOf(asked.Query) == q.Zone {
			days = q.Zone
		}
	}
	q.setDays(days)
	q.days = [2]bool{}
}

// setDays makes the dates of q, which were read in UTC, days of a zone.
func (q *FiguresQuery) setDays(days *zone.Zone) {
	for i, at := range []*time.Time{&q.From, &q.To} {
		if q.days[i] && at.Unix() > 0 {
			*at = time.Unix(int64(days.Begin(uint32(at.Unix()/86400)))*3600, 0)
		}
	}
}

// readMoment reads a bound of a window with when.Begin or when.End, so that a date is a whole day, for now in
// UTC: see useDays. A + in a query means a space (HTML, 4.10.21.8), and people forget to write %2B before an
// offset. No time of RFC 3339 has a space, so a space is always such a +.
func readMoment(value string, read func(string, *time.Location) (time.Time, bool)) (time.Time, error) {
	t, ok := read(strings.Replace(value, " ", "+", 1), time.UTC)
	if !ok {
		return time.Time{}, jsonbody.FieldError("", "format",
			"must be a time such as 2026-11-21T12:00:00Z, or a date such as 2026-11-21")
	}
	return t, nil
}

// readCodes reads 2 to 5 codes, separated by commas, which no code has.
func readCodes(q *FiguresQuery, value string) error {
	codes := strings.Split(value, ",")
	if len(codes) < 2 || len(codes) > maxCompared {
		return jsonbody.FieldError("", "range", "must be 2 to 5 codes, separated by commas")
	}
	for i, code := range codes {
		if slices.Contains(codes[:i], code) {
			return jsonbody.FieldError("", "duplicate", "must not have a code twice")
		}
	}
	q.codes = codes
	return nil
}

func readInterval(q *FiguresQuery, value string) error {
	q.windowed = true
	switch value {
	case "hour":
		q.Interval = engine.Hourly
	case "day":
		q.Interval = engine.Daily
	default:
		return jsonbody.FieldError("", "range", "must be hour or day")
	}
	return nil
}

// readTargetNumber reads the number of a target.
func readTargetNumber(q *FiguresQuery, value string) error {
	n, err := strconv.ParseUint(value, 10, 8)
	if err != nil || n == 0 {
		return jsonbody.FieldError("", "range", "must be the number of a target, 1 to "+strconv.Itoa(engine.NumTargets-1))
	}
	q.Target = uint8(n)
	return nil
}

// readLinkInclude is readInclude for one link.
func readLinkInclude(q *FiguresQuery, value string) error { return q.readInclude(value, true) }

// readInclude reads a list of names of what is added to the figures of an owner.
func readInclude(q *FiguresQuery, value string) error { return q.readInclude(value, false) }

// readInclude reads a list of names; a repeated name has no effect.
func (q *FiguresQuery) readInclude(value string, ofLink bool) error {
	q.include.any = true
	for name := range strings.SplitSeq(value, ",") {
		switch name {
		case "bots":
			q.include.bots = true
		case "scans":
			q.include.scans = true
		case "durability":
			q.include.durability = true
		case "error":
			q.include.uncertain = true
		case "targets":
			if q.Targets = ofLink; !ofLink {
				return jsonbody.FieldError("", "range", "can be targets for one link only")
			}
		default:
			if !q.include.list(name) {
				return jsonbody.FieldError("", "range", "must be some of bots, scans, "+strings.Join(listNames[:], ", ")+", durability, error, targets")
			}
		}
	}
	return nil
}

// list records that the list with that name is asked for. It returns false if there is no such
// list.
func (i *included) list(name string) bool {
	d := slices.Index(listNames[:], name)
	if d >= 0 {
		i.lists[d] = true
	}
	return d >= 0
}

// parts returns the parts of a tally that are needed.
func (i *included) parts() engine.Parts {
	if i.scans || i.lists != [engine.NumDimensions]bool{} {
		return engine.Visitors | engine.Breakdowns
	}
	return engine.Visitors
}

func readTop(q *FiguresQuery, value string) (err error) {
	q.top, err = readCount(value, maxTop)
	return err
}

// readFiguresFolder reads the folder whose links are meant.
func readFiguresFolder(q *FiguresQuery, value string) error { return readNumbered(&q.folder, value) }

// readTag reads a tag; it accepts any text that the tag of a link may be.
func readTag(q *FiguresQuery, value string) error {
	q.tag = value
	if value == "" {
		return jsonbody.FieldError("", "required", "must not be empty")
	}
	return checkTextParameter(value, engine.MaxTagBytes)
}
