package dashboard

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard/find"
	"shunt/api/dashboard/visit"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

// The paths of the pages about tags. A tag is a parameter, because it may have any letters.
const (
	tagsPath      = Root + "tags"
	renameTagPath = Root + "tags/rename"
	deleteTagPath = Root + "tags/delete"
	tagFigurePath = Root + "tags/figures"
)

// listedTags is how many tags a page has, as text for the call.
const listedTags = "100"

// tagsView is what the page of tags shows.
type tagsView struct {
	visit.Whose
	Domains *visit.DomainChoice
	Edits   bool // the visitor may change links
	Q       string
	Rows    []tagRow
	Error   string // why there is no list
	First   string // address of the first page; empty: this is it
	More    string // address of the next page; empty: there is none
	All     string // address of the list of all tags
}

// A tagRow is a tag in the list.
type tagRow struct {
	ops.Tag
	Found, Figures, Rename, Delete string // paths
}

// tagView is what the pages show that rename or delete a tag.
type tagView struct {
	ops.Tag
	visit.Whose
	Key, Error string
	NewName    string
	Back       string
}

// tagsPage is GET /_/tags.
func (r *request) tagsPage() error {
	whose := visit.Whose{Owner: r.Query("owner"), Domain: r.Query("domain")} // each user has tags of their own, so a viewer means no others here
	view := tagsView{Q: strings.TrimSpace(r.Query("q")), Whose: r.OneDomain(whose), Edits: r.Edits(), Domains: r.DomainsOfList(r.Query("domain"), false)}
	view.All = view.Address(tagsPath)
	cursor := r.Query("cursor")
	if cursor != "" {
		view.First = view.Address(tagsPath, "q", view.Q)
	}
	page, err := r.tags(view.Pairs("q", view.Q, "cursor", cursor, "limit", listedTags)...)
	if err != nil {
		at, general, ok := visit.FieldErrors(err, "q", "cursor", "owner", "domain")
		if !ok {
			return err
		}
		view.Error = visit.Sentence(cmp.Or(labelled("The search", at["q"]), labelled("The owner", at["owner"]), labelled("The domain", at["domain"]),
			labelled("The address of this page", at["cursor"]), general))
		return r.Show(fasthttp.StatusUnprocessableEntity, "tags", "Tags", &view)
	}
	of := r.ofTags(view.Whose)
	for _, tag := range page.Data {
		view.Rows = append(view.Rows, tagRow{
			Tag: tag, Found: find.Of(of, tag.Name).Address(),
			Figures: of.Address(tagFigurePath, "tag", tag.Name),
			Rename:  of.Address(renameTagPath, "tag", tag.Name),
			Delete:  of.Address(deleteTagPath, "tag", tag.Name),
		})
	}
	if page.NextCursor != nil {
		view.More = view.Address(tagsPath, "q", view.Q, "cursor", *page.NextCursor)
	}
	return r.Show(fasthttp.StatusOK, "tags", "Tags", &view)
}

// ofTags returns whose tags a list has, with the domain that is meant without one: links and figures without a domain
// would be of all.
func (r *request) ofTags(w visit.Whose) visit.Whose {
	if domains := r.Calls.Domains(); w.Domain == "" && domains.Several() {
		w.Domain = domains.Default().Host
	}
	return w
}

// tags returns a page of tags.
func (r *request) tags(pairs ...string) (page ops.TagPage, err error) {
	q, err := r.Calls.ParseTags(r.Caller, parameters(pairs...))
	if err != nil {
		return page, err
	}
	err = r.Heavily(func() error {
		page, err = r.Calls.Tags(r.Caller, q)
		return err
	})
	return page, err
}

// tagAsked returns the tag that a page or a form is about, as it is now. Errors: engine.ErrNotFound.
func (r *request) tagAsked(asked func(name string) string) (view tagView, guard ops.Whose, err error) {
	view = tagView{Key: r.FormKey(), Whose: r.OneDomain(visit.Whose{Owner: asked("owner"), Domain: asked("domain")})}
	if guard, err = r.Asked(view.Whose); err != nil {
		return view, guard, err
	}
	view.Back = view.Address(tagsPath)
	wanted, err := ops.NamedTag(asked("tag"))
	if err != nil {
		return view, guard, err
	}
	page, err := r.tags(view.Pairs("q", wanted, "limit", "1")...) // the tag itself comes before those that begin with it
	if err == nil && (len(page.Data) == 0 || !engine.HasTag([]string{page.Data[0].Name}, wanted)) {
		err = engine.ErrNotFound
	}
	if err != nil {
		return view, guard, err
	}
	view.Tag = page.Data[0]
	view.NewName = view.Name
	return view, guard, nil
}

// renameTagPage is GET /_/tags/rename.
func (r *request) renameTagPage() error { return r.showTag("tag-rename", "Rename ") }

// deleteTagPage is GET /_/tags/delete.
func (r *request) deleteTagPage() error { return r.showTag("tag-delete", "Delete ") }

func (r *request) showTag(template, title string) error {
	view, _, err := r.tagAsked(r.Query)
	if err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, template, title+view.Name, view)
}

// renameTag is POST /_/tags/rename.
func (r *request) renameTag() error {
	name := strings.TrimSpace(r.Sent("name"))
	text, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		return err
	}
	body := jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: text}
	return r.changeTag("tag-rename", "Rename ", func(guard ops.Whose, tag string) (ops.Retagged, string, error) {
		done, err := r.Calls.RenameTag(r.Caller, guard, tag, body)
		return done, "is renamed to “" + name + "” on ", err
	})
}

// deleteTag is POST /_/tags/delete.
func (r *request) deleteTag() error {
	return r.changeTag("tag-delete", "Delete ", func(guard ops.Whose, tag string) (ops.Retagged, string, error) {
		done, err := r.Calls.DeleteTag(r.Caller, guard, tag)
		return done, "is taken off ", err
	})
}

// changeTag makes a change of a tag and shows the list, or the form again.
func (r *request) changeTag(template, title string, change func(guard ops.Whose, tag string) (ops.Retagged, string, error)) error {
	tag, whose := r.Sent("tag"), r.OneDomain(visit.Whose{Owner: r.Sent("owner"), Domain: r.Sent("domain")})
	err := r.SeeOnce(func() (string, error) {
		guard, err := r.Asked(whose)
		if err != nil {
			return "", err
		}
		wanted, err := ops.NamedTag(tag)
		if err != nil {
			return "", err
		}
		done, what, err := change(guard, wanted)
		if err != nil {
			return "", err
		}
		said := "The tag “" + wanted + "” " + what + visit.Plural(done.Links, "link", "links")
		if done.Complete {
			r.Say("done", said+".")
		} else {
			r.Say("warning", said+" so far. There are more: do it again to go on.")
		}
		return whose.Address(tagsPath), nil
	})
	if err == nil {
		return nil
	}
	at, general, ok := visit.FieldErrors(err, "name")
	p, _ := problem.Of(err)
	if !ok || p.Kind == problem.NotFound {
		return err
	}
	view, _, errAsked := r.tagAsked(r.Sent)
	if errAsked != nil {
		return errAsked
	}
	view.NewName, view.Error = r.Sent("name"), visit.Sentence(cmp.Or(at["name"], general))
	return r.Show(p.Kind.Status, template, title+view.Name, view)
}
