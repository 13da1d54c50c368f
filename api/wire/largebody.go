package wire

import (
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
	"shunt/api/turnstile"
	"shunt/api/wire/http1"
)

// Limits of large bodies, which are larger than MaxBodyBytes. fasthttp allocates a body of a known
// length before its first byte has come, so 32 bodies of 8 MiB take 256 MiB a listener. No sender
// has more than a quarter of the places, so at least four senders are needed to take all of them.
// Then other bodies wait, and slow bodies lose their places (http1/place.go) in less than their patience.
const (
	maxLargeBodies        = 32
	maxLargeBodiesCaller  = 8 // waiting ones included
	maxLargeBodiesWaiting = 64
	largeBodyPatience     = 10 * time.Second
)

// newLargeBodies returns the places for large bodies of one listener.
func newLargeBodies() *turnstile.Turnstile {
	return turnstile.New(turnstile.Limits{
		Places: maxLargeBodies, PerCaller: maxLargeBodiesCaller, Waiting: maxLargeBodiesWaiting, Patience: largeBodyPatience,
	})
}

// admitBody returns how large the body that h announces may be: limit, or less if the body is large
// and there is no place for key. A chunked body takes a place only once it turns out to be large.
func admitBody(h *fasthttp.RequestHeader, limit int, key turnstile.Key) int {
	length := h.ContentLength()
	if length > limit {
		h.Del(fasthttp.HeaderExpect) // or fasthttp would ask for a body that it then refuses
	}
	if limit <= http1.MaxBodyBytes || length > limit {
		return limit
	}
	c := connOf(contextOf(h).Conn())
	if c == nil {
		return limit
	}
	place := &c.gate.Large
	if place.Claim(key); length <= http1.MaxBodyBytes {
		return limit
	}
	if err := place.Take(); err != nil {
		c.gate.Refuse(problem.Overloaded, err.Error())
		h.Del(fasthttp.HeaderExpect)
		return http1.MaxBodyBytes // less than announced, so that fasthttp reads nothing of the body
	}
	return limit
}

// contextOf returns the context whose header is h. fasthttp calls HeaderReceived with a pointer to
// a field of a field of the connection's context and gives no other way to find the connection.
// TestTheHookForAHeaderFindsItsConnection fails if that changes.
func contextOf(h *fasthttp.RequestHeader) *fasthttp.RequestCtx {
	const offset = unsafe.Offsetof(fasthttp.RequestCtx{}.Request) + unsafe.Offsetof(fasthttp.Request{}.Header)
	return (*fasthttp.RequestCtx)(unsafe.Add(unsafe.Pointer(h), -int(offset)))
}
