package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/api/rate"
	"shunt/engine"
	"shunt/engine/texts"
)

// Limits of what is asked for at once, and of how often. A request holds a goroutine for up to 5 s.
const (
	maxFetches       = 8
	maxFetchesCaller = 2
)

// often is how often a user may ask.
var often = rate.Limit{Events: 30, Period: time.Minute, Burst: 30}

// maxTitleBytes is the limit of the title of a link.
var maxTitleBytes = texts.Named("title").Max

// Calls are the calls that ask other servers.
type Calls struct {
	client  *Client // nil: this server asks nobody
	targets engine.TargetPolicy
	places  *ops.Places
	rates   *rate.Table
	now     func() time.Time
}

// NewCalls returns the calls. client is nil if the server asks nobody. Whatever targets allows, what is private is not
// asked.
func NewCalls(client *Client, targets engine.TargetPolicy, now func() time.Time) *Calls {
	targets.RefusePrivate, targets.Schemes = true, nil
	c := &Calls{client: client, targets: targets, places: ops.NewPlaces("fetched pages", maxFetches, maxFetchesCaller), now: now}
	if client != nil {
		c.rates = rate.NewTable(often, now())
	}
	return c
}

// between is how long a check pauses after a link.
func (c *Calls) between() time.Duration {
	if c.client == nil {
		return 0
	}
	return c.client.between
}

// Allowed reports whether this server asks others.
func (c *Calls) Allowed() bool { return c.client != nil }

var errOff = problem.New(problem.Forbidden, "this server asks no other about targets; whoever runs it can allow that with --fetch-titles")

// A RateError says when a user may ask again.
type RateError struct{ Seconds int64 }

func (e RateError) Error() string {
	return "too many pages were asked for; try again in " + strconv.FormatInt(e.Seconds, 10) + " s"
}

// Unwrap makes e a problem.
func (e RateError) Unwrap() error { return problem.New(problem.RateLimited, "%s", e.Error()) }

// enter takes a place for a user who may ask now.
func (c *Calls) enter(caller account.Caller) (leave func(), err error) {
	if c.client == nil {
		return nil, errOff
	}
	key := strconv.AppendUint(nil, uint64(caller.User.ID), 10)
	if v := c.rates.Take(key, c.now(), 1); !v.Allowed {
		return nil, RateError{int64((v.Wait + time.Second - 1) / time.Second)}
	}
	if err := c.places.Take(ops.KeyOf(caller)); err != nil {
		return nil, err
	}
	return func() { c.places.Leave(ops.KeyOf(caller)) }, nil
}

// Page reads the page at an address as people type it.
func (c *Calls) Page(caller account.Caller, typed string) (p Page, err error) {
	leave, err := c.enter(caller)
	if err != nil {
		return p, err
	}
	defer leave()
	address, err := c.targets.ParseTyped(typed)
	if err != nil {
		return p, explain(err)
	}
	p, err = c.client.Page(context.Background(), address, maxTitleBytes, c.targets.Parse)
	return p, explain(err)
}

// codePrivate is the code of the error of a target that is private.
const codePrivate = "private"

// explain returns the error of the field url for one of a request.
func explain(err error) error {
	var field engine.FieldError
	switch refused := errors.As(err, &field); {
	case refused && field.Code == codePrivate: // which no setting allows here
		return jsonbody.FieldError("url", codePrivate, errPrivate.Error())
	case err == nil, refused:
		return err
	}
	return jsonbody.FieldError("url", "unreachable", err.Error())
}

// titleFields are the fields of POST /titles.
var titleFields = jsonbody.NewFields(map[string]jsonbody.Reader[string]{
	"url": func(v *string, value json.RawMessage) (err error) {
		*v, err = jsonbody.String(value)
		return err
	},
})

// An object is the answer to POST /titles.
type object struct {
	URL   string  `json:"url"` // where redirects have led
	Title string  `json:"title"`
	Icon  *string `json:"icon"`
}

// FetchTitle is POST /titles.
func (c *Calls) FetchTitle(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	if err := exchange.NoParameters(ctx); err != nil {
		return err
	}
	var address string
	sent, invalid, err := exchange.ReadBody(ctx, &address, titleFields)
	switch {
	case err != nil:
		return err
	case len(invalid) > 0:
		return invalid
	case len(sent) == 0:
		return jsonbody.FieldError("url", "required", "must be given")
	}
	p, err := c.Page(caller, address)
	var often RateError
	if errors.As(err, &often) {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(often.Seconds, 10))
	}
	if err != nil {
		return err
	}
	o := object{URL: p.Address, Title: p.Title}
	if icon := p.IconURL(); icon != "" {
		o.Icon = &icon
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, &o)
}
