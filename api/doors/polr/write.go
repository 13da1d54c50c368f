package polr

import (
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/exchange"
)

// A result is the answer to an action.
type result struct {
	Action string `json:"action"`
	Result any    `json:"result"`
}

// A failure is the answer to one that failed.
type failure struct {
	Status int    `json:"status_code"`
	Code   string `json:"error_code"`
	Error  string `json:"error"`
}

// A found is the result of a look-up in JSON.
type found struct {
	Target  string `json:"long_url"`
	Created moment `json:"created_at"`
	Clicks  string `json:"clicks"` // a number, as Polr's database gives it
	Updated moment `json:"updated_at"`
}

// A moment is a time as PHP writes it.
type moment struct {
	Date string `json:"date"`
	Type int    `json:"timezone_type"` // 3: Zone is the name of a zone
	Zone string `json:"timezone"`
}

func momentOf(t time.Time) moment {
	return moment{t.UTC().Format("2006-01-02 15:04:05.000000"), 3, "UTC"}
}

// write answers with the result of an action; plain is what it is as text alone.
func write(ctx *fasthttp.RequestCtx, asJSON bool, action string, what any, plain string) error {
	if asJSON {
		return exchange.WriteJSON(ctx, fasthttp.StatusOK, result{action, what})
	}
	return exchange.WriteText(ctx, fasthttp.StatusOK, plain)
}

// writeFailure answers with a failure.
func writeFailure(ctx *fasthttp.RequestCtx, asJSON bool, f failure) {
	if asJSON {
		_ = exchange.WriteJSON(ctx, f.Status, f)
		return
	}
	_ = exchange.WriteText(ctx, f.Status, f.Error)
}
