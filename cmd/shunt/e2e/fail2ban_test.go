package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// TestFail2banReadsTheLog runs the filter of cmd/deploy by fail2ban's own program over what the
// server has logged about a wrong token and a wrong password, in both forms.
func TestFail2banReadsTheLog(t *testing.T) {
	if os.Getenv("SHUNTTEST_FAIL2BAN") == "" {
		t.Skip("make fail2ban runs this test: it needs Debian's package fail2ban")
	}
	filter, err := filepath.Abs("../../deploy/fail2ban/filter.d/shunt.conf")
	expect.OK(t, err)
	for _, format := range []string{"text", "json"} {
		t.Run("format="+format, func(t *testing.T) {
			p := launch(t, t.TempDir(), "--log-format", format).waitReady()
			for path, body := range map[string]string{"/tokens": `{"name":"x"}`, "/session": `{"email":"ann@example.com","password":"x"}`} {
				r := do(t, "POST", p.public+"/api/v1"+path, body, withToken("x")...)
				expect.MustEqual(t, r.StatusCode, http.StatusUnauthorized, "%s %s", path, r.text)
			}
			p.terminate()
			log := filepath.Join(t.TempDir(), "log")
			expect.OK(t, os.WriteFile(log, []byte(p.stderr()), 0o600))
			out, err := exec.Command("fail2ban-regex", "-o", "<ip>", log, filter).CombinedOutput()
			got := strings.Fields(string(out))
			expect.That(t, err == nil && strings.Join(got, " ") == "127.0.0.1 127.0.0.1", "got %q, %v from\n%s", got, err, p.stderr())
		})
	}
}
