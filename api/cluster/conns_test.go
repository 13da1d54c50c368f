package cluster

import (
	"bufio"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/engine/expect"
)

// electedState is a follower's State, with a leader that changes.
type electedState struct {
	fixedState
	now     atomic.Pointer[Place]
	without atomic.Bool // the log
}

func (s *electedState) Stale() bool { return s.without.Load() }

func (s *electedState) Leader() (name, address string) {
	p := s.now.Load()
	return p.Name, p.Address
}

// nodeServer listens and does with each connection what serve does, until the test ends.
func nodeServer(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	var running sync.WaitGroup
	var all sync.Map
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			all.Store(conn, nil)
			running.Go(func() { serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		all.Range(func(conn, _ any) bool { _ = conn.(net.Conn).Close(); return true })
		running.Wait()
	})
	return ln.Addr().String()
}

// TestNoRequestOfANodeThatIsCutOffWaits: its leader is silent, and it hears of no other one.
func TestNoRequestOfANodeThatIsCutOffWaits(t *testing.T) {
	own, authority := certificate(t)
	for name, c := range map[string]struct {
		method string
		writes bool
		want   *problem.Kind
	}{
		"a write":           {"POST", true, problem.OutcomeUnknown},
		"a read":            {"GET", false, problem.Stale},
		"a GET that writes": {"GET", true, problem.OutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := new(electedState)
			s.now.Store(&Place{"a", nodeServer(t, func(conn net.Conn) {
				_, _ = http.ReadRequest(bufio.NewReader(tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{own}})))
				s.without.Store(true)
			})})
			ended := make(chan error, 1)
			ctx := request(c.method)
			ctx.Request.Header.SetHost("sho.rt")
			go func() {
				_, err := NewForwarder(s, &tls.Config{RootCAs: authority}).Forward(ctx, false, c.writes)
				ended <- err
			}()
			select {
			case err := <-ended:
				p, _ := problem.Of(err)
				expect.That(t, err != nil && p.Kind == c.want, "got %v, want the problem %v", err, c.want)
			case <-time.After(answerTimeout / 2):
				t.Fatal("the request waits")
			}
		})
	}
}

// TestNoRequestWaitsForALeaderThatIsCutOff: it keeps its connections and says nothing, while another node leads.
func TestNoRequestWaitsForALeaderThatIsCutOff(t *testing.T) {
	own, others, authority := certificates(t)
	server := &tls.Config{Certificates: []tls.Certificate{own}}
	next := Place{Name: "b"}
	next.Address = nodeServer(t, func(conn net.Conn) {
		over := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{others}})
		for read := bufio.NewReader(over); ; {
			if _, err := http.ReadRequest(read); err != nil {
				return
			}
			_, _ = over.Write([]byte("HTTP/1.1 204 No Content\r\n\r\n"))
		}
	})
	for name, c := range map[string]struct {
		method   string
		writes   bool
		silent   func(net.Conn) // what the leader that is cut off does before it says nothing
		answered bool           // by the next leader; otherwise the outcome is unknown
	}{
		"a write on a new connection":       {"POST", true, func(net.Conn) {}, true},
		"a write that was sent":             {"POST", true, func(conn net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(tls.Server(conn, server))) }, false},
		"a read that was sent":              {"GET", false, func(conn net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(tls.Server(conn, server))) }, true},
		"a GET that writes and was sent":    {"GET", true, func(conn net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(tls.Server(conn, server))) }, false},
		"a write while TLS is being set up": {"POST", true, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := new(electedState)
			s.now.Store(&Place{"a", nodeServer(t, func(conn net.Conn) {
				c.silent(conn)
				s.now.Store(&next)
			})})
			f := NewForwarder(s, &tls.Config{RootCAs: authority})
			ended := make(chan error, 1)
			ctx := request(c.method)
			ctx.Request.Header.SetHost("sho.rt")
			ctx.Request.SetRequestURI("/api/v1/links")
			go func() {
				_, err := f.Forward(ctx, false, c.writes)
				ended <- err
			}()
			select {
			case err := <-ended:
				p, _ := problem.Of(err)
				switch {
				case c.answered && (err != nil || ctx.Response.StatusCode() != fasthttp.StatusNoContent):
					t.Errorf("got status %d, %v", ctx.Response.StatusCode(), err)
				case !c.answered && (err == nil || p.Kind != problem.OutcomeUnknown):
					t.Errorf("got status %d, %v, want that the outcome is unknown", ctx.Response.StatusCode(), err)
				}
			case <-time.After(answerTimeout / 2):
				t.Fatal("the request waits")
			}
		})
	}
}
