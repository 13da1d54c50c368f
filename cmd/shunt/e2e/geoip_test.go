//go:build !386 && !arm

// mmdbwriter is not for 32-bit machines.

package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/maxmind/mmdbwriter" // of tests only: see api/visitor/country_test.go
	"github.com/maxmind/mmdbwriter/mmdbtype"

	"shunt/engine/expect"
)

// geoIPFile writes a file that has record for one network.
func geoIPFile(t *testing.T, network, kind string, record mmdbtype.Map) (path string) {
	t.Helper()
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: kind})
	expect.OK(t, err)
	_, n, err := net.ParseCIDR(network)
	if err == nil {
		err = tree.Insert(n, record)
	}
	var b strings.Builder
	if err == nil {
		_, err = tree.WriteTo(&b)
	}
	expect.OK(t, err)
	return writeFile(t, "test.mmdb", b.String())
}

func germany(t *testing.T) (path string) {
	return geoIPFile(t, "91.0.0.0/10", "GeoLite2-Country", mmdbtype.Map{"country": mmdbtype.Map{"iso_code": mmdbtype.String("DE")}})
}

// A server starts without an optional file, with a warning. It knows countries once there is a good file and
// it gets SIGHUP.
func TestAnOptionalFileThatCannotBeReadStopsNoStart(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile(germany(t))
	expect.OK(t, err)
	missing := filepath.Join(t.TempDir(), "none.mmdb")
	asn := geoIPFile(t, "91.0.0.0/10", "GeoLite2-ASN", mmdbtype.Map{"autonomous_system_number": mmdbtype.Uint32(3320)})
	for name, c := range map[string]struct{ path, want string }{
		"it does not exist": {missing, "none.mmdb"},
		"it is a text file": {writeFile(t, "a.mmdb", "91.0.0.0/10 DE\n"), "a.mmdb"},
		"it is truncated":   {writeFile(t, "b.mmdb", string(good[:len(good)/2])), "b.mmdb"},
		"it has no country": {asn, "knows no country; its type is"},
		"it is empty":       {writeFile(t, "c.mmdb", ""), "c.mmdb"},
	} {
		t.Run(name, func(t *testing.T) {
			p := startServer(t, filepath.Join(t.TempDir(), "data"), "--geoip", c.path, "--brand-logo", writeFile(t, "logo.svg", ""))
			for _, want := range []string{`"WARN".*no country is known until it can be read.*` + c.want, `"WARN".*the public pages have no logo.*logo.svg`} {
				expect.That(t, regexp.MustCompile(want).MatchString(p.stderr()), "got\n%s\nwant a line with %s", p.stderr(), want)
			}
			expect.Equal(t, p.figure("shunt_geoip_failing"), "1", "the metric")
			expect.OK(t, os.WriteFile(c.path+".new", good, 0o600))
			expect.OK(t, os.Rename(c.path+".new", c.path))
			expect.OK(t, p.cmd.Process.Signal(syscall.SIGHUP))
			await(t, "the good file is read, and the log says so", 10*time.Second, func() bool {
				return p.figure("shunt_geoip_failing") == "0" && strings.Contains(p.stderr(), "the file of countries has been read again")
			}, p)
			p.terminate()
		})
	}
}

func TestCountriesAreCountedEvenIfTheirFileIsEmptied(t *testing.T) {
	t.Parallel()
	path := germany(t)
	config := writeFile(t, "shunt.toml", fmt.Sprintf(
		"geoip = %q\ncountry_header = 'CF-IPCountry'\ntrusted_proxy = '127.0.0.1'\nallow_http = true\n", path))
	p := startServer(t, filepath.Join(t.TempDir(), "data"), "--config", config)
	token := p.token()
	shunt(t, "", nil, "add", "http://127.0.0.1:1/", "--alias", "x", "--data", p.dir).want(t, exitDone, "/x\n", "")
	hit := func(lines ...string) {
		t.Helper()
		got, _ := fetch(t, p.public+"/x", lines...)
		expect.Equal(t, got, 302, "%v", lines)
	}
	hit("X-Forwarded-For", "91.1.2.3")
	hit("X-Forwarded-For", "91.1.2.3", "CF-IPCountry", "FR")
	expect.OK(t, os.WriteFile(path, nil, 0o600)) // a mapping of the file would be SIGBUS now
	hit("X-Forwarded-For", "91.1.2.4")
	hit("X-Forwarded-For", "8.8.8.8")
	_, body := fetch(t, p.public+"/api/v1/stats/x?include=countries", "Authorization", "Bearer "+token)
	expect.Contains(t, body, `"countries":[{"value":"DE","hits":2},{"value":"FR","hits":1},{"value":"other","hits":1}]`)
	p.terminate()
}
