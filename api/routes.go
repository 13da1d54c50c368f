package api

import "shunt/api/account"

// endpoints is the table of the API: a row for each call. The socket of local commands has a few
// more (operations.go, setuplinks.go).
func (s *Server) endpoints() []endpoint {
	heavy, calls, links := &s.heavy, s.accountCalls, s.linkCalls
	return []endpoint{
		{"POST", "/shorten", account.LinksWrite, links.createLink, 0},
		{"POST", "/shorten/bulk", account.LinksWrite, links.createBulk, maxBulkBytes},
		{"POST", "/import", account.Admin, links.importLinks, maxBulkBytes},
		{"GET", "/links", account.LinksRead, heavy.bounded(links.listLinks), 0},
		{"GET", "/export", account.LinksRead, links.exportLinks, 0},
		{"GET", "/links/{code}", account.LinksRead, links.readLink, 0},
		{"PATCH", "/links/{code}", account.LinksWrite, links.patchLink, 0},
		{"DELETE", "/links/{code}", account.LinksWrite, links.deleteLink, 0},
		{"POST", "/links/{code}/reset", account.LinksWrite, links.resetLink, 0},
		{"GET", "/tags", account.LinksRead, heavy.bounded(links.listTags), 0},
		{"PATCH", "/tags/{tag}", account.LinksWrite, links.renameTag, 0},
		{"DELETE", "/tags/{tag}", account.LinksWrite, links.deleteTag, 0},
		{"GET", "/stats/{code}", account.StatsRead, links.readStats, 0},
		{"GET", "/stats/{code}/live", account.StatsRead, s.live.streamStats, 0},
		{"GET", "/stats", account.StatsRead, heavy.bounded(links.readOwnerStats), 0},
		{"GET", "/misses", account.Admin, links.readMisses, 0},
		{"GET", "/audit", account.Admin, heavy.bounded(links.readAudit), 0},
		{"GET", "/tokens", account.TokensWrite, heavy.bounded(heavy.inTurn(calls.listTokens)), 0},
		{"POST", "/tokens", account.TokensWrite, calls.issueToken, 0},
		{"DELETE", "/tokens/{id}", account.TokensWrite, calls.revokeToken, 0},
		{"GET", "/me", anyScope, calls.readMe, 0},
		{"GET", "/users", account.Admin, calls.listUsers, 0},
		{"POST", "/users", account.Admin, calls.addUser, 0},
		{"PATCH", "/users/{id}", account.Admin, calls.editUser, 0},
		{"DELETE", "/users/{id}", account.Admin, calls.removeUser, 0},
		{"POST", "/session", noCaller, calls.beginSession, 0},
		{"DELETE", "/session", noCaller, calls.endSession, 0},
		{"GET", "/openapi.json", noCaller, readDocument, 0},
		{"GET", "/openapi-3.0.json", noCaller, readDocument30, 0},
	}
}
