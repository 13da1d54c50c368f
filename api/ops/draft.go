package ops

import (
	"slices"
	"sync"
	"time"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/jsonbody"
	"shunt/engine"
)

// parseDraft reads text, a JSON object, as a draft of a new link of the caller. apart is as in a Manner.
func (c *Calls) parseDraft(text []byte, caller account.Caller, apart []string, now time.Time) (d engine.Draft, err error) {
	r := linkReaders.Get().(*linkReader)
	r.begin(c, caller, caller.User.ID, now)
	r.apart = apart
	err = r.readDraft(&d, text)
	r.release()
	linkReaders.Put(r)
	return d, err
}

// linkReaders keeps readers for later requests. One has 2 kB: half of what a create allocated.
var linkReaders = sync.Pool{New: func() any { return new(linkReader) }}

// A linkReader reads bodies about links, one after the other, for one goroutine. It reuses its memory, which
// aliases the last body.
type linkReader struct {
	policy  engine.TargetPolicy
	domains *domain.Domains
	user    uint32
	now     time.Time
	may     account.Domains                           // that the sender may use
	state   func(*engine.Detail) engine.State         // of a link, block list included
	domain  engine.Domain                             // of links without one
	which   error                                     // why a link must have one; nil: it need not
	add     func(host string) (*domain.Domain, error) // adds a domain that is not there; nil: it is an error
	days    keptDays                                  // for hits by day of an import
	calls   *Calls                                    // of the sender, with the scopes
	apart   []string                                  // see Manner.Apart
	scopes  []account.Scope

	asked   askedLink
	members [28]jsonbody.Member // as many as a line of an export has; more need memory
	sent    []string
}

// release makes r empty, but for memory that it uses again.
func (r *linkReader) release() {
	clear(r.sent)
	*r = linkReader{sent: r.sent[:0]}
}

// begin makes r, which is empty, a reader of links of a user, which the caller sends.
func (r *linkReader) begin(c *Calls, caller account.Caller, user uint32, now time.Time) {
	r.policy, r.domains, r.user, r.now, r.may, r.state = c.o.Targets, c.o.Domains, user, now, caller.Domains, c.o.State
	r.calls, r.scopes = c, caller.Scopes
	if !r.may.Limited() {
		return
	}
	switch may := c.DomainsOf(caller); len(may) {
	case 0:
		r.which = errNoDomain
	case 1:
		r.domain = may[0].Number
	default:
		r.which = errWhichDomain
	}
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
	if i.Daily.Sum() > i.Hits {
		return engine.InvalidError{errDailySum}
	}
	if i.CreatedAt.IsZero() {
		i.CreatedAt = r.days.created(i.Daily, r.now)
	}
	i.Daily = r.days.of(i.Daily)
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
	r.asked = askedLink{policy: r.policy, domains: r.domains, now: r.now, addDomain: r.add, days: r.days}
	var invalid engine.InvalidError
	r.sent, _, invalid = jsonbody.AppendRead(r.sent[:0], members, &r.asked, fields)
	invalid = append(invalid, missing(fields, r.sent)...)
	if invalid = append(invalid, conflicts(&r.asked, r.sent)...); len(invalid) > 0 {
		return invalid
	}
	if err := r.checkDomain(); err != nil {
		return err
	}
	if n := r.asked.Folder; n != 0 && !r.calls.mayPut(r.user, r.scopes, n) {
		return engine.InvalidError{errUnknownFolder}
	}
	return r.checkCode(fields)
}

// checkDomain refuses a domain that the sender may not use, and sets that of a link without one.
func (r *linkReader) checkDomain() error {
	switch {
	case !slices.Contains(r.sent, "domain"):
		r.asked.Domain = r.domain
		return r.which
	case !r.may.Has(r.asked.Domain):
		return errForeignDomain
	}
	return nil
}

// checkCode refuses a code with characters that its domain does not take.
func (r *linkReader) checkCode(fields jsonbody.Fields[askedLink]) error {
	d := r.domains.Numbered(r.asked.Domain)
	if engine.OnlyASCII(r.asked.Alias) || d != nil && d.UnicodeCodes {
		return nil
	}
	field := "alias"
	if fields.Has("code") {
		field = "code"
	}
	return engine.InvalidError{jsonbody.FieldError(field, "characters", "may only hold letters from a to z, digits, _, -, . and /, unless its domain takes Unicode codes")}
}

// putDraft makes d what r has read.
func (r *linkReader) putDraft(d *engine.Draft) {
	if d := r.domains.Numbered(r.asked.Domain); d != nil {
		r.asked.LowerCode = d.Folds
		if r.asked.RedirectStatus == 0 {
			r.asked.RedirectStatus = d.RedirectStatus
		}
	}
	r.asked.Owner = engine.OwnerIn(r.asked.Domain, r.user)
	*d = r.asked.Draft
	if d.Alias != "" || d.Reuse {
		asked, sent, state := *d, slices.Clone(r.sent), r.state
		if d.Reuse {
			sent = slices.DeleteFunc(sent, func(name string) bool { return slices.Contains(r.apart, name) })
		}
		d.Same = func(l engine.Detail) bool {
			return sameLink(&asked, sent, &l) && (!asked.Reuse || state(&l) == engine.StateActive)
		}
	}
}
