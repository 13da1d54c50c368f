package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestALinkIsNamedByItsCodeOrItsShortAddress(t *testing.T) {
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
		"/spring":                              {"spring", "http:///spring"}, // of no host, so of no server
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
		if usage := (usageError{}); got != want || errors.As(err, &usage) != (want == linkName{}) {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
}

// The same code may be in use at both, so an address of another service must not change a link of
// this one.
func TestAnAddressOfAnotherServerIsRefusedByEveryCommand(t *testing.T) {
	alone := filepath.Join(t.TempDir(), "data")
	startServer(t, alone, "--base-url", "https://sho.rt").terminate()
	beside := startServer(t, filepath.Join(t.TempDir(), "data"), "--base-url", "https://sho.rt")
	remote := startServer(t, filepath.Join(t.TempDir(), "data"), "--base-url", "https://sho.rt", "--private-targets", "allow")
	for name, where := range map[string]struct{ args, env, own []string }{
		"alone":    {[]string{"--data", alone}, nil, nil},
		"beside":   {[]string{"--data", beside.dir}, nil, nil},
		"--server": {[]string{"--server", remote.public}, []string{"SHUNT_TOKEN=" + remote.token()}, []string{remote.public + "/promo"}},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(args ...string) result {
				t.Helper()
				return shunt(t, t.TempDir(), where.env, append(args, where.args...)...)
			}
			run("add", "https://example.org/", "--alias", "promo").want(t, exitDone, `^https://sho\.rt/promo\n$`, "")
			commands := [][]string{{"show"}, {"stats"}, {"edit", "--title", "T"}, {"rm"}}
			for _, command := range commands {
				for address, host := range map[string]string{
					"https://bit.ly/promo": "bit.ly", "bit.ly/promo": "bit.ly", "https://sho.rt.evil.example/promo": "sho.rt.evil.example",
					"https://sho.rt:8443/promo": "sho.rt:8443", "http://127.0.0.1:1/promo": "127.0.0.1:1", "https://sho.rt@bit.ly/promo": "sho.rt@bit.ly",
				} {
					run(append(command, address)...).want(t, exitUsage, "",
						`^shunt: `+command[0]+` \S+: `+strings.ReplaceAll(host, ".", `\.`)+` is not this server \(sho\.rt\)\n$`)
				}
			}
			own := append(where.own, "promo", "https://sho.rt/promo", "http://SHO.rt:80/promo/", "sho.rt/promo", "https://sho.rt/promo+?a=b")
			for _, command := range commands[:3] {
				for _, address := range own {
					run(append(command, address)...).want(t, exitDone, "hits", "")
				}
			}
			run("rm", "https://sho.rt/promo").want(t, exitDone, "", "")
			run("rm", "https://sho.rt/promo").want(t, exitFailed, "", `404 not_found`)
		})
	}
}
