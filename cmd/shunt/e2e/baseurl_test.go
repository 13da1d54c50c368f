package e2e

import (
	"path/filepath"
	"regexp"
	"testing"
)

func TestOfflineCommandsPrintTheAddressesOfTheServer(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, "shunt-data")
	run := func(args ...string) result { return shunt(t, home, nil, args...) }
	wantAddress := func(baseURL string, args ...string) {
		t.Helper()
		run(append([]string{"ls", "--json"}, args...)...).want(t, exitDone, `"short_url":"`+regexp.QuoteMeta(baseURL)+`/a"`, "")
		run(append([]string{"export"}, args...)...).want(t, exitDone, `"short_url":"`+regexp.QuoteMeta(baseURL)+`/a"`, "")
		run(append([]string{"add", "https://example.org", "--alias", "a"}, args...)...).want(t, exitDone, `^`+regexp.QuoteMeta(baseURL)+`/a\n$`, "")
	}
	run("token", "add", "--name", "n", "--init")
	run("add", "https://example.org", "--alias", "a").want(t, exitDone, `^http://127\.0\.0\.1:8080/a\n$`, "") // no server has run yet

	startServer(t, dir, "--base-url", "https://sho.rt").terminate()
	wantAddress("https://sho.rt")
	wantAddress("https://go.example", "--base-url", "https://go.example")
	wantAddress("https://acme.example", "--acme-domain", "acme.example")
	wantAddress("https://sho.rt", "--listen", ":80") // a server that listens elsewhere has a base URL
	run("add", "https://sho.rt/a").want(t, exitFailed, "", "must not lead back to this server")

	run("backup", "saved").want(t, exitDone, ".", ".")
	run("restore", "saved", "--data", "restored").want(t, exitDone, ".", "")
	wantAddress("https://sho.rt", "--data", "restored")

	p := startServer(t, dir) // on a port that it chooses
	p.kill()
	wantAddress(p.public)
}
