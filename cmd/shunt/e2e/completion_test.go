package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"shunt/engine/expect"
)

func TestEveryShellGetsAScript(t *testing.T) {
	t.Parallel()
	for _, shell := range shells {
		r := shunt(t, "", nil, "completion", shell)
		expect.That(t, r.code == exitDone && r.stderr == "" && len(r.stdout) >= 1000 && strings.Contains(r.stdout, "__complete"),
			"%s: got exit code %d, %d bytes, %q", shell, r.code, len(r.stdout), r.stderr)
		if _, err := exec.LookPath(shell); err != nil || shell == "powershell" {
			continue // it is not installed here
		}
		check := exec.Command(shell, "-n")
		check.Stdin = strings.NewReader(r.stdout)
		out, err := check.CombinedOutput()
		expect.That(t, err == nil, "%s does not read its script: %v\n%s", shell, err, out)
	}
}
