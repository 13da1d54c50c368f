package api

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/auth"
	"shunt/api/dashboard"
	"shunt/api/exchange"
	"shunt/api/failures"
	"shunt/api/page"
	"shunt/api/problem"
	"shunt/api/relay"
	"shunt/api/words"
	"shunt/engine"
)

// This file serves the dashboard with the sessions and the rates of the API.

// webSessions implements dashboard.Sessions.
type webSessions struct {
	auth     *auth.Authenticator
	limiter  *auth.Limiter
	accounts *accountCalls
}

func (w webSessions) Secure(ctx *fasthttp.RequestCtx) error { return w.auth.HTTPS.Require(ctx) }

func (w webSessions) MayChangeAccounts(ctx *fasthttp.RequestCtx) error {
	return relay.MayChangeAccounts(ctx)
}

func (w webSessions) Own(ctx *fasthttp.RequestCtx) error {
	return w.auth.Pages.RequireForm(ctx, w.auth.HTTPS.Reached(ctx))
}

func (w webSessions) Caller(ctx *fasthttp.RequestCtx) (account.Caller, error) {
	cookie := w.auth.Cookies.Read(ctx)
	if cookie == "" {
		return account.Caller{}, account.ErrUnauthorized
	}
	caller, err := w.auth.Accounts.AuthenticateSession(cookie)
	caller.Origin = w.auth.Origins.Of(ctx)
	return caller, err
}

func (w webSessions) Allow(ctx *fasthttp.RequestCtx, caller account.Caller, creates bool) error {
	return w.limiter.MayCall(ctx, caller, creates)
}

func (w webSessions) AllowMore(ctx *fasthttp.RequestCtx, caller account.Caller, n int) error {
	return w.limiter.MayCreateMore(ctx, caller, n)
}

func (w webSessions) LogIn(ctx *fasthttp.RequestCtx, email, password string) (account.Caller, error) {
	return w.accounts.logIn(ctx, email, password)
}

func (w webSessions) LogOut(ctx *fasthttp.RequestCtx) error { return w.accounts.logOut(ctx) }

func (w webSessions) LookUpSetup(ctx *fasthttp.RequestCtx, code string) (account.User, error) {
	if err := w.limiter.MayTrySetup(ctx); err != nil {
		return account.User{}, err
	}
	u, err := w.auth.Accounts.LookUpSetupCode(code)
	w.noteSetup(ctx, err)
	return u, err
}

func (w webSessions) SetUp(ctx *fasthttp.RequestCtx, code, email, password string) (account.Caller, error) {
	if err := w.limiter.MayTrySetup(ctx); err != nil {
		return account.Caller{}, err
	}
	caller, cookie, err := w.auth.Accounts.UseSetupCode(auth.StrangerKey(ctx, w.limiter.Proxies), code, email, password)
	w.noteSetup(ctx, err)
	if err == nil {
		err = w.accounts.enter(ctx, &caller, cookie)
	}
	return caller, err
}

// noteSetup logs a setup code that err refuses. If the code was right, it takes the count of the
// attempt back.
func (w webSessions) noteSetup(ctx *fasthttp.RequestCtx, err error) {
	if errors.Is(err, account.ErrNoSetupCode) {
		w.auth.Note(ctx, failures.Setup)
	} else {
		w.limiter.HasNotTriedSetup(ctx)
	}
}

// ChangePassword counts as an attempt to log in, because it says whether a password is right.
func (w webSessions) ChangePassword(ctx *fasthttp.RequestCtx, caller account.Caller, current, password string) error {
	if err := w.limiter.MayLogIn(ctx, caller.User.Name); err != nil {
		return err
	}
	err := w.auth.Accounts.ChangePassword(caller, auth.StrangerKey(ctx, w.limiter.Proxies), current, password)
	if p, _ := problem.Of(err); err == nil || p.Kind != problem.Invalid || len(p.Fields) != 1 || p.Fields[0].Field != "current" {
		w.limiter.HasNotTried(ctx, caller.User.Name)
	} else {
		w.auth.Note(ctx, failures.Login)
	}
	return err
}

// A stallMark notes that the store has not answered a write of a link in time.
type stallMark struct{ unixMs atomic.Int64 } // of the last such write; 0: a later one was answered

// stallShown is how long pages say so if nobody tries another write.
const stallShown = time.Minute

func (m *stallMark) note(now time.Time, err error) {
	switch {
	case errors.Is(err, engine.ErrOutcomeUnknown), errors.Is(err, engine.ErrOverloaded):
		m.unixMs.Store(now.UnixMilli())
	case err == nil && m.unixMs.Load() != 0:
		m.unixMs.Store(0)
	}
}

func (m *stallMark) stalled(now time.Time) bool {
	return now.Sub(time.UnixMilli(m.unixMs.Load())) < stallShown
}

// newDashboard returns the pages under /_/; nil if there are none here.
func (s *Server) newDashboard(site page.Site, languages *words.Languages, edge bool) *dashboard.Dashboard {
	if site.SignIn == "" || edge {
		return nil
	}
	return dashboard.New(dashboard.Options{
		Calls: s.calls, Accounts: s.accounts, Engine: s.engine,
		Sessions: webSessions{s.auth, s.limiter, s.accountCalls},
		Stalled:  func() bool { return s.stall.stalled(s.now.Time()) },
		Health:   s.Health,
		Domains:  &s.domainCalls, Folders: &s.folderCalls,
		Fetches: s.fetches, Checks: s.checks,
		Edges: s.edgeList.list, ForgetEdge: s.edgeList.forget,
		Facts: s.metrics.Facts, Site: site, BaseURL: s.baseURL,
		Problem: exchange.WriteProblem, Stream: s.live.StreamOf, Table: s.linkCalls.StreamTable,
		Answered: func(route string, method []byte, status int, took time.Duration) {
			s.metrics.Seconds(route).Observe(took.Seconds())
			s.metrics.Answered(route, method, status)
		},
		Languages: languages, Now: s.now.Time, Logger: s.log,
	})
}

// largeForms returns the forms of d that may be large.
func largeForms(d *dashboard.Dashboard) []dashboard.LargeForm {
	if d == nil {
		return nil
	}
	return dashboard.LargeForms()
}
