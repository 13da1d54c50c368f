package visit

import (
	"errors"
	"log/slog"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
)

// A Request is a request for a page, while it is answered.
type Request struct {
	*Dashboard
	Ctx    *fasthttp.RequestCtx
	Row    *Row
	Caller account.Caller // the zero Caller: nobody is signed in

	kept     url.Values // see KeptFields
	keptRead bool       // kept was read
	file     []byte     // see File
}

// identify finds out who is signed in.
func (r *Request) identify() (err error) {
	r.Caller, err = r.Sessions.Caller(r.Ctx)
	if errors.Is(err, account.ErrUnauthorized) {
		r.Caller, err = account.Caller{}, nil
	}
	return err
}

// Id returns the id of the request for a log line.
func (r *Request) Id() slog.Attr {
	return slog.String("request_id", string(r.Ctx.Response.Header.Peek("X-Request-Id")))
}

func (r *Request) SignedIn() bool { return r.Caller.User.ID != 0 }

func (r *Request) Admin() bool { return r.Caller.User.Role == account.RoleAdmin }

// Edits reports whether the visitor may change links.
func (r *Request) Edits() bool { return r.Caller.Has(account.LinksWrite) }

// Posts reports whether the request may change something.
func (r *Request) Posts() bool { return !r.Ctx.IsGet() && !r.Ctx.IsHead() }

// Path returns the path of the request as it was sent, which is what the router goes by: a slash in a code is %2F.
func (r *Request) Path() string { return string(r.Ctx.URI().PathOriginal()) }

// Segment returns the part of the path that a row calls {name}, as it was sent.
func (r *Request) Segment(name string) string {
	text, _ := r.Ctx.UserValue(name).(string)
	return text
}

// Query returns a query parameter, "" if it is absent.
func (r *Request) Query(name string) string { return string(r.Ctx.QueryArgs().Peek(name)) }

// Sent returns a field of the form that was sent, "" if it is absent. Browsers end the lines of a
// text area with CR LF; sent returns them with LF.
func (r *Request) Sent(name string) string {
	return strings.ReplaceAll(string(r.Ctx.PostArgs().Peek(name)), "\r\n", "\n")
}

// SeeOther answers a form: the browser is to ask for the page at path.
func (r *Request) SeeOther(path string) error {
	r.Ctx.Response.Header.Set("Location", path)
	r.Ctx.SetStatusCode(fasthttp.StatusSeeOther)
	return nil
}

// Heavily calls do while the caller has a place for heavy reads, for which it waits some seconds:
// many tabs may be opened at once. Pages are compressed before they are sent, so they are small, and
// the place is not kept until then.
func (r *Request) Heavily(do func() error) error {
	release, err := r.Calls.BeginHeavyPatiently(r.Caller)
	if err != nil {
		return err
	}
	defer release()
	return do()
}

// Missing answers a request for a page that does not exist, or not for its sender.
func (r *Request) Missing() error {
	return problem.New(problem.NotFound, "there is no page at this address")
}

// Here returns the path and query of the request.
func (r *Request) Here() string {
	query := r.Ctx.URI().QueryString()
	if len(query) == 0 {
		return r.Path()
	}
	return r.Path() + "?" + string(query)
}

// With returns the path and query of the request without the parameter name, up to its new value.
func (r *Request) With(name string) string {
	args := &fasthttp.Args{}
	r.Ctx.QueryArgs().CopyTo(args)
	args.Del(name)
	path := r.Path() + "?"
	if args.Len() > 0 {
		path += args.String() + "&"
	}
	return path + name + "="
}
