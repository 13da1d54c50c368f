package api

import (
	"context"
	"log/slog"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/engine"
)

// patchTypes are the media types of a patch: RFC 7396's own, and what most clients send.
var patchTypes = []string{"application/merge-patch+json", "application/json"}

// A patch is what PATCH /links/{code} is to change: the fields that were sent, to their values in draft.
type patch struct {
	fields []string
	draft  engine.Draft
}

// patchLink is PATCH /links/{code}: a JSON merge patch (RFC 7396). One that changes nothing leaves the link at its
// version.
func (s *Server) patchLink(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	code, guard, err := linkAsked(ctx, caller)
	if err != nil {
		return err
	}
	p, err := s.readPatch(ctx)
	if err != nil {
		return err
	}
	if guard.Version, err = s.ifMatch(ctx, code, guard); err != nil {
		return err
	}
	d, err := s.engine.Update(context.Background(), code, guard, p.apply)
	s.metrics.Wrote("update", err)
	if err != nil {
		return err
	}
	return s.writeCounted(ctx, s.withVisitors(d))
}

// withVisitors adds the visitors of a link that was edited. They are looked up by its id, for its code may be another link's
// by now. The edit has happened even if they cannot be read.
func (s *Server) withVisitors(d engine.Detail) engine.Detail {
	unique, err := s.engine.Visitors(context.Background(), d.ID)
	if err != nil {
		s.log.Error("a link was edited, and its figures cannot be read", slog.Any("cause", err))
	}
	d.Unique = min(unique, d.Hits)
	return d
}

// readPatch reads the body of PATCH /links/{code}.
func (s *Server) readPatch(ctx *fasthttp.RequestCtx) (patch, error) {
	if !isJSON(ctx.Request.Header.ContentType(), patchTypes...) {
		ctx.Response.Header.Set("Accept-Patch", patchTypes[0]+", "+patchTypes[1]) // RFC 5789
		return patch{}, problem.New(problem.MediaType, "Content-Type must be %s or %s", patchTypes[0], patchTypes[1])
	}
	members, err := parseObject(ctx.PostBody())
	if err != nil {
		return patch{}, err
	}
	a := askedLink{policy: s.targets, now: s.timeOf(ctx)}
	sent, null, invalid := readMembers(members, &a, patchFields)
	for i, e := range invalid {
		if f := linkFieldNamed[e.Field]; f != nil && f.set == nil {
			invalid[i].Message = f.fixed
		}
	}
	for _, name := range null {
		if linkFieldNamed[name].required {
			invalid = append(invalid, fieldError(name, "required", "must not be null"))
		}
	}
	if len(invalid) > 0 {
		return patch{}, invalid
	}
	return patch{fields: append(sent, null...), draft: a.Draft}, nil
}

// apply changes a link's record as p says.
func (p *patch) apply(rec *engine.Record) error {
	for _, field := range p.fields {
		linkFieldNamed[field].set(rec, &p.draft)
	}
	return nil
}
