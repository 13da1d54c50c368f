//go:build !386 && !arm

// mmdbwriter is not for 32-bit machines.

package api

import (
	"bytes"
	"net"
	"testing"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"

	"shunt/api/visitor"
	"shunt/engine/expect"
)

// geoIPFile writes a file of networks and their records, and returns its path.
func geoIPFile(t testing.TB, o mmdbwriter.Options, records map[string]mmdbtype.DataType) string {
	t.Helper()
	tree, err := mmdbwriter.New(o)
	expect.OK(t, err)
	for text, record := range records {
		_, network, err := net.ParseCIDR(text)
		if err == nil {
			err = tree.Insert(network, record)
		}
		expect.MustThat(t, err == nil, "%v %v", text, err)
	}
	var b bytes.Buffer
	expect.OK(t, expect.Err(tree.WriteTo(&b)))
	return writeTo(t, "test.mmdb", b.Bytes())
}

// countryRecord returns a record of a network as GeoLite2-Country has it, without empty codes.
func countryRecord(country, registered string) mmdbtype.Map {
	record := mmdbtype.Map{"continent": mmdbtype.Map{"code": mmdbtype.String("EU"), "names": mmdbtype.Map{"en": mmdbtype.String("Europe")}}}
	for key, code := range map[mmdbtype.String]string{"country": country, "registered_country": registered} {
		if code != "" {
			record[key] = mmdbtype.Map{
				"geoname_id": mmdbtype.Uint32(2921044), "iso_code": mmdbtype.String(code), "names": mmdbtype.Map{"en": mmdbtype.String("Name of " + code)},
			}
		}
	}
	return record
}

// readCountries returns the table of a file in which networks have countries. With reserved, networks for
// documentation may be among them.
func readCountries(t testing.TB, reserved bool, countries map[string]string) *visitor.Countries {
	t.Helper()
	records := map[string]mmdbtype.DataType{}
	for network, code := range countries {
		records[network] = countryRecord(code, code)
	}
	c, err := visitor.ReadCountries(geoIPFile(t, mmdbwriter.Options{IncludeReservedNetworks: reserved}, records))
	expect.OK(t, err)
	return c
}
