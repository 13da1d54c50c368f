package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// aboutLink is what user setup-link says on standard error.
const aboutLink = `^shunt: it works once, until \d\d:\d\d UTC\n$`

func TestASetupLinkIsPrintedWhereverTheServerIs(t *testing.T) {
	t.Parallel()
	alone := filepath.Join(t.TempDir(), "data")
	beside := startServer(t, filepath.Join(t.TempDir(), "data"))
	p := startServer(t, alone)
	for dir, base := range map[string]string{alone: p.public, beside.dir: beside.public} {
		if dir == alone {
			p.terminate() // it leaves its base URL
		}
		link := `^` + regexp.QuoteMeta(base) + `/_/setup\?code=[\w-]{22}\n$`
		run := func(args ...string) result {
			return shunt(t, "", nil, append([]string{"user"}, append(args, "--data", dir)...)...)
		}
		run("setup-link").want(t, exitDone, link, aboutLink)
		run("ls").want(t, exitDone, `\n1 +admin +admin +none`, "")
		run("add", "ann@example.com").want(t, exitDone, "ann", "")
		run("setup-link", " Ann@Example.com").want(t, exitDone, link, aboutLink)
		run("setup-link", "admin").want(t, exitDone, link, aboutLink)
		run("setup-link", "--base-url", "https://sho.rt").want(t, exitDone, `/_/setup\?code=`, aboutLink)
		run("setup-link", "ann@example.com", "--json").want(t, exitDone,
			`(?s)^{\n  "url": "`+regexp.QuoteMeta(base)+`/_/setup\?code=[\w-]{22}",\n  "user": 2,\n  "expires_at": "\S+Z"\n}\n$`, "")
		run("setup-link", "ben@example.com").want(t, exitFailed, "", `^shunt: user setup-link: there is no user "ben@example.com"; 'shunt user ls' lists them\n$`)
		run("setup-link", "").want(t, exitUsage, "", `EMAIL is empty`)
		run("setup-link", "a@b.c", "d@e.f").want(t, exitUsage, "", `unexpected argument "d@e.f"`)
	}
	for _, log := range []string{p.stderr(), beside.stderr()} {
		if strings.Contains(log, "code=") {
			t.Errorf("the server's log has a setup code:\n%s", log)
		}
	}
}

func TestASetupLinkIsMadeOnlyWithTheFolder(t *testing.T) {
	t.Parallel()
	p := startServer(t, filepath.Join(t.TempDir(), "data"))
	token := p.token("admin")
	remote := []string{"SHUNT_TOKEN=" + token, "SHUNT_SERVER=" + p.public}
	shunt(t, "", remote, "user", "setup-link").want(t, exitUsage, "", `in its data folder \(--data\), not with --server`)
	if r := do(t, "POST", p.public+"/api/v1/setup-links", "{}", withToken(token)...); r.StatusCode != http.StatusNotFound {
		t.Errorf("over the network: got %d, want 404", r.StatusCode)
	}
	home := t.TempDir()
	shunt(t, home, nil, "user", "setup-link").want(t, exitFailed, "", regexp.QuoteMeta(filepath.Join(home, "shunt-data")))
	if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
		t.Errorf("the folder has %v, %v, want nothing made", entries, err)
	}
}
