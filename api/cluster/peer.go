package cluster

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
)

// Paths that nodes ask each other for.
const (
	PeerPrefix = "/cluster/"
	BackupPath = PeerPrefix + "backup" // GET: the node's data as a tar stream
	LinksPath  = PeerPrefix + "links"  // GET: what an edge may have of it, as a tar stream
	SharedPath = PeerPrefix + "shared" // GET: what all nodes share, for a node that has it as of some time ago; of it what an edge keeps, for an edge
	CopiesPath = PeerPrefix + "copies" // POST, at the node that leads: another one is about to give a copy
)

// ProofHeader is the header of a request for SharedPath or BackupPath that has the proof of ProofOf. Nobody admits that
// node: it proves that it has the cluster's data.
const ProofHeader = "Shunt-Proof"

// ProofOf returns what proves that the node of that name has the data of a cluster with this visitor key, in
// hexadecimal. Who has only the certificate of a node cannot make it.
func ProofOf(visitorKey [16]byte, node string) string {
	mac := hmac.New(sha256.New, visitorKey[:])
	mac.Write([]byte("shunt copy\n" + node))
	return hex.EncodeToString(mac.Sum(nil))
}

// Proves reports whether a proof is that of ProofOf.
func Proves(proof []byte, visitorKey [16]byte, node string) bool {
	return hmac.Equal(proof, []byte(ProofOf(visitorKey, node)))
}

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

// A Copy is one that a node is about to get.
type Copy struct {
	Node string
	Edge bool // it has links only
	Back bool // the node has proved that it has the data as of some time ago: it needs no admission
}

// AppendCopy encodes c: a digit, whose bits are Edge and Back, a space, and the name.
func AppendCopy(dst []byte, c Copy) []byte {
	kind := byte('0')
	if c.Edge {
		kind |= 1
	}
	if c.Back {
		kind |= 2
	}
	return append(append(dst, kind, ' '), c.Node...)
}

// ReadCopy is the inverse of AppendCopy.
func ReadCopy(body []byte) (Copy, error) {
	kind, name, _ := strings.Cut(string(body), " ")
	if name == "" || len(name) > 253 || len(kind) != 1 || kind[0] < '0' || kind[0] > '3' {
		return Copy{}, problem.New(problem.BadRequest, "a copy is for the name of a node, after a digit from 0 to 3 and a space")
	}
	return Copy{Node: name, Edge: kind[0]&1 != 0, Back: kind[0]&2 != 0}, nil
}
