package e2e

import (
	"net"
	"strings"
	"testing"
)

func TestHealthReportsTheAnswerOfTheAdminAddress(t *testing.T) {
	p := startServer(t, t.TempDir())
	admin := strings.TrimPrefix(p.admin, "http://")
	_, port, _ := net.SplitHostPort(admin)
	for _, args := range [][]string{
		{"--admin-listen", admin}, {"--admin-listen", ":" + port}, {"--admin-listen", "0.0.0.0:" + port}, {"--admin-listen", "localhost:" + port},
	} {
		shunt(t, "", nil, append([]string{"health"}, args...)...).want(t, exitDone, "^ready\n$", "")
	}
	shunt(t, "", []string{"SHUNT_ADMIN_LISTEN=" + admin, "HTTP_PROXY=http://127.0.0.1:1"}, "health", "--live").want(t, exitDone, "^ok\n$", "")
	file := writeFile(t, "shunt.toml", "admin-listen = \""+admin+"\"\nkeep-hours = 24\n")
	shunt(t, "", nil, "health", "--config", file).want(t, exitDone, "^ready\n$", "")
	shunt(t, "", nil, "health", "--admin-listen", strings.TrimPrefix(p.public, "http://")).
		want(t, exitFailed, "", `^shunt: health: 127\.0\.0\.1:\d+ \(--admin-listen\) answers 404 Not Found: it is not the admin address of a shunt\n$`)
	p.terminate()
	shunt(t, "", nil, "health", "--admin-listen", admin).want(t, exitFailed, "", `^shunt: health: nothing listens on 127\.0\.0\.1:\d+ \(--admin-listen\)\n$`)
}
