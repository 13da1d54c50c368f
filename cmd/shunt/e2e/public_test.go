package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

func TestAHostAddedToTheBlockListStopsRedirecting(t *testing.T) {
	t.Parallel()
	list := writeFile(t, "block.txt", "other.example\nthis is no host\n")
	p := startServer(t, filepath.Join(t.TempDir(), "data"), "--block-list", list, "--root-redirect", "https://example.org/home")
	shunt(t, "", nil, "add", "https://www.evil.example/", "--alias", "x", "--data", p.dir).want(t, exitDone, "/x\n", "")
	shunt(t, "", nil, "add", "https://OTHER.example./", "--data", p.dir).want(t, exitFailed, "", "blocked")
	got, _ := fetch(t, p.public+"/x")
	expect.MustEqual(t, got, http.StatusFound, "before")
	expect.OK(t, os.WriteFile(list, []byte("evil.example\n"), 0o600))
	await(t, "the link is refused", 20*time.Second, func() bool {
		status, _ := fetch(t, p.public+"/x")
		return status == http.StatusForbidden
	})
	got, _ = fetch(t, p.public+"/")
	expect.Equal(t, got, http.StatusFound, "/")
	p.terminate()
	if log := p.stderr(); strings.Count(log, `"line":2`) != 1 || !strings.Contains(log, "the block list has changed") {
		t.Errorf("got the log\n%s\nwant line 2 named once, and the change", log)
	}
}
