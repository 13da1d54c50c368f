package shlink

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/exchange"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

// defaultDomain is how clients name the default domain.
const defaultDomain = "DEFAULT"

// hostOf returns the host of the domain that a client names.
func (d *Door) hostOf(name string) string {
	if name == defaultDomain {
		return d.Ops.Domains().Default().Host
	}
	return name
}

// create is POST /short-urls.
func (d *Door) create(a *asked, caller account.Caller) error {
	w, err := readWish(a.Ctx.PostBody(), false)
	if err != nil {
		return err
	}
	l, err := d.make(a, caller, w)
	if err != nil {
		return err
	}
	return show(a, shortURL(l))
}

// shorten is GET /short-urls/shorten, for clients that can send no body.
func (d *Door) shorten(a *asked, caller account.Caller) error {
	var w wish
	w.textMember("url", a.query.one("longUrl"))
	l, err := d.make(a, caller, w)
	if err != nil {
		return err
	}
	if a.wantsText() {
		return exchange.WriteText(a.Ctx, fasthttp.StatusOK, l.ShortURL)
	}
	return show(a, shortURL(l))
}

// wantsText reports whether a client wants the short address alone: by the parameter format, or else by the first type
// that it accepts.
func (a *asked) wantsText() bool {
	if format := a.query.one("format"); format != "" {
		return strings.EqualFold(format, "txt")
	}
	first, _, _ := bytes.Cut(a.Ctx.Request.Header.Peek(fasthttp.HeaderAccept), []byte{','})
	return bytes.Contains(bytes.ToLower(first), []byte("text/plain"))
}

// manner is how links are made: findIfExists compares neither titles nor what becomes of queries.
var manner = ops.Manner{Reusable: true, Apart: []string{"title", "forward_query"}}

// make makes the link of a wish. Queries are forwarded unless it says otherwise, as in Shlink. A custom slug that is
// taken is an error also if the same link has it, because Shlink answers so; our API does not.
func (d *Door) make(a *asked, caller account.Caller, w wish) (*ops.Link, error) {
	key, err := ops.ParseKey(a.Ctx.Request.Header.PeekAll("Idempotency-Key"))
	if err != nil {
		return nil, err
	}
	if !w.saysQuery {
		w.member("forward_query", []byte("true"))
	}
	slug := w.prefix + w.slug
	switch {
	case slug != "":
		w.textMember("alias", slug)
	case w.find:
		w.member("reuse", []byte("true"))
	}
	if w.domain != "" {
		w.textMember("domain", d.hostOf(w.domain))
	}
	a.about = subject{CustomSlug: slug, Domain: w.domain}
	l, existed, err := d.Ops.CreateAs(manner, caller, key, w.body())
	if err == nil && existed && slug != "" && !w.find {
		err = engine.ErrTaken
	}
	return l, err
}

// link returns the code of the link that a path names, and whose it is: that of the domain in the query. A host that is
// no domain has no links.
func (d *Door) link(a *asked, caller account.Caller) (code string, whose ops.Whose, err error) {
	a.about = subject{ShortCode: a.part, Domain: a.query.one("domain")}
	if whose, err = d.whose(a, caller); err != nil {
		return "", whose, err
	}
	if code, err = ops.ParseCode(a.part); err == nil {
		a.about.ShortCode = code
	}
	return code, whose, err
}

// whose returns whose links a request is about: those of the domain in the query.
func (d *Door) whose(a *asked, caller account.Caller) (ops.Whose, error) {
	host := d.hostOf(a.query.one("domain"))
	if !d.serves(host) {
		a.about.Domain = a.query.one("domain")
		return ops.Whose{}, engine.ErrNotFound
	}
	return d.Ops.ParseWhose(caller, query(nil).with("domain", host))
}

// serves reports whether a host is a domain of this server, or empty.
func (d *Door) serves(host string) bool {
	if host == "" {
		return true
	}
	_, err := d.Ops.Domains().Named(host)
	return err == nil
}

// readLink returns the link that the path names.
func (d *Door) readLink(a *asked, caller account.Caller) (ops.Link, error) {
	code, whose, err := d.link(a, caller)
	if err != nil {
		return ops.Link{}, err
	}
	return d.Ops.Read(caller, code, whose)
}

// read is GET /short-urls/{code}.
func (d *Door) read(a *asked, caller account.Caller) error {
	l, err := d.readLink(a, caller)
	if err != nil {
		return err
	}
	return show(a, shortURL(&l))
}

// edit is PATCH /short-urls/{code}.
func (d *Door) edit(a *asked, caller account.Caller) error {
	w, err := readWish(a.Ctx.PostBody(), true)
	if err != nil {
		return err
	}
	l, err := d.update(a, caller, w.body())
	if err != nil {
		return err
	}
	return show(a, shortURL(&l))
}

// update applies a patch of package ops to the link that a path names.
func (d *Door) update(a *asked, caller account.Caller, body jsonbody.Body) (l ops.Link, err error) {
	code, whose, err := d.link(a, caller)
	if err != nil {
		return l, err
	}
	return d.Ops.Update(caller, code, whose, nil, body)
}

// delete is DELETE /short-urls/{code}.
func (d *Door) delete(a *asked, caller account.Caller) error {
	code, whose, err := d.link(a, caller)
	if err != nil {
		return err
	}
	if err := d.Ops.Delete(caller, code, whose, nil); err != nil {
		return err
	}
	return done(a)
}

// setTags is PUT /short-urls/{code}/tags, which old clients have.
func (d *Door) setTags(a *asked, caller account.Caller) error {
	members, err := jsonbody.Object(a.Ctx.PostBody())
	if err != nil {
		return err
	}
	var tags object
	for _, m := range members {
		if string(m.Name) == "tags" {
			tags.member("tags", m.Value)
		}
	}
	if len(tags.text) == 0 {
		return jsonbody.FieldError("tags", "required", "must be given")
	}
	l, err := d.update(a, caller, tags.body())
	if err != nil {
		return err
	}
	return show(a, map[string][]string{"tags": append([]string{}, l.Tags...)})
}

// resetVisits is DELETE /short-urls/{code}/visits.
func (d *Door) resetVisits(a *asked, caller account.Caller) error {
	code, whose, err := d.link(a, caller)
	if err != nil {
		return err
	}
	if _, err := d.Ops.Find(caller, code+"/visits", whose); err == nil { // which a client may mean that encodes no slash
		return problem.New(problem.BadRequest, "there is a link %q, too; the slash of its code is written as %%2F", code+"/visits")
	}
	before, err := d.Ops.Read(caller, code, whose)
	if err != nil {
		return err
	}
	if _, err := d.Ops.Reset(caller, code, whose, nil); err != nil {
		return err
	}
	return show(a, map[string]uint64{"deletedVisits": before.Hits})
}

// versionOfShlink is the version that clients go by to know what a server can do. Shlink 5.1 has the conditions of
// rules that are here.
const versionOfShlink = "5.1.0"

// health is GET /health.
func (d *Door) health(a *asked, _ account.Caller) error {
	status, word := fasthttp.StatusOK, "pass"
	if !d.Ready() {
		status, word = fasthttp.StatusServiceUnavailable, "fail"
	}
	origin := d.Ops.Domains().Default().BaseURL
	answer := struct {
		Status  string            `json:"status"`
		Version string            `json:"version"`
		Links   map[string]string `json:"links"`
	}{word, versionOfShlink, map[string]string{"about": origin + "/_/docs", "project": origin + "/"}}
	return exchange.Write(a.Ctx, status, "application/health+json", exchange.EncodeJSON(answer))
}

// mercure is GET /mercure-info. A client that is told that there is none asks for news now and then.
func (d *Door) mercure(*asked, account.Caller) error {
	return problem.New(problem.NotImplemented, "this server tells clients no news by Mercure")
}
