package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/client"
	"shunt/engine/expect"
)

// This file tests the Go client against the real server. The client's own package tests what the
// server does not do by itself.

// A record is a transport that forwards all requests, and notes which endpoints answered with a
// success.
type record struct {
	http.Transport
	endpoints []endpoint
	requests  atomic.Int64

	mu        sync.Mutex
	succeeded map[string]bool // "GET /links/{code}"
	keys      map[string]int  // requests by Idempotency-Key
}

// RoundTrip implements http.RoundTripper.
func (r *record) RoundTrip(request *http.Request) (*http.Response, error) {
	r.requests.Add(1)
	response, err := r.Transport.RoundTrip(request)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[request.Header.Get("Idempotency-Key")]++
	if err == nil && response.StatusCode/100 == 2 {
		r.succeeded[r.endpointOf(request)] = true
	}
	return response, err
}

func (r *record) endpointOf(request *http.Request) string {
	asked := strings.Split(strings.TrimPrefix(request.URL.Path, apiRoot), "/")
	for _, e := range r.endpoints {
		parts := strings.Split(e.path, "/")
		fits := e.method == request.Method && len(parts) == len(asked)
		for i := 0; fits && i < len(parts); i++ {
			fits = parts[i] == asked[i] || strings.HasPrefix(parts[i], "{")
		}
		if fits {
			return e.method + " " + e.path
		}
	}
	return ""
}

// goClient returns a Go client of st. dial makes its connections; nil: direct ones.
func (st *site) goClient(token string, dial func() (net.Conn, error)) (*client.Client, *record) {
	st.t.Helper()
	if dial == nil {
		dial = st.publicAt.Dial
	}
	r := &record{endpoints: st.endpoints(), succeeded: map[string]bool{}, keys: map[string]int{}}
	r.DialContext = func(context.Context, string, string) (net.Conn, error) { return dial() }
	st.t.Cleanup(r.CloseIdleConnections)
	c, err := client.New("http://127.0.0.1:8080", token, &client.Options{Transport: r, Retry: client.Retry{BaseWait: time.Millisecond}})
	expect.OK(st.t, err)
	return c, r
}

// A tour calls methods of the Go client.
type tour struct {
	*testing.T
	*client.Client
	site   *site
	record *record
}

// must fails the test if a call did.
func (t *tour) must(err error) {
	t.Helper()
	expect.OK(t, err)
}

func (t *tour) want(what string, got, want any) {
	t.Helper()
	expect.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "%s: got %v, want %v", what, got, want)
}

func (t *tour) wantError(err error, want client.Kind) {
	t.Helper()
	expect.Error(t, err, want)
}

func TestTheGoClientHasAMethodForEveryCall(t *testing.T) {
	st := newSite(t, fetching)
	c, r := st.goClient(st.token, nil)
	for _, visit := range []func(*tour){importLinks, makeLinks, editLinks, listLinks, readFigures, followFigures, readAudit, manageTags, manageTokens, manageUsers, manageFolders, manageDomains, manageEdges, drawQRCodes, fetchTitles, checkTargets, removeLinks} {
		visit(&tour{t, c, st, r})
	}
	left := map[string]bool{ // for pages, and for tools
		"POST /session": true, "DELETE /session": true, "GET /openapi.json": true, "GET /openapi-3.0.json": true,
	}
	for _, e := range st.endpoints() {
		name := e.method + " " + e.path
		expect.That(t, left[name] || r.succeeded[name], "%s was not called with success", name)
	}
}

// inWords returns values as text, separated by spaces.
func inWords(values ...any) string { return strings.TrimSuffix(fmt.Sprintln(values...), "\n") }

func manageFolders(t *tour) {
	ctx := t.Context()
	ben, err := t.AddUser(ctx, client.UserDraft{Email: "ben@example.com"})
	t.must(err)
	made, err := t.AddFolder(ctx, client.FolderDraft{Name: "Spring", Members: []client.FolderMember{{Email: ben.Email, May: client.FolderRead}}})
	t.must(err)
	t.want("a folder", inWords(made.Name, made.Owner, made.May, made.Members), fmt.Sprintf("Spring 1 manage [{%d ben@example.com read}]", ben.ID))
	_, err = t.Shorten(ctx, client.Draft{URL: "https://example.org/in", Alias: "in-it", Folder: made.ID})
	t.must(err)
	t.want("its links", codesOf(t, t.Links(ctx, client.LinksQuery{Folder: made.ID})), "in-it")
	stats, err := t.OwnerStats(ctx, client.OwnerStatsQuery{Folder: made.ID, Top: 5})
	t.must(err)
	t.want("its figures", inWords(stats.Hits, len(stats.Top)), "0 0")
	t.want("its links, exported", codesOf(t, t.Export(ctx, client.ExportQuery{Folder: made.ID, Unique: true})), "in-it")
	for tag, want := range map[string]string{"none": "", "": "in-it"} {
		only := client.LinksQuery{Q: "in", Tag: tag, State: client.StateActive, CreatedFrom: time.Unix(1, 0), NeverHit: true, Sort: "not looked at"}
		t.want("those of a filter", codesOf(t, t.Export(ctx, client.ExportQuery{Only: only})), want)
	}
	_, err = t.ExportCSV(ctx, client.ExportQuery{Folder: made.ID + 1})
	t.wantError(err, client.ErrNotFound)
	edited, err := t.EditFolder(ctx, made.ID, client.FolderPatch{Name: client.Set("Summer"), Members: client.Set([]client.FolderMember{{User: ben.ID, May: client.FolderEdit}})})
	t.must(err)
	t.want("its members", inWords(edited.Name, edited.Members[0].May), "Summer edit")
	read, err := t.Folder(ctx, made.ID)
	t.must(err)
	t.want("read again", string(read.Raw), string(edited.Raw))
	mine, err := t.Folders(ctx)
	t.must(err)
	all, err := t.Folders(ctx, client.AnyOwner())
	t.must(err)
	t.want("folders", inWords(len(mine), len(all)), "1 1")
	t.want("versions", inWords(made.Version, edited.Version, mine[0].Version), "1 2 2")
	_, err = t.EditFolder(ctx, made.ID, client.FolderPatch{Name: client.Set("Autumn")}, client.IfVersion(made.Version))
	t.wantError(err, client.ErrPreconditionFailed)
	t.wantError(t.RemoveFolder(ctx, made.ID, client.IfVersion(made.Version)), client.ErrPreconditionFailed)
	t.wantError(t.RemoveFolder(ctx, made.ID, client.IfVersion(edited.Version)), client.ErrFolderInUse)
	t.wantError(t.RemoveFolderMember(ctx, made.ID, 1), client.ErrNotFound)
	t.must(t.RemoveFolderMember(ctx, made.ID, ben.ID))
	read, err = t.Folder(ctx, made.ID)
	t.must(err)
	t.want("members after that", inWords(len(read.Members), read.Version), "0 3")
	link, err := t.Update(ctx, "in-it", client.Edit{Folder: client.Reset[uint32]()})
	t.must(err)
	t.want("the folder of a link that was taken out", link.Folder, 0)
	t.must(t.Delete(ctx, "in-it"))
	t.must(t.RemoveFolder(ctx, made.ID))
	_, err = t.Folder(ctx, made.ID)
	t.wantError(err, client.ErrNotFound)
	t.must(t.RemoveUser(ctx, ben.ID))
}

func manageEdges(t *tour) {
	edges, err := t.Edges(t.Context())
	t.must(err)
	t.want("edges", inWords(len(edges), edges[0].Name, edges[0].State, edges[0].SeenAt == nil), "1 frankfurt revoked true")
	t.must(t.ForgetEdge(t.Context(), "frankfurt"))
	t.wantError(t.ForgetEdge(t.Context(), "none"), client.ErrNotFound)
}

func makeLinks(t *tour) {
	expires := time.UnixMilli(t.site.now.Load()).UTC().Add(time.Hour)
	draft := client.Draft{
		URL: "https://example.org/a?b=c", Alias: "a", RedirectStatus: 307, ExpiresAt: expires, MaxHits: 9, Title: "A", Tags: []string{"x", "y"}, ForwardQuery: true,
	}
	a, err := t.Shorten(t.Context(), draft)
	t.must(err)
	raw := string(a.Raw)
	a.Raw = nil
	t.want("the link", fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", client.Link{
		Code: "a", ShortURL: "http://127.0.0.1:8080/a", URL: draft.URL, RedirectStatus: 307, State: client.StateActive, Owner: 1,
		CreatedAt: expires.Add(-time.Hour), UpdatedAt: expires.Add(-time.Hour), ExpiresAt: expires, MaxHits: 9, Title: "A",
		Tags: []string{"x", "y"}, ForwardQuery: true, Query: client.QueryAppend, Version: a.Version,
	}))
	expect.That(t, strings.HasPrefix(raw, `{"code":"a","short_url":`) && a.Version != 0, "got raw %s, version %d", raw, a.Version)
	again, err := t.Shorten(t.Context(), draft)
	t.must(err)
	t.want("the same alias again", again.Version, a.Version)
	_, err = t.Shorten(t.Context(), client.Draft{URL: "https://example.org/other", Alias: "a"})
	t.wantError(err, client.ErrAliasTaken)

	made, err := t.ShortenBulk(t.Context(), []client.Draft{{URL: "https://example.org/b", Alias: "b"}, {URL: "ftp://example.org"}, draft})
	t.must(err)
	t.want("the bulk", inWords(made.Created, made.Existing, made.Failed), "1 1 1")
	t.want("its first", made.Results[0].Link.Code, "b")
	var problem error = made.Results[1].Problem
	t.wantError(problem, client.ErrInvalid)
	t.want("its second's field", made.Results[1].Problem.Errors[0].Field, "url")
	_, err = t.ShortenBulk(t.Context(), nil)
	t.wantError(err, client.ErrInvalid)
}

func importLinks(t *tour) {
	links := []json.RawMessage{
		json.RawMessage(`{"code":"old","url":"https://example.org/?a=1&b=2","hits":7,"created_at":"2019-01-01T00:00:00Z"}`),
		json.RawMessage(`{"code":"bad","url":"ftp://example.org/"}`),
	}
	for _, want := range []string{"1 0 1", "0 1 1"} {
		done, err := t.Import(t.Context(), links, client.Owner(1))
		t.must(err)
		t.want("the import", inWords(done.Created, done.Existing, done.Failed), want)
		var problem error = done.Results[1].Problem
		t.wantError(problem, client.ErrInvalid)
	}
	old, err := t.Link(t.Context(), "old")
	t.must(err)
	t.want("what was taken in", inWords(old.URL, old.Hits, old.CreatedAt.Year()), "https://example.org/?a=1&b=2 7 2019")
	t.must(t.Delete(t.Context(), "old"))
	again := []json.RawMessage{json.RawMessage(`{"code":"again","url":"https://example.org/again"}`)}
	would, err := t.Import(t.Context(), again, client.Reusable(), client.DryRun())
	t.must(err)
	t.want("a dry run", inWords(would.Created), "1")
	_, err = t.Import(t.Context(), again, client.Reusable())
	t.must(err)
	found, err := t.Shorten(t.Context(), client.Draft{URL: "https://example.org/again", Reuse: true})
	t.must(err)
	t.want("what a create with reuse finds", found.Code, "again")
	t.must(t.Delete(t.Context(), "again"))
	_, err = t.Import(t.Context(), nil)
	t.wantError(err, client.ErrInvalid)
	_, err = t.Import(t.Context(), links, client.IdempotencyKey("k"))
	expect.That(t, err != nil && strings.Contains(err.Error(), "has no use for"), "a key for an import: got %v", err)
}

func editLinks(t *tour) {
	before, err := t.Link(t.Context(), "a")
	t.must(err)
	t.want("unique", *before.Unique, 0)
	after, err := t.Update(t.Context(), "a", client.Edit{
		Title: client.Set("B"), Tags: client.Reset[[]string](), ExpiresAt: client.Reset[time.Time](), MaxHits: client.Reset[uint64](), RedirectStatus: client.Set(301),
	}, client.IfVersion(before.Version))
	t.must(err)
	t.want("what was changed", inWords(after.Title, after.Tags, after.ExpiresAt.IsZero(), after.MaxHits, after.RedirectStatus), "B [] true 0 301")
	t.want("what was kept", inWords(after.URL, after.ForwardQuery), inWords(before.URL, true))
	_, err = t.Update(t.Context(), "a", client.Edit{Title: client.Set("C")}, client.IfVersion(before.Version))
	t.wantError(err, client.ErrPreconditionFailed)
	nothing, err := t.Update(t.Context(), "a", client.Edit{})
	t.must(err)
	t.want("the version after an edit of nothing", nothing.Version, after.Version)
	_, err = t.Update(t.Context(), "a", client.Edit{URL: client.Reset[string]()})
	t.wantError(err, client.ErrInvalid)
}

// codesOf returns the codes of a list, and fails if it ended with an error.
func codesOf(t *tour, list func(yield func(client.Link, error) bool)) string {
	t.Helper()
	var codes []string
	for link, err := range list {
		t.must(err)
		codes = append(codes, link.Code)
	}
	return strings.Join(codes, " ")
}

func listLinks(t *tour) {
	ctx := t.Context()
	before := t.record.requests.Load()
	t.want("by pages of one", codesOf(t, t.Links(ctx, client.LinksQuery{PageSize: 1})), "b a")
	t.want("pages", t.record.requests.Load()-before, 2)
	t.want("by title", codesOf(t, t.Links(ctx, client.LinksQuery{Q: "b", Tag: ""})), "b a")
	t.want("by tag", codesOf(t, t.Links(ctx, client.LinksQuery{Tag: "none"})), "")
	t.want("by state", codesOf(t, t.Links(ctx, client.LinksQuery{State: client.StateActive})), "b a")
	t.want("by another state", codesOf(t, t.Links(ctx, client.LinksQuery{State: client.StateDisabled})), "")
	t.want("of all", codesOf(t, t.Export(ctx, client.ExportQuery{})), "b a")
	for link, err := range t.Export(ctx, client.ExportQuery{Unique: true}, client.Owner(1)) {
		t.must(err)
		t.want("unique of "+link.Code, *link.Unique, 0)
	}
	for _, err := range t.Links(ctx, client.LinksQuery{PageSize: 1001}) {
		t.wantError(err, client.ErrInvalid)
	}
}

func readFigures(t *tour) {
	ctx := t.Context()
	t.want("following", t.site.get("/a", "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Referer: https://news.example/").status, 301)
	t.want("in vain", t.site.get("/nothing").status, 404)
	s, err := t.Stats(ctx, "a", client.StatsQuery{})
	t.must(err)
	t.want("figures", string(s.Raw), `{"hits":1,"unique":1}`)
	s, err = t.Stats(ctx, "a", client.StatsQuery{
		From: time.UnixMilli(t.site.now.Load()).Add(-time.Minute), Interval: client.Hourly, Include: []client.Include{client.IncludeBots,
			client.IncludeReferrers, client.IncludeCountries, client.IncludeDevices, client.IncludeBrowsers, client.IncludeDurability, client.IncludeError,
		},
	}, client.AnyOwner())
	t.must(err)
	t.want("a window", inWords(s.Hits, s.Series[0].Hits, s.To.Sub(s.From), *s.Bots, *s.Error, s.Durability.Hits), "1 1 1h0m0s {0 0 0} 0 0")
	t.want("breakdowns", inWords(s.Referrers, s.Countries, s.Devices, s.Browsers), "[{news.example 1}] [{other 1}] [{desktop 1}] [{Firefox 1}]")
	all, err := t.OwnerStats(ctx, client.OwnerStatsQuery{Top: 5})
	t.must(err)
	t.want("the owner's figures", inWords(all.Hits, all.Unique, all.Top), "1 1 [{ a {1 1}}]")
	all, err = t.OwnerStats(ctx, client.OwnerStatsQuery{}, client.AnyOwner())
	t.must(err)
	t.want("everybody's figures", inWords(all.Hits, all.Unique), "1 1")
	missed, err := t.Misses(ctx, 10)
	t.must(err)
	t.want("misses", inWords(missed.Total, missed.Data), "1 [{ nothing 1 0}]")
}

func drawQRCodes(t *tour) {
	ctx := t.Context()
	_, err := t.Shorten(ctx, client.Draft{URL: "https://example.org/", Alias: "poster", Disabled: true})
	t.must(err)
	margin := 1
	for _, q := range []client.QRCode{
		{}, {Format: "png", MM: 12.5, DPI: 600, Untracked: true}, {Format: "pdf", Color: "#123", Background: "transparent", Margin: &margin, Level: "Q"}, {Format: "png", Size: 300, Logo: []byte(tinyPNG)},
	} {
		picture, err := t.QRCode(ctx, "poster", q, client.AnyOwner())
		t.must(err)
		t.want("a picture", strings.HasPrefix(string(picture), map[string]string{"": "<svg", "png": "\x89PNG", "pdf": "%PDF"}[q.Format]), true)
	}
	_, err = t.QRCode(ctx, "poster", client.QRCode{Color: "white"})
	t.wantError(err, client.ErrInvalid)
	_, err = t.QRCode(ctx, "poster", client.QRCode{Logo: []byte("GIF89a")})
	t.wantError(err, client.ErrInvalid)
	_, err = t.QRCode(ctx, "nothing", client.QRCode{})
	t.wantError(err, client.ErrNotFound)
	enabled, err := t.Update(ctx, "poster", client.Edit{Disabled: client.Set(false)})
	t.must(err)
	t.want("scanning", t.site.get("/poster?_qr").status, enabled.RedirectStatus)
	figures, err := t.Stats(ctx, "poster", client.StatsQuery{Include: []client.Include{client.IncludeScans, client.IncludeReferrers}})
	t.must(err)
	t.want("scans", inWords(figures.Hits, *figures.Scans, figures.Referrers), "1 1 [{QR code 1}]")
	t.must(t.Delete(ctx, "poster"))
}

func fetchTitles(t *tour) {
	found, err := t.FetchTitle(t.Context(), servePage(t.T, "<title>A page</title>"))
	t.must(err)
	t.want("the title", found.Title, "A page")
	_, err = t.FetchTitle(t.Context(), "http://127.0.0.1/")
	t.wantError(err, client.ErrInvalid)
}

func checkTargets(t *tour) {
	ctx := t.Context()
	check, err := t.TargetCheck(ctx)
	t.must(err)
	t.want("no check", check.State, client.CheckNone)
	_, err = t.StartTargetCheck(ctx, client.LinksQuery{Q: "nothing has these words"})
	t.must(err)
	for check.State != client.CheckDone && err == nil {
		check, err = t.TargetCheck(ctx)
	}
	t.must(err)
	t.want("a check", inWords(check.Checked, check.Unasked, len(check.Dead), check.More), "0 0 0 false")
	t.must(t.StopTargetCheck(ctx))
}

func readAudit(t *tour) {
	for entry, err := range t.Audit(t.Context(), client.AuditQuery{Code: "a", PageSize: 3}) {
		t.must(err)
		t.want("the last change of a", inWords(entry.Action, entry.Actor.Via, entry.Code), "link.edited token a")
		break
	}
}

func followFigures(t *tour) {
	for figures, err := range t.Live(t.Context(), "a") {
		t.must(err)
		t.want("live figures", figures, client.Figures{Hits: 1, Unique: 1})
		break
	}
	for _, err := range t.Live(t.Context(), "nothing") {
		t.wantError(err, client.ErrNotFound)
	}
}

func manageTags(t *tour) {
	ctx := t.Context()
	link, err := t.Shorten(ctx, client.Draft{URL: "https://example.org/", Tags: []string{"Tour/1", "..", "tour-2"}})
	t.must(err)
	var names []string
	for tag, err := range t.Tags(ctx, client.TagsQuery{Prefix: "TOUR", PageSize: 1}) {
		t.must(err)
		names = append(names, inWords(tag.Name, tag.Links))
	}
	t.want("tags", strings.Join(names, ", "), "tour-2 1, Tour/1 1")
	done, err := t.RenameTag(ctx, "tour/1", "Tour-2")
	t.must(err)
	t.want("a rename", done, client.TagChange{Name: "Tour-2", Links: 1})
	done, err = t.RenameTag(ctx, "tour-2", "tour-3")
	t.must(err)
	t.want("another", done, client.TagChange{Name: "tour-3", Links: 1})
	done, err = t.DeleteTag(ctx, "..", client.Owner(1))
	t.must(err)
	t.want("a deletion", done, client.TagChange{Name: "..", Links: 1})
	_, err = t.DeleteTag(ctx, "..")
	t.wantError(err, client.ErrNotFound)
	t.must(t.Delete(ctx, link.Code))
}

func manageTokens(t *tour) {
	ctx := t.Context()
	me, err := t.Me(ctx)
	t.must(err)
	t.want("me", inWords(me.ID, me.Email, me.Role, len(me.Scopes), me.TokenID != ""), "1 admin admin 5 true")
	made, err := t.IssueToken(ctx, client.TokenDraft{Name: "n", Scopes: []client.Scope{client.ScopeLinksRead}})
	t.must(err)
	t.site.secret(made.Secret)
	other, _ := t.site.goClient(made.Secret, nil)
	_, err = other.Link(ctx, "a")
	t.must(err)
	t.wantError(other.Delete(ctx, "a"), client.ErrForbidden)
	tokens, err := t.Tokens(ctx, client.AnyOwner())
	t.must(err)
	at := slices.IndexFunc(tokens, func(t client.Token) bool { return t.ID == made.ID })
	t.want("a token of all", inWords(tokens[at].Owner, tokens[at].BeginsWith), inWords(me.ID, made.Secret[:10]))
	tokens, err = t.Tokens(ctx)
	t.must(err)
	i := slices.IndexFunc(tokens, func(t client.Token) bool { return t.ID == made.ID })
	t.want("tokens", inWords(len(tokens), tokens[i].Name, tokens[i].Scopes, tokens[i].ExpiresAt.IsZero()), "2 n [links:read] true")
	t.must(t.RevokeToken(ctx, made.ID))
	_, err = other.Link(ctx, "a")
	t.wantError(err, client.ErrUnauthorized)
	t.wantError(t.RevokeToken(ctx, made.ID), client.ErrNotFound)
}

func limitToDomains(t *tour) {
	ctx := t.Context()
	made, err := t.IssueToken(ctx, client.TokenDraft{Name: "of b", Domains: []string{"www.b.test"}})
	t.must(err)
	t.want("a limited token", made.Domains, []string{"b.test"})
	other, _ := t.site.goClient(t.site.secret(made.Secret), nil)
	me, err := other.Me(ctx)
	t.must(err)
	t.want("what it says of itself", me.Domains, []string{"b.test"})
	_, err = other.Link(ctx, "a", client.InDomain("127.0.0.1"))
	t.wantError(err, client.ErrForbidden)
	t.must(t.RevokeToken(ctx, made.ID))
	u, err := t.AddUser(ctx, client.UserDraft{Email: "limited@example.com", Domains: []string{"b.test"}})
	t.must(err)
	t.want("a limited user", u.Domains, []string{"b.test"})
	u, err = t.EditUser(ctx, u.ID, client.UserEdit{Domains: client.Set([]string{"b.test", "127.0.0.1"})})
	t.must(err)
	t.want("limited to two", u.Domains, []string{"127.0.0.1:8080", "b.test"})
	u, err = t.EditUser(ctx, u.ID, client.UserEdit{Domains: client.Reset[[]string]()})
	t.must(err)
	t.want("without a limit", u.Domains == nil, true)
	t.must(t.RemoveUser(ctx, u.ID))
}

func manageDomains(t *tour) {
	ctx := t.Context()
	made, err := t.AddDomain(ctx, client.DomainDraft{Host: "B.test", Aliases: []string{"www.b.test"}, RootURL: "https://example.org/"})
	t.must(err)
	t.want("made", inWords(made.Host, made.Aliases, made.BaseURL, made.RootURL, made.RedirectStatus), "b.test [www.b.test] http://b.test:8080 https://example.org/ 0")
	_, err = t.AddDomain(ctx, client.DomainDraft{Host: "www.b.test"})
	t.wantError(err, client.ErrHostTaken)
	edited, err := t.EditDomain(ctx, "www.b.test", client.DomainEdit{RootURL: client.Reset[string](), RedirectStatus: client.Set(301)})
	t.must(err)
	t.want("edited", inWords(edited.Host, edited.RootURL == "", edited.RedirectStatus), "b.test true 301")
	read, err := t.Domain(ctx, "b.test")
	t.must(err)
	t.want("read", read.RedirectStatus, 301)
	all, err := t.Domains(ctx)
	t.must(err)
	t.want("all", inWords(len(all), all[0].Default, all[0].Host, all[1].Host), "2 true 127.0.0.1:8080 b.test")
	link, err := t.Shorten(ctx, client.Draft{URL: "https://example.org/b", Alias: "of-b", Domain: "b.test"})
	t.must(err)
	t.want("a link", inWords(link.Domain, link.ShortURL, link.RedirectStatus), "b.test http://b.test:8080/of-b 301")
	_, err = t.Link(ctx, "of-b")
	t.wantError(err, client.ErrNotFound)
	t.must(expect.Err(t.Link(ctx, "of-b", client.InDomain("b.test"))))
	limitToDomains(t)
	checked, err := t.CheckDomain(ctx, "b.test")
	t.must(err)
	t.want("a check", inWords(checked[0].Host, checked[0].DNS, len(checked)), "b.test ok 2")
	t.wantError(t.RemoveDomain(ctx, "b.test"), client.ErrDomainInUse)
	t.must(t.Delete(ctx, "of-b", client.InDomain("b.test")))
	t.must(t.RemoveDomain(ctx, "b.test"))
}

func manageUsers(t *tour) {
	ctx := t.Context()
	ann, err := t.AddUser(ctx, client.UserDraft{Email: "ann@example.com"})
	t.must(err)
	t.want("ann", inWords(ann.Email, ann.Role, ann.HasPassword), "ann@example.com member false")
	ann, err = t.EditUser(ctx, ann.ID, client.UserEdit{Password: client.Set(t.site.secret("long enough")), Role: client.Set(client.RoleAdmin)})
	t.must(err)
	t.want("ann, edited", inWords(ann.Email, ann.Role, ann.HasPassword), "ann@example.com admin true")
	_, err = t.EditUser(ctx, ann.ID, client.UserEdit{Password: client.Set("")})
	t.wantError(err, client.ErrInvalid)
	users, err := t.Users(ctx)
	t.must(err)
	t.want("users", inWords(len(users), users[1].ID == ann.ID), "2 true")

	caller := account.Caller{User: account.User{ID: ann.ID, Name: ann.Email, Role: account.RoleAdmin}, Scopes: account.AllScopes}
	hers, _ := t.site.goClient(t.site.issue(caller, account.AllScopes...), nil)
	_, err = hers.Shorten(ctx, client.Draft{URL: "https://example.org/ann", Alias: "ann"})
	t.must(err)
	_, err = t.Link(ctx, "ann")
	t.wantError(err, client.ErrNotFound)
	_, err = t.Link(ctx, "ann", client.Owner(ann.ID))
	t.must(err)
	t.want("everybody's links", codesOf(t, t.Links(ctx, client.LinksQuery{}, client.AnyOwner())), "ann b a")
	given, err := t.Update(ctx, "ann", client.Edit{Owner: client.Set(uint32(1))}, client.Owner(ann.ID))
	t.must(err)
	t.want("the owner of a link that was given away", given.Owner, 1)
	given, err = t.Update(ctx, "ann", client.Edit{Owner: client.Set(ann.ID)})
	t.must(err)
	zero, err := t.ResetFigures(ctx, "ann", client.Owner(ann.ID), client.IfVersion(given.Version))
	t.must(err)
	t.want("a link whose figures were reset", inWords(zero.Hits, *zero.Unique, zero.Version), inWords(0, 0, given.Version+1))
	t.wantError(t.RemoveUser(ctx, ann.ID), client.ErrInvalid)
	t.wantError(t.RemoveUser(ctx, ann.ID, client.MoveLinksTo(9)), client.ErrInvalid)
	t.must(t.RemoveUser(ctx, ann.ID, client.KeepLinks()))
	t.want("what is left of ann", codesOf(t, t.Export(ctx, client.ExportQuery{}, client.Owner(ann.ID))), "ann")
}

func removeLinks(t *tour) {
	ctx := t.Context()
	b, err := t.Link(ctx, "b")
	t.must(err)
	t.wantError(t.Delete(ctx, "b", client.IfVersion(b.Version+1)), client.ErrPreconditionFailed)
	t.must(t.Delete(ctx, "b", client.IfVersion(b.Version)))
	t.want("b is in the trash", slices.Contains(strings.Fields(codesOf(t, t.Links(ctx, client.LinksQuery{State: client.StateDeleted}))), "b"), true)
	_, err = t.Restore(ctx, "b", client.IfVersion(b.Version+1))
	t.wantError(err, client.ErrPreconditionFailed)
	back, err := t.Restore(ctx, "b", client.IfVersion(b.Version))
	t.must(err)
	t.want("a link that was restored", inWords(back.Code, back.URL, back.Version, back.DeletedAt.IsZero()), inWords("b", b.URL, b.Version+2, true))
	_, err = t.Restore(ctx, "b")
	t.wantError(err, client.ErrAliasTaken)
	t.must(t.Delete(ctx, "b"))
	t.must(t.Purge(ctx, "b"))
	_, err = t.Restore(ctx, "b")
	t.wantError(err, client.ErrNotFound)
	t.wantError(t.Delete(ctx, "b"), client.ErrNotFound)
	t.want("what is left", codesOf(t, t.Links(ctx, client.LinksQuery{})), "a")
}

// cutting returns a dial function to st that cuts each of the first n connections when an answer
// comes, before the client sees any of it. So the server has done the request.
func (st *site) cutting(n int64) func() (net.Conn, error) {
	left := new(atomic.Int64)
	left.Store(n)
	return func() (net.Conn, error) {
		c, err := st.publicAt.Dial()
		if err != nil || left.Add(-1) < 0 {
			return c, err
		}
		return cutConn{c}, nil
	}
}

type cutConn struct{ net.Conn }

func (c cutConn) Read(p []byte) (int, error) {
	if _, err := c.Conn.Read(p); err != nil {
		return 0, err
	}
	_ = c.Close()
	return 0, net.ErrClosed
}

func TestALostAnswerToTheGoClientMakesOneLink(t *testing.T) {
	drafts := []client.Draft{{URL: "https://example.org/a"}, {URL: "https://example.org/b"}}
	for name, c := range map[string]struct {
		make     func(*client.Client) error
		links    uint64
		requests int64
		lost     bool
	}{
		"one": {func(c *client.Client) error {
			_, err := c.Shorten(t.Context(), drafts[0])
			return err
		}, 1, 3, false},
		"a bulk": {func(c *client.Client) error {
			made, err := c.ShortenBulk(t.Context(), drafts)
			if err == nil && made.Created != 2 {
				err = fmt.Errorf("%d were made", made.Created)
			}
			return err
		}, 2, 3, false},
		"one with the caller's key, called again": {func(c *client.Client) error {
			first, err := c.Shorten(t.Context(), drafts[0], client.IdempotencyKey("k"))
			second, again := c.Shorten(t.Context(), drafts[0], client.IdempotencyKey("k"))
			if first.Code != second.Code {
				err = fmt.Errorf("got %s and %s", first.Code, second.Code)
			}
			return errors.Join(err, again)
		}, 1, 4, false},
		"one without a key": {func(c *client.Client) error {
			_, err := c.Shorten(t.Context(), drafts[0], client.NoIdempotencyKey())
			return err
		}, 1, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			st := newSite(t, nil)
			caller, r := st.goClient(st.token, st.cutting(2))
			err := c.make(caller)
			expect.That(t, (err != nil) == c.lost, "got %v, want an error: %v", err, c.lost)
			if got := st.engine.Metrics().Links; got != c.links || r.requests.Load() != c.requests || len(r.keys) != 1 {
				t.Errorf("%d links by %d requests with keys %v, want %d by %d with one", got, r.requests.Load(), r.keys, c.links, c.requests)
			}
		})
	}
}

func TestTheGoClientReportsChangesWhoseAnswersAreLost(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"https://example.org","alias":"a"}`)
	st.shorten(`{"url":"https://example.org","alias":"b"}`)
	cut := func() *client.Client {
		c, _ := st.goClient(st.token, st.cutting(1))
		return c
	}
	ctx := t.Context()
	if a, err := cut().Update(ctx, "a", client.Edit{Title: client.Set("A")}); err != nil || a.Title != "A" {
		t.Errorf("an edit: got %+v, %v, want it done", a, err)
	}
	_, err := cut().Update(ctx, "b", client.Edit{Title: client.Set("B")}, client.IfVersion(1))
	wantDoubt(t, "an edit of a version", err, client.ErrPreconditionFailed)
	wantDoubt(t, "a deletion", cut().Delete(ctx, "b"), client.ErrNotFound)
	expect.That(t, expect.Err(cut().IssueToken(ctx, client.TokenDraft{Name: "lost"})) != nil, "a token whose answer was lost: got no error")
	tokens, err := cut().Tokens(ctx)
	lost := slices.ContainsFunc(tokens, func(t client.Token) bool { return t.Name == "lost" })
	expect.That(t, err == nil && lost && len(tokens) == 2, "got %v, %v, want the token whose answer was lost, once", tokens, err)
}

// wantDoubt checks for the error of a repeat that finds the effect of the earlier attempt.
func wantDoubt(t *testing.T, what string, err error, want client.Kind) {
	t.Helper()
	expect.That(t, errors.Is(err, want) && strings.Contains(err.Error(), "an earlier attempt may have been done"),
		"%s: got %v, want %s and doubt", what, err, string(want))
}
