package e2e

import (
	"net/http"
	"path/filepath"
	"testing"
)

// aboutLink is what user setup-link says on standard error.
const aboutLink = `^shunt: it works once, until \d\d:\d\d UTC\n$`

func TestASetupLinkIsMadeOnlyWithTheFolder(t *testing.T) {
	t.Parallel()
	p := startServer(t, filepath.Join(t.TempDir(), "data"))
	token := p.token("admin")
	if r := do(t, "POST", p.public+"/api/v1/setup-links", "{}", withToken(token)...); r.StatusCode != http.StatusNotFound {
		t.Errorf("over the network: got %d, want 404", r.StatusCode)
	}
}
