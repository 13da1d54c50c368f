package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// An Interval cuts a window into buckets.
type Interval string

// The intervals. Hours are kept for 48 hours, days for longer.
const (
	Hourly Interval = "hour"
	Daily  Interval = "day"
)

// An Include names a part of Stats besides the two figures.
type Include string

// The parts of Stats.
const (
	IncludeBots       Include = "bots"
	IncludeScans      Include = "scans"
	IncludeReferrers  Include = "referrers"
	IncludeCountries  Include = "countries"
	IncludeDevices    Include = "devices"
	IncludeBrowsers   Include = "browsers"
	IncludeDurability Include = "durability"
	IncludeError      Include = "error"
	IncludeTargets    Include = "targets" // of one link only
)

// StatsQuery selects figures. The zero query selects the two figures over all time.
type StatsQuery struct {
	From, To time.Time // half-open, widened to whole hours or days; zero: the creation, and now
	Interval Interval  // empty: no Series
	Include  []Include
	Zone     string // of days, such as Europe/Berlin, as long as hours are kept; empty: the server's
	Target   uint8  // of one link: only the hits of this target, by its number; 0: all
}

// OwnerStatsQuery selects figures of all links of an owner.
type OwnerStatsQuery struct {
	StatsQuery
	Tag    string // only the links with this tag
	Folder uint32 // the id of a folder: all links in it, whoever's they are, without a Tag or Owner; 0: those of the owner
	Top    int    // length of the list of links with the most hits, at most 1,000
}

// Stats are the figures of a link, or of all links of an owner. A field that was not asked for is
// zero.
type Stats struct {
	Hits   uint64 `json:"hits"`
	Unique uint64 `json:"unique"` // visitors
	// ImportedHits are hits that were imported without their days, for a window that begins before that or in that
	// hour. They have no time, so Hits does not contain them.
	ImportedHits uint64 `json:"imported_hits,omitempty"`

	From       time.Time    `json:"from,omitzero"`       // of the window, as used
	To         time.Time    `json:"to,omitzero"`         //
	Zone       string       `json:"time_zone,omitempty"` // of the days of the window and of Series
	Series     []Bucket     `json:"series,omitempty"`    // the buckets' Unique do not add up to Unique
	Bots       *BotHits     `json:"bots,omitempty"`      //
	Scans      *uint64      `json:"scans,omitempty"`     // hits by the QR code, which are among Hits
	Referrers  []ValueHits  `json:"referrers,omitempty"` // lists are in descending order, "other" is last
	Countries  []ValueHits  `json:"countries,omitempty"`
	Devices    []ValueHits  `json:"devices,omitempty"`
	Browsers   []ValueHits  `json:"browsers,omitempty"`
	Durability *DurableHits `json:"durability,omitempty"`
	Error      *float64     `json:"error,omitempty"` // relative standard error of Unique
	Targets    []TargetHits `json:"targets,omitempty"`
	Top        []TopLink    `json:"top,omitempty"`
	// Raw is the object as it came.
	Raw json.RawMessage `json:"-"`
}

// A Bucket has the figures from From to the From of the next bucket.
type Bucket struct {
	From time.Time `json:"from"`
	Figures
}

// BotHits are redirects that do not count as hits.
type BotHits struct {
	Bots       uint64 `json:"bots"`
	Prefetches uint64 `json:"prefetches"`
	Heads      uint64 `json:"heads"`
}

// ValueHits are the hits with one referrer, country, device or browser.
type ValueHits struct {
	Value string `json:"value"`
	Hits  uint64 `json:"hits"`
}

// DurableHits are the hits that are already in the store, not only in the journal.
type DurableHits struct {
	Hits      uint64    `json:"durable_hits"`
	FlushedAt time.Time `json:"flushed_at"`
}

// TargetHits are the figures of a target of a link. Those of all targets have the hits of the link.
type TargetHits struct {
	Target  uint8  `json:"target"`           // its number; 0: hits of the time when the link had one target, and imported ones
	URL     string `json:"url,omitempty"`    // empty: the link no longer has this target
	Weight  int    `json:"weight,omitempty"` // in the split; 0: it is in none
	Figures        // Unique is unknown, and 0, for Target 0
}

// A TopLink is a link with its figures.
type TopLink struct {
	Domain string `json:"domain,omitempty"` // a host; empty: the default domain
	Code   string `json:"code"`
	Figures
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Stats) UnmarshalJSON(text []byte) error {
	type fields Stats
	s.Raw = bytes.Clone(text)
	return json.Unmarshal(text, (*fields)(s))
}

// Stats reads the figures of a link. They include every redirect that was answered before the call.
func (c *Client) Stats(ctx context.Context, code string, q StatsQuery, options ...Option) (Stats, error) {
	asked := call{method: http.MethodGet, path: "/stats/" + url.PathEscape(code), query: q.parameters(), takes: whose}
	return ask[Stats](ctx, c, asked, options)
}

// OwnerStats reads the figures of all links of the caller, or of Owner. Unique counts visitors
// across links.
func (c *Client) OwnerStats(ctx context.Context, q OwnerStatsQuery, options ...Option) (Stats, error) {
	query := q.parameters()
	setGiven(query, "tag", q.Tag)
	setNumber(query, "folder", q.Folder)
	if q.Top != 0 {
		query.Set("top", strconv.Itoa(q.Top))
	}
	return ask[Stats](ctx, c, call{method: http.MethodGet, path: "/stats", query: query, takes: whose}, options)
}

func (q *StatsQuery) parameters() url.Values {
	query := make(url.Values)
	setTime(query, "from", q.From)
	setTime(query, "to", q.To)
	setGiven(query, "interval", string(q.Interval))
	setGiven(query, "time_zone", q.Zone)
	if q.Target != 0 {
		query.Set("target", strconv.Itoa(int(q.Target)))
	}
	names := make([]string, len(q.Include))
	for i, name := range q.Include {
		names[i] = string(name)
	}
	setGiven(query, "include", strings.Join(names, ","))
	return query
}

func setTime(query url.Values, name string, t time.Time) {
	if !t.IsZero() {
		query.Set(name, t.UTC().Format(time.RFC3339Nano))
	}
}

// Misses are the unknown codes that were requested most often since the server started.
type Misses struct {
	Data  []Miss    `json:"data"`
	Total uint64    `json:"total"` // of all codes, in the domain if one was asked for
	Since time.Time `json:"since"`
}

// A Miss is a code without a link.
type Miss struct {
	Domain string `json:"domain,omitempty"` // a host; empty: the default domain
	Code   string `json:"code"`
	Count  uint64 `json:"count"`
	Error  uint64 `json:"error"` // by how much Count may be too high
}

// Misses lists the top codes, at most 1,000; 0: the server's default, 50. InDomain is an option: only the codes of that
// domain. It needs the scope admin.
func (c *Client) Misses(ctx context.Context, top int, options ...Option) (Misses, error) {
	query := make(url.Values)
	if top != 0 {
		query.Set("top", strconv.Itoa(top))
	}
	return ask[Misses](ctx, c, call{method: http.MethodGet, path: "/misses", query: query, takes: takesDomain}, options)
}
