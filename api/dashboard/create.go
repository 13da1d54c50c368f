package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard/fieldtext"
	"shunt/api/dashboard/find"
	"shunt/api/dashboard/visit"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
)

// The paths of the pages that create links.
const (
	linksPath = find.Path
	newPath   = Root + "links/new"
	bulkPath  = Root + "links/bulk"
)

// newForm returns the form that creates a link and is sent to action. given are the values of its
// fields, until the visitor types others.
func (r *request) newForm(action string, given map[string]string) (f linkForm, err error) {
	f = linkForm{Action: action, Key: r.FormKey()}
	err = f.fill(r, func(name string) string {
		if text, ok := given[name]; ok {
			return text
		}
		if name == "domain" { // of the list that one comes from
			return r.HostOfLinks(r.Query("domain"))
		}
		if name == "folder" && r.MayPut(r.Query("folder")) { // the same
			return r.Query("folder")
		}
		return defaultShown[name]
	})
	if err == nil {
		f.Domains = r.DomainsOfForm(f.Fields["domain"].Value)
	}
	return f, err
}

// quickForm returns the form for a new link that pages have which are about others, for a visitor who may make links.
func (r *request) quickForm() (f linkForm, err error) {
	if r.Edits() {
		f, err = r.newForm(linksPath, nil)
	}
	return f, err
}

// creationKey returns the Idempotency-Key of a form. The content is part of it: somebody who comes
// back to a form that has made a link, and types another address, wants another link.
func creationKey(key string, body jsonbody.Body) (ops.Key, error) {
	if key == "" {
		return ops.Key{}, nil
	}
	sum := sha256.Sum256(append([]byte(key+"\x00"), body.Text...))
	return ops.ParseKey([][]byte{[]byte("form-" + hex.EncodeToString(sum[:]))})
}

// newLink is GET /_/links/new.
func (r *request) newLink() error {
	given, err := r.given()
	if err != nil {
		return err
	}
	form, err := r.newForm(newPath, given)
	if err != nil {
		return err
	}
	form.Fields["url"].Focus = true
	return r.Show(fasthttp.StatusOK, "link-new", "New link", form)
}

// newLinkOf is GET /_/new, which bookmarks and other programs open: the form for a new link, with what they ask for.
func (r *request) newLinkOf() error {
	return r.SeeOther(newPath + strings.TrimPrefix(r.Here(), r.Path()))
}

// given returns the texts of the fields that the address asks for: those of the link that the new one is to be like, or
// a target, an alias and a title.
func (r *request) given() (map[string]string, error) {
	like := r.Query("like")
	if like == "" {
		return map[string]string{"url": r.Query("url"), "alias": r.Query("alias"), "title": r.Query("title")}, nil
	}
	code, err := ops.NamedCode(like)
	if err != nil {
		return nil, err
	}
	guard, err := r.Asked(r.Whose())
	if err != nil {
		return nil, err
	}
	l, err := r.Calls.Read(r.Caller, code, guard)
	if err != nil {
		return nil, err
	}
	if l.ExpiresAt.Before(r.Now()) {
		l.ExpiresAt = time.Time{} // a new link cannot have it
	}
	if !r.MayPut(fieldtext.Folder(&l)) {
		l.Folder = 0
	}
	given, shown := map[string]string{"domain": l.Host}, textsOf(&l)
	for _, of := range linkFields {
		if !of.fixed {
			given[of.name] = shown(of.name)
		}
	}
	return given, nil
}

// createLink is POST /_/links and POST /_/links/new. A form with errors is shown on its own page.
func (r *request) createLink() error {
	form, err := r.newForm(newPath, nil)
	if err != nil {
		return err
	}
	if r.wantsTitle() {
		status, err := form.fetchTitle(r)
		if err != nil {
			return err
		}
		return r.showNew(status, &form)
	}
	link, existed, err := r.create(&form)
	if err != nil {
		status, ok := form.refuse(err)
		if !ok {
			return err
		}
		r.retryAfter(err)
		return r.showNew(status, &form)
	}
	kind, said := "done", "The link is ready."
	if existed {
		kind, said = "info", "You already had this link, so no other was created."
	}
	kind, said = withWarnings(kind, said, link.Warnings)
	if err := r.keepCampaign(&form.Campaign, kind, said, visit.Undo{}); err != nil {
		return err
	}
	return r.SeeOther(find.Of(visit.Whose{Domain: link.Host}, "").Address("made", link.Code))
}

// showNew shows a form again that was sent.
func (r *request) showNew(status int, form *linkForm) (err error) {
	if form.UsedTags, err = r.usedTags(); err != nil {
		return err
	}
	return r.Show(status, "link-new", "New link", form)
}

func (r *request) create(form *linkForm) (l *ops.Link, existed bool, err error) {
	// A field that the default says is left out, so that a link that is there is found by the others.
	body, err := form.body(false, func(name string) bool { return form.Fields[name].Value != defaultShown[name] })
	if err != nil {
		return l, false, err
	}
	key, err := creationKey(form.Key, body)
	if err == nil {
		err = r.checkCampaign(&form.Campaign)
	}
	if err != nil {
		return l, false, err
	}
	return r.Calls.Create(r.Caller, key, body)
}

// retryAfter sets the header Retry-After of a problem that has one.
func (r *request) retryAfter(err error) {
	h := &r.Ctx.Response.Header
	if p, _ := problem.Of(err); p.Kind.RetryAfter != "" && len(h.Peek(fasthttp.HeaderRetryAfter)) == 0 {
		h.Set(fasthttp.HeaderRetryAfter, p.Kind.RetryAfter)
	}
}
