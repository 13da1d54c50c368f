package api

import (
	"crypto/sha256"
	"strconv"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/engine"
)

// idempotencyHeader names a request that its sender may repeat. We take the bytes as they are, quoted or not.
const idempotencyHeader = "Idempotency-Key"

const maxIdempotencyKeyBytes = 255

// requestAsked returns what Idempotency-Key makes of a request to path, nil if there is no such field.
func requestAsked(ctx *fasthttp.RequestCtx, caller account.Caller, path string) (*engine.Request, error) {
	lines := ctx.Request.Header.PeekAll(idempotencyHeader)
	if len(lines) == 0 {
		return nil, nil
	}
	if len(lines) > 1 || !validIdempotencyKey(lines[0]) {
		return nil, problem.New(problem.BadRequest, "%s must be one value of 1 to %d visible ASCII characters", idempotencyHeader, maxIdempotencyKeyBytes)
	}
	q := &engine.Request{RequestKey: engine.RequestKey{Sender: senderOf(caller), Key: sha256.Sum256(lines[0])}}
	body := sha256.Sum256(append([]byte(path+"\x00"), ctx.PostBody()...)) // the same bytes mean something else elsewhere
	copy(q.Body[:], body[:])
	return q, nil
}

func validIdempotencyKey(key []byte) bool {
	for _, c := range key {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return len(key) > 0 && len(key) <= maxIdempotencyKeyBytes
}

// senderOf returns whose keys those of a caller are: the token's, or, of local commands, the user's. A token's id is
// never given again.
func senderOf(caller account.Caller) [32]byte {
	if caller.TokenID != "" {
		return sha256.Sum256([]byte("token " + caller.TokenID))
	}
	return sha256.Sum256([]byte("user " + strconv.FormatUint(uint64(caller.User.ID), 10)))
}
