package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/api/relay"
	"shunt/engine/expect"
)

type followerState struct{ leads bool }

func (f followerState) Leads() bool                              { return f.leads }
func (followerState) Leader() (name, address string)             { return "a", "" }
func (followerState) Applied() uint64                            { return 0 }
func (followerState) AwaitApplied(context.Context, uint64) error { return nil }
func (followerState) Gate() *Gate                                { return nil }
func (followerState) Stale() bool                                { return false }
func (followerState) Member(string) (member, known bool)         { return true, true }
func (followerState) Edge() bool                                 { return false }
func (followerState) Fulls() []Place                             { return nil }

// forwarded returns the request as the leader reads it that a client has sent to another node.
func forwarded(t *testing.T, sent string, client net.Addr, local bool) *fasthttp.RequestCtx {
	t.Helper()
	var in fasthttp.Request
	expect.OK(t, in.Read(bufio.NewReader(bytes.NewBufferString(sent))))
	var ctx fasthttp.RequestCtx
	ctx.Init(&in, client, nil)
	var req fasthttp.Request
	NewForwarder(followerState{}, nil).prepare(&req, &ctx, local)
	var wire bytes.Buffer
	w := bufio.NewWriter(&wire)
	expect.OK(t, req.Write(w))
	expect.OK(t, w.Flush())
	var read fasthttp.Request
	expect.OK(t, read.Read(bufio.NewReader(&wire)))
	var at fasthttp.RequestCtx
	at.Init(&read, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 1}, nil)
	return &at
}

// TestAClientCannotChangeWhatNodesSayOfIt sends fields that nodes use themselves, and tricks by which fields are
// left out on the way.
func TestAClientCannotChangeWhatNodesSayOfIt(t *testing.T) {
	client := &net.TCPAddr{IP: net.IPv4(203, 0, 113, 9), Port: 1234}
	for _, fields := range []string{
		"", "Trailer: Shunt-Client, Shunt-Plain, Shunt-Local\r\n", "trailer: shunt-client\r\n",
		"Connection: Shunt-Client, Shunt-Plain, close\r\n", "Shunt-Client: unix\r\nShunt-Plain: 0\r\nShunt-Local: 1\r\n",
		"shunt-local: 1\r\nShunt-Client: unix\r\nshunt-client: 127.0.0.1:1\r\n", "Keep-Alive: x\r\nTE: trailers\r\n",
	} {
		at := forwarded(t, "POST /api/v1/session HTTP/1.1\r\nHost: x.example\r\n"+fields+"Content-Length: 2\r\n\r\n{}", client, false)
		local, err := Receive(at, followerState{leads: true}, Peer{Name: "b"})
		if err != nil || local || at.RemoteAddr().String() != client.String() || relay.OverTLS(at) {
			t.Errorf("with %q the leader sees %v, HTTPS %v, a local command %v, %v", fields, at.RemoteAddr(), relay.OverTLS(at), local, err)
		}
	}
	at := forwarded(t, "POST /api/v1/links HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", &net.UnixAddr{Net: "unix"}, true)
	local, err := Receive(at, followerState{leads: true}, Peer{Name: "b"})
	expect.That(t, err == nil && local && at.RemoteAddr().Network() == "unix", "a local command: %v, %v, from %v", local, err, at.RemoteAddr())
}

// TestARequestThatSaysTooLittleIsRefused: what is missing must not mean that a client may do more.
func TestARequestThatSaysTooLittleIsRefused(t *testing.T) {
	const whole = "Shunt-Client: 203.0.113.9:1\r\nShunt-Plain: 1\r\nShunt-Local: 0\r\n"
	for _, fields := range []string{
		"", "Shunt-Plain: 1\r\nShunt-Local: 0\r\n", "Shunt-Client: 203.0.113.9:1\r\nShunt-Local: 0\r\n",
		"Shunt-Client: 203.0.113.9:1\r\nShunt-Plain: 1\r\n", whole + "Shunt-Client: unix\r\n", whole + "Shunt-Plain: 0\r\n",
		"Shunt-Client: here\r\nShunt-Plain: 1\r\nShunt-Local: 0\r\n", "Shunt-Client: unix\r\nShunt-Plain: yes\r\nShunt-Local: 0\r\n",
	} {
		var read fasthttp.Request
		expect.OK(t, read.Read(bufio.NewReader(bytes.NewBufferString("GET /api/v1/links HTTP/1.1\r\nHost: x\r\n"+fields+"\r\n"))))
		var at fasthttp.RequestCtx
		at.Init(&read, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 1}, nil)
		expect.That(t, expect.Err(Receive(&at, followerState{leads: true}, Peer{Name: "b"})) != nil,
			"a request with %q is taken for one of %v", fields, at.RemoteAddr())
	}
}

// deafState is that of a node which does not hear from the log.
type deafState struct {
	followerState
	stale bool
}

func (d deafState) Stale() bool { return d.stale }
func (deafState) AwaitApplied(ctx context.Context, _ uint64) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestANodeThatDoesNotHearOfAWriteDoesNotSayThatItHappened has the node that leads answer requests, while the node that
// took them does not hear from the log.
func TestANodeThatDoesNotHearOfAWriteDoesNotSayThatItHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			writes  bool
			status  int
			unknown bool
		}{
			{true, 201, true}, {true, 200, true}, {true, 204, true}, {true, 303, true}, // pages answer 303
			{false, 200, false}, {true, 409, false}, {true, 503, false},
		} {
			var ctx fasthttp.RequestCtx
			var resp fasthttp.Response
			resp.SetStatusCode(c.status)
			resp.Header.Set(sequenceField, "12")
			err := NewForwarder(deafState{}, nil).answer(&ctx, &resp, c.writes)
			p, is := problem.Of(err)
			unknown := err != nil && is && p.Kind == problem.OutcomeUnknown
			expect.That(t, unknown == c.unknown && (c.unknown || err == nil), "a request (writes: %v) that was answered %d: %v", c.writes, c.status, err)
			expect.That(t, c.unknown || ctx.Response.StatusCode() == c.status, "a request (writes: %v) that was answered %d: the client gets %d", c.writes, c.status, ctx.Response.StatusCode())
			expect.Equal(t, len(ctx.Response.Header.Peek(sequenceField)), 0, "the client sees the sequence")
		}
	})
}

// TestAStaleNodeRefusesWrites waits for a while, because a node that starts is stale for a moment, and asks nobody.
func TestAStaleNodeRefusesWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ctx fasthttp.RequestCtx
		var in fasthttp.Request
		in.Header.SetMethod("POST")
		ctx.Init(&in, nil, nil)
		began := time.Now()
		here, err := NewForwarder(deafState{stale: true}, nil).Forward(&ctx, false, true)
		p, is := problem.Of(err)
		expect.That(t, !here && is && p.Kind == problem.Stale, "got %v, %v", here, errors.Unwrap(err))
		expect.That(t, time.Since(began) >= forwardPatience, "it waited for %v", time.Since(began))
	})
}
