package links

import (
	"log/slog"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/auth"
	"shunt/api/exchange"
	"shunt/api/form"
	"shunt/api/ops"
	"shunt/api/page"
	"shunt/api/problem"
)

// Calls answers the calls on links and their figures; package ops defines what each call does.
type Calls struct {
	Ops     *ops.Calls
	Heavy   *Heavy
	Limiter *auth.Limiter
	Ending  <-chan struct{} // closed when the server shuts down
	Log     *slog.Logger
}

// writeLink answers with a link object.
func writeLink(ctx *fasthttp.RequestCtx, status int, l *ops.Link) error {
	exchange.SetVersion(ctx, l.Version)
	return exchange.WriteAppended(ctx, status, l.AppendJSON)
}

// CreateLink is POST /shorten. Tools that send forms get what others get, and those that prefer text the address alone.
func (l *Calls) CreateLink(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	key, err := creationAsked(ctx)
	if err != nil {
		return err
	}
	body, err := form.Read(exchange.BodyOf(ctx))
	if err != nil {
		return err
	}
	link, existed, err := l.Ops.Create(caller, key, body)
	if err != nil {
		return err
	}
	location := append([]byte("/api/v1/links/"), url.PathEscape(link.Code)...)
	if link.Host != "" {
		location = append(append(location, "?domain="...), url.QueryEscape(link.Host)...)
	}
	ctx.Response.Header.SetCanonical(exchange.NameLocation, location)
	status := fasthttp.StatusCreated
	if existed {
		status = fasthttp.StatusOK
	}
	ctx.Response.Header.Set(fasthttp.HeaderVary, "Accept")
	if page.PrefersText(ctx.Request.Header.PeekAll(fasthttp.HeaderAccept)) {
		exchange.SetVersion(ctx, link.Version)
		return exchange.WriteText(ctx, status, link.ShortURL)
	}
	return writeLink(ctx, status, link)
}

// creationAsked returns the Idempotency-Key of a request that has no parameters.
func creationAsked(ctx *fasthttp.RequestCtx) (ops.Key, error) {
	if err := exchange.NoParameters(ctx); err != nil {
		return ops.Key{}, err
	}
	return ops.ParseKey(ctx.Request.Header.PeekAll("Idempotency-Key"))
}

// ListLinks is GET /links.
func (l *Calls) ListLinks(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, err := l.Ops.ParseList(caller, ctx.QueryArgs())
	if err != nil {
		return err
	}
	return l.Ops.List(caller, q, func(page ops.Page) error {
		return exchange.WriteAppended(ctx, fasthttp.StatusOK, page.AppendJSON)
	})
}

// ReadLink is GET /links/{code}.
func (l *Calls) ReadLink(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	code, whose, err := linkAsked(ctx, l.Ops, caller)
	if err != nil {
		return err
	}
	link, err := l.Ops.Read(caller, code, whose)
	if err != nil {
		return err
	}
	return writeLink(ctx, fasthttp.StatusOK, &link)
}

// PatchLink is PATCH /links/{code}.
func (l *Calls) PatchLink(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	code, whose, err := linkAsked(ctx, l.Ops, caller)
	if err != nil {
		return err
	}
	link, err := l.Ops.Update(caller, code, whose, versionsAsked(ctx), exchange.BodyOf(ctx))
	if err != nil {
		return acceptingPatches(ctx, err)
	}
	return writeLink(ctx, fasthttp.StatusOK, &link)
}

// acceptingPatches returns err, the error of a patch. If the patch is of another type, the answer says which
// there are (RFC 5789).
func acceptingPatches(ctx *fasthttp.RequestCtx, err error) error {
	if r, _ := problem.Of(err); r.Kind == problem.MediaType {
		ctx.Response.Header.Set("Accept-Patch", strings.Join(ops.PatchTypes, ", "))
	}
	return err
}

// DeleteLink is DELETE /links/{code}.
func (l *Calls) DeleteLink(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	whose, purge, err := l.Ops.ParseDelete(caller, ctx.QueryArgs())
	if err != nil {
		return err
	}
	code, err := codeAsked(ctx)
	if err != nil {
		return err
	}
	remove := l.Ops.Delete
	if purge {
		remove = l.Ops.Purge
	}
	if err := remove(caller, code, whose, versionsAsked(ctx)); err != nil {
		return err
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// RestoreLink is POST /links/{code}/restore. It reads no body.
func (l *Calls) RestoreLink(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	code, whose, err := linkAsked(ctx, l.Ops, caller)
	if err != nil {
		return err
	}
	link, err := l.Ops.Restore(caller, code, whose, versionsAsked(ctx))
	if err != nil {
		return err
	}
	return writeLink(ctx, fasthttp.StatusOK, &link)
}

// ResetLink is POST /links/{code}/reset. It reads no body.
func (l *Calls) ResetLink(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	code, whose, err := linkAsked(ctx, l.Ops, caller)
	if err != nil {
		return err
	}
	link, err := l.Ops.Reset(caller, code, whose, versionsAsked(ctx))
	if err != nil {
		return err
	}
	return writeLink(ctx, fasthttp.StatusOK, &link)
}

// ListTags is GET /tags.
func (l *Calls) ListTags(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, err := l.Ops.ParseTags(caller, ctx.QueryArgs())
	if err != nil {
		return err
	}
	page, err := l.Ops.Tags(caller, q)
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, page)
}

// RenameTag is PATCH /tags/{tag}.
func (l *Calls) RenameTag(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	tag, whose, err := l.tagAsked(ctx, caller)
	if err != nil {
		return err
	}
	done, err := l.Ops.RenameTag(caller, whose, tag, exchange.BodyOf(ctx))
	if err != nil {
		return acceptingPatches(ctx, err)
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, done)
}

// DeleteTag is DELETE /tags/{tag}.
func (l *Calls) DeleteTag(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	tag, whose, err := l.tagAsked(ctx, caller)
	if err != nil {
		return err
	}
	done, err := l.Ops.DeleteTag(caller, whose, tag)
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, done)
}

// tagAsked returns the {tag} of the path, and whose it is.
func (l *Calls) tagAsked(ctx *fasthttp.RequestCtx, caller account.Caller) (tag string, w ops.Whose, err error) {
	if w, err = l.Ops.ParseWhose(caller, ctx.QueryArgs()); err != nil {
		return "", w, err
	}
	part, _ := ctx.UserValue("tag").(string)
	tag, err = ops.ParseTag(part)
	return tag, w, err
}

// linkAsked returns the {code} of the path, and whose link it may be. The only
// query parameters are owner and domain.
func linkAsked(ctx *fasthttp.RequestCtx, calls *ops.Calls, caller account.Caller) (code string, w ops.Whose, err error) {
	if w, err = calls.ParseWhose(caller, ctx.QueryArgs()); err != nil {
		return "", w, err
	}
	code, err = codeAsked(ctx)
	return code, w, err
}

// codeAsked returns the {code} of the path.
func codeAsked(ctx *fasthttp.RequestCtx) (string, error) {
	text, _ := ctx.UserValue("code").(string)
	return ops.ParseCode(text)
}

// versionsAsked returns the versions that If-Match lists; none if any version will do.
func versionsAsked(ctx *fasthttp.RequestCtx) []uint64 {
	return ops.ParseVersions(ctx.Request.Header.PeekAll("If-Match"))
}
