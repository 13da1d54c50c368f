package naming

import (
	"strings"
)

// sites are the names of well-known sites by domain.
var sites = func() map[string]string {
	all := make(map[string]string)
	for name, domains := range siteHosts {
		for domain := range strings.FieldsSeq(domains) {
			all[domain] = name
		}
	}
	return all
}()

// Site returns the name of the well-known site or app that a host in lower case belongs to; "" of any other.
func Site(host string) string {
	for rest, more := host, true; more; _, rest, more = strings.Cut(rest, ".") {
		if name := sites[rest]; name != "" && strings.Contains(rest, ".") {
			return name
		}
		if label, suffix, _ := strings.Cut(rest, "."); sites[label] != "" && isCountrySuffix(suffix) {
			return sites[label]
		}
	}
	return ""
}

// IsSite reports whether Site names hosts so.
func IsSite(name string) bool { return siteHosts[name] != "" }

// isCountrySuffix reports whether a site that is in many countries may have names below suffix: com, de, co.uk, com.br.
func isCountrySuffix(suffix string) bool {
	if suffix == "com" {
		return true
	}
	if second, country, both := strings.Cut(suffix, "."); both {
		return (second == "co" || second == "com") && isCountryDomain(country)
	}
	return isCountryDomain(suffix)
}

func isCountryDomain(name string) bool {
	return len(name) == 2 && 'a' <= name[0] && name[0] <= 'z' && 'a' <= name[1] && name[1] <= 'z'
}
