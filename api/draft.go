package api

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/valyala/fasthttp"

	"shunt/engine"
)

// maxHitsLimit is the largest cap: what every JSON reader can hold exactly (2^53).
const maxHitsLimit = 1 << 53

// shortenRequest is the body of POST /shorten.
type shortenRequest struct {
	engine.Draft
	policy engine.TargetPolicy
	now    time.Time
}

// shortenFields are the fields of POST /shorten, each with its check.
var shortenFields = map[string]fieldReader[shortenRequest]{
	"url": func(r *shortenRequest, value json.RawMessage) error {
		raw, err := readString(value)
		if err == nil {
			r.Target, err = r.policy.Parse(raw)
		}
		return err
	},
	"alias": func(r *shortenRequest, value json.RawMessage) (err error) {
		if r.Alias, err = readString(value); err != nil {
			return err
		}
		return engine.ValidateAlias(r.Alias)
	},
	"redirect_status": func(r *shortenRequest, value json.RawMessage) error {
		status, err := readInt(value)
		r.RedirectStatus = int(status)
		if _, ok := engine.StatusFlags(r.RedirectStatus); err == nil && !ok {
			err = fieldError("", "range", "must be 301, 302, 307 or 308")
		}
		return err
	},
	"expires_at": func(r *shortenRequest, value json.RawMessage) (err error) {
		if r.ExpiresAt, err = readTime(value); err == nil && !r.ExpiresAt.After(r.now) {
			err = fieldError("", "past", "must be in the future")
		}
		return err
	},
	"max_hits": func(r *shortenRequest, value json.RawMessage) error {
		n, err := readInt(value)
		if err == nil && (n < 1 || n > maxHitsLimit) {
			err = fieldError("", "range", "must be at least 1, and at most 2^53")
		}
		r.MaxHits = uint64(n)
		return err
	},
	"title": func(r *shortenRequest, value json.RawMessage) (err error) {
		if r.Title, err = readString(value); err != nil {
			return err
		}
		return checkText("", r.Title, engine.MaxTitleBytes)
	},
	"tags": func(r *shortenRequest, value json.RawMessage) (err error) {
		if r.Tags, err = readStrings(value); err != nil {
			return err
		}
		return checkTags(r.Tags)
	},
	"forward_query": func(r *shortenRequest, value json.RawMessage) (err error) {
		r.ForwardQuery, err = readBool(value)
		return err
	},
}

// checkText: at most maxBytes bytes, no control characters.
func checkText(field, text string, maxBytes int) error {
	if len(text) > maxBytes {
		return fieldError(field, "too_long", "must be at most "+strconv.Itoa(maxBytes)+" bytes")
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return fieldError(field, "characters", "must not hold control characters")
	}
	return nil
}

func checkTags(tags []string) error {
	if len(tags) > engine.MaxTags {
		return engine.FieldError{Code: "too_many", Message: "must be at most " + strconv.Itoa(engine.MaxTags) + " tags"}
	}
	for i, tag := range tags {
		field := "tags[" + strconv.Itoa(i) + "]"
		if tag == "" {
			return fieldError(field, "required", "must not be empty")
		}
		if slices.Index(tags, tag) < i {
			return fieldError(field, "duplicate", "must not be given twice")
		}
		if err := checkText(field, tag, engine.MaxTagBytes); err != nil {
			return err
		}
	}
	return nil
}

// readDraft reads the body of POST /shorten for a caller's new link.
func (s *Server) readDraft(ctx *fasthttp.RequestCtx, owner uint32) (engine.Draft, error) {
	if err := wantJSON(ctx); err != nil {
		return engine.Draft{}, err
	}
	return s.parseDraft(ctx.PostBody(), owner, s.timeOf(ctx))
}

// parseDraft reads what is asked of a new link of owner: the JSON object text.
func (s *Server) parseDraft(text []byte, owner uint32, now time.Time) (engine.Draft, error) {
	r := shortenRequest{policy: s.targets, now: now}
	members, err := parseObject(text)
	if err != nil {
		return engine.Draft{}, err
	}
	sent, _, invalid := readMembers(members, &r, shortenFields)
	missing := !slices.Contains(sent, "url")
	if missing {
		invalid = append(invalid, fieldError("url", "required", "must be given"))
	}
	if len(invalid) > 0 {
		return engine.Draft{}, invalid
	}
	r.Owner = owner
	r.Same = func(d engine.Detail) bool { return sameInFields(r.Draft, sent, d) }
	return r.Draft, nil
}

// sameInFields tells whether link d is what draft asks for, in every field that was sent.
func sameInFields(draft engine.Draft, sent []string, d engine.Detail) bool {
	equal := map[string]bool{
		"alias":           draft.Alias == d.Code,
		"url":             draft.Target == d.Target,
		"redirect_status": draft.RedirectStatus == d.RedirectStatus,
		"expires_at":      draft.ExpiresAt.Equal(d.ExpiresAt),
		"max_hits":        draft.MaxHits == d.MaxHits,
		"title":           draft.Title == d.Title,
		"tags":            slices.Equal(draft.Tags, d.Tags),
		"forward_query":   draft.ForwardQuery == d.ForwardQuery,

		// Of an import. What goes on counting and changing here is not compared, so that a file can be taken in again.
		"code":       draft.Alias == d.Code,
		"created_at": draft.Import != nil && draft.Import.CreatedAt.Equal(d.CreatedAt),
		"updated_at": true, "hits": true, "unique": true, "state": true, "short_url": true, "owner": true,
	}
	return !slices.ContainsFunc(sent, func(field string) bool { return !equal[field] })
}
