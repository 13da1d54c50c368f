package orders

import (
	"bytes"
	"crypto/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shunt/api/certificate"
	"shunt/cmd/shunt/certs"
	"shunt/engine/expect"
)

// portOf returns the port of a server, as text.
func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	expect.OK(t, err)
	return port
}

// silent returns a port at which nobody answers.
func silent(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	defer ln.Close()
	return portOf(t, ln.Addr().String())
}

func TestAHostIsAskedWhetherItLeadsHere(t *testing.T) {
	w := newWorld(t)
	here := httptest.NewServer(w.source.Challenges(true))
	defer here.Close()
	hereTLS := httptest.NewUnstartedServer(http.NotFoundHandler())
	hereTLS.TLS = certs.TLSConfig(w.source)
	hereTLS.StartTLS()
	defer hereTLS.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	hosts := func(text string) string {
		path := filepath.Join(t.TempDir(), "hosts")
		expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	nowhere := silent(t)
	plain, secure := portOf(t, here.Listener.Addr().String()), portOf(t, hereTLS.Listener.Addr().String())
	for name, c := range map[string]struct {
		reach    Reach
		ways     string
		wantText string
	}{
		"both":              {Reach{Private: true, Plain: plain, TLS: secure}, "tls-alpn-01 http-01", ""},
		"plain HTTP":        {Reach{Private: true, Plain: plain, TLS: nowhere}, "http-01", ""},
		"HTTPS":             {Reach{Private: true, Plain: nowhere, TLS: secure}, "tls-alpn-01", ""},
		"another server":    {Reach{Private: true, Plain: portOf(t, other.Listener.Addr().String()), TLS: nowhere}, "", "which is not this server"},
		"nobody":            {Reach{Private: true, Plain: nowhere, TLS: nowhere}, "", "nobody answers at port " + nowhere},
		"a private address": {Reach{Plain: plain, TLS: secure, Hosts: hosts("127.0.1.1 localhost\n127.0.0.1 other.test # localhost\n")}, "", "which is a private address"},
		"a hosts file":      {Reach{Plain: plain, TLS: secure, Hosts: hosts("# own\n127.0.0.1 other.test Localhost.\n::1 localhost\n")}, "", "by the hosts file of this server, which goes before DNS: remove it from there, or start the server with --acme-check off"},
		"off":               {Reach{Off: true}, "tls-alpn-01 http-01", ""},
	} {
		c.reach.Resolver = net.DefaultResolver
		f, err := c.reach.nonce(t.Context(), w.kept, "localhost")
		expect.OK(t, err)
		err = f.err("localhost")
		if c.wantText != "" {
			expect.That(t, err != nil && strings.Contains(err.Error(), "localhost leads to ") && strings.Contains(err.Error(), c.wantText), "%s: got %v", name, err)
			continue
		}
		expect.That(t, err == nil && strings.Join(f.ways(), " ") == c.ways, "%s: got %v by %v, want %s", name, err, f.ways(), c.ways)
	}
	expect.Equal(t, len(w.table.Rows), 0, "rows that checks left")
}

// TestACheckDoesNotDisturbAnAuthority checks a host while an authority asks it, many times: the order of a map's keys
// is random.
func TestACheckDoesNotDisturbAnAuthority(t *testing.T) {
	w := newWorld(t, "localhost")
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = certs.TLSConfig(w.source)
	server.StartTLS()
	defer server.Close()
	key, err := newKey()
	expect.OK(t, err)
	reach := &Reach{Resolver: net.DefaultResolver, Private: true, Plain: silent(t), TLS: portOf(t, server.Listener.Addr().String())}
	for range 10 {
		token := rand.Text()
		c, err := newChallenge(key, "localhost", token)
		expect.OK(t, err)
		expect.OK(t, w.kept.Expect(c))
		f, err := reach.nonce(t.Context(), w.kept, "localhost")
		expect.That(t, err == nil && f.err("localhost") == nil, "the check: %v, %v", err, f.err("localhost"))
		check, err := newChallenge(key, "localhost", "check")
		expect.OK(t, err)
		check.Check = true
		expect.OK(t, w.kept.Expect(check))
		other := certificate.New(w.table, nil) // of another node, which has only the rows
		expect.OK(t, other.Changed())
		got := other.Proof("localhost")
		expect.That(t, got != nil && bytes.Equal(got.Certificate[0], firstOf(c.Chain)), "an authority gets the answer to a check")
		expect.OK(t, w.kept.Settle(token, "check"))
	}
}

// acmeServer is an authority that offers a challenge of one way. It reports whether it was told to ask.
func acmeServer(t *testing.T, way string) (directory string, accepted *bool) {
	accepted = new(bool)
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Replay-Nonce", rand.Text())
		w.Header().Set("Location", server.URL+"/1")
		status, text := http.StatusOK, ""
		switch r.URL.Path {
		case "/":
			text = `{"newNonce":"URL/nonce","newAccount":"URL/account","newOrder":"URL/order"}`
		case "/account":
			status, text = http.StatusCreated, `{"status":"valid"}`
		case "/order":
			status, text = http.StatusCreated, `{"status":"pending","authorizations":["URL/authorization"],"finalize":"URL/finalize"}`
		case "/authorization":
			text = `{"status":"pending","identifier":{"type":"dns","value":"localhost"},"challenges":[{"type":"WAY","url":"URL/challenge","token":"t"}]}`
		case "/challenge":
			*accepted = true
			status = http.StatusForbidden
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(strings.NewReplacer("URL", server.URL, "WAY", way).Replace(text)))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/", accepted
}

// TestAnAuthorityAsksOnlyInAWayThatIsAnswered has a host that answers by HTTP only, although both ways were answered
// when the attempt began.
func TestAnAuthorityAsksOnlyInAWayThatIsAnswered(t *testing.T) {
	w := newWorld(t)
	here := httptest.NewServer(w.source.Challenges(true))
	defer here.Close()
	reach := &Reach{Resolver: net.DefaultResolver, Private: true, Plain: portOf(t, here.Listener.Addr().String()), TLS: silent(t)}
	for _, way := range []string{wayHTTP, wayALPN} {
		directory, accepted := acmeServer(t, way)
		a := &ACME{Directory: directory, Certificates: w.kept, Reach: reach}
		_, _, err := a.Order(t.Context(), "localhost", []string{wayALPN, wayHTTP})
		expect.That(t, err != nil && *accepted == (way == wayHTTP), "%s: the authority is told to ask: %v (%v)", way, *accepted, err)
	}
}
