package main

import (
	"github.com/spf13/pflag"

	"shunt/api"
	"shunt/cmd/shunt/settings"
)

// logSettings say what logs have of clients.
type logSettings struct {
	clients string // on or off
}

func addLogSettings(fs *pflag.FlagSet, s *logSettings) {
	settings.WordVar(fs, &s.clients, "log-clients", "SWITCH", "on",
		"whether log lines about failed logins and refused tokens have the client's address, for programs such as fail2ban: on or off "+
			"(no other log line ever has one)", "on", "off")
}

// apply puts the settings into o.
func (s *logSettings) apply(o *api.Options) { o.LogClients = s.clients == "on" }
