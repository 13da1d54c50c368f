package dashboard

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/dashboard/fieldtext"
	"shunt/api/dashboard/find"
	"shunt/api/dashboard/several"
	"shunt/api/dashboard/undo"
	"shunt/api/dashboard/visit"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/api/sheet"
	"shunt/api/tagtext"
	"shunt/engine"
)

// The paths of the pages that do something with several links of the list, and of the list as a file.
const (
	selectedPath = find.Path + "/selected"
	changePath   = selectedPath + "/change"
	exportPath   = find.Path + "/export"
)

// A choice is what can be done with several links.
type choice struct {
	Name, Title string
	One, Many   string // what becomes of one link, and of several: {0} is how many
	Field       string // that the page asks for; empty: none
	admins      bool
	Danger      bool

	asked func(r *request, s *ops.Several) error // puts the change into s; nil: links are read only
}

// trashed is how long deleted links stay in the trash, for the texts of choices.
var trashed = strconv.Itoa(engine.TrashDays) + " days"

// choices are all of them, in the order of the list.
var choices = []choice{
	{
		Name: "tag", Title: "Add tags", Field: "tags", asked: (*request).askTags,
		One: "1 link will have these tags, too.", Many: "{0} links will have these tags, too.",
	},
	{
		Name: "untag", Title: "Remove tags", Field: "tags", asked: (*request).askNoTags,
		One: "1 link will lose these tags.", Many: "{0} links will lose these tags.",
	},
	{
		Name: "expire", Title: "Set expiry", Field: "expires_at", asked: (*request).askExpiry,
		One: "1 link will expire at this time.", Many: "{0} links will expire at this time.",
	},
	{
		Name: "disable", Title: "Disable", asked: patchAs("disabled", true),
		One:  "1 link will not redirect any more, until it is enabled.",
		Many: "{0} links will not redirect any more, until they are enabled.",
	},
	{
		Name: "enable", Title: "Enable", asked: patchAs("disabled", false),
		One:  "1 link will redirect again, unless it has expired or reached its limit.",
		Many: "{0} links will redirect again, unless they have expired or reached their limit.",
	},
	{
		Name: "folder", Title: "Move to a folder", Field: "into", asked: (*request).askFolder,
		One:  "1 link will be in the folder that you choose, and in no other.",
		Many: "{0} links will be in the folder that you choose, and in no other.",
	},
	{
		Name: "move", Title: "Move to another owner", Field: "to", admins: true, asked: (*request).askOwner,
		One:  "1 link will belong to that user. Its figures go with it.",
		Many: "{0} links will belong to that user. Their figures go with them.",
	},
	{
		Name: "delete", Title: "Delete", Danger: true, asked: func(_ *request, s *ops.Several) error { s.Delete = true; return nil },
		One:  "1 link will not redirect any more. It is in the trash for " + trashed + ", and can be restored until then.",
		Many: "{0} links will not redirect any more. They are in the trash for " + trashed + ", and can be restored until then.",
	},
	{Name: "compare", Title: "Compare figures"},
	{Name: "export", Title: "Export as CSV"},
}

// choices returns what the visitor can do.
func (r *request) choices() []choice {
	return slices.DeleteFunc(slices.Clone(choices), func(c choice) bool { return c.admins && !r.Admin() || c.asked != nil && !r.Edits() })
}

// choiceSent returns the choice of the form.
func (r *request) choiceSent() (choice, error) {
	all := r.choices()
	if i := slices.IndexFunc(all, func(c choice) bool { return c.Name == r.Sent("do") }); i >= 0 {
		return all[i], nil
	}
	return choice{}, problem.New(problem.BadRequest, "the form must say what to do with the links")
}

// shownSelected is how many of the links the page that confirms names.
const shownSelected = 10

// selectedView is what the pages show that do something with several links.
type selectedView struct {
	choice
	Search find.Search
	All    bool             // all links of the search; else those of Keys
	Keys   []several.Chosen // all of them
	N      uint64           // links
	Shown  []string         // the first of them
	Most   uint64           // that are changed at a time
	Key    string

	Value, Error, FieldError string
	UsedTags                 []string
	Folders                  visit.FolderChoice

	Done   *ops.SeveralDone  // what became of it; nil: nothing was done
	Failed string            // why it ended before the last link
	Why    []several.Refused // links that were refused
	Back   string
	Trash  string // address of what was deleted

	Undo visit.Undo // takes it back; empty: it cannot be
}

// ID is the id of the field.
func (v *selectedView) ID() string { return "selected-value" }

// Rest returns how many of the links that match are not among those that are changed at once.
func (v *selectedView) Rest() bool { return v.N > v.Most }

// selectedAsked returns which links the form is about. They may be fewer than were sent, as a code can be sent twice.
func (r *request) selectedAsked(c choice) *selectedView {
	view := &selectedView{choice: c, Search: find.Read(r.Sent), All: r.Sent("all") != "", Key: r.FormKey(), Most: ops.MaxSeveral}
	view.Back, view.Trash = view.Search.Address(), view.Search.Whose().Address(undo.TrashPath)
	if c.Field != "" {
		view.Value, _ = r.Typed(c.Field)
	}
	for _, code := range r.Ctx.PostArgs().PeekMulti("code") {
		if one, ok := several.Named(r.Request, string(code)); ok && !slices.Contains(view.Keys, one) && !view.All {
			view.Keys = append(view.Keys, one)
		}
	}
	return view
}

// selected is POST /_/links/selected: it says what will be done with the links, and asks whether it is to be.
func (r *request) selected() error {
	c, err := r.choiceSent()
	if err != nil {
		return err
	}
	view := r.selectedAsked(c)
	if !view.All && len(view.Keys) == 0 {
		r.Say("warning", "No link was selected. Tick the links first.")
		return r.SeeOther(view.Back)
	}
	switch c.Name {
	case "compare":
		return r.compareSelected(view)
	case "export":
		if view.All {
			return r.SeeOther(view.Search.At(exportPath))
		}
		return r.exportCodes(view)
	}
	return r.showSelected(fasthttp.StatusOK, view)
}

// The fewest and the most links that can be compared.
const (
	leastCompared = 2
	mostCompared  = 5
)

func (r *request) compareSelected(view *selectedView) error {
	if view.All {
		if err := r.takeCompared(view); err != nil {
			return err
		}
	}
	if n := len(view.Keys); n < leastCompared || n > mostCompared {
		r.Say("warning", "Select two to five links to compare their figures.")
		return r.SeeOther(view.Back)
	}
	var codes []string
	for _, k := range view.Keys {
		if k.Domain != view.Keys[0].Domain {
			r.Say("warning", "Only links of one domain can be compared. Choose the domain first.")
			return r.SeeOther(view.Back)
		}
		codes = append(codes, k.Code)
	}
	whose := visit.Whose{Owner: view.Search.Owner, Domain: view.Keys[0].Host}
	return r.SeeOther(whose.Address(comparePath, "codes", strings.Join(codes, ",")))
}

// takeCompared puts the first links of the search into the view, one more than can be compared.
func (r *request) takeCompared(view *selectedView) error {
	q, err := r.listAsked(&view.Search, "limit", strconv.Itoa(mostCompared+1))
	if err != nil {
		return err
	}
	return r.Heavily(func() error {
		return r.Calls.List(r.Caller, q, func(p ops.Page) error {
			for i := range p.Links {
				view.Keys = append(view.Keys, several.Of(&p.Links[i]))
			}
			return nil
		})
	})
}

// showSelected shows the page that confirms, with the links as they are now.
func (r *request) showSelected(status int, view *selectedView) (err error) {
	view.N = uint64(len(view.Keys))
	for _, k := range view.Keys[:min(len(view.Keys), shownSelected)] {
		view.Shown = append(view.Shown, k.Name())
	}
	if view.All {
		if err := r.countSelected(view); err != nil {
			return err
		}
	}
	if view.Field == "tags" {
		if view.UsedTags, err = r.usedTags(); err != nil {
			return err
		}
	}
	if view.Field == "into" {
		if view.Folders, err = r.FoldersOfForm(view.Value); err != nil {
			return err
		}
	}
	return r.Show(status, "link-selected", view.Title, view)
}

// countSelected counts the links of the search, and names the first.
func (r *request) countSelected(view *selectedView) error {
	q, err := r.listAsked(&view.Search, "total", "true", "limit", strconv.Itoa(shownSelected))
	if err != nil {
		return err
	}
	return r.Heavily(func() error {
		return r.Calls.List(r.Caller, q, func(p ops.Page) error {
			view.N = *p.Total
			for i := range p.Links {
				view.Shown = append(view.Shown, several.Of(&p.Links[i]).Name())
			}
			return nil
		})
	})
}

// listAsked returns the query for the links of a search.
func (r *request) listAsked(s *find.Search, pairs ...string) (ops.ListQuery, error) {
	return r.Calls.ParseList(r.Caller, parameters(append(s.Pairs(), pairs...)...))
}

// changeSelected is POST /_/links/selected/change: it changes the links, and says what became of them. The same form
// sent again does nothing, because other links may match by then.
func (r *request) changeSelected() error {
	c, err := r.choiceSent()
	if err != nil {
		return err
	}
	view := r.selectedAsked(c)
	if c.asked == nil {
		return problem.New(problem.BadRequest, "this is not a change of links")
	}
	page, err := r.Once(func() (string, error) { return view.Back, r.changeOnce(view) })
	if at, general, ok := visit.FieldErrors(err, c.Field); err != nil && view.Done == nil {
		if !ok || visit.StatusOf(err) == fasthttp.StatusNotFound {
			return err
		}
		view.FieldError, view.Error = visit.Sentence(at[c.Field]), visit.Sentence(general)
		return r.showSelected(visit.StatusOf(err), view)
	}
	if view.Done == nil {
		r.Say("info", "This was done already.")
		return r.SeeOther(page)
	}
	return r.Show(fasthttp.StatusOK, "link-selected", view.Title, view)
}

// changeOnce changes the links. An error after the first link is one of the view, which says how far it came.
func (r *request) changeOnce(view *selectedView) error {
	q, err := r.listAsked(&view.Search)
	if err != nil {
		return err
	}
	s := ops.Several{Whose: q.Whose, List: q}
	for _, k := range view.Keys {
		s.Keys = append(s.Keys, k.Key)
	}
	if s.List.Cursor = r.Sent("cursor"); !view.All && len(view.Keys) == 0 {
		return problem.New(problem.BadRequest, "the form must name links")
	}
	if err := view.asked(r, &s); err != nil {
		return err
	}
	done, err := r.Calls.ChangeSeveral(r.Caller, s)
	p, known := problem.Of(err)
	switch {
	case err != nil && (done.Done() == 0 || !known):
		return err
	case err != nil:
		view.Failed = formError(p)
	}
	if !r.addEarlier(&done) { // what earlier forms have done could not be taken back with it
		view.Undo = several.Undo(r.Request, &view.Search, done.Back)
	}
	for _, refused := range done.Why {
		view.Why = append(view.Why, several.Refused{Name: several.Keyed(r.Request, refused.Key).Name(), Text: refusedText(refused.Err)})
	}
	view.Done, view.Keys, view.Key = &done, nil, rand.Text()
	for _, k := range done.Left {
		view.Keys = append(view.Keys, several.Keyed(r.Request, k))
	}
	return nil
}

// addEarlier adds what became of the links of the forms before, when a change goes on. It reports whether there were
// any.
func (r *request) addEarlier(done *ops.SeveralDone) bool {
	now := done.Done()
	for name, n := range map[string]*uint64{"changed": &done.Changed, "same": &done.Same, "gone": &done.Gone, "refused": &done.Refused} {
		earlier, _ := strconv.ParseUint(r.Sent(name), 10, 40)
		*n += earlier
	}
	return done.Done() != now
}

// refusedText returns why a link was refused, for people.
func refusedText(err error) string {
	p, _ := problem.Of(err)
	if len(p.Fields) > 0 {
		return fieldText(p.Fields[0])
	}
	return visit.Sentence(p.Detail)
}

// patchAs returns what asks for a value of a field.
func patchAs(field string, value any) func(*request, *ops.Several) error {
	return func(_ *request, s *ops.Several) error {
		text, err := json.Marshal(map[string]any{field: value})
		s.Patch = jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: text}
		return err
	}
}

// tagsSent returns the tags of the form.
func (r *request) tagsSent() (body jsonbody.Body, err error) {
	text := r.Sent("tags")
	tags := tagtext.Split(text)
	switch {
	case len(text) > maxTagText:
		return body, errTagsTooLong
	case len(tags) == 0:
		return body, jsonbody.FieldError("tags", "required", "must have at least one tag")
	}
	return ops.TagsBody(tags), nil
}

func (r *request) askTags(s *ops.Several) (err error) {
	s.Tags, err = r.tagsSent()
	return err
}

func (r *request) askNoTags(s *ops.Several) (err error) {
	s.NoTags, err = r.tagsSent()
	return err
}

func (r *request) askExpiry(s *ops.Several) error {
	text := strings.TrimSpace(r.Sent("expires_at"))
	if text == "" {
		return patchAs("expires_at", nil)(r, s)
	}
	return patchAs("expires_at", fieldtext.TimeValue(text))(r, s)
}

// askFolder reads the folder of a field that is not called folder: that is a filter of the list.
func (r *request) askFolder(s *ops.Several) error {
	text := strings.TrimSpace(r.Sent("into"))
	switch {
	case text == "":
		return patchAs("folder", nil)(r, s)
	case !r.MayPut(text):
		return jsonbody.FieldError("into", "unknown", "is not the number of a folder into which you may put links")
	}
	return patchAs("folder", fieldtext.NumberValue(text))(r, s)
}

func (r *request) askOwner(s *ops.Several) error {
	u, err := r.userNamed(r.Sent("to"))
	if errors.Is(err, account.ErrNoUser) {
		return jsonbody.FieldError("to", "unknown", "must be the e-mail address or the number of a user")
	}
	if err != nil {
		return err
	}
	return patchAs("owner", u.ID)(r, s)
}

// exportCodes answers with links as a file, which has the columns of an export. Links that are not there any more are
// left out. A form has 255 codes at most, so the file is made in memory.
func (r *request) exportCodes(view *selectedView) error {
	q, err := r.listAsked(&view.Search)
	if err != nil {
		return err
	}
	text := bytes.NewBufferString(sheet.ByteOrderMark)
	table := ops.NewLinkWriter(text)
	err = r.Heavily(func() error {
		for _, k := range view.Keys {
			l, err := r.Calls.Read(r.Caller, k.Code, k.Of(q.Whose))
			switch {
			case err == nil:
				table.Add(&l)
			case !errors.Is(err, engine.ErrNotFound):
				return err
			}
		}
		return nil
	})
	if err = errors.Join(err, table.End()); err == nil {
		r.sendCSV("links.csv", text.Bytes())
	}
	return err
}

// exportShown is GET /_/links/export: the whole list as a file, with its filters and in its order.
func (r *request) exportShown() error {
	search := find.Read(r.Query)
	owner, choice, err := r.ownerAsked()
	if err != nil {
		return err
	}
	if choice != nil && choice.Error != "" {
		return jsonbody.FieldError("owner", "invalid", choice.Error)
	}
	search.Owner = owner
	q, err := r.listAsked(&search, "include", "unique")
	if err != nil {
		return err
	}
	if err := r.Table(r.Ctx, r.Caller, q); err != nil {
		return err
	}
	r.nameCSV("links.csv")
	return nil
}
