package main

import (
	"errors"
	"math/bits"
	"os"

	"github.com/spf13/pflag"

	"shunt/api/admin"
	"shunt/api/limit"
	"shunt/api/rate"
	"shunt/cmd/shunt/memory"
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

// chooseMemory sets the limit of the server's memory, and the sizes in the store that depend on
// it.
func (s *server) chooseMemory() {
	usable, limit := memory.Usable(os.DirFS("/")), uint64(0)
	switch n := s.cfg.memoryLimit; n {
	case noMemoryLimit:
	case memoryLimitByMemory:
		limit = memory.LimitBytes(os.DirFS("/"))
	default:
		limit = uint64(n)
		if usable == 0 || limit < usable {
			usable = limit
		}
	}
	s.memory = memory.NewLimit(limit, s.linksInMemory, s.say.Log)
	if s.cfg.data.cacheBytes = s.cfg.cacheSize; s.cfg.cacheSize == cacheSizeByMemory {
		s.cfg.data.cacheBytes = memory.CacheBytes(usable)
	}
	s.cfg.data.memTableBytes = memory.MemTableBytes(usable)
}

// linksInMemory returns what the engine has in memory.
func (s *server) linksInMemory() memory.Links {
	m := s.core.engine.Metrics()
	return memory.Links{
		N: m.Links, MappedBytes: m.IndexBytes + m.ArenaBytes + m.CounterBytes, Loading: !s.core.engine.Ready(),
	}
}

// memoryFigures returns the source of the figures about the memory limit; nil: there is none.
func (s *server) memoryFigures() func() admin.Memory {
	if s.memory.Bytes() == 0 {
		return nil
	}
	return func() admin.Memory {
		u := s.memory.Used()
		parts := []admin.Count{{Label: "heap", N: u.Go}, {Label: "mapped", N: u.Mapped}, {Label: "shared", N: u.Shared}}
		return admin.Memory{Limit: s.memory.Bytes(), Used: parts, Full: s.memory.Full()}
	}
}
