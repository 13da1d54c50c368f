package public

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"shunt/api/auth"
	"shunt/api/exchange"
	"shunt/api/limit"
	"shunt/api/lock"
	"shunt/api/password"
	"shunt/api/redirect"
	"shunt/api/turnstile"
	"shunt/api/urlpath"
	"shunt/api/wire/http1"
	"shunt/engine"
	"shunt/engine/extras"
)

// This file opens links that have a password. The page that asks for it is that of redirect.Locked; it sends the
// password by POST to the address of the link.

// typedHead begins the body of the form of that page (HTML, 4.10.22.8).
const typedHead = "password="

// IsTyped reports whether a request is the form of that page.
func IsTyped(ctx *fasthttp.RequestCtx) bool {
	mediaType, _, _ := bytes.Cut(ctx.Request.Header.ContentType(), []byte{';'})
	return ctx.IsPost() && string(mediaType) == "text/plain" && bytes.HasPrefix(ctx.PostBody(), []byte(typedHead))
}

// typedIn returns the password of a form: of that page, or of a tool that sends forms as most are sent.
func typedIn(ctx *fasthttp.RequestCtx) string {
	if IsTyped(ctx) {
		return strings.TrimRight(string(ctx.PostBody()[len(typedHead):]), "\r\n")
	}
	return string(ctx.PostArgs().Peek(strings.TrimSuffix(typedHead, "=")))
}

// AnswerOpened answers the form about a link that has no password any more: it is asked for again, since its target
// must not get what was typed.
func AnswerOpened(ctx *fasthttp.RequestCtx) {
	ctx.SetStatusCode(fasthttp.StatusSeeOther)
	ctx.Response.Header.SetCanonical(exchange.NameLocation, engine.AppendASCII(nil, urlpath.OriginForm(ctx.Request.Header.RequestURI())))
	ctx.Response.Header.SetCanonical(exchange.NameCacheControl, redirect.NeverStore)
}

// MaxTypedCaller is how many passwords that visitors of one network have typed are compared, or wait, at a time: a
// class may open a link together.
const MaxTypedCaller = 40

// Limits of questions to another server. Each takes some 100 ms there and on the way.
const (
	maxTypedWaiting = 64
	typedPatience   = 5 * time.Second
	answerPatience  = 10 * time.Second // until the answer to one
)

// A Gatekeeper compares what visitors type with the passwords of links.
type Gatekeeper struct {
	pages     Pages
	redirects *redirect.Redirector
	engine    *engine.Engine
	limiter   *auth.Limiter
	https     *auth.HTTPS
	hasher    *password.Hasher
	places    *turnstile.Turnstile // reads of the store
	now       exchange.Clock
	log       *slog.Logger

	// ask asks another server, because this one has no hashes; nil: it has.
	ask    func(context.Context, lock.Question) (lock.Answer, error)
	asking *turnstile.Turnstile // questions
	silent atomic.Bool          // the last one was not answered, which the log says

	results [len(lock.Results)]atomic.Uint64
}

// GatekeeperOptions are what a Gatekeeper needs.
type GatekeeperOptions struct {
	Pages     Pages
	Redirects *redirect.Redirector
	Engine    *engine.Engine
	Limiter   *auth.Limiter
	HTTPS     *auth.HTTPS
	Hasher    *password.Hasher     // of its own, so that nobody who logs in waits for visitors
	Places    *turnstile.Turnstile // reads of the store
	Now       exchange.Clock
	Log       *slog.Logger
	Ask       func(context.Context, lock.Question) (lock.Answer, error) // see lock.Question; nil: passwords are compared here
}

// NewGatekeeper returns a Gatekeeper.
func NewGatekeeper(o GatekeeperOptions) *Gatekeeper {
	return &Gatekeeper{
		pages: o.Pages, redirects: o.Redirects, engine: o.Engine, limiter: o.Limiter, https: o.HTTPS, hasher: o.Hasher, places: o.Places,
		now: o.Now, log: o.Log, ask: o.Ask, asking: turnstile.New(turnstile.Limits{
			Places: lock.MaxQuestions, PerCaller: MaxTypedCaller, Waiting: maxTypedWaiting, Patience: typedPatience,
		}),
	}
}

// Unlocks is an iterator over the number of attempts with each result.
func (g *Gatekeeper) Unlocks(yield func(result string, n uint64) bool) {
	for i, result := range lock.Results {
		if !yield(string(result), g.results[i].Load()) {
			return
		}
	}
}

// Answer answers a POST to the address of a link that has a password. With the right one the visitor gets a cookie, and
// is sent to the address again: rest is what follows the code in its path, query what follows the question mark.
func (g *Gatekeeper) Answer(ctx *fasthttp.RequestCtx, link redirect.Gate, rest, query []byte) {
	client := g.limiter.Proxies.ClientAddr(ctx, http1.PeerAddr(ctx))
	a := g.try(ctx, link, g.limiter.NetworkOf(ctx, client), typedIn(ctx))
	h := &ctx.Response.Header
	switch a.Result {
	case lock.Opened:
		to := []byte("/" + link.Code)
		link.Lock = a.Lock
		g.setCookies(ctx, string(engine.AppendASCII(nil, to)), link)
		if to = append(to, rest...); len(query) > 0 {
			to = append(append(to, '?'), query...)
		}
		ctx.SetStatusCode(fasthttp.StatusSeeOther)
		h.SetCanonical(exchange.NameLocation, engine.AppendASCII(nil, to))
		h.SetCanonical(exchange.NameCacheControl, redirect.NeverStore)
	case lock.Limited:
		h.Set(fasthttp.HeaderRetryAfter, strconv.FormatInt(limit.WholeSeconds(time.Duration(a.WaitMs)*time.Millisecond), 10))
		g.pages.answerAsk(ctx, &g.pages.in(ctx).Asks.Limited)
	case lock.Overloaded:
		g.pages.answerAsk(ctx, &g.pages.in(ctx).Asks.Overloaded)
	default:
		g.pages.answerAsk(ctx, &g.pages.in(ctx).Asks.Wrong)
	}
}

// setCookies gives the visitor the cookie that opens a link, at path and below, and the same for its other spellings
// (lock.LastName). fasthttp would decode the path, and browsers send a cookie only to the path as it is written.
func (g *Gatekeeper) setCookies(ctx *fasthttp.RequestCtx, path string, link redirect.Gate) {
	value := g.redirects.Cookie(link, g.now.Of(ctx).UnixMilli())
	for _, c := range [][2]string{{lock.Name, path}, {lock.LastName, "/"}} {
		text := fmt.Sprintf("%s=%s; Max-Age=%d; Path=%s; HttpOnly; SameSite=Lax", // Lax: a link in a mail opens, too
			c[0], value, int(lock.Life.Seconds()), c[1])
		if g.https.Reached(ctx) {
			text += "; Secure"
		}
		ctx.Response.Header.Add(fasthttp.HeaderSetCookie, text)
	}
}

// try compares a password here, or asks the server that can, and counts the result.
func (g *Gatekeeper) try(ctx *fasthttp.RequestCtx, link redirect.Gate, network netip.Addr, typed string) (a lock.Answer) {
	defer func() { g.count(a.Result) }()
	if typed == "" || len(typed) > password.MaxBytes || !utf8.ValidString(typed) { // no link has such a password
		return lock.Answer{Result: lock.Wrong}
	}
	q := lock.Question{Link: link.Key, ID: link.ID, Password: typed}
	if g.ask == nil {
		return g.compare(&q, network, g.now.Of(ctx))
	}
	return g.askFor(&q, network, g.now.Of(ctx))
}

// askFor asks another server. The limits hold here, too, so that what is refused costs no question.
func (g *Gatekeeper) askFor(q *lock.Question, network netip.Addr, now time.Time) (a lock.Answer) {
	if wait := g.limiter.MayUnlock(network, q.ID, now); wait > 0 {
		return lock.Answer{Result: lock.Limited, WaitMs: wait.Milliseconds()}
	}
	if network.IsValid() {
		q.Network = network.String()
	}
	err := g.asking.Do(turnstile.Key{Network: network}, func() (err error) {
		ctx, cancel := context.WithTimeout(context.Background(), answerPatience)
		defer cancel()
		a, err = g.ask(ctx, *q)
		if g.silent.Swap(err != nil) != (err != nil) && err != nil {
			g.log.Warn("passwords of links cannot be compared: the server that has them does not answer", slog.Any("cause", err))
		}
		return err
	})
	if err != nil {
		a = lock.Answer{Result: lock.Overloaded}
	}
	if a.Result != lock.Wrong {
		g.limiter.HasNotTriedUnlock(network, q.ID, now)
	}
	return a
}

func (g *Gatekeeper) count(r lock.Result) {
	for i, result := range lock.Results {
		if r == result {
			g.results[i].Add(1)
		}
	}
}

// Compare answers the question of an edge.
func (g *Gatekeeper) Compare(q *lock.Question) lock.Answer {
	network, _ := netip.ParseAddr(q.Network)
	return g.compare(q, network, g.now.Time())
}

// compare answers a question about a link whose hash is here. It counts the attempt before it compares anything, and
// takes the count back if no password was compared, or if it was right: who knows it guesses nothing.
func (g *Gatekeeper) compare(q *lock.Question, network netip.Addr, now time.Time) lock.Answer {
	if wait := g.limiter.MayUnlock(network, q.ID, now); wait > 0 {
		return lock.Answer{Result: lock.Limited, WaitMs: wait.Milliseconds()}
	}
	key := turnstile.Key{Network: network}
	hash, err := g.hashOf(key, q)
	ok := false
	if err == nil && hash != "" {
		ok, _, err = g.hasher.Matches(key, q.Password, hash)
	}
	switch {
	case errors.Is(err, engine.ErrNotFound): // it was deleted a moment ago
		return lock.Answer{Result: lock.Wrong}
	case err != nil:
		g.limiter.HasNotTriedUnlock(network, q.ID, now)
		if !errors.Is(err, password.ErrOverloaded) && !errors.Is(err, turnstile.ErrFull) && !errors.Is(err, turnstile.ErrShare) {
			g.log.Error("the password of a link cannot be compared", slog.Any("cause", err))
		}
		return lock.Answer{Result: lock.Overloaded}
	case !ok:
		return lock.Answer{Result: lock.Wrong}
	}
	g.limiter.HasNotTriedUnlock(network, q.ID, now)
	return lock.Answer{Result: lock.Opened, Lock: extras.LockOf(hash)}
}

// hashOf returns the hash of the password of a link, from the store. It is empty if another link has its code now.
func (g *Gatekeeper) hashOf(key turnstile.Key, q *lock.Question) (hash string, err error) {
	err = g.places.Do(key, func() (err error) {
		var id uint64
		if id, hash, err = g.engine.Password(q.Link); id != q.ID {
			hash = ""
		}
		return err
	})
	return hash, err
}
