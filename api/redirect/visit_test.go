//go:build !386 && !arm

// mmdbwriter is not for 32-bit machines.

package redirect

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"

	"shunt/api/visitor"
	"shunt/engine"
	"shunt/engine/expect"
)

// germany returns a table in which 91.0.0.0/10 is in Germany.
func germany(t *testing.T) *visitor.Countries {
	t.Helper()
	tree, err := mmdbwriter.New(mmdbwriter.Options{})
	expect.OK(t, err)
	network := &net.IPNet{IP: net.IPv4(91, 0, 0, 0).To4(), Mask: net.CIDRMask(10, 32)}
	expect.OK(t, tree.Insert(network, mmdbtype.Map{"country_code": mmdbtype.String("DE")}))
	var b bytes.Buffer
	expect.OK(t, expect.Err(tree.WriteTo(&b)))
	path := filepath.Join(t.TempDir(), "test.mmdb")
	expect.OK(t, os.WriteFile(path, b.Bytes(), 0o600))
	c, err := visitor.ReadCountries(path)
	expect.OK(t, err)
	return c
}

func TestTheProxysCountryComesBeforeTheFiles(t *testing.T) {
	c := germany(t)
	inGermany := netip.MustParseAddr("91.1.2.3")
	for name, tc := range map[string]struct {
		header string
		table  *visitor.Countries
		want   string
	}{
		"both":                          {"FR", c, "FR"},
		"only the file":                 {"", c, "DE"},
		"only the header":               {"FR", nil, "FR"},
		"neither":                       {"", nil, "unknown"},
		"a proxy that does not know":    {"XX", c, "unknown"},
		"a proxy that says it is Tor":   {"T1", c, "unknown"},
		"a header without a code":       {"Germany", c, "unknown"},
		"a header with bytes of no use": {"\xff\x00", c, "unknown"},
	} {
		r := Redirector{countries: tc.table}
		expect.Equal(t, r.country(&Request{Country: []byte(tc.header), Client: inGermany}), engine.CountryOf(tc.want), "%s, want %s", name, tc.want)
	}
	expect.Equal(t, (&Redirector{countries: c}).country(&Request{Client: inGermany}), engine.CountryOf("DE"))
}
