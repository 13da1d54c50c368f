package api

import (
	"errors"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/engine"
)

// importLinks is POST /import: links that were made elsewhere, with their codes, times and hits. It is POST /shorten/bulk for
// those, and needs no key to be repeated: a link that is there already with the same fields is left as it is.
func (s *Server) importLinks(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	asked, err := readParameters[struct{}](ctx, caller, nil, nil, maxOwnerBytes)
	if err != nil {
		return err
	}
	if asked.AnyOwner {
		return fieldError("owner", "range", "must be a user's id")
	}
	err = s.accounts.CheckUser(asked.Owner)
	if err == nil {
		noKey := func() (*engine.Request, error) { return nil, nil }
		err = s.createMany(ctx, caller, noKey, func(text []byte) (engine.Draft, error) {
			return s.parseImport(text, asked.Owner, s.timeOf(ctx))
		})
	}
	if errors.Is(err, account.ErrNoUser) || errors.Is(err, engine.ErrOwnerGone) {
		return fieldError("owner", "unknown", "is no user's id")
	}
	return err
}
