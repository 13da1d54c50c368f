package certificate

import (
	"strings"
	"time"

	"shunt/engine"
)

// Tried keeps how an attempt for the certificate of a host went, and adds it to the audit log. h is to be as it is
// after the attempt, with Certificate left out. Errors: a chain and a key that do not belong together, or are of
// another host; those of a write.
func (c *Certificates) Tried(h Host) error {
	return c.keep(h, true)
}

// Ordering keeps that an order for a host begins, before an authority hears of it: if this process ends, or another
// node leads, NextAt and Ordered hold nevertheless. h is as for Tried. It is no news for the audit log.
func (c *Certificates) Ordering(h Host) error { return c.keep(h, false) }

func (c *Certificates) keep(h Host, news bool) error {
	if err := h.parse(); err != nil {
		return err
	}
	var entry *engine.AuditEntry
	if news {
		entry = c.entry(&h)
	}
	return c.write(entry, map[string]row{string(hostKey(h.Name)): {value: string(encodeHost(&h)), host: &h}}, nil)
}

// Forget removes the certificates of hosts, with their keys.
func (c *Certificates) Forget(hosts ...string) error {
	deletes := make([][]byte, len(hosts))
	for i, host := range hosts {
		deletes[i] = hostKey(host)
	}
	return c.write(nil, nil, deletes)
}

// SetAccountKey keeps the key of the account at the authority, in PEM.
func (c *Certificates) SetAccountKey(key []byte) error {
	return c.write(nil, map[string]row{string(accountKey): {value: string(encodeAccount(key)), account: key}}, nil)
}

// Expect makes all nodes answer a challenge, until Settle.
func (c *Certificates) Expect(challenge Challenge) error {
	if err := challenge.parse(); err != nil {
		return err
	}
	return c.write(nil, map[string]row{string(challengeKey(challenge.Token)): {value: string(encodeChallenge(&challenge)), challenge: &challenge}}, nil)
}

// Settle ends challenges.
func (c *Certificates) Settle(tokens ...string) error {
	deletes := make([][]byte, len(tokens))
	for i, token := range tokens {
		deletes[i] = challengeKey(token)
	}
	return c.write(nil, nil, deletes)
}

// SettleAll ends the challenges that an earlier process, or leader, has left.
func (c *Certificates) SettleAll() error {
	var tokens []string
	for token := range c.known.Load().tokens {
		tokens = append(tokens, token)
	}
	if len(tokens) == 0 {
		return nil
	}
	return c.Settle(tokens...)
}

// write writes rows, and puts them into force once they are durable.
func (c *Certificates) write(entry *engine.AuditEntry, sets map[string]row, deletes [][]byte) error {
	lock, err := c.table.Lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	lock.Entry = entry
	rows := make([][2][]byte, 0, len(sets))
	for key, r := range sets {
		rows = append(rows, [2][]byte{[]byte(key), []byte(r.value)})
	}
	return lock.Write(rows, deletes, func(written bool) {
		if !written {
			return
		}
		c.changing.Lock()
		defer c.changing.Unlock()
		c.known.Store(c.known.Load().with(sets, deletes))
	})
}

// entry returns the entry of the audit log for an attempt. It has no key. Its first change is the host.
func (c *Certificates) entry(h *Host) *engine.AuditEntry {
	said := func(h *Host) string {
		switch {
		case h == nil:
			return ""
		case h.Error != "":
			return shortened("failed: " + h.Error)
		case h.NotAfter().IsZero():
			return "" // its first order began, and nobody saw its end
		}
		return "valid until " + h.NotAfter().UTC().Format(time.RFC3339)
	}
	return &engine.AuditEntry{
		Action: engine.CertificateTried, By: engine.By{AtMs: c.now().UnixMilli(), Local: true},
		Changes: []engine.AuditChange{{Field: "host", Before: h.Name, After: h.Name}, {Field: "certificate", Before: said(c.Of(h.Name)), After: said(h)}},
	}
}

// shortened returns as much of a text as the audit log takes.
func shortened(text string) string {
	const more = "…"
	if len(text) <= engine.MaxAuditTextBytes {
		return text
	}
	return strings.ToValidUTF8(text[:engine.MaxAuditTextBytes-len(more)], "") + more
}
