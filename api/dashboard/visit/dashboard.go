package visit

import (
	"log/slog"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/admin"
	"shunt/api/domains"
	"shunt/api/edges"
	"shunt/api/fetch"
	"shunt/api/folders"
	"shunt/api/ops"
	"shunt/api/page"
	"shunt/api/problem"
	"shunt/api/words"
	"shunt/engine"
)

// Root is the path of the overview; the paths of all pages begin with it.
const Root = page.Root

// Options are what a Dashboard needs. All but Logger are required.
type Options struct {
	Calls    *ops.Calls
	Accounts *account.Accounts
	Engine   *engine.Engine
	Sessions Sessions
	Facts    func() ([]admin.Group, error) // about the server: its metrics in words
	Stalled  func() bool                   // the store has not answered a write in time
	Health   func() admin.Health

	Domains *domains.Calls
	Folders *folders.Calls
	Fetches *fetch.Calls
	Checks  *fetch.Checks

	Edges      func() ([]edges.Edge, error) // of this server
	ForgetEdge func(by account.Caller, name string) (edges.Edge, error)

	Languages *words.Languages // of the pages; nil: those of the program

	Site    page.Site
	BaseURL string // short addresses begin with it; without a slash at its end

	Problem  func(ctx *fasthttp.RequestCtx, p problem.Problem) // answers with p, for clients that prefer JSON
	Stream   Stream
	Table    func(ctx *fasthttp.RequestCtx, caller account.Caller, q ops.ListQuery) error // answers with a list as CSV
	Answered func(route string, method []byte, status int, took time.Duration)            // counts an answered request
	Now      func() time.Time

	Logger *slog.Logger // default: discards
}

// A Stream answers with what read returns, whenever it changes, as long as the caller may use the
// guard.
type Stream func(ctx *fasthttp.RequestCtx, caller account.Caller, g ops.Whose, read func() (hits, unique uint64, err error)) error

// Sessions decide who makes a request, and how often. Package api implements it with the rules that
// hold for its own calls. All errors are for package problem.
type Sessions interface {
	// Secure refuses a request whose cookie or password others could have read on the way.
	Secure(ctx *fasthttp.RequestCtx) error
	// Own refuses a request that a page of another origin made a browser send.
	Own(ctx *fasthttp.RequestCtx) error
	// MayChangeAccounts refuses a request by the way of which no account is changed.
	MayChangeAccounts(ctx *fasthttp.RequestCtx) error
	// Caller returns the user whose session the cookie belongs to, or account.ErrUnauthorized.
	Caller(ctx *fasthttp.RequestCtx) (account.Caller, error)
	// Allow counts a request of caller, the zero Caller if nobody is signed in. creates: it may
	// create a link, and has the limit of such requests.
	Allow(ctx *fasthttp.RequestCtx, caller account.Caller, creates bool) error
	// AllowMore counts n more creates of a request that creates several links.
	AllowMore(ctx *fasthttp.RequestCtx, caller account.Caller, n int) error
	// LogIn begins a session, and sets its cookie.
	LogIn(ctx *fasthttp.RequestCtx, email, password string) (account.Caller, error)
	// LookUpSetup returns the user that a setup code is for, or account.ErrNoSetupCode.
	LookUpSetup(ctx *fasthttp.RequestCtx, code string) (account.User, error)
	// SetUp sets the password of the user that a setup code is for, begins a session, and sets its
	// cookie. See account.Accounts.UseSetupCode.
	SetUp(ctx *fasthttp.RequestCtx, code, email, password string) (account.Caller, error)
	// ChangePassword sets the caller's password. See account.Accounts.ChangePassword.
	ChangePassword(ctx *fasthttp.RequestCtx, caller account.Caller, current, password string) error
	// LogOut ends the session of the cookie, if there is one, and removes the cookie.
	LogOut(ctx *fasthttp.RequestCtx) error
}

// A Dashboard serves the pages. Any number of goroutines may use it at once.
type Dashboard struct {
	Options

	content Content
	views   views
	keep    keep
	zones   zones
	routes  fasthttp.RequestHandler
}
