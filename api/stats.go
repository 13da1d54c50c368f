package api

import (
	"context"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/engine"
)

// statsObject is the answer of GET /stats/{code}: exactly these two fields.
type statsObject struct {
	Hits   uint64 `json:"hits"`
	Unique uint64 `json:"unique"`
}

// readStats is GET /stats/{code}. Whose link it is, is asked of the index in memory; the cold record is not read.
func (s *Server) readStats(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	code, guard, err := linkAsked(ctx, caller)
	if err != nil {
		return err
	}
	if !s.engine.Ready() {
		return engine.ErrLoading
	}
	l, ok := s.engine.Resolve([]byte(code))
	if !ok || !guard.AnyOwner && l.Owner() != guard.Owner {
		return engine.ErrNotFound
	}
	l.Release()
	stats, err := s.engine.Stats(context.Background(), code)
	if err != nil {
		return err
	}
	return writeJSON(ctx, fasthttp.StatusOK, statsObject{stats.Hits, stats.Unique})
}
