package api

import (
	"github.com/valyala/fasthttp"

	"shunt/api/account"
	foreign "shunt/api/doors"
	"shunt/api/exchange"
	"shunt/api/links"
	"shunt/api/problem"
	"shunt/api/public"
	"shunt/api/shed"
)

// endpoints is the table of the API: a row for each call. The socket of local commands has a few
// more (operations.go, setuplinks.go).
func (s *Server) endpoints() []endpoint {
	heavy, accounts, calls := &s.heavy, s.accountCalls, s.linkCalls
	return []endpoint{
		{"POST", "/shorten", account.LinksWrite, calls.CreateLink, 0},
		{"POST", "/shorten/bulk", account.LinksWrite, calls.CreateBulk, links.MaxBulkBytes},
		{"POST", "/import", account.Admin, calls.ImportLinks, links.MaxBulkBytes},
		{"GET", "/links", account.LinksRead, heavy.Bounded(calls.ListLinks), 0},
		{"GET", "/export", account.LinksRead, calls.ExportLinks, 0},
		{"GET", "/links/{code}", account.LinksRead, calls.ReadLink, 0},
		{"PATCH", "/links/{code}", account.LinksWrite, calls.PatchLink, 0},
		{"DELETE", "/links/{code}", account.LinksWrite, calls.DeleteLink, 0},
		{"POST", "/links/{code}/reset", account.LinksWrite, calls.ResetLink, 0},
		{"GET", "/links/{code}/qr", account.LinksRead, calls.DrawQRCode, 0},
		{"POST", "/links/{code}/qr", account.LinksRead, calls.DrawQRCodeWithLogo, links.MaxLogoBytes},
		{"POST", "/links/{code}/restore", account.LinksWrite, calls.RestoreLink, 0},
		{"GET", "/tags", account.LinksRead, heavy.Bounded(calls.ListTags), 0},
		{"PATCH", "/tags/{tag}", account.LinksWrite, calls.RenameTag, 0},
		{"DELETE", "/tags/{tag}", account.LinksWrite, calls.DeleteTag, 0},
		{"POST", "/titles", account.LinksWrite, s.fetches.FetchTitle, 0},
		{"POST", "/target-check", account.LinksWrite, s.checks.StartCheck, 0},
		{"GET", "/target-check", account.LinksRead, s.checks.ReadCheck, 0},
		{"DELETE", "/target-check", account.LinksWrite, s.checks.StopCheck, 0},
		{"GET", "/stats/{code}", account.StatsRead, calls.ReadStats, 0},
		{"GET", "/stats/{code}/live", account.StatsRead, s.live.StreamStats, 0},
		{"GET", "/stats", account.StatsRead, heavy.Bounded(calls.ReadOwnerStats), 0},
		{"GET", "/misses", account.Admin, calls.ReadMisses, 0},
		{"GET", "/audit", account.Admin, heavy.Bounded(calls.ReadAudit), 0},
		{"GET", "/tokens", account.TokensWrite, heavy.Bounded(heavy.InTurn(accounts.listTokens)), 0},
		{"POST", "/tokens", account.TokensWrite, accounts.issueToken, 0},
		{"DELETE", "/tokens/{id}", account.TokensWrite, accounts.revokeToken, 0},
		{"GET", "/me", anyScope, accounts.readMe, 0},
		{"GET", "/users", account.Admin, accounts.listUsers, 0},
		{"POST", "/users", account.Admin, accounts.addUser, 0},
		{"PATCH", "/users/{id}", account.Admin, accounts.editUser, 0},
		{"DELETE", "/users/{id}", account.Admin, accounts.removeUser, 0},
		{"GET", "/folders", account.LinksRead, heavy.Bounded(s.folderCalls.ListAll), 0},
		{"POST", "/folders", account.LinksWrite, s.folderCalls.AddOne, 0},
		{"GET", "/folders/{folder}", account.LinksRead, s.folderCalls.ReadOne, 0},
		{"PATCH", "/folders/{folder}", account.LinksWrite, s.folderCalls.EditOne, 0},
		{"DELETE", "/folders/{folder}", account.LinksWrite, heavy.Bounded(s.folderCalls.RemoveOne), 0},
		{"DELETE", "/folders/{folder}/members/{user}", account.LinksWrite, s.folderCalls.TakeOutOne, 0},
		{"GET", "/domains", anyScope, s.domainCalls.List, 0},
		{"POST", "/domains", account.Admin, s.domainCalls.Add, 0},
		{"GET", "/domains/{host}", anyScope, s.domainCalls.Read, 0},
		{"PATCH", "/domains/{host}", account.Admin, s.domainCalls.Edit, 0},
		{"DELETE", "/domains/{host}", account.Admin, s.domainCalls.Remove, 0},
		{"POST", "/domains/{host}/check", account.Admin, s.domainCalls.Verify, 0},
		{"GET", "/edges", account.Admin, heavy.Bounded(s.edgeList.listEdges), 0},
		{"DELETE", "/edges/{name}", account.Admin, s.edgeList.forgetEdge, 0},
		{"POST", "/session", noCaller, accounts.beginSession, 0},
		{"DELETE", "/session", noCaller, accounts.endSession, 0},
		{"GET", "/openapi.json", noCaller, public.ReadDocument, 0},
		{"GET", "/openapi-3.0.json", noCaller, public.ReadDocument30, 0},
	}
}

// house returns what doors share.
func (s *Server) house() *foreign.House {
	return &foreign.House{
		Ops: s.calls, Domains: &s.domainCalls, Ready: s.engine.Ready, Version: s.version, Now: s.now.Time, Do: s.atDoor,
		Problem: func(ctx *fasthttp.RequestCtx, err error) problem.Problem {
			p := exchange.ProblemOf(ctx, s.log, err)
			exchange.SetRetryAfter(ctx, p)
			return p
		},
	}
}

// atDoor is foreign.House.Do.
func (s *Server) atDoor(ctx *fasthttp.RequestCtx, by foreign.Credential, what foreign.Action, do exchange.Handler) error {
	d := demand{scope: what.Scope, creates: what.Creates, changesAccounts: what.Accounts}
	switch {
	case what.Anybody:
		d.scope = noCaller
	case what.Creates:
		d.kind = shed.Create
	case what.Frees:
		d.kind = shed.Freeing
	}
	if what.Heavy {
		do = s.heavy.Bounded(do)
	}
	if what.Also != "" {
		do = alsoWith(what.Also, do)
	}
	authenticate := func(ctx *fasthttp.RequestCtx) (account.Caller, error) { return s.callerAtDoor(ctx, by) }
	return s.router.call(ctx, authenticate, d, do)
}

// alsoWith returns do for callers who have a scope.
func alsoWith(scope account.Scope, do exchange.Handler) exchange.Handler {
	return func(ctx *fasthttp.RequestCtx, caller account.Caller) error {
		if err := mayAsk(caller, scope); err != nil {
			return err
		}
		return do(ctx, caller)
	}
}

// callerAtDoor returns the caller whom a credential names. No door looks at the cookie of a session, which a browser
// sends with the requests of any page.
func (s *Server) callerAtDoor(ctx *fasthttp.RequestCtx, by foreign.Credential) (account.Caller, error) {
	switch {
	case by.Token != "":
		return s.auth.ByToken(ctx, by.Token)
	case by.Name != "" && by.Password != "":
		return s.accountCalls.byPassword(ctx, by.Name, by.Password)
	}
	return account.Caller{}, s.auth.Unauthorized("no token was sent")
}
