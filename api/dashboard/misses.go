package dashboard

import (
	"github.com/valyala/fasthttp"

	"shunt/api/ops"
)

// shownMisses is how many codes the page of misses shows.
const shownMisses = 100

// missesPage is GET /_/misses: the codes most asked for in vain.
func (r *request) missesPage() error {
	m, err := r.calls.Misses(shownMisses)
	if err != nil {
		return err
	}
	return r.show(fasthttp.StatusOK, "misses", "Misses", struct{ ops.Misses }{m})
}
