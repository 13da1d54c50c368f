package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// A Record is one link of a file.
type Record struct {
	Number  int64  // as people count: of the line, or of the link in JSON. The first is 1, the last of a file may come first
	Link    []byte // as POST /import takes it; valid until the next call of Next
	Refused string // why the record is no link; there is no Link then
	Rest    []byte // what is known of a refused record, for Rejected; nil: nothing. Valid until the next call of Next
}

// A Source reads the records of a file. It is used by one goroutine.
type Source interface {
	// Next returns the next record, io.EOF after the last one.
	Next() (Record, error)
	// Passed returns how many bytes of the file were read for the records so far.
	Passed() int64
	// Summary tells what was met so far.
	Summary() Summary
}

// A Summary tells what a source has met beside links.
type Summary struct {
	Format string           `json:"format,omitempty"`          // a name of Formats
	Status int              `json:"redirect_status,omitempty"` // that links without one were given, since their system has it
	Hosts  map[string]int64 `json:"hosts,omitempty"`           // links by the host they were at, "" if the file does not say
	Main   string           `json:"-"`                         // the host whose links become links without a domain, unless Options.Hosts has it
	Lost   map[string]int64 `json:"no_place,omitempty"`        // values by their name, that have no place in a link
	Twins  []string         `json:"case_twins,omitempty"`      // codes that differ only by case from an earlier one, the first maxTwins
	// MoreTwins is how many links have further such codes. Unseen: there are codes that were not looked at for that.
	MoreTwins int64      `json:"more_case_twins,omitempty"`
	Unseen    bool       `json:"case_twins_incomplete,omitempty"`
	Clicks    *ClicksMet `json:"clicks,omitempty"`        // of the log, if Options.Clicks asks for it, or of golink
	Mended    int64      `json:"mended_titles,omitempty"` // that were encoded twice
}

// TwinsShown lists codes that differ only by case, and says how many it does not name; empty: there are none.
func (s Summary) TwinsShown() string {
	text := strings.Join(s.Twins, ", ")
	if s.MoreTwins > 0 {
		text += fmt.Sprintf(" and %d more", s.MoreTwins)
	}
	if s.Unseen {
		text = fmt.Sprintf("%s (only the first %d codes were compared)", cmp.Or(text, "none"), maxSeen)
	}
	return text
}

// Options decide about files that are not ours.
type Options struct {
	Format  string            // one of Formats; empty: the content tells
	Newest  bool              // lines of JSON have the newest link first, whatever they say
	Columns map[string]string // of a table, by the field of the API
	Table   string            // of links in a dump that has several; empty: the first one
	// Zone is that of times without one; nil: UTC. Of a dump of YOURLS it is that of the database: see asWritten.
	Zone *time.Location
	// Hosts are the domains for links that were at a host. Of several hosts in a file, those of the first one need
	// none: they name no domain then.
	Hosts map[string]string
	// Clicks asks for the hits by day of a dump of YOURLS; nil: its log is passed over.
	Clicks *ClickLog
}

// String tells how a file is read, in the same way in all versions: an import that was cut goes on only if it is the
// same.
func (o *Options) String() string {
	text := fmt.Sprint(o.Format, o.Columns, o.Hosts, o.Zone, o.Table, o.Clicks != nil) // fmt sorts maps
	if o.Clicks != nil && o.Clicks.Zone != nil && o.Clicks.Zone != time.UTC {
		text += o.Clicks.Zone.String()
	}
	return text
}

// Names of formats that are no system.
const (
	Shunt     = "shunt"
	CSV       = "csv"
	JSON      = "json"
	Redirects = "redirects"
	Nginx     = "nginx"
)

// Reuses reports whether the system of a format answers the repeated target of a create with the link that there is,
// always or if it is told to. Who moves away from it keeps tools that rely on that.
func Reuses(format string) bool { return format == yourls || format == "shlink" || format == "kutt" }

// Formats lists the names of formats.
func Formats() []string {
	all := []string{Shunt, CSV, JSON}
	for i := range systems {
		all = append(all, systems[i].name)
	}
	return append(all, Redirects, Nginx)
}

// Fields lists the fields that a column may be given.
func Fields() (all []string) {
	for field := range names {
		if field != "password" {
			all = append(all, field)
		}
	}
	slices.Sort(all)
	return all
}

var (
	// ErrBroken is the error of an export that broke off: its last line is a problem.
	ErrBroken = errors.New("the last line says that the export broke off here")
	// ErrNoTarget is the error of a table without a column of targets.
	ErrNoTarget = errors.New("the headings name no column of targets; say which one it is with --map url=COLUMN")
	// ErrNoTable is the error of columns that are given for a file that has none.
	ErrNoTable = errors.New("is no table, so --map has no use")
	// ErrNoTables is the error of a table that is named of a file that has none with a name.
	ErrNoTables = errors.New("is no dump of a database, so --table has no use")
	// ErrUTF16 is the error of a text that is not UTF-8.
	ErrUTF16 = errors.New("is UTF-16; save it as UTF-8, in a spreadsheet as “CSV UTF-8”")
	// ErrPacked is the error of a packed file in another one.
	ErrPacked = errors.New("is packed twice; unpack it once")
	// ErrFormat is the error of a format that is not known.
	ErrFormat = errors.New("is not a format")
)

// Open returns the records of a file of size bytes.
func Open(file io.ReaderAt, size int64, o Options) (Source, error) {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Format != "" && !slices.Contains(Formats(), o.Format) {
		return nil, ErrFormat
	}
	kind, err := containerOf(file, size, &o)
	if err != nil {
		return nil, err
	}
	if len(o.Columns) > 0 && kind != inTable {
		return nil, ErrNoTable
	}
	switch {
	case o.Clicks != nil && kind != inDump && kind != inObjects:
		return nil, ErrNotDump
	case o.Table != "" && kind != inDump:
		return nil, ErrNoTables
	}
	if kind == ours {
		return openLines(file, size, o.Newest)
	}
	if t, err := ownTableOf(file, size, kind, &o); t != nil || err != nil {
		return t, err
	}
	from, system, err := openRows(file, size, kind, &o)
	if err != nil {
		return nil, err
	}
	if s := systemNamed(o.Format); s != nil {
		system = s
	}
	s := newForeign(from, system, kind, o)
	s.met = newMet(size)
	if s.clicks, err = clicksOf(file, size, from, system, o.Clicks); err != nil {
		return nil, err
	}
	return s, nil
}

// clicksOf counts the clicks that are asked for, and those of golink in any case; nil: there are none.
func clicksOf(file io.ReaderAt, size int64, from rows, made *system, asked *ClickLog) (c *clicks, err error) {
	switch from := from.(type) {
	case *sqlRows:
		if asked != nil && made.name == yourls {
			return countClicks(file, size, from.table, *asked)
		}
	case *objects:
		if from.isGolink = made.name == golink; from.isGolink {
			log := asked
			if log == nil {
				log = new(ClickLog)
			}
			c, err = countGolink(file, size, *log)
		}
	}
	if asked != nil && c == nil && err == nil {
		err = ErrNotDump
	}
	return c, err
}

// openRows returns the records of a file that is not ours, and what they were made with.
func openRows(file io.ReaderAt, size int64, kind container, o *Options) (from rows, made *system, err error) {
	switch kind {
	case inTable:
		t, err := openTable(file, size, o.Columns)
		if err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(t.names, func(name string) bool { return slices.Contains(names["url"], name) }) {
			return nil, nil, fmt.Errorf("%w; it has %s", ErrNoTarget, shownNames(t.headings))
		}
		return t, systemOf((*system).headings, func(name string) bool { return slices.Contains(t.names, name) }), nil
	case inPages:
		begin := openPages(file, size)
		f := firstFields(begin)
		return openPages(file, size), systemOf((*system).members, func(name string) bool { return f.has(name) || begin.met.has(name) }), nil
	case inObjects:
		f, _, err := firstObject(file, size)
		return &objects{lines: newLines(file, size, false)}, systemOf((*system).members, f.has), err
	case inDump:
		name, dumped, err := openDump(file, size, o)
		return dumped, systemNamed(name), err
	}
	return &proxyRules{lines: newLines(file, size, false), nginx: kind == inMap}, &other, nil
}

func (f fields) has(name string) bool {
	_, ok := f[name]
	return ok
}
