package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAHostAddedToTheBlockListStopsRedirecting(t *testing.T) {
	t.Parallel()
	list := writeFile(t, "block.txt", "other.example\nthis is no host\n")
	p := startServer(t, filepath.Join(t.TempDir(), "data"), "--block-list", list, "--root-redirect", "https://example.org/home")
	shunt(t, "", nil, "add", "https://www.evil.example/", "--alias", "x", "--data", p.dir).want(t, exitDone, "/x\n", "")
	shunt(t, "", nil, "add", "https://OTHER.example./", "--data", p.dir).want(t, exitFailed, "", "blocked")
	if got, _ := fetch(t, p.public+"/x"); got != http.StatusFound {
		t.Fatalf("before: got %d, want 302", got)
	}
	must(t, os.WriteFile(list, []byte("evil.example\n"), 0o600))
	status := 0
	for patience := time.Now().Add(20 * time.Second); status != http.StatusForbidden && time.Now().Before(patience); {
		status, _ = fetch(t, p.public+"/x")
	}
	if status != http.StatusForbidden {
		t.Errorf("afterwards: got %d, want 403", status)
	}
	if got, _ := fetch(t, p.public+"/"); got != http.StatusFound {
		t.Errorf("/: got %d, want 302", got)
	}
	p.terminate()
	if log := p.stderr(); strings.Count(log, `"line":2`) != 1 || !strings.Contains(log, "the block list has changed") {
		t.Errorf("got the log\n%s\nwant line 2 named once, and the change", log)
	}
}

func TestAnUnreadableBlockListStopsTheStart(t *testing.T) {
	dir := t.TempDir()
	for name, path := range map[string]string{"it is not there": "/does/not/exist.txt", "it is a folder": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			r := shunt(t, dir, []string{"SHUNT_BLOCK_LIST=" + path}, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
			r.want(t, exitFailed, "", "--block-list: ")
		})
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the folder has %v, %v, want nothing made", entries, err)
	}
}

func TestARootRedirectMustBeATarget(t *testing.T) {
	dir := t.TempDir()
	for _, bad := range []string{"home", "javascript:alert(1)", "https://user@example.org/"} {
		r := shunt(t, dir, nil, "serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--root-redirect", bad)
		r.want(t, exitUsage, "", "--root-redirect")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the folder has %v, %v, want nothing made", entries, err)
	}
}

func TestACountryHeaderNeedsATrustedProxy(t *testing.T) {
	for _, args := range []string{"--country-header CF-IPCountry", "--country-header CF:IPCountry --trusted-proxy 127.0.0.1"} {
		r := shunt(t, t.TempDir(), nil, append([]string{"serve"}, strings.Fields(args)...)...)
		r.want(t, exitUsage, "", "--country-header")
	}
}
