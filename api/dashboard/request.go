package dashboard

import (
	"bytes"
	"errors"
	"log/slog"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/problem"
)

// A request is a request for a page, while it is answered.
type request struct {
	*Dashboard
	ctx    *fasthttp.RequestCtx
	row    *row
	caller account.Caller // the zero Caller: nobody is signed in

	kept     url.Values // see keptFields
	keptRead bool       // kept was read
}

// serve answers the request if its sender may make it.
func (r *request) serve() error {
	if err := r.sessions.Secure(r.ctx); err != nil {
		return err
	}
	if err := r.identify(); err != nil {
		return err
	}
	if err := r.sessions.Allow(r.ctx, r.caller, r.row.who == creating); err != nil {
		return err
	}
	if r.posts() {
		if err := r.sessions.Own(r.ctx); err != nil {
			return err
		}
		if r.row.changesAccounts() {
			if err := r.sessions.MayChangeAccounts(r.ctx); err != nil {
				return err
			}
		}
		if bytes.Count(r.ctx.PostBody(), []byte{'&'}) >= maxFields && !r.uploads() {
			return problem.New(problem.BadRequest, "the form has more than %d fields", maxFields)
		}
	}
	switch {
	case r.row.who != anybody && !r.signedIn():
		return r.askToSignIn()
	case r.row.who == admins && r.caller.User.Role != account.RoleAdmin:
		return r.missing()
	}
	return r.row.handle(r)
}

// maxFields bounds the fields of a form. A field takes more than 100 bytes of memory, which are kept
// for later requests: 8 MiB of empty fields would take more than half a gigabyte.
const maxFields = 256

// uploads reports whether the form has files, so that its fields are not separated by &.
func (r *request) uploads() bool {
	return bytes.HasPrefix(r.ctx.Request.Header.ContentType(), []byte("multipart/form-data"))
}

// identify finds out who is signed in.
func (r *request) identify() (err error) {
	r.caller, err = r.sessions.Caller(r.ctx)
	if errors.Is(err, account.ErrUnauthorized) {
		r.caller, err = account.Caller{}, nil
	}
	return err
}

// id returns the id of the request for a log line.
func (r *request) id() slog.Attr {
	return slog.String("request_id", string(r.ctx.Response.Header.Peek("X-Request-Id")))
}

func (r *request) signedIn() bool { return r.caller.User.ID != 0 }

func (r *request) admin() bool { return r.caller.User.Role == account.RoleAdmin }

// posts reports whether the request may change something.
func (r *request) posts() bool { return !r.ctx.IsGet() && !r.ctx.IsHead() }

// path returns the path of the request, decoded.
func (r *request) path() string { return string(r.ctx.Path()) }

// segment returns the part of the path that a row calls {name}.
func (r *request) segment(name string) string {
	text, _ := r.ctx.UserValue(name).(string)
	return text
}

// query returns a query parameter, "" if it is absent.
func (r *request) query(name string) string { return string(r.ctx.QueryArgs().Peek(name)) }

// sent returns a field of the form that was sent, "" if it is absent. Browsers end the lines of a
// text area with CR LF; sent returns them with LF.
func (r *request) sent(name string) string {
	return strings.ReplaceAll(string(r.ctx.PostArgs().Peek(name)), "\r\n", "\n")
}

// typed returns what the visitor has typed into a field: in the form that was sent, or before
// signing in again. ok == false: nothing, so the field shows its default.
func (r *request) typed(name string) (text string, ok bool) {
	switch {
	case r.posts():
		return r.sent(name), true
	case r.keptFields() == nil:
		return "", false
	}
	return r.kept.Get(name), true
}

// keptFields returns what the visitor had typed into the form of this page before signing in again;
// nil: nothing. It is given to one request.
func (r *request) keptFields() url.Values {
	if !r.keptRead {
		r.kept, r.keptRead = r.takeForm(), true
	}
	return r.kept
}

// seeOther answers a form: the browser is to ask for the page at path.
func (r *request) seeOther(path string) error {
	r.ctx.Response.Header.Set("Location", path)
	r.ctx.SetStatusCode(fasthttp.StatusSeeOther)
	return nil
}

// heavily calls do while the caller has a place for heavy reads, for which it waits some seconds:
// many tabs may be opened at once. Pages are compressed before they are sent, so they are small, and
// the place is not kept until then.
func (r *request) heavily(do func() error) error {
	release, err := r.calls.BeginHeavyPatiently(r.caller)
	if err != nil {
		return err
	}
	defer release()
	return do()
}

// missing answers a request for a page that does not exist, or not for its sender.
func (r *request) missing() error {
	return problem.New(problem.NotFound, "there is no page at this address")
}

// wrongMethod answers a request whose method the page does not have. The router has set Allow, with
// OPTIONS, which pages do not have either.
func (r *request) wrongMethod() error {
	allow := string(r.ctx.Response.Header.Peek("Allow"))
	r.ctx.Response.Header.Set("Allow", strings.ReplaceAll(strings.Replace(allow, "OPTIONS, ", "", 1), ", OPTIONS", ""))
	return problem.New(problem.Method, "this page cannot be asked for with the method %s", r.ctx.Method())
}
