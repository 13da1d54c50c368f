package domain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shunt/api/table"
	"shunt/engine"
)

var (
	// ErrNoDomain means that nobody has registered the host.
	ErrNoDomain = errors.New("no such domain")
	// ErrInUse means that a domain has links.
	ErrInUse = errors.New("the domain has links: delete them first")
)

// Domains are the domains of a server.
type Domains struct {
	table *table.Writer
	now   func() time.Time

	changing sync.Mutex // held while known is replaced
	base     string     // the base URL of the server
	known    atomic.Pointer[known]
	several  atomic.Pointer[known] // known, if there is more than the default domain, or else nil: see Of
}

// known is what memory has of all domains. It never changes.
type known struct {
	rows     []Domain                 // as they are kept
	byHost   map[string]engine.Domain // of the registered hosts and their aliases; the default one is in none
	byNumber map[engine.Domain]*Domain
	all      []*Domain // the default one first, then by host
}

// New returns the domains in rows. Nothing else may write to that table. If now is nil, it is time.Now. Begin is to be
// called before all else.
func New(rows table.Table, now func() time.Time) *Domains {
	if now == nil {
		now = time.Now
	}
	d := &Domains{table: table.NewWriter(rows), now: now}
	d.set(newKnown("", nil))
	return d
}

// Begin reads the domains. base is the base URL of the server: an origin without a slash at its end.
func (d *Domains) Begin(base string) error {
	d.changing.Lock()
	d.base = base
	d.changing.Unlock()
	if err := d.Changed(); err != nil {
		return err
	}
	host, _ := engine.HostName(hostPart(base))
	if n, taken := d.known.Load().byHost[host]; taken {
		return fmt.Errorf("base URL %s: %s is a domain of its own (number %d): choose another base URL, or remove the domain first", base, host, n)
	}
	return nil
}

// Changed reads the domains again: this node or another one has changed rows.
func (d *Domains) Changed() error {
	d.changing.Lock()
	defer d.changing.Unlock()
	var all []Domain
	err := d.table.Scan(domainKeys, func(key, value []byte) (bool, error) {
		one, err := decodeDomain(key, value)
		all = append(all, one)
		return true, err
	})
	if err != nil {
		return fmt.Errorf("read domains: %w", err)
	}
	d.set(newKnown(d.base, all))
	return nil
}

func newKnown(base string, rows []Domain) *known {
	k := &known{rows: rows, byHost: make(map[string]engine.Domain), byNumber: make(map[engine.Domain]*Domain)}
	rows = slices.Clone(rows)
	if !slices.ContainsFunc(rows, func(d Domain) bool { return d.Number == engine.DefaultDomain }) {
		rows = append(rows, Domain{})
	}
	for i := range rows {
		d := &rows[i]
		if d.Number == engine.DefaultDomain {
			d.Host, d.BaseURL = hostPart(base), base
		} else {
			d.BaseURL = cmp.Or(d.BaseURL, baseOf(base, d.Host))
			for _, host := range d.Hosts() {
				k.byHost[host] = d.Number
			}
		}
		k.byNumber[d.Number] = d
		k.all = append(k.all, d)
	}
	slices.SortFunc(k.all, func(a, b *Domain) int {
		return cmp.Or(cmp.Compare(min(a.Number, 1), min(b.Number, 1)), cmp.Compare(a.Host, b.Host))
	})
	return k
}

// Of returns the domain of a Host field. It takes no lock and allocates nothing; with only the default domain it reads
// one word.
func (d *Domains) Of(hostField []byte) engine.Domain {
	if k := d.several.Load(); k != nil {
		return k.of(hostField)
	}
	return engine.DefaultDomain
}

func (k *known) of(hostField []byte) engine.Domain {
	var buf [maxHostBytes]byte
	return k.byHost[string(bareHost(&buf, hostField))]
}

// set puts what is known into force. The lock of changes is held, or nobody else has d yet.
func (d *Domains) set(k *known) {
	d.known.Store(k)
	if len(k.byHost) == 0 {
		k = nil
	}
	d.several.Store(k)
}

// Several reports whether there is more than the default domain.
func (d *Domains) Several() bool { return d.several.Load() != nil }

// Registered reports whether a name in lower-case ASCII is the host of a domain that is not the default one, or an
// alias.
func (d *Domains) Registered(name string) bool {
	_, there := d.known.Load().byHost[name]
	return there
}

// At returns the domain of a name in lower-case ASCII that is registered, or nil. It takes no lock.
func (d *Domains) At(name string) *Domain {
	k := d.known.Load()
	if n, there := k.byHost[name]; there {
		return k.byNumber[n]
	}
	return nil
}

// Numbered returns a domain, nil if it is gone. It must not be changed.
func (d *Domains) Numbered(n engine.Domain) *Domain { return d.known.Load().byNumber[n] }

// SettingsOf returns the settings of a domain, those of none if it is gone.
func (d *Domains) SettingsOf(n engine.Domain) Settings {
	if one := d.Numbered(n); one != nil {
		return one.Settings
	}
	return Settings{}
}

// All returns all domains, the default one first, then by host. They must not be changed.
func (d *Domains) All() []*Domain { return d.known.Load().all }

// Default returns the default domain. It must not be changed.
func (d *Domains) Default() *Domain { return d.Numbered(engine.DefaultDomain) }

// Named returns the domain with a host, or an alias of one, as people write it. It must not be changed. The error is
// ErrNoDomain.
func (d *Domains) Named(host string) (*Domain, error) {
	k := d.known.Load()
	name, err := engine.HostName(host)
	if err != nil || host == "" {
		return nil, ErrNoDomain
	}
	if own, _ := engine.HostName(k.byNumber[engine.DefaultDomain].Host); name == own {
		return k.byNumber[engine.DefaultDomain], nil
	}
	if n, there := k.byHost[name]; there {
		return k.byNumber[n], nil
	}
	return nil, ErrNoDomain
}

// ShortURL returns the short address of a link: an address in ASCII (RFC 3986).
func (d *Domains) ShortURL(n engine.Domain, code string) string {
	known := d.Numbered(n)
	if known == nil { // it was removed a moment ago
		known = d.Default()
	}
	if url := known.BaseURL + "/" + code; engine.OnlyASCII(code) {
		return url
	} else {
		return string(engine.AppendASCII(nil, []byte(url)))
	}
}
