package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/api/relay"
	"shunt/engine/expect"
)

// fixedState is a State that a test sets.
type fixedState struct {
	leads, stale, edge bool
	stranger, silent   bool // what the cluster says of any node
	leader             Place
	fulls              []Place
	applied            uint64
}

func (s *fixedState) Leads() bool              { return s.leads }
func (s *fixedState) Leader() (string, string) { return s.leader.Name, s.leader.Address }
func (s *fixedState) Applied() uint64          { return s.applied }
func (s *fixedState) Edge() bool               { return s.edge }
func (s *fixedState) Fulls() []Place           { return s.fulls }
func (s *fixedState) Gate() *Gate              { return nil }
func (s *fixedState) Stale() bool              { return s.stale }

func (s *fixedState) Member(string) (member, known bool) { return !s.stranger, !s.silent }

func (s *fixedState) AwaitApplied(ctx context.Context, sequence uint64) error {
	if s.applied >= sequence {
		return nil
	}
	return context.DeadlineExceeded
}

func TestAnEdgeTriesTheLeaderFirstAndThenOtherFullNodes(t *testing.T) {
	a, b, c := Place{"a", "h:1"}, Place{"b", "h:2"}, Place{"c", "h:3"}
	for name, test := range map[string]struct {
		state fixedState
		want  []Place
	}{
		"an edge":                          {fixedState{edge: true, leader: b, fulls: []Place{a, b, c}}, []Place{b, a, c}},
		"an edge while none leads":         {fixedState{edge: true, fulls: []Place{a, b}}, []Place{a, b}},
		"an edge that has heard of nobody": {fixedState{edge: true}, nil},
		"a full node":                      {fixedState{leader: b, fulls: []Place{a, c}}, []Place{b}},
		"a full node while none leads":     {fixedState{}, nil},
	} {
		expect.Slices(t, NewForwarder(&test.state, nil).places(), test.want, name)
	}
}

// request returns a request as a node receives it.
func request(method string, fields ...string) *fasthttp.RequestCtx {
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(new(fasthttp.Request), &net.TCPAddr{}, nil)
	ctx.Request.Header.SetMethod(method)
	for field, value := range map[string]string{clientField: "203.0.113.9:1", plainField: "0", localField: "0"} {
		ctx.Request.Header.Set(field, value)
	}
	for i := 0; i < len(fields); i += 2 {
		ctx.Request.Header.Set(fields[i], fields[i+1])
	}
	return ctx
}

func TestWhatANodeDoesWithARequestOfAnEdge(t *testing.T) {
	edge, full := Peer{Name: "e", Edge: true}, Peer{Name: "f"}
	for name, c := range map[string]struct {
		state   fixedState
		peer    Peer
		method  string
		fields  []string
		refused bool
		from    string // the edge that it came through
	}{
		"a write at the leader":                       {fixedState{leads: true}, edge, "POST", nil, false, "e"},
		"a write at a follower, which sends it on":    {fixedState{applied: 1}, edge, "POST", []string{sequenceField, "9"}, false, "e"},
		"a read at a follower":                        {fixedState{applied: 9}, edge, "GET", []string{sequenceField, "9"}, false, "e"},
		"a read at a follower that lags":              {fixedState{applied: 8}, edge, "GET", []string{sequenceField, "9"}, true, ""},
		"a read at a stale follower":                  {fixedState{stale: true}, edge, "GET", nil, true, ""},
		"a read at another edge":                      {fixedState{edge: true}, edge, "GET", nil, true, ""},
		"a write that a follower has sent on":         {fixedState{leads: true}, full, "POST", []string{edgeField, "e"}, false, "e"},
		"a write that a follower sends to a follower": {fixedState{}, full, "POST", []string{edgeField, "e"}, true, ""},
		"a write of a full node's client":             {fixedState{leads: true}, full, "POST", nil, false, ""},
		"an edge that says it is another":             {fixedState{leads: true}, edge, "POST", []string{edgeField, "x"}, false, "e"},
		"an edge that says it is none":                {fixedState{leads: true}, edge, "POST", []string{edgeField, ""}, false, "e"},
	} {
		ctx := request(c.method, c.fields...)
		_, err := Receive(ctx, &c.state, c.peer)
		said := len(ctx.Response.Header.Peek(refusedField)) > 0
		expect.That(t, said == c.refused && (err != nil) == c.refused, "%s: refused %v, %v, want %v", name, said, err, c.refused)
		if c.refused {
			continue
		}
		expect.Equal(t, relay.Edge(ctx), c.from, "%s: it came from", name)
		err = relay.MayChangeAccounts(ctx)
		p, _ := problem.Of(err)
		expect.That(t, (err != nil) == (c.from != "") && (err == nil || p.Kind == problem.Forbidden), "%s: it may change accounts: %v", name, err)
		for _, field := range []string{edgeField, sequenceField, clientField, localField} {
			expect.That(t, len(ctx.Request.Header.Peek(field)) == 0, "%s: the field %s is left", name, field)
		}
	}
}

func TestNoClientCanSayWhatOnlyNodesSay(t *testing.T) {
	ctx := request("POST", edgeField, "", clientField, "1.2.3.4:5", localField, "1", plainField, "", sequenceField, "7", refusedField, "1")
	sent := new(fasthttp.Request)
	NewForwarder(&fixedState{}, nil).prepare(sent, ctx, false)
	expect.Equal(t, string(sent.Header.Peek(localField)), "0", "a client says that it is a local command")
	for _, field := range []string{edgeField, sequenceField, refusedField} {
		got := sent.Header.Peek(field)
		expect.That(t, len(got) == 0, "%s of a client is sent on: %q", field, got)
	}
	expect.That(t, string(sent.Header.Peek(clientField)) != "1.2.3.4:5", "a client says which address it has")
}

// certificate returns one of the node a, with units, and the authority that signs it.
func certificate(t *testing.T, units ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	own := certificateOf(t, []string{"a", "other"}, units...)
	authority := x509.NewCertPool()
	authority.AddCert(own.Leaf)
	return own, authority
}

// certificates returns those of the nodes a and b.
func certificates(t *testing.T) (a, b tls.Certificate, authority *x509.CertPool) {
	t.Helper()
	a, authority = certificate(t)
	b = certificateOf(t, []string{"b"})
	authority.AddCert(b.Leaf)
	return a, b, authority
}

func certificateOf(t *testing.T, names []string, units ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: names[0], OrganizationalUnit: units}, DNSNames: names, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	expect.OK(t, err)
	made, err := x509.ParseCertificate(der)
	expect.OK(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: made}
}

// handshake returns the client's error of a TLS handshake with a server whose certificate has units.
func handshake(t *testing.T, name string, units ...string) error {
	own, authority := certificate(t, units...)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	defer ln.Close()
	go func() {
		if conn, err := ln.Accept(); err == nil {
			_ = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{own}}).Handshake()
		}
	}()
	conn, err := tls.Dial("tcp", ln.Addr().String(), FromFull(&tls.Config{RootCAs: authority}, name))
	if err == nil {
		conn.Close()
	}
	return err
}

func TestAnEdgeThatAnswersAsAFullNodeIsRefused(t *testing.T) {
	expect.NoError(t, handshake(t, "a"), "a full node")
	expect.Error(t, handshake(t, "a", "edge"), errEdge, "an edge")
	expect.Error(t, handshake(t, "other"), errOtherName, "a node whose certificate has a further name")
}

// TestANodeIsRefusedForGoodOnlyIfItIsKnownToBeAStranger: while the leader cannot ask, the sender turns to another node.
func TestANodeIsRefusedForGoodOnlyIfItIsKnownToBeAStranger(t *testing.T) {
	for name, c := range map[string]struct {
		state   fixedState
		kind    *problem.Kind // nil: none
		refused bool          // for now
	}{
		"a node of the cluster":     {fixedState{}, nil, false},
		"a stranger":                {fixedState{stranger: true}, problem.Forbidden, false},
		"nobody knows who is there": {fixedState{stranger: true, silent: true}, problem.Stale, true},
	} {
		ctx := request("POST")
		err := Peer{Name: "e", Edge: true}.In(ctx, &c.state)
		if (err != nil) != (c.kind != nil) {
			t.Errorf("%s: %v", name, err)
		} else if p, _ := problem.Of(err); err != nil && p.Kind != c.kind {
			t.Errorf("%s: %v, want %s", name, err, c.kind.Code)
		}
		expect.Equal(t, len(ctx.Response.Header.Peek(refusedField)) > 0, c.refused, "%s: refused for now", name)
	}
}
