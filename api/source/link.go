package source

import (
	"encoding/json"
	"strings"
	"time"

	"shunt/engine/texts"
)

// A link is one as POST /import takes it.
type link struct {
	Code   string `json:"code"`
	URL    string `json:"url"`
	Domain string `json:"domain,omitempty"`
	texts.Texts
	Tags           []string  `json:"tags,omitempty"`
	CreatedAt      string    `json:"created_at,omitempty"`
	UpdatedAt      string    `json:"updated_at,omitempty"`
	StartsAt       string    `json:"starts_at,omitempty"`
	ExpiresAt      string    `json:"expires_at,omitempty"`
	ExpiredURL     string    `json:"expired_url,omitempty"`
	MaxHits        uint64    `json:"max_hits,omitempty"`
	Hits           uint64    `json:"hits,omitempty"`
	RedirectStatus int       `json:"redirect_status,omitempty"`
	Disabled       bool      `json:"disabled,omitempty"`
	ForwardQuery   bool      `json:"forward_query,omitempty"`
	HasPassword    bool      `json:"has_password,omitempty"` // of one that is refused for it
	Daily          []dayHits `json:"daily,omitempty"`

	wrong map[string]string // values that are none of their field, by its name
}

// dayHits are the hits of a day, as POST /import takes them.
type dayHits struct {
	Day  string `json:"day"`
	Hits uint64 `json:"hits"`
}

// text returns the link in JSON.
func (l *link) text() []byte {
	b, err := json.Marshal(l)
	if err != nil {
		panic(err) // no field can fail
	}
	return b
}

// momentForms are those of times that systems write, beside numbers of seconds or milliseconds: with a T after the
// date, a blank, or nothing.
var momentForms = [3][]string{
	{time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05"},
	{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 Z0700", "2006-01-02 15:04", "2006/01/02 15:04:05"},
	{"2006-01-02", "2006/01/02"},
}

// Numbers from leastSeconds on are seconds since 1970, from leastMilliseconds on milliseconds.
const (
	leastSeconds      = 1e8
	leastMilliseconds = 1e11
	mostMilliseconds  = 1e14
)

// moment reads a time; a text without a zone is one of zone. The zero time is one that is not known: systems write it
// as the year 0 or 1.
func moment(text string, zone *time.Location) (t time.Time, ok bool) {
	if n, isNumber := number(text); isNumber {
		switch {
		case n >= mostMilliseconds:
			return t, false
		case n >= leastMilliseconds:
			return time.UnixMilli(int64(n)).UTC(), true
		case n >= leastSeconds:
			return time.Unix(int64(n), 0).UTC(), true
		}
		return t, false
	}
	if len(text) >= 10 && (text[:10] == "0000-00-00" || text[:10] == "0001-01-01") {
		return t, true
	}
	kind := 2
	switch {
	case strings.Contains(text, "T"):
		kind = 0
	case strings.Contains(text, " "):
		kind = 1
	}
	for _, form := range momentForms[kind] {
		if t, err := time.ParseInLocation(form, text, zone); err == nil {
			return t.UTC(), true
		}
	}
	return t, false
}

// number reads decimal digits.
func number(text string) (n uint64, ok bool) {
	if text == "" || len(text) > 19 {
		return 0, false
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + uint64(c-'0')
	}
	return n, true
}
