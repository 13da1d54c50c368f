package e2e

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestEveryShellGetsAScript(t *testing.T) {
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

func TestShellsCompleteWordsAndFolders(t *testing.T) {
	for _, c := range []struct{ typed, want string }{ // the script keeps those that begin with the word
		{"serve --log-format ", "text json :4"},
		{"serve --log-level d", "debug info warn error :4"},
		{"serve --private-targets ", "allow refuse auto :4"},
		{"serve --role ", "full edge :4"},
		{"serve --cluster-key ", ":0"},
		{"stats x --interval ", "hour day :4"},
		{"ls --state ", "active expired exhausted blocked disabled :4"},
		{"add https://a.example --status 30", "301 302 307 308 :4"},
		{"token add --scopes links:read,sta", "links:read,links:read links:read,links:write links:read,stats:read links:read,tokens:write links:read,admin :6"},
		{"serve --data ", ":16"},
		{"serve --config ", ":0"},
		{"serve --listen ", ":4"},
		{"backup ", ":16"},
		{"import ", ":0"},
		{"rm ", ":4"},
		{"completion ", "bash zsh fish powershell :4"},
		{"del", ":4"},
		{"help token ", "add ls rm :4"},
		{"cluster ", "admit forget leave refuse :4"},
		{"join --role e", "full edge :4"},
	} {
		words := strings.Split(c.typed, " ")
		r := shunt(t, "", nil, append([]string{"__completeNoDesc"}, words...)...)
		if got := strings.Join(strings.Fields(r.stdout), " "); got != c.want || r.code != exitDone {
			t.Errorf("%q: got %d, %q, want %q", c.typed, r.code, got, c.want)
		}
	}
	if got := shunt(t, "", nil, "__completeNoDesc", "serve", "--acme-d").stdout; !slices.Contains(strings.Fields(got), "--acme-domain") {
		t.Errorf("got %q, want the flags of serve", got)
	}
}
