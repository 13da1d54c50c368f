package api

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/cluster"
	"shunt/api/dashboard"
	"shunt/api/exchange"
	"shunt/api/failures"
	"shunt/api/page"
	"shunt/api/problem"
	"shunt/engine"
)

// This file serves the dashboard with the sessions and the rates of the API.

// webSessions implements dashboard.Sessions.
type webSessions struct {
	auth     *authenticator
	limiter  *limiter
	accounts *accountCalls
}

func (w webSessions) Secure(ctx *fasthttp.RequestCtx) error { return w.auth.https.require(ctx) }

func (w webSessions) MayChangeAccounts(ctx *fasthttp.RequestCtx) error {
	return cluster.MayChangeAccounts(ctx)
}

func (w webSessions) Own(ctx *fasthttp.RequestCtx) error {
	return w.auth.pages.requireForm(ctx, w.auth.https.reached(ctx))
}

func (w webSessions) Caller(ctx *fasthttp.RequestCtx) (account.Caller, error) {
	cookie := w.auth.cookies.read(ctx)
	if cookie == "" {
		return account.Caller{}, account.ErrUnauthorized
	}
	caller, err := w.auth.accounts.AuthenticateSession(cookie)
	caller.Origin = w.auth.origins.of(ctx)
	return caller, err
}

func (w webSessions) Allow(ctx *fasthttp.RequestCtx, caller account.Caller, creates bool) error {
	return w.limiter.mayCall(ctx, caller, creates)
}

func (w webSessions) AllowMore(ctx *fasthttp.RequestCtx, caller account.Caller, n int) error {
	return w.limiter.mayCreateMore(ctx, caller, n)
}

func (w webSessions) LogIn(ctx *fasthttp.RequestCtx, email, password string) (account.Caller, error) {
	return w.accounts.logIn(ctx, email, password)
}

func (w webSessions) LogOut(ctx *fasthttp.RequestCtx) error { return w.accounts.logOut(ctx) }

func (w webSessions) LookUpSetup(ctx *fasthttp.RequestCtx, code string) (account.User, error) {
	if err := w.limiter.mayTrySetup(ctx); err != nil {
		return account.User{}, err
	}
	u, err := w.auth.accounts.LookUpSetupCode(code)
	w.noteSetup(ctx, err)
	return u, err
}

func (w webSessions) SetUp(ctx *fasthttp.RequestCtx, code, email, password string) (account.Caller, error) {
	if err := w.limiter.mayTrySetup(ctx); err != nil {
		return account.Caller{}, err
	}
	caller, cookie, err := w.auth.accounts.UseSetupCode(strangerKey(ctx, w.limiter.proxies), code, email, password)
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
		w.auth.note(ctx, failures.Setup)
	} else {
		w.limiter.hasNotTriedSetup(ctx)
	}
}

// ChangePassword counts as an attempt to log in, because it says whether a password is right.
func (w webSessions) ChangePassword(ctx *fasthttp.RequestCtx, caller account.Caller, current, password string) error {
	if err := w.limiter.mayLogIn(ctx, caller.User.Name); err != nil {
		return err
	}
	err := w.auth.accounts.ChangePassword(caller, strangerKey(ctx, w.limiter.proxies), current, password)
	if p, _ := problem.Of(err); err == nil || p.Kind != problem.Invalid || len(p.Fields) != 1 || p.Fields[0].Field != "current" {
		w.limiter.hasNotTried(ctx, caller.User.Name)
	} else {
		w.auth.note(ctx, failures.Login)
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

// newDashboard returns the pages under /_/; nil if there are none.
func (s *Server) newDashboard(site page.Site) *dashboard.Dashboard {
	if site.SignIn == "" {
		return nil
	}
	return dashboard.New(dashboard.Options{
		Calls: s.calls, Accounts: s.accounts, Engine: s.engine,
		Sessions: webSessions{s.auth, s.limiter, s.accountCalls},
		Stalled:  func() bool { return s.stall.stalled(s.now.time()) },
		Health:   s.Health,
		Facts:    s.metrics.Facts, Site: site, BaseURL: s.baseURL,
		Problem: exchange.WriteProblem, Stream: s.live.streamOf,
		Answered: func(route string, method []byte, status int, took time.Duration) {
			s.metrics.Seconds(route).Observe(took.Seconds())
			s.metrics.Answered(route, method, status)
		},
		Now: s.now.time, Logger: s.log,
	})
}

// largeForms returns the forms of d that may be large.
func largeForms(d *dashboard.Dashboard) []dashboard.LargeForm {
	if d == nil {
		return nil
	}
	return dashboard.LargeForms()
}
