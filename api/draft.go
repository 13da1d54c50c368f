package api

import (
	"time"

	"github.com/valyala/fasthttp"

	"shunt/engine"
)

// readDraft reads the body of POST /shorten for a caller's new link.
func (s *Server) readDraft(ctx *fasthttp.RequestCtx, owner uint32) (engine.Draft, error) {
	if err := wantJSON(ctx); err != nil {
		return engine.Draft{}, err
	}
	return s.parseDraft(ctx.PostBody(), owner, s.timeOf(ctx))
}

// parseDraft reads what is asked of a new link of owner: the JSON object text.
func (s *Server) parseDraft(text []byte, owner uint32, now time.Time) (engine.Draft, error) {
	a, sent, err := s.parseLink(text, createFields, now)
	if err != nil {
		return engine.Draft{}, err
	}
	return a.draft(owner, sent), nil
}

// parseImport reads an item of POST /import for owner.
func (s *Server) parseImport(text []byte, owner uint32, now time.Time) (engine.Draft, error) {
	a, sent, err := s.parseLink(text, importFields, now)
	if err != nil {
		return engine.Draft{}, err
	}
	i := &a.imports
	if i.CreatedAt.IsZero() {
		i.CreatedAt = now
	}
	if i.UpdatedAt.Before(i.CreatedAt) { // none is given, or a clock went back
		i.UpdatedAt = i.CreatedAt
	}
	a.Draft.Import = i
	return a.draft(owner, sent), nil
}

// parseLink reads a JSON object into a, and returns which fields it has.
func (s *Server) parseLink(text []byte, readers map[string]fieldReader[askedLink], now time.Time) (
	a askedLink, sent []string, err error,
) {
	members, err := parseObject(text)
	if err != nil {
		return a, nil, err
	}
	a = askedLink{policy: s.targets, now: now}
	sent, _, invalid := readMembers(members, &a, readers)
	if invalid = append(invalid, missing(readers, sent)...); len(invalid) > 0 {
		return a, nil, invalid
	}
	return a, sent, nil
}

// draft returns what is asked for as a draft of owner; sent are the fields that the body has.
func (a *askedLink) draft(owner uint32, sent []string) engine.Draft {
	d := a.Draft
	d.Owner = owner
	asked := d
	d.Same = func(l engine.Detail) bool { return sameLink(&asked, sent, &l) }
	return d
}
