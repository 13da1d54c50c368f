package domain

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/table/tabletest"
	"shunt/engine"
	"shunt/engine/expect"
)

func open(t *testing.T) (*Domains, *tabletest.Memory) {
	t.Helper()
	m := tabletest.New()
	d := New(m, func() time.Time { return time.UnixMilli(1_800_000_000_000) })
	expect.OK(t, d.Begin("https://sho.rt"))
	return d, m
}

func add(t *testing.T, d *Domains, host string, aliases ...string) *Domain {
	t.Helper()
	one, err := d.Add(account.Caller{}, Domain{Host: host, Aliases: aliases}, engine.TargetPolicy{})
	expect.OK(t, err)
	return one
}

// reopened returns the domains as another process finds them.
func reopened(t *testing.T, m *tabletest.Memory) *Domains {
	t.Helper()
	d := New(m, nil)
	expect.OK(t, d.Begin("https://sho.rt"))
	faults := new(engine.Faults)
	expect.OK(t, Check(m, faults))
	found, n := faults.Found()
	expect.That(t, n == 0, "the check finds %v", found)
	return d
}

func TestAHostLeadsToItsDomainInEverySpelling(t *testing.T) {
	d, m := open(t)
	expect.Equal(t, d.Of([]byte("anything")), engine.DefaultDomain, "with one domain")
	b, c := add(t, d, "B.test", "www.b.test"), add(t, d, "bücher.example.")
	for _, d := range []*Domains{d, reopened(t, m)} {
		for host, want := range map[string]engine.Domain{
			"b.test": b.Number, "B.TEST.:8443": b.Number, "b.test.": b.Number, "www.B.test": b.Number, "b.test:": b.Number,
			"xn--bcher-kva.example": c.Number, "XN--BCHER-KVA.example:443": c.Number,
			"sho.rt": 0, "": 0, "[::1]": 0, "[::1]:80": 0, "127.0.0.1:8080": 0, "a.b.test": 0, "b.test..": 0, ".": 0, ":80": 0, "b.test:80:80": 0,
			strings.Repeat("b", 300): 0,
		} {
			expect.Equal(t, d.Of([]byte(host)), want, "%q", host)
		}
		expect.That(t, d.Several() && d.Registered("www.b.test") && !d.Registered("sho.rt"), "the registered ones are not told from others")
		expect.Equal(t, d.ShortURL(b.Number, "x"), "https://b.test/x", "an address")
		expect.Equal(t, d.ShortURL(0, "x"), "https://sho.rt/x", "an address of the default domain")
	}
	host := []byte("WWW.b.test:8080")
	expect.Equal(t, testing.AllocsPerRun(100, func() { d.Of(host) }), 0, "allocations")
}

func TestADomainIsChangedAsAWholeOrNotAtAll(t *testing.T) {
	d, m := open(t)
	b := add(t, d, "b.test")
	edit := func(change func(*Domain)) error {
		_, err := d.Edit(account.Caller{}, "b.test", engine.TargetPolicy{RefusePrivate: true, OwnOrigins: engine.ParseOrigins("https://sho.rt")}, func(one *Domain) error {
			change(one)
			return nil
		})
		return err
	}
	before := maps.Clone(m.Rows)
	for field, change := range map[string]func(*Domain){
		"host":            func(one *Domain) { one.Host = "https://b.test/x" },
		"aliases":         func(one *Domain) { one.Aliases = []string{"127.0.0.1"} },
		"base_url":        func(one *Domain) { one.BaseURL = "https://other.test" },
		"root_url":        func(one *Domain) { one.RootURL = "https://b.test/home" },
		"expired_url":     func(one *Domain) { one.ExpiredURL = "http://10.0.0.1/" },
		"not_found_url":   func(one *Domain) { one.NotFoundURL = "https://{path}.example/" },
		"redirect_status": func(one *Domain) { one.RedirectStatus = 303 },
		"robots":          func(one *Domain) { one.Robots = "nothing" },
	} {
		err := edit(change)
		var invalid engine.InvalidError
		expect.That(t, errors.As(err, &invalid) && len(invalid) == 1 && invalid[0].Field == field, "%s: got %v", field, err)
	}
	m.Fails = engine.ErrReadOnly
	expect.Error(t, edit(func(one *Domain) { one.RootURL = "https://example.org/" }), engine.ErrReadOnly, "without space")
	expect.That(t, maps.Equal(m.Rows, before) && d.Numbered(b.Number).RootURL == "", "a refused change has changed something")
	m.Fails = nil
	expect.OK(t, edit(func(one *Domain) {
		one.Host, one.Aliases = "c.test", []string{"www.c.test", "c.test", "b.test", "b.test"}
		one.RootURL, one.NotFoundURL, one.ExpiredURL = "example.org", "https://example.org/search?q={path}", "https://example.org/gone"
		one.RedirectStatus, one.Robots = 301, RobotsNone
	}))
	for _, d := range []*Domains{d, reopened(t, m)} {
		now := d.Numbered(b.Number)
		expect.That(t, now.Host == "c.test" && slices.Equal(now.Aliases, []string{"b.test", "www.c.test"}) && now.BaseURL == "https://c.test", "got %+v", now)
		expect.Equal(t, now.RootURL, "https://example.org", "a typed address")
		expect.Equal(t, now.NotFoundFor("a/b%20c"), "https://example.org/search?q=a/b%20c", "where an unknown path leads")
		expect.That(t, now.RedirectStatus == 301 && now.Robots == RobotsNone && now.CreatedAt.Equal(b.CreatedAt), "got %+v", now)
	}
	defer func() {
		expect.OK(t, expect.Err(d.Edit(account.Caller{}, "c.test", engine.TargetPolicy{}, func(one *Domain) error { one.Host = "d.test"; return nil })))
		expect.That(t, d.Of([]byte("d.test")) == b.Number && d.Of([]byte("c.test")) == 0 && d.Numbered(b.Number).BaseURL == "https://d.test", "only another host: got %+v", d.Numbered(b.Number))
	}()
	e := m.Entries[len(m.Entries)-1]
	expect.That(t, e.Action == engine.DomainEdited && e.Changes[0] == engine.AuditChange{Field: "host", Before: "b.test", After: "c.test"} && len(e.Changes) == 7, "the entry has %+v", e.Changes)
}

func TestAHostHasOneDomainAndANumberIsNeverGivenTwice(t *testing.T) {
	d, m := open(t)
	b := add(t, d, "b.test", "www.b.test")
	for _, host := range []string{"b.test", "B.TEST.", "www.b.test", "sho.rt"} {
		_, err := d.Add(account.Caller{}, Domain{Host: host}, engine.TargetPolicy{})
		expect.That(t, errors.Is(err, engine.FieldError{Field: "host", Code: "taken", Message: strings.TrimSuffix(strings.ToLower(host), ".") + " is another domain already"}), "%s: got %v", host, err)
	}
	inUse := func(context.Context, engine.Domain) (func(bool), error) { return nil, ErrInUse }
	expect.Error(t, d.Remove(account.Caller{}, "b.test", inUse), ErrInUse, "with links")
	expect.That(t, errors.As(d.Remove(account.Caller{}, "sho.rt", nil), new(engine.FieldError)), "the default domain is removed")
	gone := false
	free := func(context.Context, engine.Domain) (func(bool), error) { return func(yes bool) { gone = yes }, nil }
	expect.OK(t, d.Remove(account.Caller{}, "www.b.test", free))
	expect.That(t, gone && d.Of([]byte("b.test")) == 0 && !d.Several(), "the domain is there still")
	expect.Error(t, d.Remove(account.Caller{}, "b.test", free), ErrNoDomain, "again")
	again := add(t, reopened(t, m), "b.test")
	expect.Equal(t, again.Number, b.Number+1, "the number of the next domain")
}

func TestTheDefaultDomainHasSettingsButNoOtherHost(t *testing.T) {
	d, m := open(t)
	_, err := d.Edit(account.Caller{}, "sho.rt", engine.TargetPolicy{}, func(one *Domain) error {
		one.Host, one.RootURL = "other.test", "https://example.org/"
		return nil
	})
	expect.OK(t, err)
	for _, d := range []*Domains{d, reopened(t, m)} {
		one := d.Default()
		expect.That(t, one.Host == "sho.rt" && one.BaseURL == "https://sho.rt" && one.RootURL == "https://example.org/" && !d.Several(), "got %+v", one)
	}
}

func TestABaseURLThatIsADomainOfItsOwnIsRefused(t *testing.T) {
	d, m := open(t)
	add(t, d, "b.test")
	err := New(m, nil).Begin("https://b.test:8443")
	expect.That(t, err != nil && strings.Contains(err.Error(), "b.test"), "got %v", err)
}

func TestDamagedRowsAreFound(t *testing.T) {
	for name, damage := range map[string]func(m *tabletest.Memory){
		"a host twice": func(m *tabletest.Memory) {
			m.Rows[string(domainKey(2))] = strings.Replace(m.Rows[string(domainKey(1))], `"number":1`, `"number":2`, 1)
			m.Rows["s"] = "\x00\x02"
		},
		"under another key":      func(m *tabletest.Memory) { m.Rows[string(domainKey(2))] = m.Rows[string(domainKey(1))] },
		"a number that is ahead": func(m *tabletest.Memory) { m.Rows["s"] = "\x00\x00" },
		"a cut number":           func(m *tabletest.Memory) { m.Rows["s"] = "\x00" },
		"no JSON":                func(m *tabletest.Memory) { m.Rows[string(domainKey(1))] = "{" },
		"of a newer version": func(m *tabletest.Memory) {
			m.Rows[string(domainKey(1))] = strings.Replace(m.Rows[string(domainKey(1))], `"v":1`, `"v":2`, 1)
		},
	} {
		d, m := open(t)
		add(t, d, "b.test")
		damage(m)
		faults := new(engine.Faults)
		expect.OK(t, Check(m, faults))
		_, n := faults.Found()
		expect.That(t, n > 0, "%s: nothing is found", name)
	}
}

// FuzzHostField asks for any Host field: the answer must be that of the host without case, port and last dot.
func FuzzHostField(f *testing.F) {
	for _, host := range []string{"b.test", "B.TEST.:8443", "[::1]:80", "", ":", "b.test.:"} {
		f.Add([]byte(host))
	}
	f.Fuzz(func(t *testing.T, field []byte) {
		d, _ := open(t)
		b := add(t, d, "b.test")
		name, port, found := bytes.Cut(bytes.ToLower(field), []byte(":"))
		want := engine.DefaultDomain
		if string(bytes.TrimSuffix(name, []byte("."))) == "b.test" && (!found || !bytes.ContainsRune(port, ':')) {
			want = b.Number
		}
		expect.Equal(t, d.Of(field), want, "%q", field)
	})
}
