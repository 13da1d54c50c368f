package orders

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/crypto/acme"

	"shunt/api/certificate"
	"shunt/cmd/shunt/certs"
)

// A Source gives handshakes the certificates of a server: those of the authority, and those in files. It implements
// certs.Source.
type Source struct {
	Files []*certs.Files // of the settings; the first is for names that no other covers
	Own   *certs.ACME    // of an edge, which cannot write what all nodes have; nil: none

	names        Names
	certificates *certificate.Certificates // nil: no host has one from the authority
	failures     atomic.Uint64             // attempts that failed
}

// Use gives the source the certificates of the authority. It is called before the first handshake.
func (s *Source) Use(names Names, c *certificate.Certificates) { s.names, s.certificates = names, c }

var errNoCertificate = errors.New("there is no certificate for this name yet")

// Certificate returns what a handshake is given. A name that nobody registered gets none, which is an alert.
func (s *Source) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	if slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto}) {
		return s.proof(name, hello)
	}
	if found := s.ordered(name); found != nil {
		return found, nil
	}
	switch {
	case s.Own != nil && s.Own.Covers(name):
		return s.Own.Certificate(hello)
	case len(s.Files) > 0:
		return s.filed(name), nil
	case name == "" || s.certificates != nil && s.names.expects(name):
		return nil, errNoCertificate
	}
	return nil, nil
}

// proof returns the answer to an authority's challenge.
func (s *Source) proof(name string, hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if s.certificates != nil {
		if found := s.certificates.Proof(name); found != nil {
			return found, nil
		}
	}
	if s.Own != nil {
		return s.Own.Certificate(hello)
	}
	return nil, errors.New("nobody has asked for this challenge")
}

// ordered returns the certificate of the authority for a name, nil if there is none. A client that names none is one of
// the server's own host.
func (s *Source) ordered(name string) *tls.Certificate {
	if name == "" {
		name = s.names.Main
	}
	if s.certificates == nil || !s.names.wants(name) {
		return nil
	}
	h := s.certificates.Of(name)
	if h == nil || !s.names.serves(h) {
		return nil
	}
	return h.Certificate
}

// filed returns the certificate of the files that cover a name, or else the first.
func (s *Source) filed(name string) *tls.Certificate {
	for _, f := range s.Files[1:] {
		if c := f.Current(); c.Leaf.VerifyHostname(name) == nil && s.Files[0].Current().Leaf.VerifyHostname(name) != nil {
			return c
		}
	}
	return s.Files[0].Current()
}

// covered reports whether a certificate in files is for a host.
func (s *Source) covered(host string) *certs.Files {
	for _, f := range s.Files {
		if f.Current().Leaf.VerifyHostname(host) == nil {
			return f
		}
	}
	return nil
}

// Challenged reports that authorities ask this server for challenges: see certs.TLSConfig.
func (s *Source) Challenged() bool { return s.certificates != nil || s.Own != nil }

// Run keeps the files and the certificate of an edge up to date, until ctx ends. An Orderer orders.
func (s *Source) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for _, f := range s.Files {
		running.Go(func() { _ = f.Run(ctx) }) // it always returns nil
	}
	if s.Own != nil {
		running.Go(func() { _ = s.Own.Run(ctx) })
	}
	<-ctx.Done()
	return nil
}

// State returns the state of the certificate of the server's own host.
func (s *Source) State() certs.State {
	switch {
	case s.Own != nil:
		return s.Own.State()
	case s.names.Main == "" && len(s.Files) > 0:
		return s.Files[0].State()
	}
	state := certs.State{ACME: true, Failures: s.failures.Load()}
	if h := s.certificates.Of(s.names.Main); h != nil {
		state.NotAfter, state.Failing = h.NotAfter(), h.Error != ""
	}
	return state
}

// Prepare reads the files again, and returns a function that puts them in force. If it returns an error, nothing has
// changed.
func (s *Source) Prepare() (commit func(), err error) {
	var commits []func()
	for _, f := range s.Files {
		commit, oneErr := f.Prepare()
		commits, err = append(commits, commit), errors.Join(err, oneErr)
	}
	if err != nil {
		return nil, err
	}
	return func() {
		for _, commit := range commits {
			commit()
		}
	}, nil
}

// challengePath begins the path of a challenge (RFC 8555, 8.3).
const challengePath = "/.well-known/acme-challenge/"

// Challenges answers http-01 challenges. plain reports whether there is a plain listener, which an edge's own authority
// may ask.
func (s *Source) Challenges(plain bool) http.Handler {
	own := http.NotFoundHandler()
	if s.Own != nil && plain {
		own = s.Own.Challenges()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.URL.Path, challengePath)
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		host = strings.ToLower(strings.TrimSuffix(host, "."))
		if s.certificates == nil {
			own.ServeHTTP(w, r)
			return
		}
		text, ok := s.certificates.Answer(host, token)
		if !ok {
			own.ServeHTTP(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	})
}
