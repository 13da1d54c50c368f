package ops

import (
	"slices"
	"time"

	"shunt/api/jsonbody"
	"shunt/engine"
)

// parseDraft reads text, a JSON object, as a draft of a new link of owner.
func (c *Calls) parseDraft(text []byte, owner uint32, now time.Time) (d engine.Draft, err error) {
	r := linkReader{policy: c.o.Targets, owner: owner, now: now}
	err = r.readDraft(&d, text)
	return d, err
}

// A linkReader reads bodies about links, one after the other, for one goroutine. It reuses its memory, which
// aliases the last body.
type linkReader struct {
	policy engine.TargetPolicy
	owner  uint32
	now    time.Time

	asked   askedLink
	members [20]jsonbody.Member // as many as a line of an export has; more need memory
	sent    []string
}

// readDraft makes d, which is empty, the draft that text asks for, a JSON object.
func (r *linkReader) readDraft(d *engine.Draft, text []byte) error {
	if err := r.read(text, createFields); err != nil {
		return err
	}
	r.putDraft(d)
	return nil
}

// readImport makes d, which is empty, the draft of an item of an import.
func (r *linkReader) readImport(d *engine.Draft, text []byte) error {
	if err := r.read(text, importFields); err != nil {
		return err
	}
	i := r.asked.imports
	if i.CreatedAt.IsZero() {
		i.CreatedAt = r.now
	}
	if i.UpdatedAt.Before(i.CreatedAt) { // updated_at was not sent, or a clock went back
		i.UpdatedAt = i.CreatedAt
	}
	r.asked.Draft.Import = &i
	r.putDraft(d)
	return nil
}

// read reads a JSON object: its values into r.asked, the names of its fields into r.sent.
func (r *linkReader) read(text []byte, fields jsonbody.Fields[askedLink]) error {
	members, err := jsonbody.AppendMembers(r.members[:0], text)
	if err != nil {
		return err
	}
	r.asked = askedLink{policy: r.policy, now: r.now}
	var invalid engine.InvalidError
	r.sent, _, invalid = jsonbody.AppendRead(r.sent[:0], members, &r.asked, fields)
	invalid = append(invalid, missing(fields, r.sent)...)
	if invalid = append(invalid, conflicts(&r.asked, r.sent)...); len(invalid) > 0 {
		return invalid
	}
	return nil
}

// putDraft makes d what r has read.
func (r *linkReader) putDraft(d *engine.Draft) {
	r.asked.Domain, r.asked.Owner = engine.DefaultDomain, r.owner
	*d = r.asked.Draft
	if d.Alias != "" {
		asked, sent := *d, slices.Clone(r.sent)
		d.Same = func(l engine.Detail) bool { return sameLink(&asked, sent, &l) }
	}
}
