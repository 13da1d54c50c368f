package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// Both services may have the same code, so an address of another service must not change a link of
// this one.
func TestAnAddressOfAnotherServerIsRefusedByEveryCommand(t *testing.T) {
	t.Parallel()
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
