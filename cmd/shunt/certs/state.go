package certs

import (
	"crypto/tls"
	"time"
)

// State is how a source does.
type State struct {
	NotAfter time.Time // of the certificate in use; zero: there is none yet
	ACME     bool      // it comes from an authority
	Failing  bool      // the last attempt to get it failed, or its renewal is overdue; of ACME only
	Failures uint64    // attempts that failed since the start; of ACME only
}

// notAfter returns when the certificate expires, zero if there is none.
func notAfter(c *tls.Certificate) time.Time {
	if c == nil || c.Leaf == nil {
		return time.Time{}
	}
	return c.Leaf.NotAfter
}

// State returns the state of the pair in use.
func (f *Files) State() State { return State{NotAfter: notAfter(f.current.Load())} }

// State returns the state of the certificate in use, and of the attempts to get it.
func (a *ACME) State() State {
	return State{NotAfter: notAfter(a.current.Load()), ACME: true, Failing: a.failing.Load(), Failures: a.failures.Load()}
}
