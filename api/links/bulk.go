package links

import (
	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/ops"
	"shunt/api/wire/http1"
)

// MaxBulkBytes bounds the bodies of POST /shorten/bulk and POST /import.
const MaxBulkBytes = 8 << 20

// An item of a bulk may be as large as the body of POST /shorten.
var _ [0]struct{} = [http1.MaxBodyBytes - ops.MaxItemBytes]struct{}{}

// CreateBulk is POST /shorten/bulk.
func (l *Calls) CreateBulk(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	key, err := creationAsked(ctx)
	if err != nil {
		return err
	}
	results, err := l.Ops.CreateBulk(caller, key, l.bulkOf(ctx, caller))
	if err != nil {
		return err
	}
	defer results.Release()
	return exchange.WriteAppended(ctx, fasthttp.StatusOK, results.AppendJSON)
}

// ImportLinks is POST /import.
func (l *Calls) ImportLinks(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	bulk := l.bulkOf(ctx, caller)
	guard, err := l.Ops.ParseImport(caller, ctx.QueryArgs(), &bulk)
	if err != nil {
		return err
	}
	results, err := l.Ops.Import(caller, guard, bulk)
	if err != nil {
		return err
	}
	defer results.Release()
	return exchange.WriteAppended(ctx, fasthttp.StatusOK, results.AppendJSON)
}

func (l *Calls) bulkOf(ctx *fasthttp.RequestCtx, caller account.Caller) ops.Bulk {
	return ops.Bulk{Body: exchange.BodyOf(ctx), May: func(n int) error { return l.Limiter.MayCreateMore(ctx, caller, n) }}
}
