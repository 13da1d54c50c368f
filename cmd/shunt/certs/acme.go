package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

const (
	acmeFolder = "acme" // of the data folder; autocert makes it 0700 and its files 0600

	// acmeLooks is how often the current certificate is checked during its lifetime, but at least
	// once an hour. autocert renews it by itself when a third of its lifetime is left, at most 30
	// days.
	acmeLooks        = 30
	acmeLookInterval = time.Hour

	// After failures the retries become rarer, because certificate authorities count failures
	// (Let's Encrypt: 5 an hour for a name).
	acmeMinRetry = 2 * time.Minute
	acmeMaxRetry = time.Hour
)

// An ACME is the certificate of one domain from an ACME authority, of an edge: it cannot write what all nodes have, so
// it keeps its certificate in files of its own (others: package orders). It is obtained and renewed in the background,
// so that no handshake waits for an authority, or asks it for anything.
type ACME struct {
	domain  string
	manager *autocert.Manager
	log     *slog.Logger
	current atomic.Pointer[tls.Certificate] // nil: there is none yet

	failing  atomic.Bool   // the last attempt failed, or the renewal is overdue
	failures atomic.Uint64 // attempts that failed; a look that finds the renewal overdue is one
}

// ACMEOptions say whom to ask for a certificate, and for which domain.
type ACMEOptions struct {
	Domain      string
	Directory   string // URL of the authority's directory
	Email       string // where the authority may write to; "": nowhere
	AcceptTerms bool   // of the authority
	DataDir     string // the account's key and the certificate are kept in a folder of it
}

func NewACME(o ACMEOptions, log *slog.Logger) *ACME {
	return &ACME{
		domain: o.Domain,
		log:    log,
		manager: &autocert.Manager{
			Prompt:     func(string) bool { return o.AcceptTerms },
			Cache:      autocert.DirCache(filepath.Join(o.DataDir, acmeFolder)),
			HostPolicy: autocert.HostWhitelist(o.Domain),
			Email:      o.Email,
			Client:     &acme.Client{DirectoryURL: o.Directory, UserAgent: "shunt"},
		},
	}
}

// Challenges answers http-01 challenges. From its call on the authority is offered them; without it
// only tls-alpn-01.
func (a *ACME) Challenges() http.Handler {
	answer := a.manager.HTTPHandler(http.NotFoundHandler())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, _, err := net.SplitHostPort(r.Host); err == nil {
			r.Host = name // autocert compares the whole of it with the domain
		}
		answer.ServeHTTP(w, r)
	})
}

// Covers reports whether a name in a handshake, which has no dot at its end, is the domain. A client that names none
// gets the certificate of the domain.
func (a *ACME) Covers(name string) bool { return name == "" || strings.EqualFold(name, a.domain) }

// Certificate returns what a handshake is given: the authority's own gets the answer to its
// challenge.
func (a *ACME) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto}) {
		return a.manager.GetCertificate(hello)
	}
	if !a.Covers(strings.TrimSuffix(hello.ServerName, ".")) {
		return nil, fmt.Errorf("this is %s only", a.domain)
	}
	if current := a.current.Load(); current != nil {
		return current, nil
	}
	return nil, errNoCertificate
}

// Run gets the certificate, and later the ones that have replaced it, until ctx ends.
func (a *ACME) Run(ctx context.Context) error {
	retry := acmeMinRetry
	for {
		var wait time.Duration
		if err := a.fetch(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			a.failed()
			wait, retry = retry, min(2*retry, acmeMaxRetry)
			a.log.Warn("no certificate; trying again", slog.String("domain", a.domain), slog.Any("cause", err),
				slog.String("authority", a.manager.Client.DirectoryURL), slog.String("needs", acmeNeeds), slog.Duration("in", wait))
		} else {
			wait, retry = a.look(time.Now()), acmeMinRetry
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

// acmeNeeds adds what autocert's errors leave out: why the authority could not verify the domain.
const acmeNeeds = "the domain's port 443 must lead to --listen, or its port 80 to --http-redirect-listen"

// look logs a warning if the certificate should have been renewed by now, because autocert does not
// report its failures. It returns when to look again.
func (a *ACME) look(now time.Time) (wait time.Duration) {
	leaf := a.current.Load().Leaf
	lifetime := leaf.NotAfter.Sub(leaf.NotBefore)
	renewal := min(lifetime/3, 30*24*time.Hour)
	if overdue := leaf.NotAfter.Sub(now) < renewal*3/4; !overdue {
		a.failing.Store(false)
	} else {
		a.failed()
		a.log.Warn("the certificate has not been renewed", slog.String("domain", a.domain), slog.Time("expires", leaf.NotAfter),
			slog.String("authority", a.manager.Client.DirectoryURL), slog.String("needs", acmeNeeds))
	}
	return max(time.Second, min(lifetime/acmeLooks, acmeLookInterval))
}

// failed notes an attempt that failed.
func (a *ACME) failed() {
	a.failures.Add(1)
	a.failing.Store(true)
}

// fetch asks for the certificate in force: autocert's memory has it, or its folder, or else the
// authority is asked, which may take minutes. autocert cannot be stopped, so its goroutine stays
// when ctx ends, which is when the process ends.
func (a *ACME) fetch(ctx context.Context) error {
	type result struct {
		cert *tls.Certificate
		err  error
	}
	got := make(chan result, 1)
	go func() {
		cert, err := a.manager.GetCertificate(&tls.ClientHelloInfo{ // of a client that takes ECDSA
			ServerName:       a.domain,
			SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
			SupportedCurves:  []tls.CurveID{tls.CurveP256},
			CipherSuites:     []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		})
		got <- result{cert, err}
	}()
	select {
	case r := <-got:
		return a.take(r.cert, r.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *ACME) take(cert *tls.Certificate, err error) error {
	if err == nil && cert.Leaf == nil {
		err = errors.New("the certificate cannot be read")
	}
	if err != nil {
		return err
	}
	if old := a.current.Swap(cert); old == nil || !old.Leaf.Equal(cert.Leaf) {
		a.log.Info("using a certificate", slog.String("domain", a.domain), slog.Time("expires", cert.Leaf.NotAfter))
	}
	return nil
}

// Challenged reports that its authority may ask for a challenge.
func (*ACME) Challenged() bool { return true }

// Prepare does nothing: the authority decides when there is a new certificate.
func (a *ACME) Prepare() (commit func(), err error) { return func() {}, nil }
