package dashboard

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/visit"
	"shunt/api/jsonbody"
	"shunt/api/when"
)

const (
	tokensPath    = Root + "tokens"
	allTokensPath = Root + "all-tokens"
)

// scopeWords are the scopes as people read them.
var scopeWords = map[account.Scope]struct{ name, allows string }{
	account.LinksRead:   {"Read links", "List, read and export your links."},
	account.LinksWrite:  {"Change links", "Create, edit and delete your links."},
	account.StatsRead:   {"Read figures", "Read the hits and visitors of your links."},
	account.TokensWrite: {"Manage tokens", "List, create and revoke your tokens, as this page does. Few programs need it."},
	account.Admin: {"Administer", "Manage users, import links and see misses. With the permissions above: " +
		"also the links and figures of all users."},
	account.Edge: {"Edge", "For a machine that redirects with a copy of all links."},
}

// tokensView is what the page of tokens shows.
type tokensView struct {
	Token   string // that was just made; empty: none
	BaseURL string
	Creates bool // Token may create links
	Edits   bool // the visitor may change links
	Tokens  []tokenView
	Pager   visit.CutPager
	Form    tokenForm
	Place   *time.Location // of days
}

// A tokenView is a token as pages show it.
type tokenView struct {
	account.Token
	Scopes  []string // in words
	Only    string   // the limit to domains
	Expired bool
	Whose   string // the address of its user, on pages of the tokens of all
	Path    string // of the page that revokes it
	Back    string // of the list that has it
}

func (r *request) tokenView(t account.Token) tokenView {
	v := tokenView{Token: t, Only: r.only(t.Domains), Expired: !t.ExpiresAt.IsZero() && !r.Now().Before(t.ExpiresAt)}
	v.Path, v.Back = tokensPath+"/"+t.ID+"/revoke", tokensPath
	for _, s := range t.Scopes {
		v.Scopes = append(v.Scopes, scopeWords[s].name)
	}
	return v
}

// A tokenForm is the form that makes a token, with what was typed.
type tokenForm struct {
	Key, Name string
	Scopes    []scopeChoice
	Limit     *limitForm // nil: there is one domain
	Expires   []expiryChoice
	Date      string
	Errors    map[string]string
	Error     string
}

type scopeChoice struct {
	Scope        account.Scope
	Name, Allows string
	Chosen       bool
}

type expiryChoice struct {
	Value, Name string
	Chosen      bool
}

// expiries are the choices of when a token expires; onDate: at the end of the day that was typed.
var expiries = []struct {
	value, name string
	days        int // 0: never
}{
	{"never", "Never", 0}, {"30", "In 30 days", 30}, {"90", "In 90 days", 90}, {"365", "In a year", 365}, {onDate, "After a day that you choose", 0},
}

const onDate = "date"

// tokensPage is GET /_/tokens.
func (r *request) tokensPage() error { return r.showTokens(fasthttp.StatusOK, nil) }

// showTokens shows the page of tokens; refused is why a form was not taken, nil if none was sent.
func (r *request) showTokens(status int, refused error) error {
	view := tokensView{Form: r.tokenForm(), Edits: r.Edits(), Place: r.Place()}
	if refused != nil {
		at, general, ok := visit.FieldErrors(refused, "name", "scopes", "expires_at", "domains")
		if !ok {
			return refused
		}
		if view.Form.Limit != nil {
			view.Form.Limit.Error = visit.Sentence(at["domains"])
		}
		view.Form.Errors, view.Form.Error = visit.Sentences(at), visit.Sentence(general)
	}
	tokens, err := r.ownTokens()
	if err != nil {
		return err
	}
	slices.Reverse(tokens) // the newest first
	tokens, view.Pager = visit.Cut(r.Request, tokens)
	for _, t := range tokens {
		view.Tokens = append(view.Tokens, r.tokenView(t))
	}
	view.Token, view.BaseURL = r.TakeSecret("token"), r.BaseURL
	if view.Creates = view.Token != ""; !view.Creates {
		view.Token = r.TakeSecret("other token")
	}
	return r.Show(status, "tokens", "Tokens", view)
}

// ownTokens returns the caller's tokens, the oldest first.
func (r *request) ownTokens() (tokens []account.Token, err error) {
	err = r.Heavily(func() error {
		return r.Calls.InTurn(r.Caller, func() error {
			tokens, err = r.Accounts.TokensOf(r.Caller)
			return err
		})
	})
	return tokens, err
}

// tokenForm returns the form with what was typed.
func (r *request) tokenForm() tokenForm {
	f := tokenForm{Key: r.FormKey(), Limit: r.limitForm("All of yours", account.Domains{}), Errors: map[string]string{}}
	name, typed := r.Typed("name")
	f.Name = name
	f.Date, _ = r.Typed("date")
	chosen := r.typedAll("scope")
	if !typed {
		chosen = []string{string(account.LinksRead), string(account.LinksWrite), string(account.StatsRead)}
	}
	for _, s := range r.Caller.TokenScopes() {
		f.Scopes = append(f.Scopes, scopeChoice{s, scopeWords[s].name, scopeWords[s].allows, slices.Contains(chosen, string(s))})
	}
	expires, _ := r.Typed("expires")
	for _, e := range expiries {
		f.Expires = append(f.Expires, expiryChoice{e.value, e.name, e.value == expires})
	}
	return f
}

// typedAll is typed for a field with several values.
func (r *request) typedAll(name string) (texts []string) {
	if r.Posts() {
		for _, text := range r.Ctx.PostArgs().PeekMulti(name) {
			texts = append(texts, string(text))
		}
		return texts
	}
	return r.KeptFields()[name]
}

// makeToken is POST /_/tokens.
func (r *request) makeToken() error {
	err := r.SeeOnce(func() (string, error) {
		draft, err := r.tokenDraft()
		if err != nil {
			return "", err
		}
		_, text, err := r.Calls.IssueToken(r.Caller, draft)
		if err == nil {
			r.KeepSecret(tokenPurpose(draft.Scopes), text)
		}
		return tokensPath, err
	})
	if err != nil {
		return r.showTokens(visit.StatusOf(err), err)
	}
	return nil
}

// tokenPurpose returns the purpose for which a new token is kept: its page shows how to try it.
func tokenPurpose(scopes []account.Scope) string {
	if slices.Contains(scopes, account.LinksWrite) {
		return "token"
	}
	return "other token"
}

// tokenDraft reads the form. Package account checks the values.
func (r *request) tokenDraft() (draft account.TokenDraft, err error) {
	draft = account.TokenDraft{Name: r.Sent("name"), Scopes: []account.Scope{}}
	for _, s := range r.typedAll("scope") {
		draft.Scopes = append(draft.Scopes, account.Scope(s))
	}
	limit, err := r.limitAsked(account.Domains{})
	if err != nil {
		return draft, err
	}
	if limit != nil {
		draft.Domains = *limit
	}
	draft.ExpiresAt, err = r.expiryAsked()
	return draft, err
}

// expiryAsked returns when the token is to expire; the zero time: never.
func (r *request) expiryAsked() (time.Time, error) {
	asked := r.Sent("expires")
	if asked == onDate {
		// With script, the page also sends when the day ends where the visitor is.
		until, ok := when.Expiry(cmp.Or(r.Sent("date_end"), r.Sent("date")), time.UTC)
		if !ok {
			return until, jsonbody.FieldError("expires_at", "format", "choose a day, such as 2026-11-21")
		}
		return until, nil
	}
	for _, e := range expiries {
		switch {
		case e.value != asked:
		case e.days > 0:
			return r.Now().AddDate(0, 0, e.days), nil
		default:
			return time.Time{}, nil
		}
	}
	return time.Time{}, jsonbody.FieldError("expires_at", "range", "choose one of these")
}

// tokenAsked returns the caller's token that the path names, or that the page is missing.
func (r *request) tokenAsked() (account.Token, error) {
	tokens, err := r.ownTokens()
	if err != nil {
		return account.Token{}, err
	}
	i := slices.IndexFunc(tokens, func(t account.Token) bool { return t.ID == r.Segment("id") })
	if i < 0 {
		return account.Token{}, r.Missing()
	}
	return tokens[i], nil
}

// revokePage is GET /_/tokens/{id}/revoke: it asks whether to revoke the token.
func (r *request) revokePage() error {
	t, err := r.tokenAsked()
	if err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, "token-revoke", "Revoke a token", r.tokenView(t))
}

// revokeToken is POST /_/tokens/{id}/revoke.
func (r *request) revokeToken() error {
	return r.SeeOnce(func() (string, error) {
		t, err := r.tokenAsked()
		if err != nil {
			return "", err
		}
		if err := r.Accounts.RevokeToken(r.Caller, r.Caller.User.ID, t.ID); err != nil {
			return "", err
		}
		r.Say("done", "The token “"+t.Name+"” is revoked. It no longer works.")
		return tokensPath, nil
	})
}

// listedTokens is how many tokens of all users a page has, as text for the call.
const listedTokens = "100"

// allTokensView is what the page of the tokens of all users shows.
type allTokensView struct {
	Tokens []tokenView
	Owner  string // the number of the user whose they are; empty: all users
	Begins string // what they begin with; empty: anything
	Error  string // why there is no list
	First  string // address of the first page; empty: this is it
	More   string // address of the next page; empty: there is none
}

// allTokensPage is GET /_/all-tokens.
func (r *request) allTokensPage() error {
	view := allTokensView{Owner: r.Query("owner"), Begins: strings.TrimSpace(r.Query("begins_with"))}
	cursor := r.Query("cursor")
	at := func(cursor string) string {
		return visit.Address(allTokensPath, "owner", view.Owner, "begins_with", view.Begins, "cursor", cursor)
	}
	if cursor != "" {
		view.First = at("")
	}
	pairs := []string{"owner", view.Owner}
	if view.Owner == "" {
		pairs = []string{"owner", "all", "begins_with", view.Begins, "cursor", cursor, "limit", listedTokens}
	}
	next, err := r.readTokens(&view, pairs)
	if err != nil {
		of, general, ok := visit.FieldErrors(err, "owner", "begins_with", "cursor")
		if !ok {
			return err
		}
		view.Error = visit.Sentence(cmp.Or(labelled("The owner", of["owner"]), labelled("What is looked for", of["begins_with"]), labelled("The address of this page", of["cursor"]), general))
		return r.Show(fasthttp.StatusUnprocessableEntity, "all-tokens", "Tokens of all users", view)
	}
	if next != "" {
		view.More = at(next)
	}
	return r.Show(fasthttp.StatusOK, "all-tokens", "Tokens of all users", view)
}

// readTokens reads the tokens that a page asks for, and returns the cursor of the next page.
func (r *request) readTokens(view *allTokensView, pairs []string) (next string, err error) {
	q, err := r.Calls.ParseTokens(r.Caller, parameters(pairs...))
	if err != nil {
		return "", err
	}
	names, err := r.ownerNames(true)
	if err != nil {
		return "", err
	}
	var tokens []account.Token
	err = r.Heavily(func() error {
		return r.Calls.InTurn(r.Caller, func() error {
			tokens, next, err = r.Calls.Tokens(r.Caller, q)
			return err
		})
	})
	for _, t := range tokens {
		view.Tokens = append(view.Tokens, r.anyTokenView(t, names))
	}
	return next, err
}

func (r *request) anyTokenView(t account.Token, names map[uint32]string) tokenView {
	v := r.tokenView(t)
	v.Whose = cmp.Or(names[t.UserID], "user "+strconv.FormatUint(uint64(t.UserID), 10))
	v.Path, v.Back = allTokensPath+"/"+t.ID+"/revoke", allTokensPath
	return v
}

// revokeAnyPage is GET /_/all-tokens/{id}/revoke: it asks whether to revoke the token of a user.
func (r *request) revokeAnyPage() error {
	t, err := r.anyToken()
	if err != nil {
		return err
	}
	names, err := r.ownerNames(true)
	if err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, "token-revoke", "Revoke a token", r.anyTokenView(t, names))
}

// anyToken returns the token that the path names, whoever's it is, or that the page is missing.
func (r *request) anyToken() (t account.Token, err error) {
	err = r.Calls.InTurn(r.Caller, func() error {
		t, err = r.Accounts.TokenOfAnybody(r.Segment("id"))
		return err
	})
	if errors.Is(err, account.ErrNoToken) {
		err = r.Missing()
	}
	return t, err
}

// revokeAny is POST /_/all-tokens/{id}/revoke.
func (r *request) revokeAny() error {
	return r.SeeOnce(func() (string, error) {
		t, err := r.anyToken()
		if err != nil {
			return "", err
		}
		if err := r.Accounts.RevokeToken(r.Caller, t.UserID, t.ID); err != nil {
			return "", err
		}
		r.Say("done", "The token “"+t.Name+"” is revoked. It no longer works.")
		return allTokensPath, nil
	})
}
