package door

import (
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/domains"
	"shunt/api/exchange"
	"shunt/api/ops"
	"shunt/api/problem"
)

// A Request is a request at a door. It is valid until the Handler returns, and so is all that Ctx has; Path and Query
// are copies.
type Request struct {
	// Ctx has the request without its query. Handlers write the answer to it.
	Ctx   *fasthttp.RequestCtx
	Path  string // as it was sent, without the query
	Query string // as it was sent; empty: none
}

// A Handler answers the requests for the paths of a door. Any number of goroutines may call it.
type Handler func(r *Request)

// A Credential is what a client sends to say who it is: the text of a token, or else the e-mail address and the
// password of a user. The zero Credential is none.
type Credential struct {
	Token          string
	Name, Password string
}

// An Action is what a request asks for, as far as it must be known before it is done.
type Action struct {
	Scope    account.Scope // that the caller needs; empty: any will do
	Also     account.Scope // that the caller needs, too; empty: none
	Anybody  bool          // no caller is needed, and Scope is not looked at; the zero Caller does it
	Creates  bool          // it creates links, and so counts as a create
	Frees    bool          // it deletes, which an overloaded server still does
	Accounts bool          // it changes users, tokens or domains: see relay.MayChangeAccounts
	Heavy    bool          // it is a list, or figures of several links: see ops.Calls.BeginHeavy
}

// The actions that most doors have.
var (
	Create = Action{Scope: account.LinksWrite, Creates: true}
	Read   = Action{Scope: account.LinksRead}
	List   = Action{Scope: account.LinksRead, Heavy: true}
	Edit   = Action{Scope: account.LinksWrite}
	Delete = Action{Scope: account.LinksWrite, Frees: true}
	Public = Action{Anybody: true}
)

// A House is what all doors share. Its functions may be called from any number of goroutines.
type House struct {
	Ops     *ops.Calls
	Domains *domains.Calls
	Ready   func() bool // reports whether all links are loaded
	Version string      // of this server; empty: unknown
	Now     func() time.Time

	// Do calls do for the caller whom by names, if that one may do what. Once per request, and before anything else is
	// done for it, so that nobody else learns anything. Errors are for Problem: those of do, and of who may not.
	Do func(ctx *fasthttp.RequestCtx, by Credential, what Action, do exchange.Handler) error

	// Problem returns what the client may see of an error. It logs the cause of an internal error, and sets Retry-After
	// in the answer, if the problem has one.
	Problem func(ctx *fasthttp.RequestCtx, err error) problem.Problem
}

// Refuse is Do for a request that is refused whoever sent it, before its caller is looked at. It counts for the
// client's address. It returns err, or the error of one request too many.
func (h *House) Refuse(ctx *fasthttp.RequestCtx, err error) error {
	return h.Do(ctx, Credential{}, Public, func(*fasthttp.RequestCtx, account.Caller) error { return err })
}
