package api

import (
	"net/netip"
	"testing"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"

	"shunt/api/visitor"
	"shunt/engine"
)

func TestWhatAProxySaysOfTheCountryComesBeforeTheFile(t *testing.T) {
	c := readCountries(t, geoIPFile(t, mmdbwriter.Options{}, map[string]mmdbtype.DataType{"91.0.0.0/10": countryRecord("DE", "DE")}))
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
		"a header that is no code":      {"Germany", c, "unknown"},
		"a header with bytes of no use": {"\xff\x00", c, "unknown"},
	} {
		h := redirector{countries: tc.table}
		if got := h.country(&request{country: []byte(tc.header), client: inGermany}); got != engine.CountryOf(tc.want) {
			t.Errorf("%s: got %v, want %s", name, got, tc.want)
		}
	}
	if got := (&redirector{countries: c}).country(&request{client: inGermany}); got != engine.CountryOf("DE") {
		t.Errorf("got %v, want DE", got)
	}
}
