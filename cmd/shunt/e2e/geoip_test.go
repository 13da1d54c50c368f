//go:build !386 && !arm

// mmdbwriter is not for 32-bit machines.

package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/maxmind/mmdbwriter" // of tests only: see api/country_test.go
	"github.com/maxmind/mmdbwriter/mmdbtype"
)

// geoIPFile writes a file that has record for one network.
func geoIPFile(t *testing.T, network, kind string, record mmdbtype.Map) (path string) {
	t.Helper()
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: kind})
	if err != nil {
		t.Fatal(err)
	}
	_, n, err := net.ParseCIDR(network)
	if err == nil {
		err = tree.Insert(n, record)
	}
	var b strings.Builder
	if err == nil {
		_, err = tree.WriteTo(&b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "test.mmdb", b.String())
}

func germany(t *testing.T) (path string) {
	return geoIPFile(t, "91.0.0.0/10", "GeoLite2-Country", mmdbtype.Map{"country": mmdbtype.Map{"iso_code": mmdbtype.String("DE")}})
}

func TestAnUnreadableFileOfCountriesStopsTheStart(t *testing.T) {
	dir := t.TempDir()
	good, err := os.ReadFile(germany(t))
	if err != nil {
		t.Fatal(err)
	}
	asn := geoIPFile(t, "91.0.0.0/10", "GeoLite2-ASN", mmdbtype.Map{"autonomous_system_number": mmdbtype.Uint32(3320)})
	for name, c := range map[string]struct{ path, want string }{
		"it does not exist": {"/does/not/exist.mmdb", `--geoip: /does/not/exist\.mmdb does not exist`},
		"it is a text file": {writeFile(t, "a.mmdb", "91.0.0.0/10 DE\n"), `--geoip: .*a\.mmdb: `},
		"it is truncated":   {writeFile(t, "b.mmdb", string(good[:len(good)/2])), `--geoip: .*b\.mmdb: `},
		"it has no country": {asn, `--geoip: .*knows no country; its type is "GeoLite2-ASN"`},
		"it is a folder":    {t.TempDir(), `--geoip: .* is a folder`},
		"it is empty":       {writeFile(t, "c.mmdb", ""), `--geoip: .*c\.mmdb`},
	} {
		t.Run(name, func(t *testing.T) {
			r := shunt(t, dir, []string{"SHUNT_GEOIP=" + c.path}, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
			r.want(t, exitFailed, "", c.want)
		})
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the folder has %v, %v, want nothing made", entries, err)
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
		if got, _ := fetch(t, p.public+"/x", lines...); got != 302 {
			t.Errorf("%v: got %d, want 302", lines, got)
		}
	}
	hit("X-Forwarded-For", "91.1.2.3")
	hit("X-Forwarded-For", "91.1.2.3", "CF-IPCountry", "FR")
	if err := os.WriteFile(path, nil, 0o600); err != nil { // a mapping of the file would be SIGBUS now
		t.Fatal(err)
	}
	hit("X-Forwarded-For", "91.1.2.4")
	hit("X-Forwarded-For", "8.8.8.8")
	_, body := fetch(t, p.public+"/api/v1/stats/x?include=countries", "Authorization", "Bearer "+token)
	if want := `"countries":[{"value":"DE","hits":2},{"value":"FR","hits":1},{"value":"other","hits":1}]`; !strings.Contains(body, want) {
		t.Errorf("got %s, want %s", body, want)
	}
	p.terminate()
}
