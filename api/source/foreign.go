package source

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"
)

// Rows read the records of a file that is not ours.
type rows interface {
	// next returns the values of the next record and its number, or why it was refused; io.EOF after the last one. One
	// that was refused has its text, under an empty name, if it has one.
	next() (f fields, number int64, refused, err error)
	// passed returns how many bytes were read.
	passed() int64
}

// textOnly is what there is of a record that has a text only.
func textOnly(text string) fields { return fields{"": {text: strings.TrimSpace(text)}} }

// maxLost bounds the names of values that are counted one by one.
const maxLost = 100

// A foreign makes links of the records of another system.
type foreign struct {
	rows   rows
	system *system
	o      Options
	stored bool   // the times of links are those of a database of YOURLS
	main   string // the first host
	met    met
	waits  []Record // of a record that is several links
	clicks *clicks  // of the log of a dump; nil: it was not asked for
	sum    Summary
}

func newForeign(from rows, made *system, kind container, o Options) *foreign {
	byKind := map[container]string{inTable: CSV, inPages: JSON, inObjects: JSON, inRules: Redirects, inMap: Nginx}
	return &foreign{rows: from, system: made, o: o, stored: kind == inDump && made.name == yourls, sum: Summary{
		Format: cmp.Or(made.name, byKind[kind]), Status: made.status, Lost: make(map[string]int64),
	}}
}

// Next implements Source.
func (s *foreign) Next() (Record, error) {
	for len(s.waits) == 0 {
		f, number, refused, err := s.rows.next()
		if err != nil {
			return Record{}, err
		}
		var rest []byte
		switch text := f[""].text; {
		case refused == nil:
			rest, refused = s.convert(f, number)
		case text != "":
			rest = []byte(text)
		case len(f) > 0:
			rest = s.restOf(&link{}, nil, f)
		}
		if refused != nil {
			return Record{Number: number, Refused: strings.ReplaceAll(refused.Error(), "\n", "; "), Rest: rest}, nil
		}
	}
	r := s.waits[0]
	s.waits = s.waits[1:]
	return r, nil
}

var errLongRecord = fmt.Errorf("has more than %d bytes", maxLineBytes)

// convert adds the links of a record to those that wait. With an error it returns what is known of it.
func (s *foreign) convert(f fields, number int64) (rest []byte, err error) {
	all := maps.Clone(f)
	keyword, zone := cmp.Or(f["keyword"].text, golinkID(f["short"].text)), s.o.Zone
	if s.stored {
		f["timestamp"], zone = value{text: asWritten(f["timestamp"].text, zone)}, time.UTC
	}
	l, at, lost, err := f.linkOf(s.system, zone)
	if err != nil {
		return s.restOf(&l, at, all), err
	}
	if s.stored {
		s.mend(&l)
	}
	if s.clicks != nil {
		s.clicks.give(&l, keyword)
	}
	if s.o.Clicks == nil {
		l.Daily = nil
	}
	for _, name := range lost {
		if _, known := s.sum.Lost[name]; known || len(s.sum.Lost) < maxLost {
			s.sum.Lost[name]++
		}
	}
	for _, a := range at {
		r := Record{Number: number}
		var ok bool
		if l.Domain, ok = s.domainOf(a.host); ok {
			l.Code = a.code
			s.met.twins.note(l.Domain, l.Code)
			r.Link = l.text()
			if len(r.Link) > maxLineBytes {
				r.Link, r.Refused = nil, errLongRecord.Error()
			}
		} else {
			r.Rest = s.restOf(&l, []address{a}, all)
			r.Refused = fmt.Sprintf("was at %s and not at %s: say with --map-domain %s=DOMAIN where such links go", a.host, s.main, a.host)
		}
		s.waits = append(s.waits, r)
	}
	return nil, nil
}

// mend makes right a title that was encoded twice, as dumps have them.
func (s *foreign) mend(l *link) {
	if title, ok := encodedOnce(l.Title); ok {
		l.Title = title
		s.sum.Mended++
	}
}

// domainOf returns the domain for links of a host, empty for that of links which name none.
func (s *foreign) domainOf(host string) (domain string, ok bool) {
	s.met.countHost(host)
	switch domain, ok := s.o.Hosts[host]; {
	case ok, host == "":
		return domain, true
	}
	s.main = cmp.Or(s.main, host)
	return "", host == s.main
}

// Passed implements Source.
func (s *foreign) Passed() int64 { return s.rows.passed() }

// Summary implements Source.
func (s *foreign) Summary() Summary {
	sum := s.sum
	s.met.addTo(&sum)
	sum.Main = s.main
	if s.clicks != nil {
		sum.Clicks = s.clicks.summary()
	}
	return sum
}
