package api

import (
	"errors"
	"fmt"
	"html"
	"net/url"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/redirect"
	"shunt/api/turnstile"
	"shunt/engine"
)

// Limits of previews, which read the store: one takes some 10 µs, or a few ms from a disk. 1,024
// that wait take 0.5 s then.
const (
	maxPreviews        = 16
	maxPreviewsCaller  = 64 // of one network, those that wait included
	maxPreviewsWaiting = 1024
	previewPatience    = 5 * time.Second
)

func newPreviews() *turnstile.Turnstile {
	return turnstile.New(turnstile.Limits{
		Places: maxPreviews, PerCaller: maxPreviewsCaller, Waiting: maxPreviewsWaiting, Patience: previewPatience,
	})
}

// servePreview is GET /{code}+: where the link leads and since when it exists.
func (s *Server) servePreview(ctx *fasthttp.RequestCtx, code []byte) {
	peeked, o := s.peek(ctx, code)
	if o != redirect.Redirected {
		writePage(ctx, o)
		return
	}
	created, err := s.createdAt(s.strangerKey(ctx), string(code), peeked.ID)
	switch {
	case errors.Is(err, engine.ErrNotFound): // deleted since
		writePage(ctx, redirect.UnknownCode)
	case err != nil:
		s.fail(ctx, err)
	default:
		ctx.Response.Header.Set("Cache-Control", "no-store")
		writeHTML(ctx, htmlPage("Where this link leads", previewText(string(code), peeked, created)))
	}
}

func (s *Server) createdAt(key turnstile.Key, code string, id uint64) (at time.Time, err error) {
	err = s.previews.Do(key, func() (err error) {
		at, err = s.engine.CreatedAt(code, id)
		return err
	})
	return at, err
}

// previewText returns the HTML of a preview. Its link is the short one, so that whoever follows it is counted. Of a capped link,
// whose hits somebody counts on, only the host is shown: the whole would make it free.
func previewText(code string, peeked redirect.Peeked, created time.Time) string {
	var b strings.Builder
	shown, host := shownTarget(peeked.Target)
	if peeked.Capped {
		fmt.Fprintf(&b, "<p>It can be followed a certain number of times, and leads to an address of</p>\n")
		shown = host
	}
	fmt.Fprintf(&b, "<p class=\"address\">%s</p>\n", html.EscapeString(shown))
	switch readable, doubtful := readableHost(host); {
	case doubtful:
		fmt.Fprintf(&b, "<p><strong>Mind the name</strong> %s: written out, it has letters that look like others.</p>\n",
			html.EscapeString(host))
	case readable != "":
		fmt.Fprintf(&b, "<p>%s is how computers write <bdi>%s</bdi>.</p>\n", html.EscapeString(host), html.EscapeString(readable))
	}
	fmt.Fprintf(&b, "<p>The link was made on <time datetime=\"%s\">%s UTC</time>.</p>\n", created.UTC().Format(time.RFC3339),
		created.UTC().Format("2 January 2006, 15:04"))
	fmt.Fprintf(&b, "<p><a href=\"/%s\" rel=\"nofollow noreferrer\">Follow it</a></p>", code)
	return b.String()
}

// shownTarget returns a target as it can be shown to people, and its host. What is not ASCII behind the host is shown
// as browsers send it: there are characters that change the order in which text is read, or that nobody sees.
func shownTarget(target string) (shown, host string) {
	scheme, after, _ := strings.Cut(target, "://")
	end := strings.IndexAny(after, "/?#")
	if end < 0 {
		end = len(after)
	}
	var b strings.Builder
	b.WriteString(scheme + "://" + after[:end])
	for _, c := range []byte(after[end:]) {
		if c < 0x80 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String(), (&url.URL{Host: after[:end]}).Hostname()
}
