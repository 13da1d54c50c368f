package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/api/relay"
)

// Paths that nodes ask each other for.
const (
	PeerPrefix = "/cluster/"
	BackupPath = PeerPrefix + "backup" // GET: the node's data as a tar stream
	LinksPath  = PeerPrefix + "links"  // GET: what an edge may have of it, as a tar stream
	CopiesPath = PeerPrefix + "copies" // POST, at the node that leads: another one is about to give a copy
)

// edgeUnit marks the certificate of an edge, in its organizational units: it may not have what only full
// nodes have, whatever the node says of itself.
const edgeUnit = "edge"

// IsEdge reports whether a certificate is that of an edge.
func IsEdge(c *x509.Certificate) bool { return slices.Contains(c.Subject.OrganizationalUnit, edgeUnit) }

// errEdge: an edge answers where a full node must.
var errEdge = errors.New("the node that answers has the certificate of an edge")

// errOtherName: a node answers in the place of another one, whose name is in its certificate, but not the first.
var errOtherName = errors.New("the node that answers has the certificate of another one")

// FromFull returns the settings of connections to the full node of that name. An edge that answers in its
// place is refused, whatever it says of itself, because it would get the tokens of callers.
func FromFull(config *tls.Config, name string) *tls.Config {
	config = config.Clone()
	config.ServerName = name
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if leaf := state.PeerCertificates[0]; IsEdge(leaf) {
			return errEdge
		} else if len(leaf.DNSNames) == 0 || leaf.DNSNames[0] != name {
			return errOtherName
		}
		return nil
	}
	return config
}

// A Peer is the node at the other end of a connection, by its certificate, which TLS has checked.
type Peer struct {
	Name string
	Edge bool
}

// PeerOf returns the node that sends a request. It is a problem if the connection has no certificate with
// a name.
func PeerOf(ctx *fasthttp.RequestCtx) (Peer, error) {
	state := ctx.TLSConnectionState()
	if state == nil || len(state.PeerCertificates) == 0 {
		return Peer{}, problem.New(problem.Forbidden, "the certificate of a node must have its name as a DNS name")
	}
	return PeerBy(state.PeerCertificates[0])
}

// PeerBy returns the node whose certificate is leaf, or a problem if leaf is not the certificate of a node.
func PeerBy(leaf *x509.Certificate) (Peer, error) {
	if len(leaf.DNSNames) == 0 {
		return Peer{}, problem.New(problem.Forbidden, "the certificate of a node must have its name as a DNS name")
	}
	if units := leaf.Subject.OrganizationalUnit; len(units) > 0 && !IsEdge(leaf) {
		return Peer{}, problem.New(problem.Forbidden, "the certificate of %s is not a node's: its unit is %q", leaf.DNSNames[0], units)
	}
	return Peer{Name: leaf.DNSNames[0], Edge: IsEdge(leaf)}, nil
}

// In refuses the request of a node that is not in the cluster: the authority may have signed certificates for
// other machines. While this node cannot find out, it refuses the request for now, and another node may take it.
func (p Peer) In(ctx *fasthttp.RequestCtx, state State) error {
	switch member, known := state.Member(p.Name); {
	case !known:
		return refuse(ctx, "this node cannot ask at present whether the cluster has a node "+p.Name)
	case !member:
		return problem.New(problem.Forbidden, "the cluster has no node %s", p.Name)
	}
	return nil
}

// Full refuses an edge.
func (p Peer) Full() error {
	if p.Edge {
		return problem.New(problem.Forbidden, "node %s has the certificate of an edge", p.Name)
	}
	return nil
}

// ErrNotAdmitted: a node without an admission asks for a copy of the data.
var ErrNotAdmitted = errors.New("nobody has admitted the node to a copy of the data")

// StatusNotAdmitted is the answer of the node that leads if a node may not take a copy.
const StatusNotAdmitted = fasthttp.StatusForbidden

// AppendCopy encodes which node is about to get a copy, and whether it is one for an edge.
func AppendCopy(dst []byte, name string, edge bool) []byte {
	return append(append(append(dst, relay.Digit(edge)...), ' '), name...)
}

// ReadCopy is the inverse of AppendCopy.
func ReadCopy(body []byte) (name string, edge bool, err error) {
	kind, name, _ := strings.Cut(string(body), " ")
	if name == "" || len(name) > 253 || kind != "0" && kind != "1" {
		return "", false, problem.New(problem.BadRequest, "a copy is for the name of a node, after 0 or 1 and a space")
	}
	return name, kind == "1", nil
}
