package main

import (
	"github.com/spf13/pflag"

	"shunt/api/limit"
	"shunt/api/rate"
	"shunt/cmd/shunt/settings"
)

// addRateLimits adds the settings of how often clients may ask.
func addRateLimits(fs *pflag.FlagSet, l *limit.Limits) {
	byDefault := limit.Default()
	add := func(p *rate.Limit, name string, d rate.Limit, usage string) {
		settings.Var(fs, p, name, "LIMIT", d.String(), usage, rate.Parse)
	}
	add(&l.Creates, "limit-creates", byDefault.Creates,
		"links that a token or an address may create: events/period, optionally :burst; or off (tokens with scope admin have no limit)")
	add(&l.Calls, "limit-calls", byDefault.Calls, "other API requests of a token or an address; or off")
	add(&l.Logins, "limit-logins", byDefault.Logins, "attempts to log in to an account from an address; or off")
	add(&l.AddressLogins, "limit-address-logins", byDefault.AddressLogins, "attempts to log in from an address, 16 times as many from a /48 of IPv6; or off")
	add(&l.Misses, "limit-misses", byDefault.Misses, "requests for unknown codes from an address; or off (known codes have no limit)")
}
