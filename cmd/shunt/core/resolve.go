package core

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"shunt/api/domain"
	"shunt/cmd/shunt/console"
	"shunt/engine"
	"shunt/engine/plural"
	"shunt/storage"
)

// Led is where a code leads according to a folder, as --json prints it. Whether a limit of hits is used up, and what is
// on a block list, only a server knows.
type Led struct {
	Code           string       `json:"code"`
	Domain         string       `json:"domain,omitempty"` // empty: the default one
	URL            string       `json:"url"`
	RedirectStatus int          `json:"redirect_status"`
	State          engine.State `json:"state"`
	Title          string       `json:"title,omitempty"`
	CreatedAt      time.Time    `json:"created_at"`
	UpdatedAt      time.Time    `json:"updated_at"`
	StartsAt       time.Time    `json:"starts_at,omitzero"`
	ExpiresAt      time.Time    `json:"expires_at,omitzero"`
	ExpiredURL     string       `json:"expired_url,omitempty"`
	MaxHits        uint64       `json:"max_hits,omitempty"`
	Elsewhere      []string     `json:"elsewhere,omitempty"` // targets of rules and of a split, to which some visitors are sent
	HasPassword    bool         `json:"has_password,omitempty"`
}

// Resolve says where a code or a short address leads, according to a backup or to a data folder that nobody serves,
// which people know as from. It changes nothing there.
func Resolve(dir, from, name string, stderr io.Writer) (led Led, err error) {
	log := console.New(stderr, "text", slog.LevelWarn).Log
	v, err := storage.Inspect(dir, storage.Options{Logger: log, Replicate: Replicate})
	if err != nil {
		return led, storeError(dir, err)
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	base, err := v.BaseURL()
	if err != nil {
		return led, err
	}
	domains := domain.New(v.Domains(), nil)
	if err := domains.Begin(cmp.Or(base, "http://localhost")); err != nil {
		return led, err
	}
	from = console.Printable(from)
	in, code, err := namedIn(domains, name)
	if err != nil {
		return led, fmt.Errorf("%s: %w", from, err)
	}
	for _, d := range in {
		rec, err := recordIn(v, d, code)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			continue
		case err != nil:
			return led, err
		case rec.Hot.Flags&engine.FlagTombstone != 0:
			return led, fmt.Errorf("%s: the link %s was deleted on %s", from, console.Printable(code), console.Time(time.UnixMilli(rec.Hot.DeletedAtMs)))
		}
		return ledBy(&rec, d), nil
	}
	return led, fmt.Errorf("%s: it has no link %s", from, console.Printable(code))
}

// namedIn returns the code that a person means, and the domains in which it may be: of a short address one, else all,
// the default one first.
func namedIn(domains *domain.Domains, name string) (in []*domain.Domain, code string, err error) {
	_, address, isAddress := strings.Cut(name, "://")
	if !isAddress {
		address = name
	}
	host, path, several := strings.Cut(strings.TrimPrefix(address, "//"), "/")
	if several {
		d, err := domains.Named(host)
		switch {
		case err == nil:
			return []*domain.Domain{d}, typedCode(path), nil
		case isAddress:
			return nil, "", fmt.Errorf("%s is no domain of it", console.Printable(host))
		}
	}
	return domains.All(), typedCode(strings.TrimPrefix(address, "/")), nil
}

// typedCode returns the code that a path may be.
func typedCode(path string) string {
	path, _, _ = strings.Cut(path, "?")
	path = strings.TrimSuffix(strings.TrimRight(path, "/"), "+")
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	return engine.NormalCode(path)
}

// recordIn reads the link of a code in a domain. Where codes are found in any case, it also looks for the one in lower
// case, as which they are made if nobody chooses them.
func recordIn(v *storage.Inspection, d *domain.Domain, code string) (rec engine.Record, err error) {
	for _, spelled := range []string{code, strings.ToLower(code)} {
		k := engine.Key{Domain: d.Number, Code: spelled}
		if !k.View().Valid() {
			return rec, engine.ErrNotFound
		}
		rec, err = v.ReadRecord(k)
		if !errors.Is(err, engine.ErrNotFound) || !d.Folds {
			break
		}
	}
	return rec, err
}

// ledBy returns where a link leads.
func ledBy(rec *engine.Record, d *domain.Domain) Led {
	l := rec.Detail(time.Now())
	led := Led{
		Code: l.Code, URL: l.Target, RedirectStatus: l.RedirectStatus, State: l.State, Title: l.Title, CreatedAt: l.CreatedAt, UpdatedAt: l.UpdatedAt,
		StartsAt: l.StartsAt, ExpiresAt: l.ExpiresAt, ExpiredURL: l.ExpiredURL, MaxHits: l.MaxHits, HasPassword: l.Lock != 0,
	}
	if d.Number != engine.DefaultDomain {
		led.Domain = d.Host
	}
	for _, r := range l.Rules {
		led.Elsewhere = append(led.Elsewhere, r.URL)
	}
	for _, s := range l.Split {
		led.Elsewhere = append(led.Elsewhere, s.URL)
	}
	return led
}

// Notes say, for people, why not all visitors get to the target.
func (l *Led) Notes() (notes []string) {
	note := func(is bool, format string, args ...any) {
		if is {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	note(l.State == engine.StateDisabled, "it is disabled, and redirects nobody")
	note(l.State == engine.StateScheduled, "it starts %s", console.Time(l.StartsAt))
	note(l.State == engine.StateExpired, "it expired %s", console.Time(l.ExpiresAt))
	note(l.State == engine.StateExpired && l.ExpiredURL != "", "since then it leads to %s", console.Printable(l.ExpiredURL))
	note(l.MaxHits > 0, "it has a limit of %s; whether that is used up, only a server knows", plural.Of(l.MaxHits, "hit", "hits"))
	note(l.HasPassword, "it asks for a password")
	note(len(l.Elsewhere) > 0, "its rules or its split send some visitors elsewhere: --json has where")
	return notes
}
