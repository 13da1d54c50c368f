//go:build !386 && !arm

// mmdbwriter is not for 32-bit machines.

package visitor

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/maxmind/mmdbwriter" // of tests only: MaxMind's own writer, so that files are as real ones are, pointers and aliases included
	"github.com/maxmind/mmdbwriter/mmdbtype"
	"github.com/oschwald/maxminddb-golang/v2"

	"shunt/engine"
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

func writeTo(t testing.TB, name string, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	expect.OK(t, os.WriteFile(path, content, 0o600))
	return path
}

// countryRecord is what GeoLite2-Country says of a network; empty codes are left out.
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

func readCountries(t testing.TB, path string) *Countries {
	t.Helper()
	c, err := ReadCountries(path)
	expect.OK(t, err)
	return c
}

// someCountries are networks of GeoLite2-Country's kind.
var someCountries = map[string]mmdbtype.DataType{
	"1.0.0.0/24":           countryRecord("AU", "AU"),
	"2.16.0.0/13":          countryRecord("", "FR"),
	"81.2.69.0/24":         countryRecord("GB", "US"),
	"89.160.20.112/28":     countryRecord("se", ""),
	"91.0.0.0/10":          countryRecord("DE", "DE"),
	"217.0.0.0/8":          countryRecord("EU", ""),
	"223.255.255.255/32":   countryRecord("AU", "AU"),
	"2003::/19":            countryRecord("DE", "DE"),
	"2a02:cf40::/29":       countryRecord("NO", "NO"),
	"2a02:cf48:0:1::/64":   countryRecord("FI", "FI"),
	"2a02:cf48:0:2::/65":   countryRecord("IS", "IS"),
	"2a02:cf48:0:3:8::/80": countryRecord("DK", "DK"),
}

func TestTheCountryOfAnAddressIsWhatTheFileSays(t *testing.T) {
	c := readCountries(t, geoIPFile(t, mmdbwriter.Options{DatabaseType: "GeoLite2-Country"}, someCountries))
	for address, want := range map[string]string{
		"1.0.0.0":                "AU",
		"1.0.0.255":              "AU",
		"1.0.1.0":                "unknown",
		"0.255.255.255":          "unknown",
		"2.20.1.1":               "FR", // only registered there
		"81.2.69.142":            "GB", // and registered in the US
		"89.160.20.112":          "SE", // written in lower case
		"89.160.20.111":          "unknown",
		"89.160.20.128":          "unknown",
		"91.63.255.255":          "DE",
		"91.64.0.0":              "unknown",
		"217.1.1.1":              "unknown", // EU is not a country
		"223.255.255.255":        "AU",
		"224.0.0.0":              "unknown",
		"255.255.255.255":        "unknown",
		"0.0.0.0":                "unknown",
		"2003:0:1::9":            "DE",
		"2003:2000::":            "unknown",
		"2a02:cf47:ffff::1":      "NO",
		"2a02:cf48::1":           "unknown",
		"2a02:cf48:0:1:ffff::":   "FI",
		"2a02:cf48:0:2:8000::":   "IS", // the /64 is one visitor
		"2a02:cf48:0:3:8::1":     "unknown",
		"::":                     "unknown",
		"::1":                    "unknown",
		"ffff:ffff:ffff:ffff::1": "unknown",
	} {
		expect.Equal(t, c.Of(netip.MustParseAddr(address)), engine.CountryOf(want), "%s, want %s", address, want)
	}
	expect.Equal(t, (*Countries)(nil).Of(netip.MustParseAddr("1.0.0.0")), 0, "without a file")
}

func TestFilesOfEveryVendorAndShapeAreRead(t *testing.T) {
	text := func(s string) mmdbtype.String { return mmdbtype.String(s) }
	for name, c := range map[string]struct {
		options mmdbwriter.Options
		record  mmdbtype.DataType
	}{
		"GeoLite2-City": {mmdbwriter.Options{RecordSize: 24}, mmdbtype.Map{
			"city":    mmdbtype.Map{"names": mmdbtype.Map{"en": text("Berlin")}},
			"country": mmdbtype.Map{"iso_code": text("DE"), "is_in_european_union": mmdbtype.Bool(true)},
		}},
		"with records of 32 bits": {mmdbwriter.Options{RecordSize: 32}, countryRecord("DE", "")},
		"only IPv4":               {mmdbwriter.Options{IPVersion: 4}, countryRecord("DE", "")},
		"without aliases":         {mmdbwriter.Options{DisableIPv4Aliasing: true}, countryRecord("DE", "")},
		"IPinfo lite":             {mmdbwriter.Options{}, mmdbtype.Map{"country": text("Germany"), "country_code": text("DE"), "asn": text("AS3320")}},
		"IPinfo country":          {mmdbwriter.Options{}, mmdbtype.Map{"country": text("DE"), "continent": text("EU")}},
		"only country_code":       {mmdbwriter.Options{}, mmdbtype.Map{"country_code": text("DE")}},
	} {
		table, err := ReadCountries(geoIPFile(t, c.options, map[string]mmdbtype.DataType{"91.0.0.0/10": c.record}))
		if err != nil {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		expect.Equal(t, table.Of(netip.MustParseAddr("91.1.2.3")), engine.CountryOf("DE"), name)
	}
}

func TestANetworkOfAllAddressesCountsForBothFamilies(t *testing.T) {
	o := mmdbwriter.Options{IncludeReservedNetworks: true, DisableIPv4Aliasing: true}
	c := readCountries(t, geoIPFile(t, o, map[string]mmdbtype.DataType{"::/1": countryRecord("DE", ""), "8000::/1": countryRecord("FR", "")}))
	for address, want := range map[string]string{"0.0.0.0": "DE", "255.255.255.255": "DE", "7fff::": "DE", "8000::": "FR", "ffff::": "FR"} {
		expect.Equal(t, c.Of(netip.MustParseAddr(address)), engine.CountryOf(want), "%s, want %s", address, want)
	}
}

// TestTheTableAnswersLikeTheFile compares the two for the addresses at the edges of networks.
func TestTheTableAnswersLikeTheFile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	codes := []string{"DE", "FR", "US", "BR", "JP", "EU", ""}
	records, edges := map[string]mmdbtype.DataType{}, []netip.Addr{}
	for range 3000 {
		var b [16]byte
		binary.BigEndian.PutUint64(b[:], 0x2000<<48|random.Uint64()>>3)
		binary.BigEndian.PutUint64(b[:], binary.BigEndian.Uint64(b[:])&^(0xffff<<32)|1<<60) // few neighbourhoods, many networks in each
		v6 := netip.PrefixFrom(netip.AddrFrom16(b), 20+random.IntN(45)).Masked()
		v4 := netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(11 + random.IntN(80)), byte(random.IntN(3)), b[2], b[3]}), 10+random.IntN(23)).Masked()
		for _, p := range []netip.Prefix{v4, v6} {
			records[p.String()] = countryRecord(codes[random.IntN(len(codes))], "")
			edges = append(edges, p.Addr(), p.Addr().Prev(), lastOf(p), lastOf(p).Next())
		}
	}
	path := geoIPFile(t, mmdbwriter.Options{IncludeReservedNetworks: true}, records)
	db, err := maxminddb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c := readCountries(t, path)
	known := 0
	for _, addr := range edges {
		if addr.Is6() {
			p, _ := addr.Prefix(64)
			addr = p.Addr()
		}
		if addr.Is6() && (netip.MustParsePrefix("2002::/16").Contains(addr) || netip.MustParsePrefix("2001::/32").Contains(addr)) {
			continue // aliases of IPv4, which we do not follow
		}
		want, err := countryOfRecord(db.Lookup(addr))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Of(addr); got != want {
			t.Fatalf("%v: got %v, want %v", addr, got, want)
		}
		if want != 0 {
			known++
		}
	}
	if known < len(edges)/4 {
		t.Errorf("only %d of %d addresses have a country", known, len(edges))
	}
	if n := testing.AllocsPerRun(100, func() { c.Of(edges[0]); c.Of(edges[5]) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().As16()
	bits := p.Bits() + 128 - p.Addr().BitLen()
	for i := bits; i < 128; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	last := netip.AddrFrom16(b)
	if p.Addr().Is4() {
		last = last.Unmap()
	}
	return last
}

func TestAFileWithoutCountriesIsRefused(t *testing.T) {
	good, err := os.ReadFile(geoIPFile(t, mmdbwriter.Options{DatabaseType: "GeoLite2-Country"}, someCountries))
	expect.OK(t, err)
	asn := geoIPFile(t, mmdbwriter.Options{DatabaseType: "GeoLite2-ASN"}, map[string]mmdbtype.DataType{
		"91.0.0.0/10": mmdbtype.Map{"autonomous_system_number": mmdbtype.Uint32(3320)},
	})
	torn := bytes.Clone(good)
	copy(torn[:40], bytes.Repeat([]byte{0xff}, 40)) // nodes that point nowhere
	for name, c := range map[string]struct{ path, want string }{
		"an ASN file":                   {asn, `knows no country; its type is "GeoLite2-ASN"`},
		"a file without networks":       {geoIPFile(t, mmdbwriter.Options{}, nil), "knows no country"},
		"a text":                        {writeTo(t, "text", []byte(strings.Repeat("not a database\n", 1000))), "text: "},
		"an empty file":                 {writeTo(t, "empty", nil), "empty"},
		"the first half":                {writeTo(t, "half", good[:len(good)/2]), "half: "},
		"all but the end":               {writeTo(t, "end", good[:len(good)-20]), "end: "},
		"without the beginning":         {writeTo(t, "beginning", good[200:]), "beginning: "},
		"with a torn tree":              {writeTo(t, "torn", torn), "torn: "},
		"a folder":                      {t.TempDir(), "is not a regular file"},
		"a file that is not there":      {"/does/not/exist.mmdb", "stat /does/not/exist.mmdb: no such file"},
		"records of an unexpected type": {geoIPFile(t, mmdbwriter.Options{}, map[string]mmdbtype.DataType{"91.0.0.0/10": mmdbtype.Uint32(7)}), "91.0.0.0/10"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadCountries(c.path)
			expect.That(t, err != nil && got == nil && strings.Contains(err.Error(), c.want) && strings.Contains(err.Error(), c.path),
				"got %v, %v, want an error with %q and the path", got, err, c.want)
		})
	}
	expect.Error(t, expect.Err(ReadCountries("/does/not/exist.mmdb")), fs.ErrNotExist)
}

// FuzzReadCountries checks that every file is read or refused.
func FuzzReadCountries(f *testing.F) {
	good, err := os.ReadFile(geoIPFile(f, mmdbwriter.Options{}, map[string]mmdbtype.DataType{"91.0.0.0/10": countryRecord("DE", "")}))
	expect.OK(f, err)
	f.Add(good)
	f.Fuzz(func(t *testing.T, file []byte) {
		db, err := maxminddb.OpenBytes(file)
		if err != nil {
			return
		}
		if c, err := newTable(db, 1<<16); err == nil {
			c.of(netip.MustParseAddr("91.1.2.3"))
			c.of(netip.MustParseAddr("2003::1"))
		}
	})
}

// BenchmarkCountryOf looks up random addresses in a table as large as that of the whole internet:
// 250,000 ranges of each family, 3.5 MB.
func BenchmarkCountryOf(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	c := new(countryTable)
	for i := range uint64(250_000) {
		c.v4.add(uint32(i)<<14, uint32(i)<<14|1<<14-1, engine.Country(1+random.IntN(249)))
		c.v6.add(0x20<<56+i<<42, 0x20<<56+i<<42|1<<42-1, engine.Country(1+random.IntN(249)))
	}
	c.v4.finish()
	c.v6.finish()
	now := new(Countries)
	now.now.Store(c)
	var v4, v6 [1 << 12]netip.Addr
	for i := range v4 {
		v4[i] = netip.AddrFrom4([4]byte{byte(random.IntN(240)), byte(random.Uint32()), byte(random.Uint32()), 1})
		v6[i] = netip.AddrFrom16([16]byte{byte(0x20 + random.IntN(15)), byte(random.Uint32()), byte(random.Uint32()), 15: 1})
	}
	for name, addresses := range map[string]*[1 << 12]netip.Addr{"family=IPv4": &v4, "family=IPv6": &v6} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				now.Of(addresses[i%len(addresses)])
			}
		})
	}
}
