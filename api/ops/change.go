package ops

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"shunt/api/account"
	"shunt/api/card"
	"shunt/api/folder"
	"shunt/api/jsonbody"
	"shunt/api/problem"
	"shunt/engine"
)

// PatchTypes are the media types of a patch: RFC 7396's own, and what most clients send.
var PatchTypes = []string{"application/merge-patch+json", jsonbody.JSON}

// NoVersion is a version that no link and no folder ever has.
const NoVersion = 1<<64 - 1

// maxVersions is how many versions of an If-Match count. Each may cost a look at the store.
const maxVersions = 16

// ParseVersions reads the values of If-Match, and returns the first maxVersions different versions that they list; none
// if any version will do.
func ParseVersions(values [][]byte) (versions []uint64) {
	for _, value := range values {
		for tag := range strings.SplitSeq(string(value), ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" {
				return nil
			}
			if v := versionOf(tag); len(versions) < maxVersions && !slices.Contains(versions, v) {
				versions = append(versions, v)
			}
		}
	}
	return versions
}

// versionOf returns the version in one of our strong entity tags, and NoVersion for any other tag.
func versionOf(tag string) uint64 {
	digits, opened := strings.CutPrefix(tag, `"`)
	digits, closed := strings.CutSuffix(digits, `"`)
	version, err := strconv.ParseUint(digits, 10, 64)
	if !opened || !closed || err != nil || version == 0 || strconv.FormatUint(version, 10) != digits {
		return NoVersion
	}
	return version
}

// ParseCode returns the code that a part of a path names, which may be percent-encoded: a slash in a code is %2F there.
// Errors: engine.ErrNotFound if no link can have the code.
func ParseCode(part string) (string, error) {
	code, err := url.PathUnescape(part)
	if err != nil {
		return "", engine.ErrNotFound
	}
	return NamedCode(code)
}

// NamedCode is ParseCode for a text that is not encoded. It returns a copy, because a write may outlive the request.
func NamedCode(text string) (string, error) {
	code := engine.NormalCode(text)
	if !engine.ValidCode([]byte(code)) {
		return "", engine.ErrNotFound
	}
	return strings.Clone(code), nil
}

// Named returns the code of the link that a text names, and whose it is: that of the caller. The text is a short
// address of this server, or a code, which is then in the domain that the caller means without one. Either may be
// percent-encoded. Errors: engine.ErrNotFound if no link can have the code.
func (c *Calls) Named(caller account.Caller, text string) (code string, w Whose, err error) {
	w = c.own(caller)
	if text, err = url.PathUnescape(strings.TrimSpace(text)); err != nil {
		return "", w, engine.ErrNotFound
	}
	if key, ok := c.shortAddress(text); ok {
		w.Domain, w.Every, text = key.Domain, false, key.Code
	}
	code, err = NamedCode(text)
	return code, w, err
}

// Read returns a link that w admits, with its visitors.
func (c *Calls) Read(caller account.Caller, code string, w Whose) (Link, error) {
	if err := c.mayName(caller, w); err != nil {
		return Link{}, err
	}
	d, err := c.o.Engine.Read(w.key(code))
	if err != nil {
		return Link{}, err
	}
	if !w.has(d.Owner) && c.sharedRight(caller, w, d.Folder) == folder.None {
		return Link{}, engine.ErrNotFound
	}
	return c.counted(d), nil
}

// Update applies body, a JSON merge patch (RFC 7396), to a link that w admits. A patch that changes
// nothing leaves the link at its version. If versions is not empty, the link must have one of them.
//
// A value that the link has already is not checked again, so a patch of the link object as it was read
// succeeds, whatever time or the block list have made of it.
func (c *Calls) Update(
	caller account.Caller, code string, w Whose, versions []uint64, body jsonbody.Body,
) (Link, error) {
	if err := c.mayChangeNamed(caller, w); err != nil {
		return Link{}, err
	}
	p, err := c.parsePatch(body, nil)
	if wrong := (engine.InvalidError{}); errors.As(err, &wrong) && !slices.ContainsFunc(wrong, isConflict) {
		if l, errRead := c.Read(caller, code, w); errRead == nil {
			c.warn(&l)
			p, err = c.parsePatch(body, &l)
		}
	}
	if err != nil {
		return Link{}, err
	}
	p.mayPut = c.mover(caller)
	g := c.guardOfMember(caller, w)
	if g.Version, err = c.demanded(caller, code, w, versions); err != nil {
		return Link{}, err
	}
	owner, err := c.givenTo(caller, code, w, &p)
	if err == nil && p.draft.Password != "" {
		if _, err = c.Read(caller, code, w); err == nil { // a hash of a link that is not there would be in vain
			err = c.hashPassword(caller, &p.draft.Password)
		}
	}
	if err != nil {
		return Link{}, err
	}
	g.By = c.by(caller)
	d, err := c.o.Engine.Give(context.Background(), w.key(code), g, owner, p.apply)
	c.o.Wrote("update", 1, err)
	if errors.Is(err, engine.ErrOwnerGone) {
		return Link{}, errUnknownOwner
	}
	if err != nil {
		return Link{}, err
	}
	return c.warned(c.counted(c.withVisitors(d))), nil
}

// givenTo returns the owner to whom p gives a link, 0 if it keeps its owner. Only admins may give links away.
// The owner that a link has need not exist any more (see RemoveUser).
func (c *Calls) givenTo(caller account.Caller, code string, w Whose, p *patch) (uint32, error) {
	to := p.draft.Owner
	switch {
	case to == 0 || !w.Anybody && to == w.User:
		return 0, nil
	}
	l, err := c.Read(caller, code, w)
	switch {
	case err == nil && l.Owner == to: // as a member of its folder reads it
		return 0, nil
	case !caller.Has(account.Admin):
		return 0, errOwnerNeedsAdmin
	case err != nil:
		return 0, err
	}
	may, err := c.ownersDomains(to)
	if err == nil && !may.Has(w.Domain) {
		err = errOwnerElsewhere
	}
	return engine.OwnerIn(w.Domain, to), err
}

// ownersDomains returns the domains in which user to may own links.
func (c *Calls) ownersDomains(to uint32) (account.Domains, error) {
	may, err := c.o.Accounts.DomainsOf(to)
	if errors.Is(err, account.ErrNoUser) {
		err = errUnknownOwner
	}
	return may, err
}

// errOwnerElsewhere is the error of a link that is given to a user who is limited to other domains.
var errOwnerElsewhere = jsonbody.FieldError("owner", "conflict", "is a user who may not use the domain of the link")

// Reset begins the figures of a link that w admits again: see engine.Reset. If versions is not empty, the link
// must have one of them.
func (c *Calls) Reset(caller account.Caller, code string, w Whose, versions []uint64) (Link, error) {
	err := c.mayChangeNamed(caller, w)
	if err != nil {
		return Link{}, err
	}
	g := w.guard()
	if g.Version, err = c.demanded(caller, code, w, versions); err != nil {
		return Link{}, err
	}
	g.By = c.by(caller)
	d, err := c.o.Engine.Reset(context.Background(), w.key(code), g)
	c.o.Wrote("reset", 1, err)
	if err != nil {
		return Link{}, err
	}
	return c.counted(c.withVisitors(d)), nil
}

// Delete moves a link that w admits to the trash of its owner. If versions is not empty, the link must have one of
// them.
func (c *Calls) Delete(caller account.Caller, code string, w Whose, versions []uint64) error {
	g := c.guardOfMember(caller, w)
	return c.remove(caller, w, func() (err error) {
		g.By = c.by(caller)
		if g.Version, err = c.demanded(caller, code, w, versions); err != nil {
			return err
		}
		return c.o.Engine.Delete(context.Background(), w.key(code), g)
	})
}

// Purge is Delete without the trash. It also deletes a link that is in the trash, which must have had one of versions
// when it was deleted. Members of folders do not.
func (c *Calls) Purge(caller account.Caller, code string, w Whose, versions []uint64) error {
	g := w.guard()
	return c.remove(caller, w, func() error {
		g.By = c.by(caller)
		return withOneOf(versions, func(version uint64) error {
			g.Version = version
			return c.o.Engine.Purge(context.Background(), w.key(code), g)
		})
	})
}

func (c *Calls) remove(caller account.Caller, w Whose, remove func() error) error {
	err := c.mayChangeNamed(caller, w)
	if err != nil {
		return err
	}
	err = remove()
	c.o.Wrote("delete", 1, err)
	return err
}

// withOneOf calls do with one version after the other, until it is the one that the link has, and with 0 if any will
// do. The engine knows the version of a link in the trash only once it is about to change it.
func withOneOf(versions []uint64, do func(version uint64) error) error {
	if len(versions) == 0 {
		return do(0)
	}
	err := engine.ErrVersion
	for i := 0; i < len(versions) && errors.Is(err, engine.ErrVersion); i++ {
		err = do(versions[i])
	}
	return err
}

// Restore takes a link that w admits out of the trash: see engine.Restore. If versions is not empty, the link must have
// had one of them when it was deleted.
func (c *Calls) Restore(caller account.Caller, code string, w Whose, versions []uint64) (Link, error) {
	if err := c.mayChangeNamed(caller, w); err != nil {
		return Link{}, err
	}
	g := w.guard()
	g.By = c.by(caller)
	var d engine.Detail
	err := withOneOf(versions, func(version uint64) (err error) {
		g.Version = version
		d, err = c.o.Engine.Restore(context.Background(), w.key(code), g)
		return err
	})
	c.o.Wrote("restore", 1, err)
	switch taken := (engine.TakenError{}); {
	case errors.Is(err, engine.ErrOwnerGone):
		return Link{}, engine.ErrNotFound // the trash goes with its user
	case errors.Is(err, engine.ErrTaken) && !errors.As(err, &taken):
		return Link{}, problem.New(problem.AliasTaken, "a link that is not deleted has this code")
	case err != nil:
		return Link{}, err
	}
	return c.warned(c.counted(c.withVisitors(d))), nil
}

// demanded returns the version that a link must have, 0 if any version will do. If there are
// several versions, it returns the one that the link has now; the engine compares it again while
// the code is reserved.
func (c *Calls) demanded(caller account.Caller, code string, w Whose, versions []uint64) (uint64, error) {
	switch len(versions) {
	case 0:
		return 0, nil
	case 1:
		return versions[0], nil
	}
	d, err := c.o.Engine.Read(w.key(code))
	if err != nil {
		return 0, err
	}
	if (w.has(d.Owner) || c.sharedRight(caller, w, d.Folder) != folder.None) && slices.Contains(versions, d.Version) {
		return d.Version, nil
	}
	return NoVersion, nil
}

// withVisitors adds the visitors of a link that was edited. It looks them up by the link's id,
// because the code may be another link's by now. If it cannot read them, it only logs that, because
// the edit has been written.
func (c *Calls) withVisitors(d engine.Detail) engine.Detail {
	unique, err := c.o.Engine.Visitors(context.Background(), d.ID)
	if err != nil {
		c.o.Logger.Error("a link was edited, but its figures cannot be read", slog.Any("cause", err))
	}
	d.Unique = min(unique, d.Hits)
	return d
}

// A patch is the change that an update asks for: the fields that were sent get their values in
// draft.
type patch struct {
	fields []string
	draft  engine.Draft
	card   card.Patch
	mayPut func(rec *engine.Record, folder uint32) bool // the caller may put the link there
}

// parsePatch reads a patch. It leaves out the fields that link has already; nil: it reads all.
func (c *Calls) parsePatch(body jsonbody.Body, link *Link) (patch, error) {
	if !body.Is(PatchTypes...) {
		return patch{}, problem.New(problem.MediaType, "Content-Type must be %s or %s", PatchTypes[0], PatchTypes[1])
	}
	members, err := jsonbody.Object(body.Text)
	if err != nil {
		return patch{}, err
	}
	a := askedLink{policy: c.o.Targets, domains: c.o.Domains, now: c.o.Now()}
	if link != nil {
		members = changing(members, link, &a)
	}
	sent, null, invalid := jsonbody.Read(members, &a, patchFields)
	for i, e := range invalid {
		if f := fieldNamed[e.Field]; f != nil && f.set == nil {
			invalid[i].Message = f.fixed
		}
	}
	for _, name := range null {
		if f := fieldNamed[name]; f.required || f.given != nil {
			invalid = append(invalid, jsonbody.FieldError(name, "required", "must not be null"))
		}
	}
	fields := append(sent, null...)
	if invalid = append(invalid, conflicts(&a, fields)...); len(invalid) > 0 {
		return patch{}, invalid
	}
	return patch{fields: fields, draft: a.Draft, card: a.card}, nil
}

// isConflict reports whether an error is about fields of the patch that do not agree: then it does not matter which of
// them the link has already.
func isConflict(e engine.FieldError) bool { return e.Code == codeConflict }

// changing returns the members that ask for another value than link has, and those that are there twice.
func changing(members []jsonbody.Member, link *Link, a *askedLink) []jsonbody.Member {
	times := make(map[string]int, len(members))
	for _, m := range members {
		times[string(m.Name)]++
	}
	return slices.DeleteFunc(members, func(m jsonbody.Member) bool {
		f := fieldNamed[string(m.Name)]
		return f != nil && times[f.name] == 1 && f.isOf(link, m.Value, a.now, a.domains)
	})
}

// apply applies p to a link's record.
func (p *patch) apply(rec *engine.Record) error {
	before := rec.Cold.Card
	if n := p.draft.Folder; n != 0 && n != rec.Cold.Folder && !p.mayPut(rec, n) {
		return engine.InvalidError{errUnknownFolder}
	}
	for _, name := range p.fields {
		fieldNamed[name].set(rec, &p.draft)
	}
	if !p.card.Sent {
		return nil
	}
	after, err := p.card.Apply(before)
	rec.SetCard(after)
	return err
}
