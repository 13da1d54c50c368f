package e2e

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"shunt/api/wiretest"
	"shunt/cmd/shunt/certs/certtest"
	"shunt/engine/expect"
)

// A front is a real proxy before a real server.
type front struct {
	t      *testing.T
	server *process
	addr   string
	tls    string // its address for HTTPS
	token  string
}

// places are where a proxy of a test listens, finds its server, and keeps its files.
type places struct {
	server, listen, tls string // addresses
	second              string // of another server; empty: there is one only
	dir                 string
	cert, key, both     string // files of its certificate
}

// fronts are the proxies, with the changes that a test makes to their configuration in cmd/deploy.
var fronts = map[string]struct {
	config  string
	program string
	args    func(config string) []string
	replace func(at places) []string // old, new, …
}{
	"nginx": {
		"nginx.conf", "nginx",
		func(config string) []string {
			return []string{"-c", config, "-e", "stderr", "-g", "daemon off; user root; pid " + config + ".pid;"}
		},
		func(at places) []string {
			temp := "http {\n"
			for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
				temp += kind + "_temp_path " + filepath.Join(at.dir, kind) + ";\n"
			}
			servers := "server " + at.server + ";"
			if at.second != "" {
				servers += " server " + at.second + ";"
			}
			return []string{"server 127.0.0.1:8080;", servers, "listen 80 ", "listen " + at.listen + " ", "listen 443 ", "listen " + at.tls + " ",
				"        listen [::]:80 default_server backlog=4096;\n", "", "        listen [::]:443 ssl http2 default_server backlog=4096;\n", "",
				"/etc/shunt/tls/cert.pem", at.cert, "/etc/shunt/tls/key.pem", at.key,
				"worker_processes auto;", "worker_processes 1;",
				"worker_rlimit_nofile 65536;", "", "worker_connections 16384;", "worker_connections 512;", "http {\n", temp}
		},
	},
	"haproxy": {
		"haproxy.cfg", "haproxy",
		func(config string) []string { return []string{"-db", "-f", config} },
		func(at places) []string {
			servers := "server shunt " + at.server
			if at.second != "" {
				servers = "server second " + at.second + " maxconn 4096\n    " + servers
			}
			return []string{"server shunt 127.0.0.1:8080", servers, "bind :80\n", "bind " + at.listen + "\n",
				"bind :443 ", "bind " + at.tls + " ", "/etc/shunt/tls/shunt.pem", at.both,
				"    maxconn 16384\n", "    maxconn 512\n"}
		},
	},
}

// TestProxiesAndServerFrameRequestsAlike sends requests that could be read in two ways through real
// proxies. In between it sends sentinels on other connections, which share the proxy's connections
// to the server. Each sentinel must get its own answer.
func TestProxiesAndServerFrameRequestsAlike(t *testing.T) {
	if os.Getenv("SHUNTTEST_DESYNC") == "" {
		t.Skip("make desync runs this test: it needs nginx and haproxy")
	}
	for name, f := range fronts {
		for _, door := range []string{"auto", "fasthttp"} {
			t.Run(name+"/front="+door, func(t *testing.T) {
				expect.MustThat(t, expect.Err(exec.LookPath(f.program)) == nil, "%s is missing: install Debian's packages nginx-light and haproxy", f.program)
				p := startFront(t, name, "--front", door)
				p.checkLongTarget()
				p.checkForwarding()
				p.checkHTTPS()
				for i := range sentinels {
					p.create(fmt.Sprintf("s%d", i), fmt.Sprintf("http://sentinel/%d", i), 302)
				}
				p.create("keep", "http://keep/", 307)
				p.create("smuggled", "http://smuggled/", 302)
				p.smuggle()
			})
		}
	}
}

const sentinels = 64

// startFront starts a server with these arguments, and a proxy before it.
func startFront(t *testing.T, name string, args ...string) *front {
	t.Helper()
	server := startServer(t, filepath.Join(t.TempDir(), "data"), append(args, "--trusted-proxy", "127.0.0.1")...)
	return startProxy(t, name, server, nil)
}

// startProxy starts a proxy before a server, or before two if second is not nil.
func startProxy(t *testing.T, name string, server, second *process) *front {
	t.Helper()
	f := fronts[name]
	p := &front{t: t, server: server, addr: freeAddress(t), tls: freeAddress(t), token: server.token()}
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", f.config))
	expect.OK(t, err)
	dir := t.TempDir()
	at := places{server: strings.TrimPrefix(server.public, "http://"), listen: p.addr, tls: p.tls, dir: dir}
	if second != nil {
		at.second = strings.TrimPrefix(second.public, "http://")
	}
	at.writeCertificate(t)
	pairs := f.replace(at)
	for i := 0; i < len(pairs); i += 2 {
		expect.MustEqual(t, bytes.Count(text, []byte(pairs[i])), 1, "%s has %q times", f.config, pairs[i])
	}
	config := writeFile(t, f.config, strings.NewReplacer(pairs...).Replace(string(text)))
	proxy := exec.Command(f.program, f.args(config)...)
	var said bytes.Buffer
	proxy.Stderr = &said
	expect.OK(t, proxy.Start())
	ended := make(chan struct{})
	timeout := killAtDeadline(t, proxy.Process)
	go func() { _ = proxy.Wait(); timeout.Stop(); close(ended) }()
	t.Cleanup(func() {
		_ = proxy.Process.Signal(os.Interrupt)
		<-ended
		if t.Failed() {
			t.Logf("the log of %s:\n%s", name, &said)
		}
	})
	p.awaitProxy(ended)
	return p
}

// writeCertificate gives the proxy a certificate: nginx reads two files, HAProxy one.
func (at *places) writeCertificate(t *testing.T) {
	cert, key := certtest.NewAuthority(t).Issue()
	at.cert, at.key = writeFile(t, "cert.pem", string(cert)), writeFile(t, "key.pem", string(key))
	at.both = writeFile(t, "shunt.pem", string(cert)+string(key))
}

func (p *front) awaitProxy(ended chan struct{}) {
	for {
		if c, err := net.Dial("tcp", p.addr); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-ended:
			p.t.Fatal("the proxy ended")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// do makes a request through the proxy on a new connection.
func (p *front) do(method, path, body string, fields ...string) reply {
	p.t.Helper()
	r, err := try(onNewConnections, method, "http://"+p.addr+path, body, fields...)
	expect.OK(p.t, err)
	return r
}

// create makes a link. It bypasses the proxy, because the API accepts tokens over HTTPS only.
func (p *front) create(alias, target string, status int) {
	p.t.Helper()
	p.server.create(p.token, alias, target, status)
}

// checkLongTarget checks that the longest target passes the proxy as a Location, and in a body to
// the server.
func (p *front) checkLongTarget() {
	p.t.Helper()
	target := "http://long.example/"
	target += strings.Repeat("x", 8192-len(target))
	p.create("long", target, 307)
	for _, method := range []string{"GET", "POST"} {
		body := ""
		if method == "POST" {
			body = target
		}
		if r := p.do(method, "/long", body); r.StatusCode != 307 || r.Header.Get("Location") != target {
			p.t.Errorf("%s: got %d and a Location of %d bytes, want the target of 8,192", method, r.StatusCode, len(r.Header.Get("Location")))
		}
	}
	r := p.do("POST", "/api/v1/shorten", `{"url":"`+target+`"}`, withToken(p.token)...)
	expect.That(p.t, r.StatusCode == 403 && strings.Contains(r.text, "https_required"), "a token over plain HTTP: got %d %s, want https_required", r.StatusCode, r.text)
}

// checkForwarding checks that headers with which a client pretends to be the proxy are ignored.
func (p *front) checkForwarding() {
	p.t.Helper()
	p.create("visitors", "http://a/", 302)
	for _, claim := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"} {
		p.do("GET", "/visitors", "", "X-Forwarded-For", claim, "User-Agent", "Mozilla/5.0 Firefox/1")
	}
	r := shunt(p.t, "", nil, "stats", "visitors", "--json", "--data", p.server.dir)
	expect.Contains(p.t, strings.Join(strings.Fields(r.stdout), ""), `"hits":3,"unique":1`, "got %s %s", r.stdout, r.stderr)
}

// checkHTTPS checks that a token is taken through the proxy's HTTPS, and that the link redirects.
func (p *front) checkHTTPS() {
	p.t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	ask := func(method, path, body string) reply {
		r, err := try(transport, method, "https://"+p.tls+path, body, withToken(p.token)...)
		expect.OK(p.t, err)
		return r
	}
	r := ask("POST", "/api/v1/shorten", `{"url":"https://example.org/s","alias":"secure"}`)
	expect.That(p.t, r.StatusCode == 201 && r.ProtoMajor == 2, "a link over HTTPS: got %d by %s, want 201 by HTTP/2", r.StatusCode, r.Proto)
	r = ask("GET", "/secure", "")
	expect.That(p.t, r.StatusCode == 302 && r.Header.Get("Location") == "https://example.org/s" && r.Header.Get("Strict-Transport-Security") != "",
		"a redirect over HTTPS: got %d %v", r.StatusCode, r.Header)
}

// smuggle sends each row, followed by a request, with sentinels before and after.
func (p *front) smuggle() {
	asked, out := 0, 0
	kept := p.dial()
	defer func() { kept.Close() }()
	for _, row := range append(wiretest.Refused(), wiretest.Accepted()...) {
		attack := p.dial()
		_, _ = io.WriteString(attack, row.Raw+wiretest.Smuggled) // the proxy may have closed already
		for range 3 {
			for _, c := range []*wire{kept, p.dial()} {
				if !p.sentinel(c, asked) {
					out++
					p.t.Errorf("during %s: sentinel %d got the answer to another request, or none", row.Name, asked)
				}
				if asked++; c != kept {
					c.Close()
				}
			}
		}
		_ = attack.SetDeadline(time.Now().Add(20 * time.Millisecond)) // only the attacker may get the answers to its requests
		_, _ = io.Copy(io.Discard, attack)
		attack.Close()
		for range 2 {
			if !p.sentinel(kept, asked) {
				out++
				p.t.Errorf("after %s: sentinel %d got the answer to another request, or none", row.Name, asked)
			}
			asked++
		}
		if p.t.Failed() {
			return
		}
	}
	p.t.Logf("%d sentinels, %d out of step; the server has %d connections", asked, out, p.metric("shunt_connections"))
}

// wire is a connection from which answers are read one by one.
type wire struct {
	net.Conn
	answers *bufio.Reader
}

func (p *front) dial() *wire {
	p.t.Helper()
	c, err := net.Dial("tcp", p.addr)
	expect.OK(p.t, err)
	return &wire{c, bufio.NewReader(c)}
}

// sentinel requests the link of the i-th sentinel, and reports whether the right answer came.
func (p *front) sentinel(c *wire, i int) bool {
	i %= sentinels
	fmt.Fprintf(c, "GET /s%d HTTP/1.1\r\nHost: a\r\n\r\n", i)
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	response, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		p.t.Log(err)
		return false
	}
	_, err = io.Copy(io.Discard, response.Body)
	if response.Close { // nginx limits the requests of a connection
		c.Close()
		*c = *p.dial()
	}
	return err == nil && response.StatusCode == 302 && response.Header.Get("Location") == fmt.Sprintf("http://sentinel/%d", i) && c.answers.Buffered() == 0
}

// metric returns a metric of the server, 0 if it does not exist.
func (p *front) metric(name string) int {
	p.t.Helper()
	text := p.server.figure(name)
	if text == "" {
		return 0
	}
	value, err := strconv.ParseFloat(text, 64)
	expect.OK(p.t, err)
	return int(value)
}
