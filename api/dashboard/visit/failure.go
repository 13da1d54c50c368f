package visit

import (
	"cmp"
	"log/slog"

	"github.com/valyala/fasthttp"

	"shunt/api/ops"
	"shunt/api/page"
	"shunt/api/problem"
)

// fail answers with the page of an error, and logs the cause of an internal one.
func (r *Request) fail(err error) {
	p, known := problem.Of(err)
	if !known {
		r.Logger.Error("a page failed", slog.String("page", r.Row.Path), slog.Any("cause", err), r.Id())
	}
	guard(r.Ctx) // the page of an error has no icon
	h := &r.Ctx.Response.Header
	h.Set("Vary", "Accept")
	if page.PrefersJSON(r.Ctx.Request.Header.PeekAll("Accept")) {
		r.Problem(r.Ctx, p)
		return
	}
	if p.Kind.RetryAfter != "" && len(h.Peek("Retry-After")) == 0 {
		h.Set("Retry-After", p.Kind.RetryAfter)
	}
	if err := r.Show(p.Kind.Status, "error", titleOf(p), r.failure(p)); err != nil {
		r.Logger.Error("the page of an error failed", slog.Any("cause", err), r.Id())
		r.Ctx.SetStatusCode(p.Kind.Status)
		r.Ctx.SetContentType("text/plain; charset=utf-8")
		r.Ctx.SetBodyString(p.Kind.Title)
	}
}

// Refuse answers with p a request whose body was not read.
func (d *Dashboard) Refuse(ctx *fasthttp.RequestCtx, p problem.Problem) {
	guard(ctx)
	(&Request{Dashboard: d, Ctx: ctx, Row: &Row{Path: "none"}}).fail(p)
}

// A failure is an error as its page shows it.
type failure struct {
	Title, Detail, Advice string
	Code                  string // of the problem
	Elsewhere             string // the same page of a link of somebody else; empty: there is none
}

// Advice is what the visitor can do about a problem.
var Advice = map[*problem.Kind]string{
	problem.NotFound:       "Check the address, or begin at the overview.",
	problem.HTTPSRequired:  "Open this page over https.",
	problem.BodyTooLarge:   "Go back and send less at once. If you were signed out meanwhile, sign in again first, on another page.",
	problem.RateLimited:    "Wait a moment, then try again.",
	problem.Overloaded:     "Wait a moment, then try again.",
	problem.OutcomeUnknown: "The change may have been made all the same. Look before you try again.",
	problem.ReadOnly:       "Whoever runs this server has to make room on its disk.",
	problem.Loading:        "Try again in a few seconds.",
	problem.Internal:       "Try again. If it happens again, tell whoever runs this server.",
}

// NotALink says of a line of an imported file that nothing can be read from it.
const NotALink = "is not a link as an export writes it"

// titles are those of problems whose own titles are about requests of programs.
var titles = map[*problem.Kind]string{
	problem.Invalid:         "This page cannot be shown",
	problem.BadRequest:      "This form or address is not whole",
	problem.MalformedJSON:   "This form is not whole",
	problem.MediaType:       "This form is not whole",
	problem.BodyTooLarge:    "This is too large",
	problem.HeadersTooLarge: "The browser sent too much",
	problem.Unauthorized:    "You are not signed in",
	problem.Method:          "This page does not do that",
	problem.HTTPSRequired:   "This page is shown over https only",
	problem.Precondition:    "The link was changed meanwhile",
	problem.Gone:            "The link is gone",
}

func titleOf(p problem.Problem) string { return cmp.Or(titles[p.Kind], p.Kind.Title) }

func newFailure(p problem.Problem) failure {
	return failure{Title: titleOf(p), Detail: Sentence(p.Detail), Advice: Advice[p.Kind], Code: p.Kind.Code}
}

// failure returns what the page of p shows. Admins who ask for a link of somebody else are led to it;
// others learn nothing.
func (r *Request) failure(p problem.Problem) failure {
	f := newFailure(p)
	if p.Kind.Status != fasthttp.StatusNotFound || !r.Admin() || r.Posts() || r.Query("owner") != "" {
		return f
	}
	code, err := ops.ParseCode(r.Segment("code"))
	if err != nil {
		return f
	}
	everybody, err := r.Asked(r.Whose().Of("all"))
	if err != nil {
		return f
	}
	if _, err = r.Calls.Read(r.Caller, code, everybody); err == nil {
		f.Elsewhere = r.With("owner") + "all"
	}
	return f
}

// StatusOf returns the status of the problem of err.
func StatusOf(err error) int {
	p, _ := problem.Of(err)
	return p.Kind.Status
}

// FieldErrors returns the errors of a form's fields by name, and the text for all of those whose
// field the form does not have. It returns ok == false for an error that is not about the form.
func FieldErrors(err error, fields ...string) (at map[string]string, general string, ok bool) {
	p, known := problem.Of(err)
	if !known || p.Kind.Status >= 500 {
		return nil, "", false
	}
	at = make(map[string]string)
	for _, f := range fields {
		at[f] = ""
	}
	for _, e := range p.Fields {
		if text, has := at[e.Field]; has && text == "" {
			at[e.Field] = e.Message
		} else if !has {
			general = e.Error()
		}
	}
	if len(p.Fields) == 0 {
		general = p.Detail
	}
	return at, general, true
}

// Sentences returns the errors of fields as sentences.
func Sentences(errors map[string]string) map[string]string {
	for name, text := range errors {
		errors[name] = Sentence(text)
	}
	return errors
}
