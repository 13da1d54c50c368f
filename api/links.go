package api

import (
	"context"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/engine"
)

// shown returns link d as its owner sees it.
func (s *Server) shown(d engine.Detail) Link {
	d.State = s.redirects.State(&d)
	return Link{Detail: d, ShortURL: s.baseURL + "/" + d.Code}
}

// writeLink answers with a link object.
func writeLink(ctx *fasthttp.RequestCtx, status int, l *Link) error {
	setETag(ctx, l.Version)
	return writeEncoded(ctx, status, append(l.AppendJSON(nil), '\n'))
}

// createLink is POST /shorten.
func (s *Server) createLink(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	if err := noParameters(ctx); err != nil {
		return err
	}
	request, err := requestAsked(ctx, caller, "/shorten")
	if err != nil {
		return err
	}
	d, existed, err := s.create(request, func() (engine.Draft, error) { return s.readDraft(ctx, caller.User.ID) })
	if err != nil {
		return err
	}
	ctx.Response.Header.Set("Location", "/api/v1/links/"+d.Code)
	status := fasthttp.StatusCreated
	if existed {
		status = fasthttp.StatusOK
	}
	l := s.shown(d)
	return writeLink(ctx, status, &l)
}

// create makes the link of draft, or finds it; request is what its sender may repeat, nil if nothing.
func (s *Server) create(request *engine.Request, draft func() (engine.Draft, error)) (engine.Detail, bool, error) {
	if request == nil {
		asked, err := draft()
		if err != nil {
			return engine.Detail{}, false, err
		}
		d, existed, err := s.engine.Create(context.Background(), asked)
		s.metrics.Wrote("create", err)
		return d, existed, err
	}
	var draftErr error
	d, existed, err := s.engine.CreateOnce(context.Background(), *request, func() (asked engine.Draft, _ error) {
		asked, draftErr = draft()
		return asked, draftErr
	})
	if draftErr == nil {
		s.metrics.Wrote("create", err)
	}
	return d, existed, err
}

// readLink is GET /links/{code}.
func (s *Server) readLink(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	code, guard, err := linkAsked(ctx, caller)
	if err != nil {
		return err
	}
	d, err := s.engine.Read(code)
	if err != nil {
		return err
	}
	if !guard.AnyOwner && d.Owner != guard.Owner {
		return engine.ErrNotFound
	}
	return s.writeCounted(ctx, d)
}

// writeCounted answers with a link and its visitors.
func (s *Server) writeCounted(ctx *fasthttp.RequestCtx, d engine.Detail) error {
	l := s.shown(d)
	l.Counted = true
	return writeLink(ctx, fasthttp.StatusOK, &l)
}

// deleteLink is DELETE /links/{code}.
func (s *Server) deleteLink(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	code, guard, err := linkAsked(ctx, caller)
	if err != nil {
		return err
	}
	if guard.Version, err = s.ifMatch(ctx, code, guard); err != nil {
		return err
	}
	err = s.engine.Delete(context.Background(), code, guard)
	s.metrics.Wrote("delete", err)
	if err != nil {
		return err
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// linkAsked returns the {code} of the path, and whose link it may be: the caller's, or by owner=all or owner=ID, which
// need scope admin, anybody's. No other query parameter is known.
func linkAsked(ctx *fasthttp.RequestCtx, caller account.Caller) (code string, g engine.Guard, err error) {
	if g, err = readParameters[struct{}](ctx, caller, nil, nil, maxOwnerBytes); err != nil {
		return "", g, err
	}
	code, err = codeAsked(ctx)
	return code, g, err
}

// maxOwnerBytes is more than any user's id has.
const maxOwnerBytes = 32

var errOwnerNeedsAdmin = problem.New(problem.Forbidden, "owner needs the scope %s", account.Admin)

// readOwner reads the parameter owner: all, or a user's id.
func readOwner(g *engine.Guard, value []byte) error {
	if g.AnyOwner = string(value) == "all"; g.AnyOwner {
		return nil
	}
	id, err := strconv.ParseUint(string(value), 10, 32)
	if err != nil || id == 0 {
		return fieldError("owner", "range", "must be a user's id or all")
	}
	g.Owner = uint32(id)
	return nil
}

// codeAsked returns the {code} of the path.
func codeAsked(ctx *fasthttp.RequestCtx) (string, error) {
	aliased, _ := ctx.UserValue("code").(string)
	if !engine.ValidCode([]byte(aliased)) {
		return "", engine.ErrNotFound
	}
	return strings.Clone(aliased), nil // the router's value dies with the request; a write may outlive it
}

// noParameters refuses a request that has a query parameter.
func noParameters(ctx *fasthttp.RequestCtx) error {
	for name := range ctx.QueryArgs().All() {
		return unknownParameter(name)
	}
	return nil
}

func unknownParameter(name []byte) engine.FieldError {
	return fieldError(string(name), "unknown", "is not a parameter of this request")
}

func setETag(ctx *fasthttp.RequestCtx, version uint64) {
	ctx.Response.Header.Set("ETag", `"`+strconv.FormatUint(version, 10)+`"`)
}

// noVersion is a version that no link has.
const noVersion = 1<<64 - 1

// ifMatch returns the version that If-Match demands, 0 if it demands none. Of several tags it is the one that the
// link has now; the engine compares it again while the code is reserved.
func (s *Server) ifMatch(ctx *fasthttp.RequestCtx, code string, g engine.Guard) (uint64, error) {
	var versions []uint64
	for _, line := range ctx.Request.Header.PeekAll("If-Match") {
		for tag := range strings.SplitSeq(string(line), ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" {
				return 0, nil
			}
			versions = append(versions, versionOf(tag))
		}
	}
	if len(versions) == 0 {
		return 0, nil
	}
	if len(versions) == 1 {
		return versions[0], nil
	}
	d, err := s.engine.Read(code)
	if err != nil {
		return 0, err
	}
	for _, v := range versions {
		if v == d.Version && (g.AnyOwner || g.Owner == d.Owner) {
			return v, nil
		}
	}
	return noVersion, nil
}

// versionOf returns the version in a strong entity tag of ours, noVersion if it is none: it then matches nothing.
func versionOf(tag string) uint64 {
	digits, opened := strings.CutPrefix(tag, `"`)
	digits, closed := strings.CutSuffix(digits, `"`)
	version, err := strconv.ParseUint(digits, 10, 64)
	if !opened || !closed || err != nil || version == 0 || strconv.FormatUint(version, 10) != digits {
		return noVersion
	}
	return version
}
