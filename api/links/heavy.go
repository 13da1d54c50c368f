package links

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/ops"
	"shunt/api/turnstile"
)

// heavyAnswerBytes is the size at which an answer keeps its place until it is sent.
const heavyAnswerBytes = 64 << 10

// Limits of work that waits for a core: at most 32 heavy reads, 16 exports, 4 hashes, and as many
// QR codes as there are places; the rest of 256 is for bulks, whose bodies of usual size take 13
// MiB. A request has 30 s in all (api/wire); after 20 s it is too late to begin.
const (
	maxCostlyWaiting = 256
	costlyPatience   = ops.Patience
)

// NewCores returns the places for all work that keeps a core busy for a millisecond or more. There
// are half as many as cores, so that redirects have the other half, whatever load the API has.
// Figures of ten thousand links take 5 to 30 ms, 8 MiB of JSON half a second, a password 40 ms, a
// QR code 1 to 3 ms. The callers take turns, so lists and exports, which can be cut into pieces,
// enter for each piece.
func NewCores() *turnstile.Turnstile {
	return turnstile.New(turnstile.Limits{Places: turnstile.HalfTheCores(), Waiting: maxCostlyWaiting, Patience: costlyPatience})
}

// Heavy limits heavy reads, and makes costly work wait for a core.
type Heavy struct{ Ops *ops.Calls }

// Bounded limits how many calls of handle run at once and how many of their answers are being sent.
// handle itself takes turns for its costly parts.
func (h *Heavy) Bounded(handle exchange.Handler) exchange.Handler {
	return func(ctx *fasthttp.RequestCtx, caller account.Caller) error {
		release, err := h.Ops.BeginHeavy(caller)
		if err != nil {
			return err
		}
		kept := false
		defer func() {
			if !kept {
				release()
			}
		}()
		if err := handle(ctx, caller); err != nil {
			return err
		}
		kept = keepUntilSent(ctx, release)
		return nil
	}
}

// InTurn runs the whole of handle in turn with other costly work.
func (h *Heavy) InTurn(handle exchange.Handler) exchange.Handler {
	return func(ctx *fasthttp.RequestCtx, caller account.Caller) error {
		return h.Ops.InTurn(caller, func() error { return handle(ctx, caller) })
	}
}

// keepUntilSent calls release when a large answer has been sent. It returns false, and does
// nothing, if the answer is not large.
func keepUntilSent(ctx *fasthttp.RequestCtx, release func()) bool {
	if ctx.IsHead() || len(ctx.Response.Body()) <= heavyAnswerBytes {
		return false
	}
	body := ctx.Response.SwapBody(nil)
	ctx.SetBodyStream(heavyBody{bytes.NewReader(body), release}, len(body))
	return true
}

// A heavyBody is the body of an answer. fasthttp closes it when it has been sent or the client has
// gone.
type heavyBody struct {
	*bytes.Reader
	release func()
}

func (b heavyBody) Close() error {
	b.release()
	return nil
}
