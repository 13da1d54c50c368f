package api

import (
	"bytes"
	"runtime"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
)

// Limits of heavy reads: lists, and figures of more than a link's two counts. One of ten thousand links takes some 5 to 30 ms of a
// core, and an answer has up to 1 MB, which stays in memory until it is sent. So at most half of the cores are at it, and the
// rest are for redirects.
const (
	maxHeavyReads       = 32
	maxHeavyReadsCaller = 8        // with those whose answers are on their way
	heavyAnswerBytes    = 64 << 10 // a larger answer keeps its place until it is sent
)

// heavyReads bounds heavy reads and their answers.
type heavyReads struct {
	places
	slots chan struct{} // one taken by each that reads
}

func (h *heavyReads) init() {
	h.places.init("lists and figures", maxHeavyReads, maxHeavyReadsCaller)
	h.slots = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))
}

// heavy lets handle be called so often at a time.
func (s *Server) heavy(handle handler) handler {
	return func(ctx *fasthttp.RequestCtx, caller account.Caller) error {
		if err := s.heavyReads.take(caller.User.ID); err != nil {
			return err
		}
		release := func() { s.heavyReads.release(caller.User.ID) }
		kept := false
		defer func() {
			if !kept {
				release()
			}
		}()
		if err := s.heavyReads.inTurn(func() error { return handle(ctx, caller) }); err != nil {
			return err
		}
		kept = keepUntilSent(ctx, release)
		return nil
	}
}

// inTurn calls fn when one of the cores that are for heavy reads is free. Bulks, of which few come at a time (largebody.go), and
// the pages of exports are read in turn too.
func (h *heavyReads) inTurn(fn func() error) error {
	h.slots <- struct{}{}
	defer func() { <-h.slots }()
	return fn()
}

// keepUntilSent has release called when a large answer has been sent. It returns false if the answer is not large.
func keepUntilSent(ctx *fasthttp.RequestCtx, release func()) bool {
	if ctx.IsHead() || len(ctx.Response.Body()) <= heavyAnswerBytes {
		return false
	}
	body := ctx.Response.SwapBody(nil)
	ctx.SetBodyStream(heavyBody{bytes.NewReader(body), release}, len(body))
	return true
}

// A heavyBody is an answer that fasthttp closes when it is sent or the client has gone.
type heavyBody struct {
	*bytes.Reader
	release func()
}

func (b heavyBody) Close() error {
	b.release()
	return nil
}
