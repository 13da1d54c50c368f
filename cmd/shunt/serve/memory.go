package serve

import (
	"os"

	"shunt/api/admin"
	"shunt/cmd/shunt/memory"
)

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
	if s.cfg.data.CacheBytes = s.cfg.cacheSize; s.cfg.cacheSize == cacheSizeByMemory {
		s.cfg.data.CacheBytes = memory.CacheBytes(usable)
	}
	s.cfg.data.MemTableBytes = memory.MemTableBytes(usable)
}

// linksInMemory returns what the engine has in memory.
func (s *server) linksInMemory() memory.Links {
	m := s.core.Engine.Metrics()
	return memory.Links{
		N: m.Links, MappedBytes: m.IndexBytes + m.ArenaBytes + m.CounterBytes, Loading: !s.core.Engine.Ready(),
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
