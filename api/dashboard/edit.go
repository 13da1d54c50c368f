package dashboard

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard/undo"
	"shunt/api/dashboard/visit"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

// editView is what the page shows that edits a link.
type editView struct {
	Code     string
	ShortURL string
	Form     linkForm
	Back     string // the path of the link's page
	Crossed  bool   // another edit was saved since the form was shown
}

// whoseLink returns the {code} of the path, and whose link with it is meant: as calls take it, and as addresses do.
func (r *request) whoseLink() (code string, g ops.Whose, whose visit.Whose, err error) {
	whose = r.SentWhose()
	if g, err = r.Asked(whose); err != nil {
		return "", g, whose, err
	}
	code, err = ops.ParseCode(r.Segment("code"))
	return code, g, whose, err
}

// readToEdit reads a link for a page that changes it. For somebody who may only read it there is none, as for the call.
func (r *request) readToEdit(code string, g ops.Whose) (ops.Link, error) {
	l, err := r.Calls.Read(r.Caller, code, g)
	if err == nil && !r.Calls.MayEdit(r.Caller, g, &l) {
		err = engine.ErrNotFound
	}
	return l, err
}

// owns reports whether g asks for the link as its owner or as an admin, and not as a member of its folder.
func owns(g ops.Whose, l *ops.Link) bool { return g.Anybody || g.User == l.Owner }

// textsOf returns a function that returns the texts of a link's fields by their names.
func textsOf(l *ops.Link) func(name string) string {
	texts := make(map[string]string)
	for _, of := range linkFields {
		texts[of.name] = of.shown(l)
	}
	return func(name string) string { return texts[name] }
}

// editView returns the page that edits a link, without the values of its fields.
func (r *request) editView(code string, g ops.Whose, whose visit.Whose) editView {
	return editView{
		Code: code, ShortURL: r.Calls.Domains().ShortURL(g.Domain, code), Back: linkPath(code, whose),
		Form: linkForm{Action: linkPath(code, visit.Whose{}) + "/edit", Whose: whose},
	}
}

// editLink is GET /_/link/{code}/edit.
func (r *request) editLink() error {
	code, guard, whose, err := r.whoseLink()
	if err != nil {
		return err
	}
	l, err := r.readToEdit(code, guard)
	if err != nil {
		return err
	}
	view := r.editView(code, guard, whose)
	f, texts := &view.Form, textsOf(&l)
	if err := f.fill(r, texts); err != nil {
		return err
	}
	f.Version, f.Before = strconv.FormatUint(l.Version, 10), digests(texts)
	if version, ok := r.Typed("version"); ok { // typed before signing in again
		f.Version = version
		f.Before, _ = r.Typed("before")
	}
	return r.Show(fasthttp.StatusOK, "link-edit", "Edit "+code, view)
}

// saveLink is POST /_/link/{code}/edit. It changes the fields that the visitor has touched: an
// expiry that has passed, for example, is not sent again when somebody edits the title.
func (r *request) saveLink() error {
	code, guard, whose, err := r.whoseLink()
	if err != nil {
		return err
	}
	view := r.editView(code, guard, whose)
	f := &view.Form
	f.Version, f.Before = r.Sent("version"), r.Sent("before")
	if err := f.fill(r, nil); err != nil {
		return err
	}
	if r.wantsTitle() {
		status, err := f.fetchTitle(r)
		if err != nil {
			return err
		}
		return r.showEdit(status, &view)
	}
	version := r.SentVersion()
	body, err := f.body(true, f.touched)
	var l ops.Link
	var back visit.Undo
	if err == nil {
		err = r.checkCampaign(&f.Campaign)
	}
	if err == nil {
		l, back, err = undo.Edit(r.Request, code, guard, whose, []uint64{version}, body)
	}
	switch {
	case errors.Is(err, engine.ErrVersion):
		return r.showCrossed(&view, guard)
	case err != nil:
		return r.refuseEdit(&view, err)
	}
	kind, said := "done", "The link is saved."
	if l.Version == version {
		kind, said = "info", "Nothing was changed."
	}
	kind, said = withWarnings(kind, said, l.Warnings)
	if err := r.keepCampaign(&f.Campaign, kind, said, back); err != nil {
		return err
	}
	return r.SeeOther(view.Back)
}

// refuseEdit shows the form again with the errors of err.
func (r *request) refuseEdit(view *editView, err error) error {
	status, ok := view.Form.refuse(err)
	if !ok {
		return err
	}
	r.retryAfter(err)
	return r.showEdit(status, view)
}

// showCrossed shows the form again after another edit of the link: what was typed, beside what the
// link has now. If it is sent again, it changes the link as it is now.
func (r *request) showCrossed(view *editView, g ops.Whose) error {
	l, err := r.Calls.Read(r.Caller, view.Code, g)
	if err != nil {
		return err
	}
	f, texts := &view.Form, textsOf(&l)
	f.meet(texts)
	f.Version, f.Before = strconv.FormatUint(l.Version, 10), digests(texts)
	view.Crossed, f.Open = true, true
	return r.showEdit(fasthttp.StatusPreconditionFailed, view)
}

// showEdit shows a form again that was sent.
func (r *request) showEdit(status int, view *editView) (err error) {
	if view.Form.UsedTags, err = r.usedTags(); err != nil {
		return err
	}
	return r.Show(status, "link-edit", "Edit "+view.Code, view)
}

// meet puts the texts that a link has now beside those that were typed. A field that was not
// touched gets the new text.
func (f *linkForm) meet(texts func(name string) string) {
	for _, of := range linkFields {
		at, now := f.Fields[of.name], strings.TrimSpace(texts(of.name))
		if of.fixed || at.Value == now {
			continue
		}
		if f.touched(of.name) {
			at.Now = inWords(of.name, now)
		} else {
			at.Value, at.Changed = now, true
		}
	}
}

// inWords returns the value of a field for people: a text, or a visit.Name that somebody typed.
func inWords(name, text string) any {
	switch {
	case name == "disabled":
		if text == "" {
			return "no"
		}
		return "yes"
	case text == "":
		return "empty"
	case name == "folder":
		return "folder " + text
	case name == "starts_at" || name == "expires_at":
		return visit.Name(strings.Replace(text, "T", " ", 1) + " UTC")
	}
	return visit.Name(text)
}

// setDisabled is POST /_/link/{code}/disabled: it disables a link, or enables it. Then it shows the list that was
// left, or else the link.
func (r *request) setDisabled() error {
	code, guard, whose, err := r.whoseLink()
	if err != nil {
		return err
	}
	to := r.Sent("disabled")
	if to != "true" && to != "false" {
		return problem.New(problem.BadRequest, "the form must say whether the link is to be disabled: true or false")
	}
	body := jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: []byte(`{"disabled":` + to + `}`)}
	l, back, err := undo.Edit(r.Request, code, guard, whose, nil, body)
	if err != nil {
		return err
	}
	switch {
	case l.Disabled:
		r.SayUndo("done", "The link is disabled: it does not redirect any more.", back)
	case l.State == engine.StateActive:
		r.SayUndo("done", "The link is enabled: it redirects again.", back)
	default:
		r.SayUndo("info", "The link is enabled, but it does not redirect: it is "+string(l.State)+".", back)
	}
	if list := r.Sent("list"); list != "" {
		return r.SeeOther(r.NextPage(list).String())
	}
	return r.SeeOther(linkPath(code, whose))
}

// digests returns the names of the fields with a part of a hash of their texts, for a hidden field.
// From it a form knows which fields were touched, although it is sent without their old values.
func digests(text func(name string) string) string {
	var parts []string
	for _, of := range linkFields {
		if !of.fixed {
			parts = append(parts, of.name+"="+visit.Digest(text(of.name)))
		}
	}
	return strings.Join(parts, " ")
}

// touched reports whether what was typed into a field differs from what the form had shown.
func (f *linkForm) touched(name string) bool {
	return !slices.Contains(strings.Fields(f.Before), name+"="+visit.Digest(f.Fields[name].Value))
}
