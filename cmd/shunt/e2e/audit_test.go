package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
)

// A change is an entry of the audit log, as `shunt audit --json` prints it.
type change struct {
	ID, Action, Code, Network string
	Actor                     struct{ Email, Via string }
	RequestID                 string `json:"request_id"`
}

// changes returns what `shunt audit --json --all` prints, the newest first.
func changes(t *testing.T, args ...string) (list []change) {
	t.Helper()
	r := shunt(t, "", nil, append([]string{"audit", "--json", "--all"}, args...)...)
	expect.MustEqual(t, r.code, exitDone, "audit: exit code: %s", r.stderr)
	for line := range strings.Lines(r.stdout) {
		var c change
		expect.OK(t, json.Unmarshal([]byte(line), &c), line)
		list = append(list, c)
	}
	return list
}

// A change and its entry are on disk together, or neither is.
func TestAKilledServerHasAnEntryForEachLinkAndNoOther(t *testing.T) {
	t.Parallel()
	const leastOfARound = 8
	dir := filepath.Join(t.TempDir(), "data")
	made := map[string]bool{} // codes of answered creates
	for round := range 3 {
		p := startServer(t, dir, "--limit-creates", "off")
		token := p.token()
		var clients sync.WaitGroup
		var mu sync.Mutex
		for client := range 8 {
			clients.Go(func() {
				for n := 0; ; n++ {
					code := fmt.Sprintf("r%dc%dn%d", round, client, n)
					switch send(p.public+"/api/v1/shorten", token, `{"url":"https://example.org/","alias":"`+code+`"}`, "") {
					case http.StatusCreated:
						mu.Lock()
						made[code] = true
						mu.Unlock()
					case http.StatusServiceUnavailable: // on a busy disk nobody may be told whether it is made
					default:
						return
					}
				}
			})
		}
		waited := await(t, "enough creates are answered", time.Minute, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(made) >= (round+1)*leastOfARound
		})
		killAfter(t, p, max(0, time.Duration(200+100*round)*time.Millisecond-waited))
		clients.Wait()
		<-p.ended
	}
	audited := map[string]int{}
	for _, c := range changes(t, "--data", dir) {
		if c.Action == "link.created" {
			audited[c.Code]++
		}
	}
	links := shunt(t, "", nil, "export", "--owner", "all", "--data", dir).stdout
	there := 0
	for _, match := range regexp.MustCompile(`"code":"(\w+)"`).FindAllStringSubmatch(links, -1) {
		if there++; audited[match[1]] != 1 {
			t.Errorf("link %s has %d entries", match[1], audited[match[1]])
		}
	}
	for code := range made {
		expect.Equal(t, audited[code], 1, "the create of %s was answered, and entries", code)
	}
	expect.That(t, there == len(audited), "%d links and %d entries of creates", there, len(audited))
}

func TestTheAuditLogHasNoSecretAndANetworkOnlyIfToldTo(t *testing.T) {
	t.Parallel()
	for kept, want := range map[string]string{"off": "", "network": "198.51.100.0/24"} {
		t.Run(kept, func(t *testing.T) {
			t.Parallel()
			p := startServer(t, filepath.Join(t.TempDir(), "data"), "--audit-clients", kept, "--trusted-proxy", "127.0.0.1", "--base-url", "https://sho.rt")
			token := p.token()
			n := newNeedles()
			n.addText("token", token)
			const address = "198.51.100.77"
			n.addText("address", address)
			for name, call := range map[string][2]string{
				"password":         {"/users", `{"email":"ann@example.com","password":"PlantedPassword1"}`},
				"another password": {"/users", `{"email":"bob@example.com","password":"PlantedPassword2"}`},
			} {
				n.addText(name, call[1][strings.Index(call[1], "Planted"):len(call[1])-2])
				expect.MustEqual(t, send(p.public+"/api/v1"+call[0], token, call[1], address), http.StatusCreated, call[1])
			}
			setup := shunt(t, "", nil, "user", "setup-link", "ann@example.com", "--data", p.dir)
			setup.want(t, exitDone, `^https://sho.rt/\S{20,}\n$`, "once")
			link := strings.TrimSpace(setup.stdout)
			n.addText("setup code", link[len(link)-20:])
			n.addText("second token", p.token("links:write"))
			expect.MustEqual(t, send(p.public+"/api/v1/shorten", token, `{"url":"https://example.org/","alias":"one"}`, address), http.StatusCreated)
			list := changes(t, "--data", p.dir, "--code", "one")
			expect.That(t, len(list) == 1 && list[0].Network == want && list[0].Actor.Via == "token" && list[0].RequestID != "",
				"got %+v, want the network %q", list, want)
			n.search("audit", []byte(shunt(t, "", nil, "audit", "--json", "--all", "--data", p.dir).stdout))
			p.terminate()
			n.searchFolder(t, "data", p.dir)
			expect.That(t, len(n.found) == 0, "kept: %v", n.found)
		})
	}
}
