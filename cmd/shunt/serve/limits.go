package serve

import (
	"errors"
	"math/bits"

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
	add(&l.Unlocks, "limit-unlocks", byDefault.Unlocks, "wrong passwords for a link from an address; or off")
	add(&l.AddressUnlocks, "limit-address-unlocks", byDefault.AddressUnlocks, "wrong passwords for links from an address, 16 times as many from a /48 of IPv6; or off")
}

const (
	minMemoryLimit      = 64 << 20                        // an idle server without links takes 20 MB
	maxMemoryLimit      = 1 << (31 + bits.UintSize/64*19) // 2 GiB on a 32-bit machine
	memoryLimitByMemory = 0                               // --memory-limit auto
	noMemoryLimit       = -1                              // --memory-limit off
)

// addMemoryLimit adds the setting of how much memory the server may take.
func addMemoryLimit(fs *pflag.FlagSet, limit *int64) {
	settings.Var(fs, limit, "memory-limit", "SIZE", "auto",
		"memory of the server, such as 2GiB, at which new links are refused (auto: 85 % of the machine's or the control group's; or off)",
		parseMemoryLimit)
}

func parseMemoryLimit(text string) (int64, error) {
	switch text {
	case "auto":
		return memoryLimitByMemory, nil
	case "off":
		return noMemoryLimit, nil
	}
	n, ok := settings.ParseSize(text)
	if !ok || n < minMemoryLimit || n > maxMemoryLimit {
		return 0, errors.New("must be auto, off, or a size from 64MiB to 1024TiB, such as 2GiB; on a 32-bit machine to 2GiB")
	}
	return int64(n), nil
}

const (
	minCacheBytes     = 8 << 20
	maxCacheBytes     = 1 << (30 + bits.UintSize/64*10) // 1 GiB on a 32-bit machine
	cacheSizeByMemory = 0                               // --cache-size auto
)

// parseCacheSize reads --cache-size.
func parseCacheSize(text string) (int64, error) {
	if text == "auto" {
		return cacheSizeByMemory, nil
	}
	n, ok := settings.ParseSize(text)
	if !ok || n < minCacheBytes || n > maxCacheBytes {
		return 0, errors.New("must be auto, or a size from 8MiB to 1TiB, such as 256MiB; on a 32-bit machine to 1GiB")
	}
	return int64(n), nil
}
