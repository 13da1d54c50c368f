//go:build !race

package api

import (
	"bytes"
	"io"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard"
	"shunt/api/problem"
	"shunt/api/public"
	"shunt/api/urlpath"
	"shunt/api/wire"
	"shunt/engine"
	"shunt/engine/expect"
)

// watch checks every answer of st's API against the document, in both of its versions, for every
// caller and request. An answer that differs fails the test that got it. watch surrounds everything
// that answers on the public address and on the socket of local commands: handlers, the code that
// recovers their panics, and the code that refuses unreadable requests. It changes no byte. The race detector's build
// has none: it makes the check of an answer ten times as slow, and one goroutine does it.
func (st *site) watch() {
	if _, measured := st.t.(*testing.B); measured {
		return
	}
	for _, g := range []*wire.Group{st.public, st.local} {
		handle, refuse := g.Handle, g.WriteProblem
		g.Handle = func(ctx *fasthttp.RequestCtx) {
			handle(ctx)
			st.watched(ctx)
		}
		g.WriteProblem = func(ctx *fasthttp.RequestCtx, p problem.Problem) {
			refuse(ctx, p)
			st.watchedRefusal(ctx)
		}
	}
}

// localOnly are paths of the socket of local commands that do not belong to the API.
var localOnly = []string{apiRoot + "/backup", apiRoot + "/backup/taken", apiRoot + "/check", apiRoot + "/setup-links"}

func (st *site) watched(ctx *fasthttp.RequestCtx) {
	path, _ := urlpath.Split(ctx.Request.Header.RequestURI())
	if !bytes.HasPrefix(path, []byte(apiPrefix)) || urlpath.Code(path) != nil || slices.Contains(localOnly, string(path)) {
		return
	}
	if public.DomainOf(ctx, st.domains) != engine.DefaultDomain {
		return // the API is not there
	}
	if st.doors.At(path) != nil {
		return // the answer is that of another shortener
	}
	if ctx.IsOptions() && ctx.Response.StatusCode() == fasthttp.StatusNoContent {
		return // a preflight, which is the browser's business
	}
	x := exchangeOf(ctx)
	if ctx.Response.IsBodyStream() {
		st.watchStream(ctx, x)
		return
	}
	x.body = bytes.Clone(ctx.Response.Body())
	expect.NoError(st.t, holdBoth(x, (*contract).hold))
}

// watchedRefusal checks the answer to a request that is not HTTP against the component Unread, for
// any path but those of the dashboard, whose forms are answered with pages.
func (st *site) watchedRefusal(ctx *fasthttp.RequestCtx) {
	if path, _ := urlpath.Split(ctx.Request.Header.RequestURI()); bytes.HasPrefix(path, []byte(dashboard.Root)) {
		return
	}
	x := exchangeOf(ctx)
	x.body = bytes.Clone(ctx.Response.Body())
	expect.NoError(st.t, holdBoth(x, (*contract).holdUnread))
}

// exchangeOf returns the request and the head of the answer, copied.
func exchangeOf(ctx *fasthttp.RequestCtx) *exchanged {
	x := &exchanged{
		method: string(ctx.Method()), target: string(ctx.Request.Header.RequestURI()), asked: make(http.Header),
		request: bytes.Clone(ctx.PostBody()), status: ctx.Response.StatusCode(), header: make(http.Header),
	}
	for name, value := range ctx.Request.Header.All() {
		x.asked.Add(string(name), string(value))
	}
	for name, value := range ctx.Response.Header.All() {
		x.header.Add(string(name), string(value))
	}
	return x
}

// watchStream sends a watchedStream instead of the answer's body. SetBodyStream would close the
// body that it replaces.
func (st *site) watchStream(ctx *fasthttp.RequestCtx, x *exchanged) {
	field := reflect.ValueOf(&ctx.Response).Elem().FieldByName("bodyStream")
	body := (*io.Reader)(unsafe.Pointer(field.UnsafeAddr()))
	*body = &watchedStream{ReadCloser: (*body).(io.ReadCloser), st: st, x: x}
}

// A watchedStream is a body that is still being written. When it is closed, the part that was read
// is checked against the document.
type watchedStream struct {
	io.ReadCloser
	st *site
	x  *exchanged
}

func (w *watchedStream) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.x.body = append(w.x.body, p[:n]...)
	return n, err
}

func (w *watchedStream) Close() error {
	if rest, sized := w.ReadCloser.(interface{ Len() int }); sized && rest.Len() > 0 {
		return w.ReadCloser.Close() // the client left in the middle of a body that can only be checked as a whole
	}
	expect.NoError(w.st.t, holdBoth(w.x, (*contract).hold))
	return w.ReadCloser.Close()
}
