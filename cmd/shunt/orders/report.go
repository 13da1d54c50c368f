package orders

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"shunt/api/admin"
	"shunt/api/certificate"
	"shunt/api/domain"
	"shunt/api/domains"
)

// A Reporter says how the certificates of domains are. Any goroutine may call it.
type Reporter struct {
	Source  *Source // nil: this server does not speak HTTPS
	Orderer *Orderer
	Reach   *Reach

	Certificates *certificate.Certificates // where the challenges of a check are kept
}

// Certificate returns how the certificate of a domain is; nil: this server does not speak HTTPS.
func (r *Reporter) Certificate(d *domain.Domain) *domains.Certificate {
	if r.Source == nil {
		return nil
	}
	names := &r.Source.names
	switch mode := names.Mode(d); {
	case d.Number == 0:
		return r.ofServer()
	case mode == domain.CertificateACME:
		return r.ofAuthority(d.Hosts())
	case mode == domain.CertificateFiles:
		return r.ofFiles(d.Hosts())
	default:
		return &domains.Certificate{From: mode, State: domains.CertificateNone}
	}
}

// Figures returns how the certificates of all domains are that have one, or want one.
func (r *Reporter) Figures() (all []admin.DomainCertificate) {
	for _, d := range r.Source.names.Domains.All()[1:] {
		c := r.Certificate(d)
		if c.State == domains.CertificateNone {
			continue
		}
		one := admin.DomainCertificate{Host: d.Host, Failures: c.Failures}
		if c.ExpiresAt != nil {
			one.NotAfter = *c.ExpiresAt
		}
		all = append(all, one)
	}
	return all
}

// ofServer returns how the certificate of the server's own host is.
func (r *Reporter) ofServer() *domains.Certificate {
	if main := r.Source.names.Main; main != "" {
		return r.ofAuthority([]string{main})
	}
	state, from := r.Source.State(), domain.CertificateFiles
	if state.ACME {
		from = domain.CertificateACME
	}
	c := &domains.Certificate{From: from, State: domains.CertificateWaiting}
	switch {
	case state.Failing:
		c.State = domains.CertificateFailing
	case !state.NotAfter.IsZero():
		c.State = domains.CertificateValid
	}
	c.ExpiresAt = momentOf(state.NotAfter)
	return c
}

// ofAuthority returns how the certificates of hosts are: the one that expires first, and the first that fails.
func (r *Reporter) ofAuthority(hosts []string) *domains.Certificate {
	c := &domains.Certificate{From: domain.CertificateACME, State: domains.CertificateValid}
	if r.Orderer == nil {
		c.State, c.Error = domains.CertificateFailing, "this server asks no authority: it needs --acme-domain, or --acme-accept-terms"
		return c
	}
	all := true
	for _, host := range hosts {
		h := r.Orderer.Of(host)
		end := h.NotAfter()
		if all = all && !end.IsZero(); !end.IsZero() && (c.ExpiresAt == nil || end.Before(*c.ExpiresAt)) {
			c.ExpiresAt = momentOf(end)
		}
		if h != nil && h.Error != "" && c.Error == "" {
			c.Error, c.NextAttemptAt, c.Failures = h.Error, momentOf(h.NextAt), h.Failures
		}
	}
	if !all {
		c.State, c.ExpiresAt = domains.CertificateWaiting, nil
	}
	if c.Error != "" {
		c.State = domains.CertificateFailing
	}
	return c
}

// ofFiles returns how the certificates in files are that cover hosts.
func (r *Reporter) ofFiles(hosts []string) *domains.Certificate {
	c := &domains.Certificate{From: domain.CertificateFiles, State: domains.CertificateValid}
	for _, host := range hosts {
		f := r.Source.covered(host)
		if f == nil {
			c.State, c.Error = domains.CertificateFailing, "no certificate file of this server is for "+host
			return c
		}
		if end := f.State().NotAfter; c.ExpiresAt == nil || end.Before(*c.ExpiresAt) {
			c.ExpiresAt = momentOf(end)
		}
	}
	return c
}

func momentOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Check asks a host, over its name, whether it leads here, and how it answers. A host that does, and whose certificate
// failed, is tried again at once.
func (r *Reporter) Check(ctx context.Context, host string) (domains.HostCheck, error) {
	reach := *r.Reach
	reach.Off = false
	c := domains.HostCheck{Host: host, Addresses: []string{}, DNS: domains.CheckOK, HTTP: domains.CheckOK, HTTPS: domains.CheckOK}
	f, err := reach.nonce(ctx, r.Certificates, host)
	if err != nil {
		return c, err
	}
	for _, a := range f.Addresses {
		c.Addresses = append(c.Addresses, a.String())
	}
	if f.DNS != nil {
		c.DNS, c.HTTP, c.HTTPS = f.DNS.Error(), domains.CheckNotAsked, domains.CheckNotAsked
		return c, nil
	}
	if err := f.err(host); err != nil && !f.Proxied {
		c.DNS = err.Error()
	} else if r.Orderer != nil {
		r.Orderer.Hurry(host)
	}
	if f.HTTP != nil && !(f.Proxied && errors.Is(f.HTTP, errOther)) {
		c.HTTP = f.HTTP.Error()
	}
	if err := reach.greet(ctx, f.Addresses, host); err != nil {
		c.HTTPS = err.Error()
	}
	return c, nil
}

// greet shakes hands with a host as a browser does.
func (r *Reach) greet(ctx context.Context, addresses []netip.Addr, host string) (err error) {
	for _, a := range addresses {
		if err = r.greetOne(ctx, a, host); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reach) greetOne(ctx context.Context, a netip.Addr, host string) error {
	conn, err := dial(ctx, a, r.TLS)
	if err != nil {
		return err
	}
	defer conn.Close()
	err = tls.Client(conn, &tls.Config{ServerName: host}).HandshakeContext(ctx)
	var name x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &name):
		return fmt.Errorf("the certificate at %v is not for %s", a, host)
	case errors.As(err, &unknown):
		return fmt.Errorf("the certificate at %v is of an authority that this machine does not know", a)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("the certificate at %v has expired", a)
	}
	return fmt.Errorf("%v has no certificate for %s", a, host)
}
