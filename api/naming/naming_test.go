package naming

import (
	"strings"
	"testing"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"shunt/engine/expect"
	"shunt/engine/tally"
)

// changed are the names in which CLDR has changed since the version of golang.org/x/text, or has a shorter one.
var changed = map[string]string{"HK": "Hong Kong", "MO": "Macao", "MK": "North Macedonia", "SZ": "Eswatini", "TR": "Türkiye"}

func TestEveryCountryThatIsCountedHasItsNameAndFlag(t *testing.T) {
	names, counted := display.English.Regions(), 0
	for i := 1; ; i++ {
		code := tally.Country(i).String()
		if code == "unknown" {
			break
		}
		counted++
		want := names.Name(language.MustParseRegion(code))
		if changed[code] != "" {
			want = changed[code]
		}
		expect.Equal(t, Country(code), want, code)
		flag := []rune(Flag(code))
		expect.MustEqual(t, len(flag), 2, "the flag of %s", code)
		expect.Equal(t, string([]rune{flag[0] - 0x1F1E6 + 'A', flag[1] - 0x1F1E6 + 'A'}), code, "the flag of %s", code)
	}
	expect.Equal(t, len(countries), counted, "countries with a name, and those that hits are counted by")
	for _, unknown := range []string{"", "ZZ", "other", "de", "é"} {
		expect.Equal(t, Country(unknown), unknown)
		expect.Equal(t, Flag(unknown), "", "the flag of %q", unknown)
	}
}

func TestWellKnownSitesHaveTheirNames(t *testing.T) {
	for host, want := range map[string]string{
		"facebook.com": "Facebook", "l.facebook.com": "Facebook", "lm.facebook.com": "Facebook", "m.facebook.com": "Facebook",
		"t.co": "X", "x.com": "X", "twitter.com": "X", "mobile.twitter.com": "X",
		"google.com": "Google", "google.de": "Google", "google.co.uk": "Google", "google.com.br": "Google", "cse.google.com": "Google",
		"mail.google.com": "Gmail", "docs.google.com": "Google Docs", "eur01.safelinks.protection.outlook.com": "Outlook",
		"amazon.co.jp": "Amazon", "search.yahoo.com": "Yahoo", "yandex.com.tr": "Yandex", "out.reddit.com": "Reddit", "de.wikipedia.org": "Wikipedia",
		"com.google.android.gm": "Gmail (Android app)", "com.slack": "Slack (Android app)", "com.facebook.katana": "Facebook (Android app)",
	} {
		expect.Equal(t, Site(host), want, host)
	}
}

// A name must not vouch for a host that only looks like the site's.
func TestOtherHostsHaveNoName(t *testing.T) {
	for _, host := range []string{
		"", ".", "com", "example.org", "google", "google.example.com", "google.example", "google.evil.de", "notgoogle.com", "google.com.evil.com",
		"facebook.com.evil.org", "myfacebook.com", "xfacebook.com", "t.com", "at.co", "x.org", "amazon.ab1", "google.co.ukx", "google..de", "google.1a",
		"localhost", "192.0.2.1", "[2001:db8::1]", "com.example.app", "direct", "other", "pinterest",
	} {
		expect.Equal(t, Site(host), "", "%q", host)
	}
}

// The longest host must not cost much: each visitor can send one.
func TestALongHostHasNoName(t *testing.T) {
	expect.Equal(t, Site(strings.Repeat("a.", 126)+"b"), "")
}

func TestNoDomainIsOfTwoSites(t *testing.T) {
	domains := 0
	for name, all := range siteHosts {
		expect.That(t, name != "" && strings.TrimSpace(name) == name && IsSite(name), "%q", name)
		for _, domain := range strings.Fields(all) {
			domains++
			expect.Equal(t, domain, strings.ToLower(domain))
			expect.That(t, !strings.HasPrefix(domain, "www."), "%s is never stored so", domain)
		}
	}
	expect.Equal(t, len(sites), domains)
}

func TestDevicesAndBrowsersHavePlainNames(t *testing.T) {
	for value, want := range map[string]string{"mobile": "Phone", "tv": "TV", "Firefox": "Firefox", "other": "other"} {
		expect.Equal(t, Agent(value), want)
	}
}
