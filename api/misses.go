package api

import (
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/redirect"
	"shunt/engine"
)

// readMisses is GET /misses. A code that has a link by now is no longer missing.
func (s *Server) readMisses(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	top := 50
	seen := false
	for name, value := range ctx.QueryArgs().All() {
		var err error
		switch {
		case string(name) != "top":
			return unknownParameter(name)
		case seen:
			return fieldError("top", "duplicate", "must not be given twice")
		}
		if top, err = readCount(string(value)); err != nil {
			return engine.InvalidError(appendFieldError(nil, "top", err))
		}
		seen = true
	}
	if !s.engine.Ready() {
		return engine.ErrLoading
	}
	data, total, since := s.redirects.Missed(top)
	return writeJSON(ctx, fasthttp.StatusOK, struct {
		Data  []redirect.MissedCode `json:"data"`
		Total uint64                `json:"total"`
		Since time.Time             `json:"since"`
	}{data, total, since.UTC().Truncate(time.Millisecond)})
}
