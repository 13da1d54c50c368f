package links

import (
	"errors"
	"strings"
	"testing"

	"shunt/cmd/shunt/settings"
)

func TestALinkIsNamedByCodeOrShortAddress(t *testing.T) {
	for text, want := range map[string]linkName{
		"spring":                               {code: "spring"},
		"-":                                    {code: "-"},
		"https://sho.rt/spring":                {"spring", "https://sho.rt/spring"},
		"HTTPS://SHO.RT/Spring/":               {"Spring", "HTTPS://SHO.RT/Spring/"},
		"sho.rt/spring":                        {"spring", "http://sho.rt/spring"},
		"localhost:8080/spring":                {"spring", "http://localhost:8080/spring"},
		"http://[::1]:80/a-b_C":                {"a-b_C", "http://[::1]:80/a-b_C"},
		"https://sho.rt/spring+":               {"spring", "https://sho.rt/spring+"},
		"https://sho.rt/spring.svg":            {"spring", "https://sho.rt/spring.svg"},
		"https://sho.rt/spring.png?size=64":    {"spring", "https://sho.rt/spring.png?size=64"},
		"https://sho.rt/spring?utm_source=a/b": {"spring", "https://sho.rt/spring?utm_source=a/b"},
		"https://sho.rt/spring#top":            {"spring", "https://sho.rt/spring#top"},
		"":                                     {},
		"bit.ly":                               {},
		"a b":                                  {},
		"spring+":                              {},
		"/spring":                              {code: "spring"},
		"/spring+":                             {code: "spring"},
		"/spring?utm_source=a/b":               {code: "spring"},
		"//spring":                             {},
		"/":                                    {},
		"http:///spring":                       {},
		"a/b/c":                                {},
		"https://sho.rt":                       {},
		"https://sho.rt/":                      {},
		"https://sho.rt//spring":               {},
		"https://sho.rt/%73pring":              {},
		"https://sho.rt/spring.gif":            {},
		"https://sho.rt/spring//":              {},
		"ftp://sho.rt/spring":                  {},
		"https://sho.rt/" + strings.Repeat("a", 65): {},
	} {
		got, err := parseLinkName(text)
		if usage := (settings.UsageError{}); got != want || errors.As(err, &usage) != (want == linkName{}) {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
}
