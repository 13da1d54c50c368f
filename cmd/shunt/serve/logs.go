package serve

import (
	"github.com/spf13/pflag"

	"shunt/api"
	"shunt/cmd/shunt/settings"
)

// logSettings say which requests are logged, and what logs have of clients.
type logSettings struct {
	clients       string // on or off
	access        string // a file or accesslog.Stdout; empty: none
	accessFormat  string // json or combined
	accessSample  int
	accessClients bool
}

func addLogSettings(fs *pflag.FlagSet, s *logSettings) {
	settings.WordVar(fs, &s.clients, "log-clients", "SWITCH", "on",
		"whether log lines about failed logins and refused tokens have the client's address, for programs such as fail2ban: on or off "+
			"(no other log line ever has one)", "on", "off")
	fs.StringVar(&s.access, "access-log", "", "`FILE` for a line about each request, or stdout (default: none)")
	settings.WordVar(fs, &s.accessFormat, "access-log-format", "FORMAT", "json", "json or combined (the Combined Log Format of Apache httpd)", "json", "combined")
	settings.Var(fs, &s.accessSample, "access-log-sample", "N", "1", "log one request of N, by chance", settings.CountUpTo(1_000_000))
	settings.BoolVar(fs, &s.accessClients, "access-log-clients", "give lines of the access log the address, User-Agent and referrer of the client")
}

// apply puts the settings into o.
func (s *logSettings) apply(o *api.Options) { o.LogClients = s.clients == "on" }
