package domains

import (
	"errors"
	"net/url"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/exchange"
	"shunt/api/problem"
	"shunt/engine"
)

// List is GET /domains: those that the caller may use. There are at most domain.MaxDomains, so the list has one page.
func (c *Calls) List(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	if err := exchange.NoParameters(ctx); err != nil {
		return err
	}
	list := struct {
		Data []Object `json:"data"`
	}{[]Object{}}
	for _, d := range c.Domains.All() {
		if caller.Domains.Has(d.Number) {
			list.Data = append(list.Data, c.Shown(d))
		}
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, list)
}

// Add is POST /domains.
func (c *Calls) Add(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	if err := exchange.NoParameters(ctx); err != nil {
		return err
	}
	o, err := c.AddDomain(caller, exchange.BodyOf(ctx))
	if err != nil {
		return hostTaken(err)
	}
	ctx.Response.Header.Set("Location", "/api/v1/domains/"+url.PathEscape(o.Host))
	return exchange.WriteJSON(ctx, fasthttp.StatusCreated, o)
}

// hostTaken returns the problem of a host that is another domain already.
func hostTaken(err error) error {
	var field engine.FieldError
	if errors.As(err, &field) && field.Code == domain.TakenCode {
		return problem.Problem{Kind: problem.HostTaken, Detail: field.Message}
	}
	return err
}

// Read is GET /domains/{host}.
func (c *Calls) Read(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	d, err := c.asked(ctx, caller)
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, c.Shown(d))
}

// Edit is PATCH /domains/{host}.
func (c *Calls) Edit(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	d, err := c.asked(ctx, caller)
	if err != nil {
		return err
	}
	o, err := c.EditDomain(caller, d.Host, exchange.BodyOf(ctx))
	if err != nil {
		return hostTaken(err)
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, o)
}

// Remove is DELETE /domains/{host}.
func (c *Calls) Remove(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	d, err := c.asked(ctx, caller)
	if err != nil {
		return err
	}
	if err := c.RemoveDomain(caller, d.Host); err != nil {
		return err
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// Verify is POST /domains/{host}/check.
func (c *Calls) Verify(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	d, err := c.asked(ctx, caller)
	if err != nil {
		return err
	}
	found, err := c.CheckDomain(caller, d)
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, found)
}

// asked returns the domain of the {host} of the path, of a request without parameters. One that the caller may not use
// is not there.
func (c *Calls) asked(ctx *fasthttp.RequestCtx, caller account.Caller) (*domain.Domain, error) {
	if err := exchange.NoParameters(ctx); err != nil {
		return nil, err
	}
	host, _ := ctx.UserValue("host").(string)
	d, err := c.Domains.Named(host)
	if err == nil && !caller.Domains.Has(d.Number) {
		err = domain.ErrNoDomain
	}
	return d, err
}
