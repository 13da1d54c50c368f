package api

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/engine"
)

// importRequest is an item of POST /import: a link object, as GET /export writes it.
type importRequest struct {
	shortenRequest
	engine.Import
}

// importFields are the fields of POST /import: those of POST /shorten, and those that a link has beside. What the server that
// takes the link in knows better (whose it is, what state it is in) is read over.
var importFields = func() map[string]fieldReader[importRequest] {
	all := make(map[string]fieldReader[importRequest])
	for name, read := range shortenFields {
		all[name] = func(r *importRequest, value json.RawMessage) error { return read(&r.shortenRequest, value) }
	}
	delete(all, "alias")
	all["code"] = func(r *importRequest, value json.RawMessage) error {
		return asCode(shortenFields["alias"](&r.shortenRequest, value))
	}
	all["expires_at"] = func(r *importRequest, value json.RawMessage) (err error) {
		if r.ExpiresAt, err = readTime(value); err == nil && r.ExpiresAt.UnixMilli() <= 0 {
			err = fieldError("", "range", "must be later than 1970; leave it out if the link never expires")
		}
		return err
	}
	all["created_at"] = func(r *importRequest, value json.RawMessage) (err error) {
		r.CreatedAt, err = readPast(value, r.now)
		return err
	}
	all["updated_at"] = func(r *importRequest, value json.RawMessage) (err error) {
		r.UpdatedAt, err = readPast(value, r.now)
		return err
	}
	all["hits"] = func(r *importRequest, value json.RawMessage) error {
		n, err := readInt(value)
		if err == nil && (n < 0 || n > maxHitsLimit) {
			err = fieldError("", "range", "must be at least 0, and at most 2^53")
		}
		r.Hits = uint64(n)
		return err
	}
	for _, name := range []string{"short_url", "state", "owner", "unique"} {
		all[name] = func(*importRequest, json.RawMessage) error { return nil }
	}
	return all
}()

// asCode is what is wrong with an alias, said of a code.
func asCode(err error) error {
	if wrong := (engine.FieldError{}); errors.As(err, &wrong) {
		return fieldError("code", wrong.Code, strings.TrimSuffix(wrong.Message, "; leave it out to have a code drawn"))
	}
	return err
}

// clockSkew is how far ahead the clock of the server may be that a link comes from.
const clockSkew = time.Minute

// readPast reads a time that is not to come. The database has times from 1970 on.
func readPast(value json.RawMessage, now time.Time) (time.Time, error) {
	t, err := readTime(value)
	switch {
	case err != nil:
		return t, err
	case t.Before(time.Unix(0, 0)):
		return t, fieldError("", "range", "must not be before 1970")
	case t.After(now.Add(clockSkew)):
		return t, fieldError("", "in_future", "must not be in the future")
	}
	return t, nil
}

// importLinks is POST /import: links that were made elsewhere, with their codes, times and hits. It is POST /shorten/bulk for
// those, and needs no key to be repeated: a link that is there already with the same fields is left as it is.
func (s *Server) importLinks(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	asked, err := readParameters[struct{}](ctx, caller, nil, nil, maxOwnerBytes)
	if err != nil {
		return err
	}
	if asked.AnyOwner {
		return fieldError("owner", "range", "must be a user's id")
	}
	err = s.accounts.CheckUser(asked.Owner)
	if err == nil {
		noKey := func() (*engine.Request, error) { return nil, nil }
		err = s.createMany(ctx, caller, noKey, func(text []byte) (engine.Draft, error) {
			return s.parseImport(text, asked.Owner, s.timeOf(ctx))
		})
	}
	if errors.Is(err, account.ErrNoUser) || errors.Is(err, engine.ErrOwnerGone) {
		return fieldError("owner", "unknown", "is no user's id")
	}
	return err
}

// parseImport reads an item of POST /import for owner.
func (s *Server) parseImport(text []byte, owner uint32, now time.Time) (engine.Draft, error) {
	r := importRequest{shortenRequest: shortenRequest{policy: s.targets, now: now}}
	members, err := parseObject(text)
	if err != nil {
		return engine.Draft{}, err
	}
	sent, _, invalid := readMembers(members, &r, importFields)
	for _, name := range []string{"code", "url"} {
		if !slices.Contains(sent, name) {
			invalid = append(invalid, fieldError(name, "required", "must be given"))
		}
	}
	if r.CreatedAt.IsZero() {
		r.CreatedAt = now
	}
	if r.UpdatedAt.Before(r.CreatedAt) { // none is given, or a clock went back
		r.UpdatedAt = r.CreatedAt
	}
	if len(invalid) > 0 {
		return engine.Draft{}, invalid
	}
	r.Owner, r.Draft.Import = owner, &r.Import
	r.Same = func(d engine.Detail) bool { return sameInFields(r.Draft, sent, d) }
	return r.Draft, nil
}
