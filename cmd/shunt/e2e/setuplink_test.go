package e2e

import (
	"net/http"
	"path/filepath"
	"testing"

	"shunt/engine/expect"
)

// aboutLink is what user setup-link says on standard error.
const aboutLink = `^shunt: it works once, until \d\d:\d\d UTC\n$`

func TestASetupLinkIsMadeOnlyWithTheFolder(t *testing.T) {
	t.Parallel()
	p := startServer(t, filepath.Join(t.TempDir(), "data"))
	token := p.token("admin")
	expect.Equal(t, do(t, "POST", p.public+"/api/v1/setup-links", "{}", withToken(token)...).StatusCode, http.StatusNotFound, "over the network")
}
