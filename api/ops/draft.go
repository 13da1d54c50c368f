package ops

import (
	"time"

	"shunt/api/jsonbody"
	"shunt/engine"
)

// parseDraft reads text, a JSON object, as a draft of a new link of owner.
func (c *Calls) parseDraft(text []byte, owner uint32, now time.Time) (engine.Draft, error) {
	a, sent, err := c.parseLink(text, createFields, now)
	if err != nil {
		return engine.Draft{}, err
	}
	return a.draft(owner, sent), nil
}

// parseImport reads an item of an import for owner.
func (c *Calls) parseImport(text []byte, owner uint32, now time.Time) (engine.Draft, error) {
	a, sent, err := c.parseLink(text, importFields, now)
	if err != nil {
		return engine.Draft{}, err
	}
	i := &a.imports
	if i.CreatedAt.IsZero() {
		i.CreatedAt = now
	}
	if i.UpdatedAt.Before(i.CreatedAt) { // updated_at was not sent, or a clock went back
		i.UpdatedAt = i.CreatedAt
	}
	a.Draft.Import = i
	return a.draft(owner, sent), nil
}

// parseLink reads a JSON object, and returns its values and the names of its fields.
func (c *Calls) parseLink(text []byte, fields jsonbody.Fields[askedLink], now time.Time) (
	a *askedLink, sent []string, err error,
) {
	var few [16]jsonbody.Member // as many as a line of an export has; more need memory
	members, err := jsonbody.AppendMembers(few[:0], text)
	if err != nil {
		return nil, nil, err
	}
	a = &askedLink{policy: c.targets, now: now}
	sent, _, invalid := jsonbody.Read(members, a, fields)
	if invalid = append(invalid, missing(fields, sent)...); len(invalid) > 0 {
		return nil, nil, invalid
	}
	return a, sent, nil
}

// draft returns a as a draft of owner; sent are the names of the fields that the body has.
func (a *askedLink) draft(owner uint32, sent []string) engine.Draft {
	a.Owner = owner
	a.Same = func(l engine.Detail) bool { return sameLink(&a.Draft, sent, &l) }
	return a.Draft
}
