package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"shunt/engine/expect"
)

const browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

// clients make links at a server and follow them, and keep what was answered.
type clients struct {
	t      *testing.T
	p      *process
	token  string
	sent   atomic.Uint64 // visits that were started
	stop   atomic.Bool
	joined sync.WaitGroup

	mu      sync.Mutex
	moved   *sync.Cond
	codes   []string // of links that were answered
	unknown uint64   // links of which the server did not say in time whether they are there
	hits    uint64   // visits that were answered
}

func startClients(t *testing.T, p *process) *clients {
	c := &clients{t: t, p: p, token: p.token()}
	c.moved = sync.NewCond(&c.mu)
	for i := range 2 {
		c.joined.Go(func() { c.make(i) })
		c.joined.Go(func() { c.visit(i) })
	}
	return c
}

func (c *clients) end() {
	c.stop.Store(true)
	c.joined.Wait()
}

func (c *clients) did(note func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	note()
	c.moved.Broadcast()
}

// acknowledged waits until at least links and hits were answered, and returns which and how many.
func (c *clients) acknowledged(links int, hits uint64) (codes []string, answered uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.stop.Load() && (len(c.codes) < links || c.hits < hits) {
		c.moved.Wait()
	}
	return append([]string{}, c.codes...), c.hits
}

func (c *clients) request(client *http.Client, method, path, body string) (int, error) {
	request, err := http.NewRequest(method, c.p.public+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("User-Agent", browser)
	if body != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

func noRedirects() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (c *clients) fail(format string, args ...any) {
	c.t.Errorf(format, args...)
	c.did(func() { c.stop.Store(true) })
}

func (c *clients) make(n int) {
	client := noRedirects()
	defer client.CloseIdleConnections()
	for i := 0; !c.stop.Load(); i++ {
		code := fmt.Sprintf("c%d-%d", n, i)
		body := fmt.Sprintf(`{"url":"https://example.org/%s","alias":%q,"tags":["load"]}`, code, code)
		switch status, err := c.request(client, "POST", "/api/v1/shorten", body); {
		case status == http.StatusServiceUnavailable: // on a busy disk a write may take longer than its client waits
			c.did(func() { c.unknown++ })
		case status != http.StatusCreated:
			c.fail("%s: got %d, %v", code, status, err)
			return
		default:
			c.did(func() { c.codes = append(c.codes, code) })
		}
	}
}

func (c *clients) visit(n int) {
	client := noRedirects()
	defer client.CloseIdleConnections()
	codes, _ := c.acknowledged(10, 0)
	for i := n; !c.stop.Load(); i++ {
		c.sent.Add(1)
		if status, err := c.request(client, "GET", "/"+codes[i%10], ""); status != 302 {
			c.fail("got %d, %v", status, err)
			return
		}
		c.did(func() { c.hits++ })
	}
}

// printed decodes the output of a command.
func printed[T any](t *testing.T, r result) (v T) {
	t.Helper()
	err := json.Unmarshal([]byte(r.stdout), &v)
	expect.MustThat(t, err == nil, "exit code %d: %q: %v\n%s", r.code, r.stdout, err, r.stderr)
	return v
}

func TestABackupUnderLoadHasEverythingThatWasAnsweredBefore(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir, journals := filepath.Join(home, "data"), filepath.Join(home, "journals")
	p := startServer(t, dir, "--journal-dir", journals, "--flush-interval", "1h")
	c := startClients(t, p)
	defer c.end()
	for i := range 2 {
		target, restored := filepath.Join(home, fmt.Sprintf("backup %d", i)), filepath.Join(home, fmt.Sprintf("restored %d", i))
		codes, answered := c.acknowledged(50*(i+1), uint64(100*(i+1)))
		r := shunt(t, home, nil, "backup", filepath.Base(target), "--data", dir, "--json")
		sent := c.sent.Load()
		done := printed[backupDone](t, r)
		expect.MustThat(t, r.code == exitDone && done.Dir == target && done.Links >= uint64(len(codes)) && done.Bytes != 0,
			"got %+v, exit code %d: %s", done, r.code, r.stderr)
		if found := printed[checkOutcome](t, shunt(t, home, nil, "check", "--data", dir, "--json")); !found.OK || !found.Live {
			t.Errorf("while the server runs: got %+v", found)
		}
		found := printed[checkOutcome](t, shunt(t, home, nil, "check", "--data", target, "--json"))
		expect.That(t, found.OK && found.Backup && found.Records.Links >= uint64(len(codes)), "the backup: got %+v", found)
		shunt(t, home, nil, "restore", target, "--data", restored).want(t, exitDone, "restored .* to .*restored", "")
		compareRestored(t, restored, journals, codes, answered, sent)
	}
	c.end()
	p.terminate()
	found := printed[checkOutcome](t, shunt(t, home, nil, "check", "--data", dir, "--json"))
	expect.That(t, found.OK && !found.Live && found.Journal.Waiting <= 0, "after all: got %+v", found)
}

// compareRestored serves a restored folder and compares it with what was answered. It uses the
// journal folder of the original, which has hits that are not in the backup.
func compareRestored(t *testing.T, restored, journals string, codes []string, answered, sent uint64) {
	t.Helper()
	before := listing(t, journals)
	p := startServer(t, restored, "--journal-dir", journals)
	defer p.terminate()
	for name := range strings.Lines(before) {
		expect.Contains(t, listing(t, journals), strings.Fields(name)[0], "the restored server has removed %s of the original's journal", name)
	}
	token := p.token("admin", "links:read", "stats:read") // admins have no rate limit, and there are thousands of calls
	hits := uint64(0)
	for i, code := range codes {
		var link struct {
			URL  string
			Tags []string
		}
		err := json.Unmarshal([]byte(ask(t, p.public+"/api/v1/links/"+code, token)), &link)
		expect.That(t, err == nil && link.URL == "https://example.org/"+code, "%s: got %+v, %v", code, link, err)
		if i < 20 { // only the first links are followed
			stats := struct{ Hits uint64 }{}
			expect.NoError(t, json.Unmarshal([]byte(ask(t, p.public+"/api/v1/stats/"+code, token)), &stats))
			hits += stats.Hits
		}
	}
	expect.That(t, hits >= answered && hits <= sent, "got %d hits, want from %d to %d", hits, answered, sent)
}

func TestAnOfflineBackupHasTheHitsOfAKilledServer(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, "data")
	p := startServer(t, dir, append([]string{"--flush-interval", "1h"}, journalInMemory(t)...)...)
	c := startClients(t, p)
	c.acknowledged(10, 50)
	c.end()
	hits := c.hits
	p.kill()
	found := printed[checkOutcome](t, shunt(t, home, nil, "check", "--data", dir, "--json"))
	expect.That(t, found.OK && found.Journal.Waiting == hits, "got %+v, want %d waiting hits", found, hits)
	shunt(t, home, nil, "backup", "b", "--data", dir).want(t, exitDone, `backed up \d+ links, .* to .*b\n`, "copy it to another disk")
	shunt(t, home, nil, "restore", "b", "--data", "new").want(t, exitDone, "restored", "")
	restored := printed[checkOutcome](t, shunt(t, home, nil, "check", "--data", "new", "--json"))
	links, made := restored.Records.Links, uint64(len(c.codes))
	expect.That(t, restored.OK && restored.Records.LinkHours != 0 && links >= made && links <= made+c.unknown,
		"got %+v; %d links were made, %d may have been", restored, made, c.unknown)
}

func TestCheckReportsAndRestoreRefusesDamage(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	startServer(t, filepath.Join(home, "data")).terminate()
	p := startServer(t, filepath.Join(home, "data")) // writes the log of the first into a table file
	c := startClients(t, p)
	c.acknowledged(20, 20)
	c.end()
	shunt(t, home, nil, "backup", "b", "--data", "data").want(t, exitDone, "backed up", "copy it")
	p.kill()
	damage := func(pattern string, at int) {
		files, err := filepath.Glob(filepath.Join(home, pattern))
		expect.MustThat(t, err == nil && len(files) != 0, "%s: %v", pattern, err)
		text, err := os.ReadFile(files[0])
		text[at] ^= 1
		expect.OK(t, errors.Join(err, os.WriteFile(files[0], text, 0o600)))
	}
	damage("data/journal/ring-*-00", 20)
	r := shunt(t, home, nil, "check", "--data", "data")
	r.want(t, exitFailed, `faults +1\n  \S+/data/journal/ring-\S+: .*damaged header`, "the data has faults: 1")
	found := printed[checkOutcome](t, shunt(t, home, nil, "check", "--data", "data", "--json"))
	expect.That(t, !found.OK && found.FaultCount == 1 && len(found.Faults) == 1, "got %+v", found)
	damage("b/db/*.sst", 20)
	shunt(t, home, nil, "restore", "b", "--data", "new").want(t, exitFailed, "", `\.sst: it is damaged(.|\n)*nothing was restored`)
	expect.That(t, !exists(t, filepath.Join(home, "new")), "the damaged backup was restored")
}

// listing describes a folder with everything in it.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			text.WriteString(path + " " + info.Mode().String() + " " + info.ModTime().String() + "\n")
		}
		return err
	})
	expect.OK(t, err)
	return text.String()
}
