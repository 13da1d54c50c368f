package etcdlog

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/storage/etcdlog/etcdtest"
)

// shippedSettings returns the settings of etcd that compose.yml ships, as arguments, without those of addresses and
// certificates.
func shippedSettings(t *testing.T) (args []string) {
	t.Helper()
	text, err := os.ReadFile("../../cmd/deploy/cluster/compose.yml")
	expect.OK(t, err)
	block, _, found := strings.Cut(string(text), "\nx-shunt:")
	expect.MustThat(t, found, "compose.yml has no settings of etcd before those of shunt")
	setting := regexp.MustCompile(`(?m)^    ETCD_([A-Z_]+): "?([^"\n#]+?)"?(?: +#.*)?$`)
	for _, m := range setting.FindAllStringSubmatch(block, -1) {
		name := strings.ToLower(strings.ReplaceAll(m[1], "_", "-"))
		switch {
		case strings.Contains(name, "url"), strings.Contains(name, "initial-cluster"), strings.Contains(name, "auth"), strings.Contains(name, "trusted"), name == "data-dir":
		default:
			args = append(args, "--"+name+"="+m[2])
		}
	}
	expect.MustThat(t, len(args) >= 5, "compose.yml sets %q", args)
	return args
}

// TestServersWithTheShippedSettingsRestartTogether kills all servers at once, as a power cut does, and starts them
// together, two of them slowly. They compare their data with each other first, for which each waits for the others;
// until then a server must not compact, because it would end.
func TestServersWithTheShippedSettingsRestartTogether(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 3, shippedSettings(t)...)
	s := &site{Cluster: c, t: t}
	expect.OK(t, Create(within(t), Options{Endpoints: c.Endpoints(), ID: s.id}))
	r := s.lead(s.open(), "a")
	for i := range 20 {
		r.mustAppend(numbered(i))
	}
	_ = r.stop()
	for _, m := range c.Members {
		m.Kill()
	}
	slow := c.Members[1:]
	for _, m := range slow { // they listen, and answer nothing yet, as while they read much data
		m.Start()
		eventually(t, m.Name+" listens", m.Listens)
		m.Pause()
	}
	c.Members[0].Start()
	time.Sleep(17 * time.Second) // 7 s for each of the others; with a retention of 10 s it ended then
	expect.That(t, c.Members[0].Runs(), "the first server has ended: %.3000s", c.Members[0].Said())
	for _, m := range slow {
		m.Resume()
	}
	c.Await()
	for _, m := range c.Members {
		expect.That(t, m.Runs(), "%s has ended: %.3000s", m.Name, m.Said())
	}
	r = s.lead(s.open(), "b")
	r.mustAppend("after it")
	expect.Equal(t, r.Head().Sequence, 20, "entries before the restart")
}
