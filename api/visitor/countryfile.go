package visitor

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"runtime"
	"runtime/debug"

	"github.com/oschwald/maxminddb-golang/v2"

	"shunt/engine"
)

// maxCountryNetworks bounds how many networks of a file are read: ten times as many as the largest
// files on sale have. A tree whose branches share nodes could name 2^128 networks in a few bytes.
const maxCountryNetworks = 200_000_000

// ReadCountries reads a file in MaxMind's DB format (maxmind.github.io/MaxMind-DB), of any vendor,
// that has countries: GeoLite2-Country, GeoLite2-City, DB-IP, IPinfo. Later changes of the file
// have no effect. It reads every network, so that a damaged file is an error now and not a wrong
// country later.
func ReadCountries(path string) (*Countries, error) {
	table, err := readTable(path)
	if err != nil {
		return nil, err
	}
	c := new(Countries)
	c.now.Store(table)
	return c, nil
}

func readTable(path string) (*countryTable, error) {
	if _, err := statRegular(path); err != nil {
		return nil, err
	}
	c, err := tableOf(func() (*maxminddb.Reader, error) { return maxminddb.Open(path) })
	if err == nil {
		return c, nil
	}
	if inPath := (*fs.PathError)(nil); errors.As(err, &inPath) {
		return nil, err // it names the path
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

// tableOf reads the whole of a file, which open maps, and closes it. If somebody cuts the file short meanwhile, the
// kernel has no page to give: that fault would end the process, so it is made a panic, and that an error.
func tableOf(open func() (*maxminddb.Reader, error)) (c *countryTable, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		cause := recover()
		if _, fault := cause.(runtime.Error); fault {
			c, err = nil, errors.New("it is damaged, or was cut short while it was read")
		} else if cause != nil {
			panic(cause)
		}
	}()
	db, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return newTable(db, maxCountryNetworks)
}

func newTable(db *maxminddb.Reader, maxNetworks int) (*countryTable, error) {
	c := new(countryTable)
	read := map[uintptr]engine.Country{} // by offset: many networks share a record
	networks, known := 0, false
	for r := range db.Networks() {
		if networks++; networks > maxNetworks {
			return nil, fmt.Errorf("it has more than %d networks", maxNetworks)
		}
		if err := r.Err(); err != nil {
			return nil, err
		}
		country, ok := read[r.Offset()]
		if !ok {
			var err error
			if country, err = countryOfRecord(r); err != nil {
				return nil, fmt.Errorf("the record of %v: %w", r.Prefix(), err)
			}
			read[r.Offset()] = country
		}
		known = known || country != 0
		if err := c.addPrefix(r.Prefix(), country); err != nil {
			return nil, err
		}
	}
	if !known {
		return nil, fmt.Errorf("it knows no country; its type is %q", db.Metadata.DatabaseType)
	}
	c.v4.finish()
	c.v6.finish()
	return c, nil
}

// addPrefix adds a network of a tree. IPv4 is under ::/96 there, so a network that contains ::/96
// belongs to both families.
func (c *countryTable) addPrefix(network netip.Prefix, country engine.Country) error {
	if network.Bits() < 96 && network.Addr() == netip.IPv6Unspecified() {
		if err := c.add(netip.PrefixFrom(netip.IPv4Unspecified(), 0), country); err != nil {
			return err
		}
	}
	return c.add(network, country)
}

// countryOfRecord returns the country where an address is, or else the one where it is registered,
// of a record in MaxMind's words. Other vendors have a code in country_code or in country.
func countryOfRecord(r maxminddb.Result) (engine.Country, error) {
	type place struct {
		ISOCode string `maxminddb:"iso_code"`
	}
	var nested struct {
		Country    place  `maxminddb:"country"`
		Registered place  `maxminddb:"registered_country"`
		Code       string `maxminddb:"country_code"`
	}
	err := r.Decode(&nested)
	if mismatch := (maxminddb.UnmarshalTypeError{}); !errors.As(err, &mismatch) {
		return firstCountry(nested.Country.ISOCode, nested.Registered.ISOCode, nested.Code), err
	}
	var flat struct {
		Country string `maxminddb:"country"`
		Code    string `maxminddb:"country_code"`
	}
	err = r.Decode(&flat)
	return firstCountry(flat.Code, flat.Country), err
}

// firstCountry returns the country of the first code that is valid.
func firstCountry(codes ...string) engine.Country {
	for _, code := range codes {
		if c := engine.CountryOf(code); c != 0 {
			return c
		}
	}
	return 0
}
