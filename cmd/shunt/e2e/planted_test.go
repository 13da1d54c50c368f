package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/cmd/shunt/certs/certtest"
	"shunt/engine/expect"
)

// This test proves that nothing about visitors is kept: not in the data, the journal, a backup, the
// logs, or the metrics. With --log-clients on, the log names the clients of failed logins and refused
// tokens in lines of their own, and nobody else. The visitors and their requests are in plantedways_test.go, the search
// is in plantedsearch_test.go.

const plantedNumber = 1_000

// A plantation is a server that planted clients send requests to, and the places where it leaves
// traces.
type plantation struct {
	t                             *testing.T
	server                        *process
	dir, journal, backups, stdout string
	blocks                        string
	words                         map[string]string
	clients                       []*plantedClient
	needles                       *needles
	said                          []*process // whose logs are searched
	told                          []string   // other output: figures, metrics, output of commands
}

// plantedControls are values that are kept. For each it has the beginning or the end of the name of
// a place where the search must find the value: otherwise the search would find nothing else there
// either.
var plantedControls = map[string]string{
	"PlantedTitleThatIsKept":  ".sst, rows",    // in compressed tables
	"PlantedTitleThatIsNew":   ".log, records", // in the log of writes
	"kept-referrer.example":   "journal/",      // in the dictionary of hosts
	"PlantedTagThatIsKept":    "backup/",
	"kept-data-folder":        "log", // the server logs the path of its data
	"shunt_redirects_total":   "told",
	"PlantedAccount@kept.org": "data/",
}

func TestNothingAboutVisitorsIsKept(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	p := &plantation{
		t: t, dir: filepath.Join(root, "kept-data-folder"), journal: filepath.Join(root, "journal"), backups: filepath.Join(root, "backup"),
		stdout: filepath.Join(root, "stdout"), blocks: filepath.Join(root, "blocks"), clients: plantedClients(plantedNumber), needles: newNeedles(),
	}
	for _, c := range p.clients {
		c.plantIn(p.needles)
	}
	for control := range plantedControls {
		p.needles.addText(control, control)
	}
	p.pass("json")
	p.server.terminate()
	p.search("after SIGTERM")

	p.pass("text")
	for i := 0; i < plantedNumber; i += len(plantedWays) { // so that there is something to replay
		wayOf(i).send(t, p.server, p.clients[i], p.words)
	}
	p.server.kill()
	p.search("after kill -9")

	p.passTLS()
	p.server.terminate()
	p.search("after a replay and HTTPS")
	p.passNamed()
	p.search("without the lines of failures")
	p.wantControls()
	p.wantShortOnesByChance()
}

// start starts the server with the most verbose logs.
func (p *plantation) start(args ...string) {
	p.t.Helper()
	starter := []string{"sh", "-c", `out=$1; shift; exec "$@" >>"$out"`, "sh", p.stdout}
	args = append([]string{
		"--journal-dir", p.journal, "--trusted-proxy", "127.0.0.1", "--log-level", "debug", "--limit-misses", "2/h", "--limit-creates", "1/h",
		"--limit-logins", "1/h", "--block-list", p.blocks, "--base-url", "https://sho.example", "--private-targets", "allow",
		"--log-clients", "off",
	}, args...)
	p.server = launchThrough(p.t, starter, p.dir, args...).waitReady()
	p.said = append(p.said, p.server)
}

// pass starts the server, sends the requests of every client, and then reads everything that the
// server shows.
func (p *plantation) pass(logFormat string) {
	p.t.Helper()
	p.put(p.blocks, "")
	p.start("--log-format", logFormat)
	p.plant()
	for i, c := range p.clients {
		p.words["unique"] = fmt.Sprint(1_000_000 + len(p.said)*plantedNumber + i)
		wayOf(i).send(p.t, p.server, c, p.words)
	}
	p.told = append(p.told, ask(p.t, p.server.admin+"/metrics", ""))
	for _, path := range []string{
		"/stats/known?include=bots,referrers,countries,devices,browsers,durability,error", "/stats?top=1000&interval=day",
		"/misses?top=1000", "/users", "/tokens", "/links?limit=1000", "/export",
	} {
		p.told = append(p.told, ask(p.t, p.server.public+"/api/v1"+path, p.words["admin"]))
	}
	p.run("check", "--json")
	p.run("backup", filepath.Join(p.backups, logFormat))
}

// plant makes what the requests need: links in every state, a user, tokens.
func (p *plantation) plant() {
	p.t.Helper()
	if p.words == nil {
		p.words = map[string]string{
			"admin": p.server.token(), "reader": p.server.token("links:read"), "poor": p.server.token("links:write"),
		}
		for _, link := range [][]string{
			{"known", "--title", "PlantedTitleThatIsKept", "--tag", "PlantedTagThatIsKept"}, {"forward", "--forward-query"}, {"keep", "--status", "307"},
			{"capped", "--max-hits", "1"}, {"patched"}, {"blocked"},
		} {
			p.run(append([]string{"add", "https://" + link[0] + ".example/", "--alias"}, link...)...)
		}
		p.run("add", "https://expired.example/", "--alias", "expired", "--expires", time.Now().Add(4*time.Second).UTC().Format(time.RFC3339))
		p.run("user", "add", "PlantedAccount@kept.org")
		p.api("POST", "/users", `{"email":"ann@planted.example","password":"correct horse battery"}`)
	} else {
		p.run("add", "https://new.example/", "--title", "PlantedTitleThatIsNew")
	}
	ask(p.t, p.server.public+"/capped", "")
	p.put(p.blocks, "blocked.example\n")
	p.await("/blocked", 403)
	p.await("/expired", 410)
}

// await waits until path is answered with status.
func (p *plantation) await(path string, status int) {
	p.t.Helper()
	await(p.t, fmt.Sprintf("%s is answered with %d", path, status), 20*time.Second, func() bool {
		return do(p.t, "HEAD", p.server.public+path, "").StatusCode == status
	})
}

// passTLS starts the server with HTTPS, after a kill, and sends the requests of some clients over
// it.
func (p *plantation) passTLS() {
	p.t.Helper()
	certPEM, keyPEM := certtest.NewAuthority(p.t).Issue()
	files, plain := certtest.NewFolder(p.t, certPEM, keyPEM), freeAddress(p.t)
	p.start("--tls-cert", files.Cert, "--tls-key", files.Key, "--http-redirect-listen", plain)
	for _, c := range p.clients[:50] {
		c.sendTLS(p.t, p.server, plain)
	}
	p.told = append(p.told, ask(p.t, p.server.admin+"/metrics", ""))
}

// passNamed starts the server with --log-clients on, and sends the requests of some clients in every
// way. The lines of failures are checked and not searched: they, and nothing else, may have the
// address of a client, and only of one that failed to log in or sent a wrong token.
func (p *plantation) passNamed() {
	p.t.Helper()
	p.start("--log-format", "text", "--log-clients", "on")
	server := p.said[len(p.said)-1]
	p.said = p.said[:len(p.said)-1]
	ask(p.t, p.server.public+"/capped", "")
	named := make(map[string]string)
	for i, c := range p.clients[:2*len(plantedWays)] {
		p.words["unique"] = fmt.Sprint(3_000_000 + i)
		wayOf(i).send(p.t, p.server, c, p.words)
		named[c.address.String()] = wayOf(i).refused
	}
	p.server.terminate()
	lines := 0
	for line := range strings.Lines(server.stderr()) {
		m := failureLine.FindStringSubmatch(line)
		if m == nil {
			p.told = append(p.told, line)
			continue
		}
		lines++
		expect.Equal(p.t, named[m[2]], m[1], "the address of a client that did something else is named: %s", line)
		delete(named, m[2])
	}
	for address, message := range named {
		expect.Equal(p.t, message, "", "no line names %s", address)
	}
	p.t.Logf("%d lines name the clients of failures", lines)
}

// failureLine is the whole of a line that names a client.
var failureLine = regexp.MustCompile(`^time=\S+ level=WARN msg="(login failed|token refused)" client=(\S+) request_id=[0-9A-Za-z]{16}\n$`)

func (p *plantation) put(path, text string) {
	p.t.Helper()
	expect.OK(p.t, os.WriteFile(path, []byte(text), 0o600))
}

// run runs a command on the data and keeps its output.
func (p *plantation) run(args ...string) {
	p.t.Helper()
	r := shunt(p.t, "", nil, append(args, "--data", p.dir)...)
	expect.MustEqual(p.t, r.code, exitDone, "%s: %+v", strings.Join(args, " "), r)
	p.told = append(p.told, r.stdout, r.stderr)
}

// api sends a request that must succeed.
func (p *plantation) api(method, path, body string) {
	p.t.Helper()
	way := plantedWay{name: path, status: 201, line: method + " /api/v1" + path, fields: asAdmin, body: body}
	way.send(p.t, p.server, &plantedClient{what: "nobody", address: p.clients[0].address}, p.words)
}

// search searches every place where the server has left anything.
func (p *plantation) search(when string) {
	p.t.Helper()
	start, before := time.Now(), p.needles.searched
	for name, dir := range map[string]string{"data": p.dir, "journal": p.journal, "backup": p.backups} {
		p.needles.searchFolder(p.t, name, dir)
	}
	stdout, err := os.ReadFile(p.stdout)
	expect.OK(p.t, err)
	p.needles.search("stdout", stdout)
	for _, server := range p.said {
		p.needles.search("log", []byte(server.stderr()))
	}
	for _, text := range p.told {
		p.needles.search("told", []byte(text))
	}
	p.t.Logf("%s: searched %d MB in %v", when, (p.needles.searched-before)>>20, time.Since(start).Round(time.Millisecond))
	var whats []string
	for what, places := range p.needles.found {
		if strings.HasPrefix(what, "client ") {
			whats = append(whats, what)
			p.t.Logf("%s: in %q", what, places)
		}
	}
	expect.That(p.t, len(whats) == 0, "%s: values of %d of %d clients are kept; their requests were %q", when, len(whats), len(p.clients), wayNames(whats))
}

// wantControls checks that the values that are kept were found, so that the search reaches all of
// these places.
func (p *plantation) wantControls() {
	p.t.Helper()
	for _, control := range slices.Sorted(maps.Keys(plantedControls)) {
		want, places := plantedControls[control], p.needles.found[control]
		expect.That(p.t, slices.ContainsFunc(places, func(place string) bool { return strings.HasPrefix(place, want) || strings.HasSuffix(place, want) }),
			"%s is kept, but was found in %[3]q instead of %[2]s", control, want, places)
	}
}

// wantShortOnesByChance checks that the 4 bytes of IPv4 addresses were found only by chance. That
// happens once in 2³² places in each order, but not for many clients with the same kind of request.
func (p *plantation) wantShortOnesByChance() {
	p.t.Helper()
	found := map[string]int{}
	for i, c := range p.clients {
		if p.needles.foundShort[c.what] {
			found[wayOf(i).name]++
		}
	}
	const most = 4 // of the 14 or 15 clients of a way, each with one or two addresses
	for way, n := range found {
		expect.That(p.t, n <= most, "%s: the 4 bytes of %d clients' addresses are kept", way, n)
	}
	p.t.Logf("the 4 bytes of %d clients' addresses were found, spread over %d ways, in %d MB", len(p.needles.foundShort), len(found), p.needles.searched>>20)
}
