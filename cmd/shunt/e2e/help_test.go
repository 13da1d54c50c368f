package e2e

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var shownFlag = regexp.MustCompile(`(?m)^ +(?:-h, )?--([\w-]+)`)

// flagsOf returns the flags that the help of a command shows.
func flagsOf(t *testing.T, command string) (names []string) {
	t.Helper()
	r := shunt(t, "", nil, append(strings.Fields(command), "--help")...)
	for _, found := range shownFlag.FindAllStringSubmatch(r.stdout, -1) {
		names = append(names, found[1])
	}
	return names
}

func TestHelpShowsOnlySettingsThatTheCommandReads(t *testing.T) {
	for command, want := range map[string]string{
		"backup":          "config data help journal-dir json keep min-free-space skip-check tar to",
		"restore":         "config data help json skip-check tar",
		"version":         "help",
		"completion bash": "help",
		"health":          "admin-listen config help json live",
		"join":            "cluster cluster-ca cluster-cert cluster-file cluster-key config data from help json node-name role",
		"cluster":         "cluster cluster-ca cluster-cert cluster-file cluster-key config help json node-name",
		"cluster admit":   "cluster cluster-ca cluster-cert cluster-file cluster-key config help node-name",
		"cluster refuse":  "cluster cluster-ca cluster-cert cluster-file cluster-key config help node-name undo",
		"cluster forget":  "cluster cluster-ca cluster-cert cluster-file cluster-key config help node-name",
		"cluster leave":   "config data help",
	} {
		if got := strings.Join(flagsOf(t, command), " "); got != want {
			t.Errorf("%s: got %s, want %s", command, got, want)
		}
	}
	of := map[string][]string{ // settings that name a link, and those that only serve has
		"check":           {"listen", "base-url", "acme-domain", "private-targets", "min-free-space"},
		"add":             {"listen", "acme-domain", "journal-dir"},
		"token add":       {"listen", "base-url", "acme-domain"},
		"token ls":        {"listen", "base-url", "acme-domain"},
		"token rm":        {"listen", "base-url", "acme-domain"},
		"user ls":         {"listen", "base-url", "acme-domain", "user"},
		"user add":        {"listen", "base-url", "acme-domain", "user"},
		"serve":           {"server", "token"},
		"user setup-link": {"listen", "acme-domain", "user", "server", "token"},
		"completion":      {"data", "config"},
	}
	for command, never := range of {
		shown := flagsOf(t, command)
		for _, name := range never {
			if slices.Contains(shown, name) {
				t.Errorf("%s shows --%s, which has no effect there", command, name)
			}
		}
	}
}

func TestHelpExplainsCommandsAndTopics(t *testing.T) {
	for args, want := range map[string]string{
		"help":             `(?s)cluster +Show.*join +Make.*serve +Serve.*shunt environment.*shunt exit-codes.*shunt https`,
		"help serve":       `(?s)--cluster ADDRESSES.*--role ROLE.*--stale-after DURATION.*--trusted-proxy NETWORK`,
		"help token add":   `--name NAME`,
		"help environment": `SHUNT_TRUSTED_PROXY=10\.0\.0\.0/8,::1`,
		"help exit-codes":  `(?s)0 +done.*1 +failed.*2 +a mistake`,
		"help https":       `setcap 'cap_net_bind_service=\+ep'`,
		"help config":      `trusted-proxy = \["10\.0\.0\.0/8", "::1"\]`,
		"help backup":      `shunt restore DIR`,
		"help join":        `--from NAME=URL`,
		"help cluster":     `(?s)admit +Let.*forget +Remove.*leave +Take.*refuse +Take`,
		"help check":       `--hash +print only`,
		"config --help":    `SHUNT_TRUSTED_PROXY=10\.0\.0\.0/8,::1`,
	} {
		shunt(t, "", nil, strings.Fields(args)...).want(t, exitDone, want, "")
	}
	shunt(t, "", nil, "help", "token", "ad").want(t, exitUsage, "", `did you mean shunt token add\?`)
}

func TestVersionCommandAndFlagPrintTheSame(t *testing.T) {
	command, flag := shunt(t, "", nil, "version"), shunt(t, "", nil, "--version")
	if command != flag || command.code != exitDone || command.stdout == "" {
		t.Errorf("got %+v and %+v", command, flag)
	}
}

func TestCommandsAcceptTheNamesThatOtherProgramsUse(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	createStore(t, filepath.Join(home, "shunt-data"))
	shunt(t, home, nil, "token", "create", "--name", "a").want(t, exitDone, tokenLine.String(), "")
	shunt(t, home, nil, "create", "https://example.org/a", "--alias", "a").want(t, exitDone, "/a\n$", "")
	shunt(t, home, nil, "list").want(t, exitDone, `\na +0 +active`, "")
	shunt(t, home, nil, "delete", "a").want(t, exitDone, "", "")
	shunt(t, home, nil, "token", "list").want(t, exitDone, "^ID ", "")
	shunt(t, home, nil, "user", "create", "ann@example.com").want(t, exitDone, "^ann@example.com\n$", "")
	shunt(t, home, nil, "user", "delete", "ann@example.com").want(t, exitDone, "", "")
}
