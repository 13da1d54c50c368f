package certificate

import (
	"crypto/tls"
	"fmt"
	"time"
)

// A Host is what is known of the certificate of a host. It never changes.
type Host struct {
	Name       string // in lower-case ASCII
	Chain, Key []byte // PEM; empty: there is no certificate yet
	Server     bool   // it is the host of a server itself, not of a domain

	TriedAt  time.Time // the last attempt
	Failures int       // attempts that failed since the last one that did not; one that has not ended counts
	Error    string    // why the last attempt failed; empty: it did not
	NextAt   time.Time // of the next attempt after a failure, or after an order that nobody saw the end of

	// Ordered are the times of the orders that an authority may count: those of the last hour, at the last attempt.
	Ordered []time.Time

	// Certificate is Chain and Key, ready for handshakes; nil: there is none yet.
	Certificate *tls.Certificate
}

// NotAfter returns when the certificate expires; zero: there is none.
func (h *Host) NotAfter() time.Time {
	if h == nil || h.Certificate == nil {
		return time.Time{}
	}
	return h.Certificate.Leaf.NotAfter
}

// parse fills Certificate.
func (h *Host) parse() error {
	if len(h.Chain) == 0 && len(h.Key) == 0 {
		h.Certificate = nil
		return nil
	}
	c, err := tls.X509KeyPair(h.Chain, h.Key)
	if err == nil {
		err = c.Leaf.VerifyHostname(h.Name)
	}
	if err != nil {
		return fmt.Errorf("the certificate of %s: %w", h.Name, err)
	}
	h.Certificate = &c
	return nil
}

// A Challenge is what proves to an authority that a host leads here. It never changes.
type Challenge struct {
	Token, Host string
	Text        string // the answer to http-01
	Chain, Key  []byte // PEM: the answer to tls-alpn-01
	Check       bool   // this server asks, not an authority

	certificate *tls.Certificate // Chain and Key
}

func (c *Challenge) parse() error {
	pair, err := tls.X509KeyPair(c.Chain, c.Key)
	if err != nil {
		return fmt.Errorf("the challenge of %s: %w", c.Host, err)
	}
	c.certificate = &pair
	return nil
}
