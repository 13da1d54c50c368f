package link

import (
	"shunt/engine/extras"
	"shunt/engine/index"
	"shunt/engine/internal/limits"
	"shunt/engine/invalid"
	"shunt/engine/texts"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Record is a whole link.
type Record struct {
	Hot  Hot
	Cold Cold
}

// SetRedirectStatus sets the HTTP status that the link answers with, 302 if status is 0. It returns
// false, and has changed nothing, if a link cannot have that status.
func (r *Record) SetRedirectStatus(status int) bool {
	f, ok := r.Hot.Flags.WithRedirectStatus(status)
	if ok {
		r.Hot.Flags = f
	}
	return ok
}

// SetForwardQuery sets whether the query after the code is passed on. A link that does already goes on in its way.
func (r *Record) SetForwardQuery(forward bool) {
	switch forwards := r.Hot.Flags&index.FlagForwardQuery != 0; {
	case forward && !forwards:
		r.SetQuery(ForwardAppend)
	case !forward:
		r.SetQuery(ForwardNone)
	}
}

// SetQuery sets what becomes of the query after the code, nothing if q is empty. It returns false, and has changed
// nothing, if there is no such Forwarding.
func (r *Record) SetQuery(q Forwarding) bool {
	way := slices.Index(forwardings[:], q)
	forward := way >= 0
	if !forward && q != "" && q != ForwardNone {
		return false
	}
	r.setFlag(index.FlagForwardQuery, forward)
	f := r.Hot.fields()
	f.Query = extras.Query(max(way, 0))
	r.Hot.setFields(f)
	return true
}

// query returns what becomes of the query after the code.
func (h *Hot) query() Forwarding {
	if h.Flags&index.FlagForwardQuery == 0 {
		return ForwardNone
	}
	return forwardings[h.fields().Query]
}

// SetDisabled sets whether the link is switched off.
func (r *Record) SetDisabled(disabled bool) { r.setFlag(index.FlagDisabled, disabled) }

func (r *Record) setFlag(f index.Flags, on bool) {
	r.Hot.Flags &^= f
	if on {
		r.Hot.Flags |= f
	}
}

// SetExpiry sets when the link expires; the zero time: never.
func (r *Record) SetExpiry(at time.Time) {
	r.Hot.ExpiresAtMs = 0
	if !at.IsZero() {
		r.Hot.ExpiresAtMs = at.UnixMilli()
	}
}

// SetStart sets when the link starts; the zero time: it has started.
func (r *Record) SetStart(at time.Time) {
	f := r.Hot.fields()
	if f.StartsAtMs = 0; !at.IsZero() {
		f.StartsAtMs = at.UnixMilli()
	}
	r.Hot.setFields(f)
}

// SetExpiredURL sets where visitors are sent once the link is expired or used up; empty: nowhere.
func (r *Record) SetExpiredURL(url string) {
	f := r.Hot.fields()
	f.ExpiredURL = url[:min(len(url), limits.MaxTargetBytes+1)] // one that is too long still fits into its part
	r.Hot.setFields(f)
}

// SetForwardPath sets whether what follows the code in the path is added to the path of the target.
func (r *Record) SetForwardPath(forward bool) {
	f := r.Hot.fields()
	f.ForwardPath = forward
	r.Hot.setFields(f)
}

// SetCard sets what programs get that show previews of links; the zero Card: the redirect, like everybody.
func (r *Record) SetCard(c Card) {
	f := r.Hot.fields()
	f.Card = c != Card{}
	r.Hot.setFields(f)
	r.Cold.Card = c
}

// SetRules sets the rules of the link. It returns false, and has changed nothing, if a link cannot have them.
func (r *Record) SetRules(rules []extras.Rule) bool {
	f := r.Hot.fields()
	f.Rules = rules
	return r.Hot.trySetFields(f, "rules")
}

// SetSplit sets the split of the link; empty: it has none. It returns false, and has changed nothing, if a link cannot
// have it.
func (r *Record) SetSplit(split []extras.Share) bool {
	f := r.Hot.fields()
	f.Split = split
	return r.Hot.trySetFields(f, "split")
}

// trySetFields sets what the extras say, unless they cannot say it in the part of that name, or in all.
func (h *Hot) trySetFields(f extras.Fields, part string) (ok bool) {
	blob := string(f.Append(nil))
	if back, wrong := extras.ReadBegun(blob); wrong != part && string(back.Append(nil)) == blob {
		h.Extras, ok = blob, true
	}
	return ok
}

// SetPassword sets the password that visitors must type, by its hash; empty: none.
func (r *Record) SetPassword(hash string) {
	r.Cold.Password = hash
	f := r.Hot.fields()
	f.Lock = extras.LockOf(hash)
	r.Hot.setFields(f)
}

// numberTargets gives each target of a link that decides its number. old is the link before the edit, nil if it is new.
func (r *Record) numberTargets(old *Record) error {
	f := r.Hot.fields()
	if !f.Decides() && f.Target == 0 { // as nearly every link
		return nil
	}
	var before extras.Fields
	urlBefore := ""
	if old != nil {
		before, urlBefore = old.Hot.fields(), old.Hot.Target
	}
	var ok bool
	if r.Cold.LastTarget, ok = f.Number(r.Hot.Target, &before, urlBefore, r.Cold.LastTarget); !ok {
		field := "rules"
		if len(f.Rules) == 0 {
			field = "split"
		}
		return invalid.Error{{Field: field, Code: "too_many", Message: "the link has had 255 targets, and no more can be counted: make another link"}}
	}
	r.Hot.setFields(f)
	return nil
}

// record returns the draft as the record of a link without key and id.
func (d *Draft) record(now time.Time) (Record, error) {
	nowMs := now.UnixMilli()
	rec := Record{
		Hot: Hot{Owner: d.Owner, MaxHits: d.MaxHits, Target: d.Target},
		Cold: Cold{
			Version: 1, CreatedAtMs: nowMs, UpdatedAtMs: nowMs, Texts: d.Texts, Tags: slices.Clone(d.Tags), Reuse: d.Reuse || d.Reusable, Folder: d.Folder,
		},
	}
	if d.Reuse && (d.Alias != "" || d.Import != nil) {
		return Record{}, invalid.Error{{Field: "reuse", Code: "conflict", Message: "goes with neither an alias nor an import"}}
	}
	if !rec.SetRedirectStatus(d.RedirectStatus) {
		return Record{}, invalid.Error{{Field: "redirect_status", Code: "not_supported", Message: "must be 301, 302, 307 or 308"}}
	}
	rec.SetDisabled(d.Disabled)
	rec.SetExpiry(d.ExpiresAt)
	if err := rec.setMore(d); err != nil {
		return Record{}, err
	}
	if i := d.Import; i != nil {
		rec.Cold.CreatedAtMs, rec.Cold.ImportedHits = i.CreatedAt.UnixMilli(), i.Hits
		if i.Hits > 0 {
			rec.Cold.ImportedAtMs = nowMs
		}
		if i.Daily != "" {
			rec.Cold.Daily, rec.Cold.DailyOwner = i.Daily, d.Owner
		}
		rec.Cold.UpdatedAtMs = max(i.UpdatedAt.UnixMilli(), rec.Cold.CreatedAtMs)
	}
	return rec, rec.normalize()
}

// setMore sets what few new links have.
func (r *Record) setMore(d *Draft) error {
	r.setFlag(index.FlagForwardQuery, d.ForwardQuery && d.Query == "" || d.Query == ForwardAppend)
	if d.plain() {
		return nil
	}
	if d.Query != "" && !r.SetQuery(d.Query) {
		return invalid.Error{{Field: "query", Code: "not_supported", Message: "must be none, append, override or keep"}}
	}
	r.SetForwardPath(d.ForwardPath)
	r.SetStart(d.StartsAt)
	r.SetExpiredURL(d.ExpiredURL)
	r.SetPassword(d.Password)
	r.SetCard(d.Card)
	if !r.SetRules(d.Rules) {
		return invalid.Error{wrongPart("rules")}
	}
	if !r.SetSplit(d.Split) {
		return invalid.Error{wrongPart("split")}
	}
	return r.numberTargets(nil)
}

// plain reports whether the link has no extras, as nearly every one: setting each of them to nothing would read and
// write the extras as often.
func (d *Draft) plain() bool {
	return (d.Query == "" || d.Query == ForwardNone || d.Query == ForwardAppend) && !d.ForwardPath && d.StartsAt.IsZero() &&
		d.ExpiredURL == "" && d.Password == "" && d.Card == Card{} && len(d.Rules) == 0 && len(d.Split) == 0
}

// wrongPart returns the error of a part of the extras that says what no link may have.
func wrongPart(part string) invalid.FieldError {
	switch part {
	case "starts_at":
		return invalid.FieldError{Field: part, Code: "range", Message: "must be later than 1970"}
	case "expired_url":
		return invalid.FieldError{Field: part, Code: "too_long", Message: "must have at most 8192 bytes"}
	case "split":
		return invalid.FieldError{Field: part, Code: "range", Message: "must be 2 to 10 parts with weights of 1 to 1000, and 8192 bytes"}
	}
	return invalid.FieldError{Field: "rules", Code: "range", Message: "must be at most 32 rules of 1 to 8 conditions, and 8192 bytes"}
}

// normalize sets the flags that follow from other fields, drops tags that are there twice, and returns an InvalidError
// for fields that the durable formats cannot hold.
func (r *Record) normalize() error {
	r.Hot.Flags &^= index.FlagExpires | index.FlagCapped | index.FlagTombstone
	if r.Hot.ExpiresAtMs != 0 {
		r.Hot.Flags |= index.FlagExpires
	}
	if r.Hot.MaxHits != 0 {
		r.Hot.Flags |= index.FlagCapped
	}
	var wrong invalid.Error
	check := func(ok bool, field, code, message string) {
		if !ok {
			wrong = append(wrong, invalid.FieldError{Field: field, Code: code, Message: message})
		}
	}
	check(r.Hot.Target != "" && len(r.Hot.Target) <= limits.MaxTargetBytes, "url", "too_long", "must have 1 to 8192 bytes")
	if _, err := extras.Read(r.Hot.Extras); err != nil {
		_, part := extras.ReadBegun(r.Hot.Extras)
		wrong = append(wrong, wrongPart(part))
	}
	starts := r.Hot.StartsAtMs()
	check(starts <= 0 || r.Hot.ExpiresAtMs == 0 || starts < r.Hot.ExpiresAtMs, "starts_at", "reversed", "must be before expires_at")
	check(r.Cold.Password == "" || extras.IsPasswordHash(r.Cold.Password), "password", "format", "must be a hash")
	check(r.Cold.ImportedHits <= limits.MaxImportedHits, "hits", "range", "must be at most 2^53")
	check(r.Cold.Daily.Check() == nil && r.Cold.Daily.Sum() <= r.Cold.ImportedHits, "daily", "range", "must be days that ascend, with no more hits than the link")
	for _, text := range texts.All() {
		if len(*r.Cold.Text(text.Name)) > text.Max {
			check(false, text.Name, "too_long", "must have at most "+strconv.Itoa(text.Max)+" bytes")
		}
	}
	check(r.Cold.Card.Fits(), "card", "too_long", "must have a title of 1 to 256 bytes, a description of at most 1000 and an image of at most 2048")
	r.Cold.Tags = DistinctTags(r.Cold.Tags)
	check(len(r.Cold.Tags) <= limits.MaxTags, "tags", "too_many", "must be at most 32 tags")
	for _, tag := range r.Cold.Tags {
		check(tag != "" && len(tag) <= limits.MaxTagBytes, "tags", "too_long", "each must have 1 to 64 bytes")
		check(strings.IndexByte(tag, 0) < 0, "tags", "characters", "must not contain control characters")
	}
	if wrong != nil {
		return wrong
	}
	return nil
}

// listedBytes returns the bytes of r that count towards maxListBytes: of what people may fill.
func (r *Record) listedBytes() int {
	n := len(r.Hot.Target) + len(r.Hot.Extras) + r.Cold.TextBytes() + r.Cold.Card.bytes()
	for _, tag := range r.Cold.Tags {
		n += len(tag)
	}
	return n
}

// detailOf returns the link of r as it is now, with the given hits. It shows no update earlier than
// the creation: earlier versions of shunt wrote such times when the clock had gone back.
func detailOf(r *Record, hits uint64, now time.Time) Detail {
	d := Detail{
		Key: r.Hot.Key, ID: r.Hot.ID, Owner: r.Hot.Owner, Target: r.Hot.Target,
		RedirectStatus: r.Hot.Flags.RedirectStatus(), ForwardQuery: r.Hot.Flags&index.FlagForwardQuery != 0, Query: r.Hot.query(),
		Disabled: r.Hot.Flags.Disabled(), State: StateActive, MaxHits: r.Hot.MaxHits,
		CreatedAt: time.UnixMilli(r.Cold.CreatedAtMs).UTC(),
		UpdatedAt: time.UnixMilli(max(r.Cold.UpdatedAtMs, r.Cold.CreatedAtMs)).UTC(),
		Version:   r.Cold.Version, ImportedHits: r.Cold.ImportedHits, Texts: r.Cold.Texts,
		Tags: r.Cold.Tags, LastTarget: r.Cold.LastTarget, Card: r.Cold.Card, Folder: r.Cold.Folder, Hits: hits,
	}
	if r.Hot.ExpiresAtMs != 0 {
		d.ExpiresAt = time.UnixMilli(r.Hot.ExpiresAtMs).UTC()
	}
	more := r.Hot.fields()
	d.ForwardPath, d.Number, d.Rules, d.Split = more.ForwardPath, more.Target, more.Rules, more.Split
	d.Lock, d.Password = more.Lock, r.Cold.Password
	if d.ExpiredURL = more.ExpiredURL; more.StartsAtMs != 0 {
		d.StartsAt = time.UnixMilli(more.StartsAtMs).UTC()
	}
	switch {
	case d.Disabled:
		d.State = StateDisabled
	case r.Hot.ExpiresAtMs != 0 && now.UnixMilli() >= r.Hot.ExpiresAtMs:
		d.State = StateExpired
	case r.Hot.MaxHits != 0 && d.Hits >= r.Hot.MaxHits:
		d.State = StateExhausted
	case now.UnixMilli() < more.StartsAtMs:
		d.State = StateScheduled
	}
	return d
}
