package ops

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/problem"
	"shunt/engine"
)

// PatchTypes are the media types of a patch: RFC 7396's own, and what most clients send.
var PatchTypes = []string{"application/merge-patch+json", jsonbody.JSON}

// NoVersion is a version that no link has.
const NoVersion = 1<<64 - 1

// ParseCode returns a code that a request names. It is copied, because a write may outlive the
// request. Errors: engine.ErrNotFound if no link can have it.
func ParseCode(text string) (string, error) {
	if !engine.ValidCode([]byte(text)) {
		return "", engine.ErrNotFound
	}
	return strings.Clone(text), nil
}

// Read returns a link that g admits, with its visitors.
func (c *Calls) Read(caller account.Caller, code string, g engine.Guard) (Link, error) {
	if err := mayUse(caller, g); err != nil {
		return Link{}, err
	}
	d, err := c.engine.Read(code)
	if err != nil {
		return Link{}, err
	}
	if !g.AnyOwner && d.Owner != g.Owner {
		return Link{}, engine.ErrNotFound
	}
	return c.counted(d), nil
}

// Update changes a link as body says, a JSON merge patch (RFC 7396). One that changes nothing
// leaves the link at its version. versions, if there are any, are those that the link may have
// before.
func (c *Calls) Update(
	caller account.Caller, code string, g engine.Guard, versions []uint64, body jsonbody.Body,
) (Link, error) {
	if err := mayUse(caller, g); err != nil {
		return Link{}, err
	}
	p, err := c.parsePatch(body)
	if err != nil {
		return Link{}, err
	}
	if g.Version, err = c.demanded(code, g, versions); err != nil {
		return Link{}, err
	}
	d, err := c.engine.Update(context.Background(), code, g, p.apply)
	c.wrote("update", err)
	if err != nil {
		return Link{}, err
	}
	return c.counted(c.withVisitors(d)), nil
}

// Delete deletes a link that g admits and that has one of versions, if there are any.
func (c *Calls) Delete(caller account.Caller, code string, g engine.Guard, versions []uint64) error {
	err := mayUse(caller, g)
	if err != nil {
		return err
	}
	if g.Version, err = c.demanded(code, g, versions); err != nil {
		return err
	}
	err = c.engine.Delete(context.Background(), code, g)
	c.wrote("delete", err)
	return err
}

// demanded returns the version that a link must have, 0 if there is no such demand. Of several
// versions it is the one that the link has now; the engine compares it again while the code is
// reserved.
func (c *Calls) demanded(code string, g engine.Guard, versions []uint64) (uint64, error) {
	switch len(versions) {
	case 0:
		return 0, nil
	case 1:
		return versions[0], nil
	}
	d, err := c.engine.Read(code)
	if err != nil {
		return 0, err
	}
	if (g.AnyOwner || g.Owner == d.Owner) && slices.Contains(versions, d.Version) {
		return d.Version, nil
	}
	return NoVersion, nil
}

// withVisitors adds the visitors of a link that was edited. They are looked up by its id, because
// its code may be another link's by now. The edit has happened even if they cannot be read.
func (c *Calls) withVisitors(d engine.Detail) engine.Detail {
	unique, err := c.engine.Visitors(context.Background(), d.ID)
	if err != nil {
		c.log.Error("a link was edited, and its figures cannot be read", slog.Any("cause", err))
	}
	d.Unique = min(unique, d.Hits)
	return d
}

// A patch is what an update is to change: the fields that were sent, to their values in draft.
type patch struct {
	fields []string
	draft  engine.Draft
}

func (c *Calls) parsePatch(body jsonbody.Body) (patch, error) {
	if !body.Is(PatchTypes...) {
		return patch{}, problem.New(problem.MediaType, "Content-Type must be %s or %s", PatchTypes[0], PatchTypes[1])
	}
	members, err := jsonbody.Object(body.Text)
	if err != nil {
		return patch{}, err
	}
	a := askedLink{policy: c.targets, now: c.now()}
	sent, null, invalid := jsonbody.Read(members, &a, patchFields)
	for i, e := range invalid {
		if f := fieldNamed[e.Field]; f != nil && f.set == nil {
			invalid[i].Message = f.fixed
		}
	}
	for _, name := range null {
		if fieldNamed[name].required {
			invalid = append(invalid, jsonbody.FieldError(name, "required", "must not be null"))
		}
	}
	if len(invalid) > 0 {
		return patch{}, invalid
	}
	return patch{fields: append(sent, null...), draft: a.Draft}, nil
}

// apply changes a link's record as p says.
func (p *patch) apply(rec *engine.Record) error {
	for _, name := range p.fields {
		fieldNamed[name].set(rec, &p.draft)
	}
	return nil
}
