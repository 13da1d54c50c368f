package e2e

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"shunt/cmd/shunt/certs/certtest"
	"shunt/engine/expect"
)

// A reloaded is a server under a service manager, which the test is.
type reloaded struct {
	t       *testing.T
	p       *process
	manager *net.UnixConn
	file    string // of --config
	client  *http.Client
}

func newReloaded(t *testing.T, settings string) (*reloaded, *certtest.Authority, certtest.Folder) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	expect.OK(t, err)
	t.Cleanup(func() { manager.Close() })
	a := certtest.NewAuthority(t)
	certPEM, keyPEM := a.Issue()
	files := certtest.NewFolder(t, certPEM, keyPEM)
	r := &reloaded{t: t, manager: manager, file: writeFile(t, "shunt.toml", settings)}
	r.p = launchThrough(t, []string{"env", "NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=4000000"}, filepath.Join(t.TempDir(), "data"),
		"--config", r.file, "--tls-cert", files.Cert, "--tls-key", files.Key)
	r.await("READY=1")
	r.p.waitReady()
	r.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: a.Pool()}}}
	return r, a, files
}

// await reads messages to the service manager until one has the line.
func (r *reloaded) await(line string) {
	r.t.Helper()
	_ = r.manager.SetReadDeadline(time.Now().Add(30 * time.Second))
	for b := make([]byte, 4096); ; {
		n, err := r.manager.Read(b)
		expect.MustThat(r.t, err == nil, "waiting for %s: %v\n%s", line, err, r.p.lastWords())
		if slices.Contains(strings.Split(string(b[:n]), "\n"), line) {
			return
		}
	}
}

// reload writes the settings and sends SIGHUP, and returns what is logged until the reload has ended.
func (r *reloaded) reload(settings string) (logged string) {
	r.t.Helper()
	expect.OK(r.t, os.WriteFile(r.file, []byte(settings), 0o600))
	before := len(r.p.stderr())
	expect.OK(r.t, r.p.cmd.Process.Signal(syscall.SIGHUP))
	r.await("RELOADING=1")
	r.await("READY=1")
	for {
		logged = r.p.stderr()[before:] // a pipe may be slower than a socket
		if strings.Contains(logged, "reloaded") {
			return logged
		}
		time.Sleep(time.Millisecond)
	}
}

// status returns the status of path, and the serial number of the certificate.
func (r *reloaded) status(path string) (status int, serial int64) {
	r.t.Helper()
	response, err := r.client.Get(r.p.public + path)
	expect.OK(r.t, err)
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.StatusCode, response.TLS.PeerCertificates[0].SerialNumber.Int64()
}

// limitsMisses reports whether the second of two requests for unknown codes is refused.
func (r *reloaded) limitsMisses() bool {
	r.t.Helper()
	_, _ = r.status("/none")
	status, _ := r.status("/none")
	return status == http.StatusTooManyRequests
}

func TestSIGHUPReloadsAllThatItCanOrNothing(t *testing.T) {
	t.Parallel()
	const limited, unlimited = "limit-misses = \"1/h:1\"\n", "limit-misses = \"off\"\n"
	r, a, files := newReloaded(t, unlimited)
	expect.MustThat(t, !r.limitsMisses(), "misses are limited from the beginning")
	certPEM, keyPEM := a.Issue()
	files.Put(files.Cert, certPEM)
	files.Put(files.Key, keyPEM)
	logged := r.reload(limited + "keep-days = 30\nlog-level = \"debug\"\n")
	_, serial := r.status("/")
	expect.That(t, serial == a.N && r.limitsMisses(), "got certificate %d of %d; are misses limited?", serial, a.N)
	for _, want := range []string{`"changed":"limit-misses log-level"`, `"settings":"keep-days"`} {
		expect.That(t, strings.Contains(logged, want), "%s is missing in:\n%s", want, logged)
	}

	for what, breakIt := range map[string]func() (settings string){
		"a value":      func() string { return unlimited + "keep-days = \"many\"\n" },
		"a name":       func() string { return unlimited + "keep-dais = 30\n" },
		"two settings": func() string { return unlimited + "country-header = \"X-Country\"\n" },
		"a certificate": func() string {
			files.Put(files.Cert, []byte("nonsense"))
			return unlimited
		},
	} {
		logged := r.reload(breakIt())
		expect.That(t, strings.Contains(logged, `"level":"ERROR"`) && strings.Contains(logged, "nothing has changed") && r.limitsMisses(),
			"%s is wrong; are misses limited still? It logged:\n%s", what, logged)
		files.Put(files.Cert, certPEM)
	}
	metrics := ask(t, r.p.admin+"/metrics", "")
	expect.That(t, strings.Contains(metrics, "shunt_reload_failures_total 4\n") && !strings.Contains(metrics, "shunt_last_reload_timestamp_seconds 0\n"),
		"the metrics do not show one reload and four that failed")

	r.await("WATCHDOG=1")
	r.reload(unlimited)
	expect.That(t, !r.limitsMisses(), "misses are limited after a reload that takes the limit away")
	r.p.terminate()
	r.await("STOPPING=1")
}
