package ops

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"shunt/api/card"
	"shunt/api/days"
	"shunt/api/domain"
	"shunt/api/jsonbody"
	"shunt/api/password"
	"shunt/api/rules"
	"shunt/engine"
	"shunt/engine/daily"
	"shunt/engine/zone"
)

// maxHitsLimit is the largest limit of hits: every JSON reader can hold whole numbers up to 2^53
// exactly.
const maxHitsLimit = 1 << 53

// An askedLink holds the values of a body about a link, as far as it has been read.
type askedLink struct {
	engine.Draft
	imports engine.Import // the values that only an import has
	policy  engine.TargetPolicy
	domains *domain.Domains
	now     time.Time

	hadPassword bool // it is of a link that has a password

	addDomain func(host string) (*domain.Domain, error) // of an import; nil: it adds none
	days      keptDays                                  // of an import

	card card.Patch // of a patch
}

// The readers of a link's fields.

// readDomainField reads the host of the domain in which a link is made.
func readDomainField(a *askedLink, value json.RawMessage) error {
	host, err := jsonbody.String(value)
	if err != nil {
		return err
	}
	d, err := a.domains.Named(host)
	if err != nil {
		return unknownDomain(host)
	}
	a.Domain = d.Number
	return nil
}

// readImportedDomain is readDomainField that may add a domain.
func readImportedDomain(a *askedLink, value json.RawMessage) error {
	err := readDomainField(a, value)
	var wrong engine.FieldError
	if a.addDomain == nil || !errors.As(err, &wrong) || wrong.Code != unknownCode {
		return err
	}
	host, _ := jsonbody.String(value)
	added, err := a.addDomain(host)
	var several engine.InvalidError
	if errors.As(err, &several) {
		err = several[0]
	}
	switch {
	case err == nil:
		a.Domain = added.Number
		return nil
	case !errors.As(err, &wrong):
		return err
	case wrong.Code == domain.TakenCode: // another import was faster
		return readDomainField(a, value)
	}
	return jsonbody.FieldError("domain", wrong.Code, "cannot be added: "+wrong.Message)
}

func readTarget(a *askedLink, value json.RawMessage) (err error) {
	a.Target, err = a.typed(value)
	return err
}

func readImportedTarget(a *askedLink, value json.RawMessage) (err error) {
	a.Target, err = a.kept(value)
	return err
}

// typed reads an address that somebody has typed.
func (a *askedLink) typed(value json.RawMessage) (string, error) {
	raw, err := jsonbody.String(value)
	if err != nil {
		return "", err
	}
	return a.policy.ParseTyped(raw)
}

// kept reads an address that another server has stored, and keeps it byte for byte. What it could not have stored was
// typed, and is read as such.
func (a *askedLink) kept(value json.RawMessage) (string, error) {
	raw, err := jsonbody.String(value)
	if err != nil {
		return "", err
	}
	return a.keptText(raw)
}

func (a *askedLink) keptText(raw string) (string, error) {
	if url, err := a.policy.Parse(raw); err == nil {
		return url, nil
	}
	return a.policy.ParseTyped(raw)
}

// Addresses of rules and of a split pass the same policy, too.

func readRules(a *askedLink, value json.RawMessage) (err error) {
	a.Rules, err = rules.Read(value, a.policy.ParseTyped)
	return err
}

func readImportedRules(a *askedLink, value json.RawMessage) (err error) {
	a.Rules, err = rules.Read(value, a.keptText)
	return err
}

func readSplit(a *askedLink, value json.RawMessage) (err error) {
	a.Split, err = rules.ReadSplit(value, a.policy.ParseTyped)
	return err
}

func readImportedSplit(a *askedLink, value json.RawMessage) (err error) {
	a.Split, err = rules.ReadSplit(value, a.keptText)
	return err
}

// image returns the address of a card's image as it is stored. It passes the policy of targets, although nobody is sent
// there, but for the schemes: programs load images by http and https, whatever targets may have.
func (a *askedLink) image(raw string) (string, error) {
	policy := a.policy
	policy.Schemes = engine.WebSchemes
	return policy.ParseTyped(raw)
}

func readCard(a *askedLink, value json.RawMessage) (err error) {
	a.Card, err = card.Read(value, a.image)
	return err
}

func readCardPatch(a *askedLink, value json.RawMessage) (err error) {
	a.card, err = card.ReadPatch(value, a.image)
	return err
}

func readImportedCard(a *askedLink, value json.RawMessage) (err error) {
	a.Card, err = card.Read(value, a.keptImage)
	return err
}

// keptImage is image for a link that is imported.
func (a *askedLink) keptImage(raw string) (string, error) {
	of := askedLink{policy: a.policy}
	of.policy.Schemes = engine.WebSchemes
	return of.keptText(raw)
}

// An expired_url passes the same policy as a target.

func readExpiredURL(a *askedLink, value json.RawMessage) (err error) {
	a.ExpiredURL, err = a.typed(value)
	return ofExpiredURL(err)
}

func readImportedExpiredURL(a *askedLink, value json.RawMessage) (err error) {
	a.ExpiredURL, err = a.kept(value)
	return ofExpiredURL(err)
}

// ofExpiredURL returns the error of a policy, which is about a target, for the field expired_url.
func ofExpiredURL(err error) error {
	if wrong := (engine.FieldError{}); errors.As(err, &wrong) {
		wrong.Field = "expired_url"
		return wrong
	}
	return err
}

func readAlias(a *askedLink, value json.RawMessage) (err error) {
	if a.Alias, err = jsonbody.String(value); err != nil {
		return err
	}
	a.Alias = engine.NormalCode(a.Alias)
	return engine.ValidateAlias(a.Alias)
}

// maxPasswordBytes bounds the password of a link.
const maxPasswordBytes = 256

// readPassword reads the password that visitors must type: as it is, until Calls.hashPassword makes a hash of it.
func readPassword(a *askedLink, value json.RawMessage) (err error) {
	if a.Password, err = jsonbody.String(value); err != nil {
		return err
	}
	if a.Password == "" {
		return jsonbody.FieldError("", "required", "must not be empty; send null for a link without a password")
	}
	return checkText("", a.Password, maxPasswordBytes)
}

// errNoHash is the error of an import of a link whose password is not known: without it the link would be open.
var errNoHash = jsonbody.FieldError("password_hash", "required", "must be given, because the link has a password: export it with include=password_hash")

// readHasPassword reads whether a link that was made elsewhere has a password.
func readHasPassword(a *askedLink, value json.RawMessage) (err error) {
	a.hadPassword, err = jsonbody.Bool(value)
	return err
}

// readPasswordHash reads the hash of a link's password as an export has it. Each visitor who types a password makes the
// server compute what the hash asks for, so that has bounds; only admins import.
func readPasswordHash(a *askedLink, value json.RawMessage) (err error) {
	if a.Password, err = jsonbody.String(value); err != nil {
		return err
	}
	if !engine.IsPasswordHash(a.Password) || password.CheckHash(a.Password) != nil {
		return jsonbody.FieldError("", "format", "must be a hash of argon2id ($argon2id$v=19$…) that takes at most 64 MiB")
	}
	return nil
}

func readReuse(a *askedLink, value json.RawMessage) (err error) {
	a.Reuse, err = jsonbody.Bool(value)
	return err
}

// readImportedCode returns the errors of readAlias, for the field code.
func readImportedCode(a *askedLink, value json.RawMessage) error {
	err := readAlias(a, value)
	if wrong := (engine.FieldError{}); errors.As(err, &wrong) {
		return jsonbody.FieldError("code", wrong.Code, strings.TrimSuffix(wrong.Message, "; leave it out to have a code drawn"))
	}
	return err
}

func readRedirectStatus(a *askedLink, value json.RawMessage) error {
	status, err := jsonbody.Int(value)
	a.RedirectStatus = int(min(max(status, 0), 999)) // what is in an int of 32 bits, too
	if _, ok := engine.StatusFlags(a.RedirectStatus); err == nil && !ok {
		err = jsonbody.FieldError("", "range", "must be 301, 302, 307 or 308")
	}
	return err
}

func readQuery(a *askedLink, value json.RawMessage) error {
	text, err := jsonbody.String(value)
	a.Query = engine.Forwarding(text)
	if queries := engine.Forwardings(); err == nil && !slices.Contains(queries, a.Query) {
		err = jsonbody.FieldError("", "range", "must be "+oneOf(queries))
	}
	return err
}

// readStart also takes a start that has passed: it says the same as none. So a date alone may be today, and a client
// whose clock is a little behind may send its present time.
func readStart(a *askedLink, value json.RawMessage) (err error) {
	if a.StartsAt, err = jsonbody.Start(value); err == nil && a.StartsAt.UnixMilli() <= 0 {
		err = jsonbody.FieldError("", "range", "must be later than 1970; leave it out if the link redirects at once")
	}
	return err
}

func readExpiry(a *askedLink, value json.RawMessage) (err error) {
	if a.ExpiresAt, err = jsonbody.Expiry(value); err == nil && !a.ExpiresAt.After(a.now) {
		err = jsonbody.FieldError("", "past", "must be in the future")
	}
	return err
}

// readImportedExpiry also takes an expiry that has passed.
func readImportedExpiry(a *askedLink, value json.RawMessage) (err error) {
	if a.ExpiresAt, err = jsonbody.Expiry(value); err == nil && a.ExpiresAt.UnixMilli() <= 0 {
		err = jsonbody.FieldError("", "range", "must be later than 1970; leave it out if the link never expires")
	}
	return err
}

func readMaxHits(a *askedLink, value json.RawMessage) error {
	n, err := jsonbody.Int(value)
	if err == nil && (n < 1 || n > maxHitsLimit) {
		err = jsonbody.FieldError("", "range", "must be a number from 1 to 9,007,199,254,740,992")
	}
	a.MaxHits = uint64(n)
	return err
}

func readHits(a *askedLink, value json.RawMessage) error {
	n, err := jsonbody.Int(value)
	if err == nil && (n < 0 || n > maxHitsLimit) {
		err = jsonbody.FieldError("", "range", "must be a number from 0 to 9,007,199,254,740,992")
	}
	a.imports.Hits = uint64(n)
	return err
}

// readDaily reads hits by day.
func readDaily(a *askedLink, value json.RawMessage) (err error) {
	a.imports.Daily, err = days.Read(value, a.days.today)
	return err
}

// keptDays are the days that an import may bring along: it may name earlier ones, whose hits are in the total alone.
type keptDays struct {
	first, today uint32
	zone         *zone.Zone // whose days these are
}

// keptDays returns the days that an import may bring along now.
func (c *Calls) keptDays() keptDays {
	days := c.o.Engine.Zone()
	_, first := c.o.Engine.KeptSince()
	return keptDays{days.Day(hourOf(first)), days.Day(hourOf(c.o.Now().Add(clockSkew))), days}
}

func hourOf(t time.Time) uint32 { return uint32(max(0, t.Unix()/3600)) }

// of returns those of p that are kept.
func (k keptDays) of(p daily.Packed) daily.Packed {
	all := slices.Collect(p.All())
	if len(all) == 0 || all[0].Day >= k.first {
		return p
	}
	return daily.Pack(slices.DeleteFunc(all, func(d daily.Hits) bool { return d.Day < k.first }))
}

// created returns when a link without created_at was made: the begin of its first day with hits, or now.
func (k keptDays) created(p daily.Packed, now time.Time) time.Time {
	for d := range p.All() {
		if begin := time.Unix(int64(k.zone.Begin(d.Day))*3600, 0); begin.Before(now) {
			return begin
		}
		break
	}
	return now
}

// errDailySum is the error of hits by day that are more than all hits. It names no numbers, so that an import counts
// those of all its lines as one reason.
var errDailySum = jsonbody.FieldError("daily", "range", "must not add up to more than hits")

// readGiven reads who gets a link.
func readGiven(a *askedLink, value json.RawMessage) error {
	n, err := jsonbody.Int(value)
	if err == nil && (n < 1 || n > engine.MaxUser) {
		err = errUnknownOwner
	}
	a.Owner = uint32(n)
	return err
}

// errUnknownOwner is the error of a parameter or a field owner.
var errUnknownOwner = jsonbody.FieldError("owner", "unknown", "is not the id of a user")

// readFolder reads the folder that a link is put into. Who may put it there is checked later.
func readFolder(a *askedLink, value json.RawMessage) (err error) {
	a.Folder, err = folderNumber(value)
	return err
}

func folderNumber(value json.RawMessage) (uint32, error) {
	n, err := jsonbody.Int(value)
	if err == nil && (n < 1 || n > math.MaxUint32) {
		err = errUnknownFolder
	}
	return uint32(n), err
}

// errUnknownFolder is the error of a folder into which the caller may put no links, whether it is there or not.
var errUnknownFolder = jsonbody.FieldError("folder", "unknown", "is not the number of a folder into which you may put links")

func readTags(a *askedLink, value json.RawMessage) (err error) {
	if a.Tags, err = jsonbody.Strings(value); err != nil {
		return err
	}
	if err := checkTags(a.Tags); err != nil {
		return err
	}
	if a.Tags = engine.DistinctTags(a.Tags); len(a.Tags) > engine.MaxTags {
		return jsonbody.FieldError("", "too_many", "must be at most "+strconv.Itoa(engine.MaxTags)+" tags")
	}
	return nil
}

func readCreated(a *askedLink, value json.RawMessage) (err error) {
	a.imports.CreatedAt, err = readPast(value, a.now)
	return err
}

func readUpdated(a *askedLink, value json.RawMessage) (err error) {
	a.imports.UpdatedAt, err = readPast(value, a.now)
	return err
}

// skip ignores a field that the importing server sets itself: the link's owner, its state.
func skip(*askedLink, json.RawMessage) error { return nil }

// clockSkew is how far ahead the clock of the server that a link comes from may be.
const clockSkew = time.Minute

// readPast reads a time that is not in the future. The database can hold times from 1970 on.
func readPast(value json.RawMessage, now time.Time) (time.Time, error) {
	t, err := jsonbody.Time(value)
	switch {
	case err != nil:
		return t, err
	case t.Before(time.Unix(0, 0)):
		return t, jsonbody.FieldError("", "range", "must not be before 1970")
	case t.After(now.Add(clockSkew)):
		return t, jsonbody.FieldError("", "in_future", "must not be in the future")
	}
	return t, nil
}

// checkText refuses text of more than maxBytes bytes or with control characters.
func checkText(field, text string, maxBytes int) error {
	if len(text) > maxBytes {
		return jsonbody.FieldError(field, "too_long", "must be at most "+strconv.Itoa(maxBytes)+" bytes")
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return jsonbody.FieldError(field, "characters", "must not contain control characters")
	}
	return nil
}

// maxTagsSent is how many tags a body may have, those that are there twice included.
const maxTagsSent = 4 * engine.MaxTags

func checkTags(tags []string) error {
	if len(tags) > maxTagsSent {
		return jsonbody.FieldError("", "too_many", "must be at most "+strconv.Itoa(engine.MaxTags)+" tags")
	}
	for i, tag := range tags {
		if err := checkTag("tags["+strconv.Itoa(i)+"]", tag); err != nil {
			return err
		}
	}
	return nil
}

func checkTag(field, tag string) error {
	if tag == "" {
		return jsonbody.FieldError(field, "required", "must not be empty")
	}
	return checkText(field, tag, engine.MaxTagBytes)
}
