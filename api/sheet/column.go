package sheet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"shunt/api/tagtext"
	"shunt/api/when"
	"shunt/engine/texts"
)

// A column is a field of a link that a sheet may have.
type column struct {
	name   string   // in the API
	others []string // what people and other services call it
	value  func(cell string, zone *time.Location) any
}

// columns are all of them. Headings are compared in lower case, with _ for blanks and hyphens.
var columns = slices.Concat([]column{
	{"url", []string{"target", "target_url", "address", "long_url", "destination"}, text},
	{"alias", []string{"code", "slug", "short_code", "custom_alias"}, text},
}, textColumns(), []column{
	{"tags", []string{"tag", "labels"}, func(cell string, _ *time.Location) any { return tagtext.Split(cell) }},
	{"expires_at", []string{"expires", "expiry", "expiration"}, func(cell string, zone *time.Location) any { return Expiry(cell, zone) }},
	{"expired_url", []string{"expiry_url", "expiration_url"}, text},
	{"starts_at", []string{"starts", "start"}, func(cell string, zone *time.Location) any { return moment(cell, zone, when.Begin) }},
	{"domain", []string{"host"}, text},
	{"reuse", nil, yes},
})

// textColumns returns the columns of all texts of a link.
func textColumns() (all []column) {
	for _, t := range texts.All() {
		all = append(all, column{t.Name, t.Others, text})
	}
	return all
}

func text(cell string, _ *time.Location) any { return cell }

// yes reports whether a cell says yes, in the words of people and of spreadsheets. Another text is returned as it is,
// and the API refuses it.
func yes(cell string, _ *time.Location) any {
	switch strings.ToLower(cell) {
	case "true", "yes", "y", "x", "1":
		return true
	case "false", "no", "n", "0":
		return false
	}
	return cell
}

// Names lists the columns that a sheet may have, for people.
func Names() string {
	var names []string
	for i := range columns {
		names = append(names, columns[i].name)
	}
	return strings.Join(names, ", ")
}

// columnNamed returns the column with that heading; nil: there is none.
func columnNamed(heading string) *column {
	heading = strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(heading))
	for i := range columns {
		if c := &columns[i]; c.name == heading {
			return c
		}
		for _, other := range columns[i].others {
			if other == heading {
				return &columns[i]
			}
		}
	}
	return nil
}

// Expiry returns the moment of a cell as the API takes it: a date is the end of that day, and a time
// without a zone, with a blank or a T, is one of zone. Another text is returned as it is, and the API
// refuses it.
func Expiry(cell string, zone *time.Location) string { return moment(cell, zone, when.Expiry) }

// moment is Expiry for what read makes of a date.
func moment(cell string, zone *time.Location, read func(string, *time.Location) (time.Time, bool)) string {
	t, ok := read(cell, zone)
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if ok {
			break
		}
		var err error
		t, err = time.ParseInLocation(form, strings.Replace(cell, " ", "T", 1), zone)
		ok = err == nil
	}
	if !ok {
		return cell
	}
	return t.UTC().Format(time.RFC3339)
}

var errNoURL = errors.New("the headings have no column url")

// headed returns the columns of headings; nil for one without a heading.
func headed(headings []string) ([]*column, error) {
	found, seen := make([]*column, len(headings)), make(map[string]bool)
	for i, heading := range headings {
		if heading == "" {
			continue
		}
		c := columnNamed(heading)
		switch {
		case c == nil:
			return nil, fmt.Errorf("the column “%s” is not known: a sheet may have %s", shortened(heading), Names())
		case seen[c.name]:
			return nil, fmt.Errorf("there are two columns %s", c.name)
		}
		found[i], seen[c.name] = c, true
	}
	if !seen["url"] {
		return nil, errNoURL
	}
	return found, nil
}

// known returns how many of the headings are known; 0 if one is an address: then it is a row, of which a cell happens
// to be such a word.
func known(headings []string) (n int) {
	for _, heading := range headings {
		switch {
		case columnNamed(heading) != nil:
			n++
		case strings.Contains(heading, "://"), strings.Contains(heading, ".") && !strings.Contains(heading, " "):
			return 0
		}
	}
	return n
}

// maxShown bounds what a message has of a cell.
const maxShown = 60

func shortened(cell string) string {
	if len(cell) <= maxShown {
		return cell
	}
	return strings.ToValidUTF8(cell[:maxShown], "") + "…"
}
