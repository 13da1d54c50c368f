package cluster

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"shunt/engine/expect"
)

const deployed = "../../deploy/cluster/"

// machine are settings of etcd that say where something is. They differ between a container and a machine.
var machine = regexp.MustCompile(`^ETCD_(DATA_DIR|.*_FILE|NAME|INITIAL_CLUSTER|.*_URLS)$`)

func etcdSettings(t *testing.T, file, pattern string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(deployed + file)
	expect.OK(t, err)
	all := map[string]string{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
		if !machine.MatchString(m[1]) {
			all[m[1]] = strings.Trim(m[2], `"`)
		}
	}
	return all
}

// One tries a cluster with compose.yml, and runs it with etcd.service: so etcd has the same settings in both.
func TestTheUnitOfEtcdHasTheSettingsOfTheComposeFile(t *testing.T) {
	unit := etcdSettings(t, "etcd.service", `(?m)^Environment=(ETCD_\w+)=(.*)$`)
	compose := etcdSettings(t, "compose.yml", `(?m)^ +(ETCD_\w+): ("[^"]*"|[^\s#]+)`)
	expect.That(t, len(unit) >= 8 && maps.Equal(unit, compose), "etcd.service:\n%v\ncompose.yml:\n%v", unit, compose)
}

// OPERATORS.md is read in a terminal, and whole.
func TestTheChapterForOperatorsStaysShort(t *testing.T) {
	text, err := os.ReadFile(deployed + "OPERATORS.md")
	expect.OK(t, err)
	expect.That(t, len(text) <= 12<<10, "OPERATORS.md has %d bytes, want at most %d", len(text), 12<<10)
	for i, line := range strings.Split(string(text), "\n") {
		expect.That(t, len([]rune(line)) <= 120, "line %d of OPERATORS.md has more than 120 columns", i+1)
	}
}

// TestTheChapterForOperatorsNamesTheSettingsOfANode: the chapter and the help name each setting that a node needs.
func TestTheChapterForOperatorsNamesTheSettingsOfANode(t *testing.T) {
	text, err := os.ReadFile(deployed + "OPERATORS.md")
	expect.OK(t, err)
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^    ([a-z-]+) = `).FindAllStringSubmatch(string(text), -1) {
		named[m[1]] = true
	}
	for _, name := range []string{"cluster", "node-name", "advertise", "cluster-listen", "cluster-ca", "cluster-cert", "cluster-key"} {
		expect.That(t, named[name], "OPERATORS.md does not show %s", name)
		expect.That(t, strings.Contains(New(nil, nil).Long, "--"+name), "'shunt help cluster' does not name --%s", name)
	}
}
