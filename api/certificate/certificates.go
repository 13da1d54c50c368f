package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"shunt/api/table"
)

// Certificates are those of a server.
type Certificates struct {
	table *table.Writer
	now   func() time.Time

	changing sync.Mutex // held while known is replaced
	known    atomic.Pointer[known]
}

// New returns the certificates in rows. Nothing else may write to that table. If now is nil, it is time.Now. Changed is
// to be called before all else.
func New(rows table.Table, now func() time.Time) *Certificates {
	if now == nil {
		now = time.Now
	}
	c := &Certificates{table: table.NewWriter(rows), now: now}
	c.known.Store(newKnown(map[string]row{}))
	return c
}

// Changed reads the certificates again: this process begins, or this node or another one has changed rows. A row that
// cannot be read is left out, and the error says which: the others serve.
func (c *Certificates) Changed() error {
	c.changing.Lock()
	defer c.changing.Unlock()
	before, rows := c.known.Load(), make(map[string]row)
	var unread error
	err := c.table.Scan(nil, func(key, value []byte) (bool, error) {
		r, err := before.readRow(key, value)
		if err != nil {
			unread = err
			return true, nil
		}
		rows[string(key)] = r
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("read certificates: %w", err)
	}
	c.known.Store(newKnown(rows))
	if unread != nil {
		return fmt.Errorf("read certificates: %w", unread)
	}
	return nil
}

// Lead is table.Writer.Lead: certificates are written by the node that leads.
func (c *Certificates) Lead(ctx context.Context, begin func() error) error {
	return c.table.Lead(ctx, begin)
}

// Of returns what is known of the certificate of a host in lower-case ASCII; nil: nothing. It takes no lock.
func (c *Certificates) Of(host string) *Host { return c.known.Load().hosts[host] }

// All returns what is known of all hosts, in their order.
func (c *Certificates) All() []*Host {
	k := c.known.Load()
	all := make([]*Host, 0, len(k.hosts))
	for _, h := range k.hosts {
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b *Host) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Answer returns the answer of http-01 to a token that an authority asks a host for.
func (c *Certificates) Answer(host, token string) (text string, ok bool) {
	asked, ok := c.known.Load().tokens[token]
	if !ok || asked.Host != host {
		return "", false
	}
	return asked.Text, true
}

// Proof returns the answer of tls-alpn-01 to an authority that asks a host; nil: nobody has asked for its certificate.
// A handshake does not say for which challenge it is, so an authority's goes before that of a check.
func (c *Certificates) Proof(host string) *tls.Certificate {
	if asked := c.known.Load().asked[host]; asked != nil {
		return asked.certificate
	}
	return nil
}

// Proves reports whether a certificate, in DER, is the answer to any challenge of a host: who has it is of this server.
func (c *Certificates) Proves(host string, der []byte) bool {
	for _, asked := range c.known.Load().tokens {
		if asked.Host == host && bytes.Equal(asked.certificate.Leaf.Raw, der) {
			return true
		}
	}
	return false
}

// AccountKey returns the key of the account at the authority, in PEM; nil: there is none yet.
func (c *Certificates) AccountKey() []byte { return c.known.Load().account }
