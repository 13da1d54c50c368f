package orders

import (
	"cmp"
	"slices"

	"shunt/api/domain"
)

// Names say which hosts have a certificate from the authority.
type Names struct {
	Main    string // the host of the server itself, in lower-case ASCII; empty: its certificate is not from the authority
	Domains *domain.Domains
	Every   bool   // all hosts that have one: this is an edge, and its writer deletes those that want none
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
