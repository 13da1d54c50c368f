package dashboard

import "github.com/valyala/fasthttp"

// overview is GET /_/.
func (r *request) overview() error {
	return r.show(fasthttp.StatusOK, "overview", "Overview", nil)
}
