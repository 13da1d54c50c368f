package api

import (
	"context"
	"log/slog"
	"slices"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/engine"
)

// patchTypes are the media types of a patch: RFC 7396's own, and what most clients send.
var patchTypes = []string{"application/merge-patch+json", "application/json"}

// patchSetters are the fields of PATCH /links/{code}: each puts a draft's value into a link's record. A field that was
// sent as null is zero in the draft, and that is its default.
var patchSetters = map[string]func(rec *engine.Record, d *engine.Draft){
	"url":             func(rec *engine.Record, d *engine.Draft) { rec.Hot.Target = d.Target },
	"redirect_status": func(rec *engine.Record, d *engine.Draft) { rec.SetRedirectStatus(d.RedirectStatus) },
	"expires_at":      func(rec *engine.Record, d *engine.Draft) { rec.SetExpiry(d.ExpiresAt) },
	"max_hits":        func(rec *engine.Record, d *engine.Draft) { rec.Hot.MaxHits = d.MaxHits },
	"title":           func(rec *engine.Record, d *engine.Draft) { rec.Cold.Title = d.Title },
	"tags":            func(rec *engine.Record, d *engine.Draft) { rec.Cold.Tags = d.Tags },
	"forward_query":   func(rec *engine.Record, d *engine.Draft) { rec.SetForwardQuery(d.ForwardQuery) },
}

// patchFields are the same fields, each with the check that it has in POST /shorten.
var patchFields = func() map[string]fieldReader[shortenRequest] {
	readers := make(map[string]fieldReader[shortenRequest], len(patchSetters))
	for name := range patchSetters {
		readers[name] = shortenFields[name]
	}
	return readers
}()

// fixedFields are the fields of a link object that cannot be patched, with what to tell who tries.
var fixedFields = map[string]string{
	"code":       "cannot be changed; make another link",
	"alias":      "cannot be changed; make another link",
	"short_url":  "cannot be changed; make another link",
	"owner":      "cannot be changed",
	"state":      "is read-only; it follows from expires_at, max_hits, hits and the block list",
	"created_at": "is read-only",
	"updated_at": "is read-only",
	"hits":       "is read-only",
	"unique":     "is read-only",
}

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
	r := shortenRequest{policy: s.targets, now: s.timeOf(ctx)}
	sent, null, invalid := readMembers(members, &r, patchFields)
	for i, e := range invalid {
		if why, fixed := fixedFields[e.Field]; fixed {
			invalid[i].Message = why
		}
	}
	if slices.Contains(null, "url") {
		invalid = append(invalid, fieldError("url", "required", "must not be null"))
	}
	if len(invalid) > 0 {
		return patch{}, invalid
	}
	return patch{fields: append(sent, null...), draft: r.Draft}, nil
}

// apply changes a link's record as p says.
func (p *patch) apply(rec *engine.Record) error {
	for _, field := range p.fields {
		patchSetters[field](rec, &p.draft)
	}
	return nil
}
