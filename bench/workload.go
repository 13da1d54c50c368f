package bench

import (
	"fmt"
	"math/rand/v2"

	"shunt/engine"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014). It is a bijection, so mixing never
// makes two codes equal.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// appendTarget appends the target of link i: 40 to 93 bytes, 66.5 on average; with the code 74.5.
func appendTarget(dst []byte, i uint64) []byte {
	const filler = "a/path/of/some/length/that/is/cut/where/it/should/end/0123456789"
	dst = append(dst, "https://www.example.com/"...)
	dst = append(dst, filler[:mix(i)%54]...)
	h := mix(i + 1)
	for range 16 {
		dst = append(dst, base62[h%62])
		h = h/62 ^ h<<40
	}
	return dst
}

// keyOf returns the key of a code.
func keyOf(code string) engine.Key { return engine.Key{Domain: engine.DefaultDomain, Code: code} }

// visits draws the properties of hits: visitors uniformly out of 5 M; half of the hits without a
// referrer, the others by a Zipf distribution over 2,000 hosts; 60 countries, 3 devices, 8
// browsers, the first ones more often.
type visits struct {
	rng       *rand.Rand
	referrers [2000]uint16
	hosts     *rand.Zipf
}

func newVisits(e *engine.Engine, seed uint64) *visits {
	v := &visits{rng: rand.New(rand.NewPCG(seed, 2))}
	for i := range v.referrers {
		v.referrers[i] = e.Referrer(fmt.Appendf(nil, "site-%d.example.com", i))
	}
	v.hosts = rand.NewZipf(v.rng, 1.2, 1, uint64(len(v.referrers)-1))
	return v
}

func (v *visits) next(nowMs int64) engine.Visit {
	bits := v.rng.Uint64()
	skewed := func(n uint64) uint64 { // the product of two uniform draws
		x, y := bits&0xff, bits>>8&0xff
		bits >>= 16
		return x * y * n >> 16
	}
	visit := engine.Visit{
		NowMs: nowMs, Visitor: mix(v.rng.Uint64N(5_000_000)),
		Values: engine.Values{
			Country: engine.Country(1 + skewed(60)), Agent: engine.AgentOf(engine.Device(1+skewed(3)), engine.Browser(1+skewed(8))),
		},
	}
	if bits&1 == 0 {
		visit.Referrer = v.referrers[v.hosts.Uint64()]
	}
	return visit
}
