package load

import (
	"math/bits"
	"math/rand/v2"
)

const (
	base62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	codeBytes   = 8
	codeSpace   = 62 * 62 * 62 * 62 * 62 * 62 * 62 * 62
	codeFactor  = 0x9E3779B97F5 // odd and not a multiple of 31, so it permutes the code space
	TargetStart = "https://www.example.com/"
	targetBytes = 64

	zipfExponent = 1.1
	drawnCodes   = 1 << 20 // then they repeat
)

type code [codeBytes]byte

// Code returns the code of link i, which is below 62^8: 8 characters, different for each link, in another order than
// the links.
func Code(i int) string {
	c := codeOf(i)
	return string(c[:])
}

func codeOf(i int) (c code) {
	high, low := bits.Mul64(uint64(i), codeFactor)
	_, v := bits.Div64(high%codeSpace, low, codeSpace)
	for n := range c {
		c[n] = base62[v%62]
		v /= 62
	}
	return c
}

// Target returns the target of link i: 64 bytes that begin with TargetStart and end with the code.
func Target(i int) string {
	const path = "a/page/of/some/length/of/a/site/"
	return TargetStart + path[:targetBytes-len(TargetStart)-codeBytes] + Code(i)
}

// drawCodes returns the codes of requests in their order: all of link 0 if links is 1, otherwise
// drawn by a Zipf distribution. Ranks are independent of the numbers of links.
func drawCodes(links int, rng *rand.Rand) []code {
	if links <= 1 {
		return []code{codeOf(0)}
	}
	zipf := rand.NewZipf(rng, zipfExponent, 1, uint64(links-1))
	codes := make([]code, drawnCodes)
	for n := range codes {
		codes[n] = codeOf(int(mix(zipf.Uint64()+1) % uint64(links)))
	}
	return codes
}

// drawEvenly returns the codes of requests of which each is for any of the links.
func drawEvenly(links int, rng *rand.Rand) []code {
	codes := make([]code, drawnCodes)
	for n := range codes {
		codes[n] = codeOf(rng.IntN(links))
	}
	return codes
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// sourceAddresses is how many loopback addresses the connections of many visitors come from.
const sourceAddresses = 4096

// sourceOf returns the source address of visitor n: 127.1.0.1 and after.
func sourceOf(n int) [4]byte {
	n %= sourceAddresses
	return [4]byte{127, 1, byte(n >> 7), byte(n&0x7f + 1)}
}
