package shlink

import (
	"time"

	"shunt/api/ops"
)

// timeFormat is how Shlink writes times.
const timeFormat = "2006-01-02T15:04:05-07:00"

func shownTime(t time.Time) string { return t.UTC().Format(timeFormat) }

func shownTimeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := shownTime(t)
	return &text
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// A ShortURL is a link as Shlink's clients read it.
type ShortURL struct {
	ShortCode        string   `json:"shortCode"`
	ShortURL         string   `json:"shortUrl"`
	LongURL          string   `json:"longUrl"`
	DateCreated      string   `json:"dateCreated"`
	VisitsSummary    Summary  `json:"visitsSummary"`
	VisitsCount      uint64   `json:"visitsCount"` // which old clients read
	Tags             []string `json:"tags"`
	Meta             Meta     `json:"meta"`
	Domain           *string  `json:"domain"` // null: the default one
	Title            *string  `json:"title"`
	Crawlable        bool     `json:"crawlable"`
	ForwardQuery     bool     `json:"forwardQuery"`
	HasRedirectRules bool     `json:"hasRedirectRules"`
}

// A Meta says when a link works.
type Meta struct {
	ValidSince *string `json:"validSince"`
	ValidUntil *string `json:"validUntil"`
	MaxVisits  *uint64 `json:"maxVisits"`
}

// A Summary counts visits. A hit is never one of a bot here: bots are counted apart, and for no list.
type Summary struct {
	Total   uint64 `json:"total"`
	NonBots uint64 `json:"nonBots"`
	Bots    uint64 `json:"bots"`
}

func summaryOf(hits uint64) Summary { return Summary{Total: hits, NonBots: hits} }

// shortURL returns a link as the door shows it.
func shortURL(l *ops.Link) ShortURL {
	shown := ShortURL{
		ShortCode: l.Code, ShortURL: l.ShortURL, LongURL: l.Target, DateCreated: shownTime(l.CreatedAt),
		VisitsSummary: summaryOf(l.Hits), VisitsCount: l.Hits, Tags: append([]string{}, l.Tags...),
		Meta:   Meta{ValidSince: shownTimeOrNull(l.StartsAt), ValidUntil: shownTimeOrNull(l.ExpiresAt)},
		Domain: orNull(l.Host), Title: orNull(l.Title), ForwardQuery: l.ForwardQuery, HasRedirectRules: len(l.Rules) > 0,
	}
	if l.MaxHits > 0 {
		shown.Meta.MaxVisits = &l.MaxHits
	}
	return shown
}
