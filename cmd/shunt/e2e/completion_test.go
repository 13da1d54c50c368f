package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

func TestEveryShellGetsAScript(t *testing.T) {
	t.Parallel()
	for _, shell := range shells {
		r := shunt(t, "", nil, "completion", shell)
		if r.code != exitDone || r.stderr != "" || len(r.stdout) < 1000 || !strings.Contains(r.stdout, "__complete") {
			t.Errorf("%s: got exit code %d, %d bytes, %q", shell, r.code, len(r.stdout), r.stderr)
		}
		if _, err := exec.LookPath(shell); err != nil || shell == "powershell" {
			continue // it is not installed here
		}
		check := exec.Command(shell, "-n")
		check.Stdin = strings.NewReader(r.stdout)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s does not read its script: %v\n%s", shell, err, out)
		}
	}
}
