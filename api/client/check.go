package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// States of a TargetCheck.
const (
	CheckNone    = "none" // there was none since the server started
	CheckRunning = "running"
	CheckDone    = "done"
	CheckStopped = "stopped"
	CheckFailed  = "failed"
)

// A TargetCheck is what a check of targets has found as yet.
type TargetCheck struct {
	State     string       `json:"state"`
	StartedAt time.Time    `json:"started_at"` // zero: there was none
	EndedAt   time.Time    `json:"ended_at"`   // zero: it has not ended
	Checked   int          `json:"checked"`
	Unasked   int          `json:"unasked"` // of these: targets that the server may not ask
	Dead      []DeadTarget `json:"dead"`
	More      bool         `json:"more"` // there are more links, or more that are dead, than a check has
}

// A DeadTarget is a link whose target does not answer, or with 404, 410 or 5xx.
type DeadTarget struct {
	Domain   string `json:"domain,omitempty"` // a host; empty: the default domain
	Code     string `json:"code"`
	ShortURL string `json:"short_url"`
	URL      string `json:"url"`
	Reason   string `json:"reason"`
}

const checkPath = "/target-check"

// StartTargetCheck has the server ask for the targets of the links that q selects, one a second, if it may (serve
// --fetch-titles). It does not wait: TargetCheck says how far it is. While a check of the caller runs, it returns that.
func (c *Client) StartTargetCheck(ctx context.Context, q LinksQuery, options ...Option) (TargetCheck, error) {
	query := url.Values{}
	setGiven(query, "q", q.Q)
	setGiven(query, "tag", q.Tag)
	setGiven(query, "state", string(q.State))
	setTime(query, "created_from", q.CreatedFrom)
	setTime(query, "created_to", q.CreatedTo)
	if q.NeverHit {
		query.Set("never_hit", "true")
	}
	return ask[TargetCheck](ctx, c, call{method: http.MethodPost, path: checkPath, query: query, takes: whose, repeatable: true}, options)
}

// TargetCheck reads the last check of the caller.
func (c *Client) TargetCheck(ctx context.Context, options ...Option) (TargetCheck, error) {
	return ask[TargetCheck](ctx, c, call{method: http.MethodGet, path: checkPath}, options)
}

// StopTargetCheck ends the check of the caller. What it has found stays.
func (c *Client) StopTargetCheck(ctx context.Context, options ...Option) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: checkPath}, options, nil)
	return err
}
