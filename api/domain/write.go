package domain

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shunt/api/account"
	"shunt/engine"
)

// Add registers a domain, of which everything but the number and the time of creation is used. Errors:
// engine.InvalidError; engine.FieldError with the code taken, or too_many; those of a write.
func (d *Domains) Add(by account.Caller, one Domain, policy engine.TargetPolicy) (*Domain, error) {
	lock, err := d.table.Lock()
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	k := d.known.Load()
	if err := k.full(); err != nil {
		return nil, err
	}
	if one.Number, err = d.nextNumber(); err != nil {
		return nil, err
	}
	one.CreatedAt = d.now().UTC()
	if err := d.check(k, &one, policy); err != nil {
		return nil, err
	}
	lock.Entry = d.entry(by, engine.DomainAdded, &Domain{Number: one.Number, Host: one.Host}, &one)
	sets := [][2][]byte{{domainKey(one.Number), encodeDomain(&one)}, {lastKey, binary.BigEndian.AppendUint16(nil, uint16(one.Number))}}
	if err := lock.Write(sets, nil, d.written(one.Number, &one)); err != nil {
		return nil, err
	}
	return d.Numbered(one.Number), nil
}

// Check returns the domain that Add would register, with the number that it has. Errors: those of Add, but for those of
// a write.
func (d *Domains) Check(one Domain, policy engine.TargetPolicy) (*Domain, error) {
	k := d.known.Load()
	if err := k.full(); err != nil {
		return nil, err
	}
	if err := d.check(k, &one, policy); err != nil {
		return nil, err
	}
	return &one, nil
}

// full returns an error if there are as many domains as there may be.
func (k *known) full() error {
	if len(k.all) <= MaxDomains {
		return nil
	}
	return engine.FieldError{Field: "host", Code: "too_many", Message: fmt.Sprintf("there are %d domains already, which is the limit", MaxDomains)}
}

// nextNumber returns the number of a new domain.
func (d *Domains) nextNumber() (engine.Domain, error) {
	value, err := d.table.Get(lastKey)
	if err != nil || value != nil && len(value) != 2 {
		return 0, errors.Join(err, fmt.Errorf("read the last domain's number: %d bytes", len(value)))
	}
	last := engine.DefaultDomain
	if value != nil {
		last = engine.Domain(binary.BigEndian.Uint16(value))
	}
	if last >= engine.MaxDomain {
		return 0, engine.FieldError{Field: "host", Code: "too_many", Message: fmt.Sprintf("there have been %d domains, and no number is given twice", last)}
	}
	return last + 1, nil
}

// check normalises one, and refuses hosts that others have.
func (d *Domains) check(k *known, one *Domain, policy engine.TargetPolicy) error {
	policy.OwnHost = d.Registered
	if err := one.normalise(policy, d.base); err != nil || one.Number == engine.DefaultDomain {
		return err
	}
	own, _ := engine.HostName(k.byNumber[engine.DefaultDomain].Host)
	for i, host := range one.Hosts() {
		of, taken := k.byHost[host]
		if host == own || taken && of != one.Number {
			field := "host"
			if i > 0 {
				field = "aliases"
			}
			return engine.FieldError{Field: field, Code: TakenCode, Message: host + " is another domain already"}
		}
	}
	return nil
}

// Edit changes the domain of a host. change gets a copy. Errors: ErrNoDomain; that of change; those of Add.
func (d *Domains) Edit(by account.Caller, host string, policy engine.TargetPolicy, change func(*Domain) error) (*Domain, error) {
	lock, err := d.table.Lock()
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	before, err := d.Named(host)
	if err != nil {
		return nil, err
	}
	after := *before
	if err := change(&after); err != nil {
		return nil, err
	}
	after.Number, after.CreatedAt = before.Number, before.CreatedAt
	if after.BaseURL == before.BaseURL && before.BaseURL == baseOf(d.base, before.Host) {
		after.BaseURL = "" // it follows the host
	}
	if after.Number == engine.DefaultDomain {
		after.Host, after.Aliases, after.BaseURL = before.Host, nil, before.BaseURL
	}
	if err := d.check(d.known.Load(), &after, policy); err != nil {
		return nil, err
	}
	if lock.Entry = d.entry(by, engine.DomainEdited, before, &after); len(lock.Entry.Changes) == 1 && after.Host == before.Host {
		return before, nil
	}
	if err := lock.Write([][2][]byte{{domainKey(after.Number), encodeDomain(&after)}}, nil, d.written(after.Number, &after)); err != nil {
		return nil, err
	}
	return d.Numbered(after.Number), nil
}

// Farewell returns nil when it is certain that a domain has no link and gets none until settle is called, once, with
// whether the domain is gone. The error is ErrInUse.
type Farewell func(ctx context.Context, n engine.Domain) (settle func(gone bool), err error)

// Remove removes the domain of a host. Errors: ErrNoDomain, engine.FieldError of the default domain, those of farewell,
// those of a write.
func (d *Domains) Remove(by account.Caller, host string, farewell Farewell) error {
	lock, err := d.table.Lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	one, err := d.Named(host)
	switch {
	case err != nil:
		return err
	case one.Number == engine.DefaultDomain:
		return engine.FieldError{Field: "host", Code: "range", Message: "must not be the default domain, which stays"}
	}
	settle, err := farewell(lock.Context(), one.Number)
	if err != nil {
		return err
	}
	lock.Entry = d.entry(by, engine.DomainDeleted, one, &Domain{Number: one.Number, Host: one.Host})
	return lock.Write(nil, [][]byte{domainKey(one.Number)}, func(written bool) {
		d.written(one.Number, nil)(written)
		settle(written)
	})
}

// written returns what is called at the end of the write of a domain: memory has what was written. nil: it is gone.
func (d *Domains) written(n engine.Domain, now *Domain) func(written bool) {
	return func(written bool) {
		if !written {
			return
		}
		d.changing.Lock()
		defer d.changing.Unlock()
		rows := slices.DeleteFunc(slices.Clone(d.known.Load().rows), func(one Domain) bool { return one.Number == n })
		if now != nil {
			rows = append(rows, *now)
		}
		d.set(newKnown(d.base, rows))
	}
}

// entry returns the entry of the audit log for a change. Its first change is the host, whether it changed or not.
func (d *Domains) entry(by account.Caller, action engine.AuditAction, before, after *Domain) *engine.AuditEntry {
	e := &engine.AuditEntry{Action: action, By: by.By(d.now()), Changes: []engine.AuditChange{{Field: "host", Before: before.Host, After: after.Host}}}
	switch action {
	case engine.DomainAdded:
		e.Changes[0].Before = ""
	case engine.DomainDeleted:
		e.Changes[0].After = ""
	}
	add := func(field, was, is string) {
		if was != is {
			e.Changes = append(e.Changes, engine.AuditChange{Field: field, Before: shortened(was), After: shortened(is)})
		}
	}
	status := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	own := func(one *Domain) string { // an empty base URL and the one that follows from the host are the same
		if one.BaseURL == baseOf(d.base, one.Host) {
			return ""
		}
		return one.BaseURL
	}
	add("aliases", strings.Join(before.Aliases, " "), strings.Join(after.Aliases, " "))
	add("base_url", own(before), own(after))
	add("root_url", before.RootURL, after.RootURL)
	add("not_found_url", before.NotFoundURL, after.NotFoundURL)
	add("expired_url", before.ExpiredURL, after.ExpiredURL)
	add("redirect_status", status(before.RedirectStatus), status(after.RedirectStatus))
	add("robots", before.Robots, after.Robots)
	add("case", caseOf(before), caseOf(after))
	add("trim", strconv.FormatBool(!before.KeepsEnds), strconv.FormatBool(!after.KeepsEnds))
	add("unicode_codes", strconv.FormatBool(before.UnicodeCodes), strconv.FormatBool(after.UnicodeCodes))
	add("certificate", before.Certificate, after.Certificate)
	add("apple_app_site_association", before.AppSiteAssociation, after.AppSiteAssociation)
	add("assetlinks", before.AssetLinks, after.AssetLinks)
	return e
}

func caseOf(d *Domain) string {
	if d.Folds {
		return "fold"
	}
	return "sensitive"
}

// shortened returns as much of a text as the audit log takes.
func shortened(text string) string {
	const more = "…"
	if len(text) <= engine.MaxAuditTextBytes {
		return text
	}
	return strings.ToValidUTF8(text[:engine.MaxAuditTextBytes-len(more)], "") + more
}

// Lead is table.Writer.Lead: domains are written by the node that leads.
func (d *Domains) Lead(ctx context.Context, begin func() error) error {
	return d.table.Lead(ctx, begin)
}

// Hosts returns the hosts of all domains but the default one, with aliases, in order.
func (d *Domains) Hosts() (hosts []string) {
	for host := range d.known.Load().byHost {
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	return hosts
}
