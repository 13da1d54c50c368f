package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/engine/expect"
)

const (
	floodVariable    = "SHUNTTEST_LOGIN_FLOOD"
	floodPerSecond   = 980
	floodAddresses   = 3
	floodClients     = 4 // at each address
	rightLogins      = 100
	shortFloodLogins = 10 // in a flood of a second
)

const (
	loginName     = "ann@example.com"
	loginPassword = "correct horse battery"
)

// behindProxy returns the settings of a server that takes the addresses of clients from a header.
func behindProxy() []string {
	return []string{"--trusted-proxy", "127.0.0.1", "--base-url", "https://sho.rt", "--private-targets", "allow"}
}

// TestAFloodOfLoginsRefusesNoCorrectLogin makes three addresses try to log in with invented names,
// while a user logs in from new addresses with the right password.
func TestAFloodOfLoginsRefusesNoCorrectLogin(t *testing.T) {
	length := time.Duration(numberOf(t, floodVariable, 1)) * time.Second
	logins := rightLogins
	if length == time.Second {
		logins = shortFloodLogins
	}
	p := startServer(t, t.TempDir()+"/data", behindProxy()...)
	p.addPerson(p.token())
	f := &loginFlood{server: p, over: make(chan struct{}), answers: make(map[int]int)}
	f.begin()
	var took latencies
	refused := 0
	start := time.Now()
	for n := range logins {
		time.Sleep(time.Until(start.Add(length * time.Duration(n) / time.Duration(logins))))
		begun := time.Now()
		status, err := p.logIn(p.client(), fmt.Sprintf("198.51.100.%d", n), loginName, loginPassword)
		took.add(time.Since(begun))
		if err != nil || status != http.StatusOK {
			refused++
			t.Logf("login %d: got %d, %v", n, status, err)
		}
	}
	f.end()
	t.Logf("| %v | %d attempts of %d addresses: %v | %d correct logins, %d refused | n, p50, p99, p99.9, slowest: %v |",
		time.Since(start).Round(time.Second), f.sent.Load(), floodAddresses, f.answers, logins, refused, &took)
	expect.That(t, refused <= 0, "%d of %d correct logins were refused, want 0", refused, logins)
	elapsed := time.Since(start)
	most := floodAddresses * (20 + int(elapsed/(45*time.Second)) + 1)
	expect.That(t, f.answers[401] <= most && len(f.answers) <= 2, "the flood got the answers %v, want 401 at most %d times, and 429", f.answers, most)
}

// addPerson adds a user that can log in.
func (p *process) addPerson(token string) {
	p.t.Helper()
	body, _ := json.Marshal(map[string]string{"email": loginName, "role": "member", "password": loginPassword})
	status, err := p.post(p.client(), "/users", body, "Authorization", "Bearer "+token)
	expect.MustThat(p.t, err == nil && status == http.StatusCreated, "POST /users: got %d, %v", status, err)
}

func (p *process) client() *fasthttp.HostClient {
	return &fasthttp.HostClient{
		Addr: strings.TrimPrefix(p.public, "http://"), MaxConns: 1, MaxIdemponentCallAttempts: 1,
		ReadTimeout: time.Minute, WriteTimeout: time.Minute,
	}
}

// post sends JSON with header fields (name, value, …), and one that says that the request came over
// HTTPS.
func (p *process) post(c *fasthttp.HostClient, path string, body []byte, fields ...string) (status int, err error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(p.public + "/api/v1" + path)
	request.Header.SetMethod(http.MethodPost)
	request.Header.SetContentType("application/json")
	request.Header.Set("X-Forwarded-Proto", "https")
	for i := 0; i < len(fields); i += 2 {
		request.Header.Set(fields[i], fields[i+1])
	}
	request.SetBody(body)
	err = c.Do(request, response)
	return response.StatusCode(), err
}

// logIn tries to log in from an address.
func (p *process) logIn(c *fasthttp.HostClient, address, name, password string) (status int, err error) {
	body, _ := json.Marshal(map[string]string{"email": name, "password": password})
	return p.post(c, "/session", body, "X-Forwarded-For", address)
}

// A loginFlood is clients that try to log in with invented names.
type loginFlood struct {
	server  *process
	over    chan struct{}
	clients sync.WaitGroup
	sent    atomic.Int64

	mu      sync.Mutex
	answers map[int]int // by status; 0: none
}

func (f *loginFlood) begin() {
	const clients = floodAddresses * floodClients
	for n := range clients {
		f.clients.Go(func() {
			c := f.server.client()
			defer c.CloseIdleConnections()
			for due := time.Now(); f.goesOn(); due = due.Add(time.Second * clients / floodPerSecond) {
				time.Sleep(time.Until(due))
				f.attempt(c, fmt.Sprintf("192.0.2.%d", n%floodAddresses))
			}
		})
	}
}

func (f *loginFlood) attempt(c *fasthttp.HostClient, address string) {
	status, err := f.server.logIn(c, address, fmt.Sprintf("nobody%d@example.com", f.sent.Add(1)), "wrong wrong wrong")
	if err != nil {
		status = 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[status]++
}

func (f *loginFlood) goesOn() bool {
	return !closed(f.over)
}

func (f *loginFlood) end() {
	close(f.over)
	f.clients.Wait()
}
