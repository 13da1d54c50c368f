package orders

import (
	"cmp"
	"slices"
	"time"

	"shunt/api/certificate"
	"shunt/api/domain"
)

// Names say which hosts have a certificate from the authority.
type Names struct {
	Main    string // the host of the server itself, in lower-case ASCII; empty: its certificate is not from the authority
	Domains *domain.Domains
	Every   bool   // all hosts that have one: this is an edge, which does not know the settings of its writer
	Default string // where the certificates of domains come from that name nothing
}

// Mode returns where the certificate of a domain comes from.
func (n *Names) Mode(d *domain.Domain) string { return cmp.Or(d.Certificate, n.Default) }

// wants reports whether a host in lower-case ASCII has a certificate from the authority.
func (n *Names) wants(host string) bool {
	if n.Every || host == n.Main {
		return host != ""
	}
	d := n.Domains.At(host)
	return d != nil && n.Mode(d) == domain.CertificateACME
}

// serves reports whether handshakes get a certificate. An edge does not know what its writer wants, but which domains
// there are.
func (n *Names) serves(h *certificate.Host) bool {
	if !n.Every {
		return n.wants(h.Name)
	}
	d := n.Domains.At(h.Name)
	return h.Server || d != nil && !refuses(d)
}

// gone reports whether a host has no certificate from the authority any more. The nodes of a cluster may have different
// settings, and each is to keep the certificates of the others: so it is only of a domain that was removed, or that
// itself names another certificate, or of a server's host when it has expired.
func (n *Names) gone(h *certificate.Host, now time.Time) bool {
	if n.wants(h.Name) {
		return false
	}
	if d := n.Domains.At(h.Name); d != nil {
		return refuses(d)
	}
	return !h.Server || !now.Before(h.NotAfter())
}

// refuses reports whether a domain itself names another certificate than one from the authority.
func refuses(d *domain.Domain) bool {
	return d.Certificate != "" && d.Certificate != domain.CertificateACME
}

// expects reports whether a host that has no certificate from the authority may get one. An edge does not know which
// domains want one.
func (n *Names) expects(host string) bool {
	if n.Every {
		return n.Domains.At(host) != nil
	}
	return n.wants(host)
}

// all returns the hosts that have a certificate from the authority, that of the server first.
func (n *Names) all() (hosts []string) {
	if n.Main != "" {
		hosts = append(hosts, n.Main)
	}
	for _, d := range n.Domains.All()[1:] {
		if n.Mode(d) == domain.CertificateACME {
			hosts = append(hosts, d.Hosts()...)
		}
	}
	return slices.DeleteFunc(hosts, func(host string) bool { return host == "" })
}
