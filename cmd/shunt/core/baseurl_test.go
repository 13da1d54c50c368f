package core

import (
	"strings"
	"testing"

	"shunt/engine/expect"
)

func TestTheBaseURLOfAnACMEDomainIsThatDomain(t *testing.T) {
	for want, s := range map[string]Data{
		"https://sho.example":    {Listen: ":443", ACMEDomain: "sho.example"},
		"https://other.example":  {Listen: ":443", ACMEDomain: "sho.example", BaseURL: "https://other.example"},
		"https://127.0.0.1:4711": {Listen: "127.0.0.1:0", Secure: true},
	} {
		got, err := s.ResolveBaseURL("127.0.0.1:4711")
		expect.That(t, err == nil && got == want, "got %s, %v, want %s", got, err, want)
	}
}

func TestTheBaseURLFollowsOnlyFromALoopbackAddress(t *testing.T) {
	for name, c := range map[string]struct{ listen, baseURL, actual, want string }{
		"the default":               {"127.0.0.1:8080", "", "127.0.0.1:8080", "http://127.0.0.1:8080"},
		"a port that was drawn":     {"127.0.0.1:0", "", "127.0.0.1:4711", "http://127.0.0.1:4711"},
		"IPv6":                      {"[::1]:8080", "", "[::1]:8080", "http://[::1]:8080"},
		"localhost":                 {"localhost:8080", "", "127.0.0.1:8080", "http://localhost:8080"},
		"port 80":                   {"127.0.0.1:80", "", "127.0.0.1:80", "http://127.0.0.1"},
		"given":                     {"127.0.0.1:8080", "https://sho.rt", "127.0.0.1:8080", "https://sho.rt"},
		"given, every address":      {":8080", "https://sho.rt", "[::]:8080", "https://sho.rt"},
		"every address":             {":8080", "", "[::]:8080", ""},
		"an address of the network": {"192.168.1.5:8080", "", "192.168.1.5:8080", ""},
		"a name":                    {"sho.rt:8080", "", "192.0.2.1:8080", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := Data{Listen: c.listen, BaseURL: c.baseURL}
			got, err := s.ResolveBaseURL(c.actual)
			expect.That(t, got == c.want && (err == nil) == (c.want != ""), "got %q, %v, want %q", got, err, c.want)
			expect.That(t, err == nil || strings.Contains(err.Error(), "--base-url"), "got %q, want it to name the flag", err)
		})
	}
}

func TestABaseURLDoesNotNameThePortOfItsScheme(t *testing.T) {
	for text, want := range map[string]string{
		"https://sho.rt:443/": "https://sho.rt", "http://sho.rt:80": "http://sho.rt", "HTTPS://Sho.rt:443": "https://sho.rt", "https://[::1]:443": "https://[::1]",
		"https://sho.rt:80": "https://sho.rt:80", "http://sho.rt:443": "http://sho.rt:443", "http://sho.rt:8080": "http://sho.rt:8080",
	} {
		got, err := ParseOrigin(text)
		expect.That(t, err == nil && got == want, "%s: got %q, %v, want %s", text, got, err, want)
	}
}
