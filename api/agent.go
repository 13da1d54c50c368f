package api

import (
	"sync/atomic"

	"shunt/engine"
)

// agentInfo is what is known of a User-Agent. It stands in the low 16 bits of a cache slot, so 0 is no info.
//
//	| known 1 | bot 1 | 2 bits | engine.Agent 12 |
type agentInfo uint16

const (
	agentKnown agentInfo = 1 << 15 // set in every info
	agentBot   agentInfo = 1 << 14
)

func agentOf(d engine.Device, b engine.Browser) agentInfo {
	return agentKnown | agentInfo(engine.AgentOf(d, b))
}

func (i agentInfo) bot() bool           { return i&agentBot != 0 }
func (i agentInfo) agent() engine.Agent { return engine.Agent(i &^ (agentKnown | agentBot)) }

// The cache holds 65,536 User-Agents in 512 KiB.
const (
	agentSets = 1 << 14
	agentWays = 4
)

// agentCache remembers what is known of User-Agents. A slot is one word: the high 48 bits of the User-Agent's keyed
// hash, then its agentInfo. The set is the low 14 bits of the hash, so 62 of 64 bits are compared, and nobody without the
// key can choose User-Agents that collide or crowd one set. It needs no lock: a slot is read and written whole, and a
// lost write is a look-up more. Finding out takes 3 to 9 µs and 17 to 38 allocations, most of it in the library;
// remembering, 2 ns.
type agentCache struct {
	slots [agentSets][agentWays]atomic.Uint64
}

// lookup returns what is known of the User-Agent with this hash.
func (c *agentCache) lookup(hash uint64, agent []byte) agentInfo {
	set := &c.slots[hash%agentSets]
	for i := range set {
		if slot := set[i].Load(); slot>>16 == hash>>16 && slot != 0 {
			return agentInfo(slot)
		}
	}
	return c.lookupSlow(hash, agent)
}

// lookupSlow finds out, and remembers it in a free slot or else in the one that two bits of the hash choose.
func (c *agentCache) lookupSlow(hash uint64, agent []byte) agentInfo {
	info := classify(agent)
	set := &c.slots[hash%agentSets]
	way := hash / agentSets % agentWays
	for i := range set {
		if set[i].Load() == 0 {
			way = uint64(i)
			break
		}
	}
	set[way].Store(hash>>16<<16 | uint64(info))
	return info
}
