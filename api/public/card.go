package public

import (
	"errors"

	"github.com/valyala/fasthttp"

	"shunt/api/card"
	"shunt/api/exchange"
	"shunt/api/page"
	"shunt/api/problem"
	"shunt/api/redirect"
	"shunt/engine"
)

// ServeCard answers a program that shows previews of links with the card of a link. It reads the store, and shares the
// places of previews. Without a place, or if the card was changed at this moment, the program is told to ask again: the
// redirect would let it show something else, and keep that for weeks.
func (p *Previews) ServeCard(ctx *fasthttp.RequestCtx, of redirect.CardAsked) {
	var c engine.Card
	err := p.Places.Do(p.key(ctx), func() (err error) {
		c, err = p.engine.CardOf(of.Key, of.ID)
		return err
	})
	if err == nil && c == (engine.Card{}) {
		err = problem.New(problem.Overloaded, "this link is being changed; try again")
	}
	switch {
	case errors.Is(err, engine.ErrNotFound): // deleted since it was found
		p.pages.Answer(ctx, redirect.UnknownCode)
		return
	case err != nil:
		exchange.NameRequest(ctx)
		exchange.Fail(ctx, p.log, err)
		return
	}
	if p.pages.Blocked.BlocksText(c.Image) { // since it was set
		c.Image = ""
	}
	address := p.pages.Domains.ShortURL(of.Domain, of.Code) + string(engine.AppendASCII(nil, of.More))
	guardPage(ctx, page.AssetPolicy)
	h := &ctx.Response.Header
	h.SetCanonical(exchange.NameCacheControl, redirect.NeverStore)
	h.SetContentType("text/html; charset=utf-8")
	ctx.Response.SetBodyRaw(card.Page(&c, address))
}
