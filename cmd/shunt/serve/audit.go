package serve

import (
	"strconv"

	"github.com/spf13/pflag"

	"shunt/api"
	"shunt/cmd/shunt/settings"
	"shunt/engine"
)

// auditSettings say what the audit log has, and for how long.
type auditSettings struct {
	keptDays int
	clients  string // off or network
}

func addAuditSettings(fs *pflag.FlagSet, s *auditSettings) {
	settings.Var(fs, &s.keptDays, "keep-audit", "N", strconv.Itoa(engine.DefaultKeptAuditDays),
		"how many days to keep entries of the audit log; days in which the server is off do not count", settings.CountUpTo(engine.MaxKeptDays))
	settings.WordVar(fs, &s.clients, "audit-clients", "KEPT", "off",
		"what the audit log has of the client of a change: off, or network (a /24, a /48 of IPv6; never a whole address)", "off", "network")
}

// apply puts the settings into o.
func (s *auditSettings) apply(o *api.Options) { o.AuditClients = s.clients == "network" }
