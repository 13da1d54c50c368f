package dashboard

import (
	"encoding/json"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard/fieldtext"
	"shunt/api/dashboard/targets"
	"shunt/api/dashboard/visit"
	"shunt/api/jsonbody"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/api/tagtext"
	"shunt/engine"
	"shunt/engine/texts"
)

// A linkField is a field of a link in the forms that create and edit one. What is typed becomes a
// JSON value, and the call checks it: no rule of a field is here.
type linkField struct {
	name  string                   // that of a part of a field has a dot, as in errors
	fixed bool                     // it cannot be edited
	shown func(l *ops.Link) string // the text of the field for a link
	value func(text string) any    // the JSON value of what was typed, without spaces at its ends; nil: the default; an error: of the field
}

// linkFields are the fields of the forms, in the order of the pages.
var linkFields = slices.Concat([]linkField{
	{"url", false, func(l *ops.Link) string { return l.Target }, fieldtext.TextValue},
	{"alias", true, func(l *ops.Link) string { return l.Code }, fieldtext.TextValue},
	{"domain", true, func(l *ops.Link) string { return l.Host }, fieldtext.TextValue},
}, textFields(), []linkField{
	{"tags", false, func(l *ops.Link) string { return tagtext.Join(l.Tags) }, fieldtext.TagsValue},
	{"folder", false, fieldtext.Folder, fieldtext.NumberValue},
	{"starts_at", false, func(l *ops.Link) string { return fieldtext.Time(l.StartsAt) }, fieldtext.TimeValue},
	{"expires_at", false, func(l *ops.Link) string { return fieldtext.Time(l.ExpiresAt) }, fieldtext.TimeValue},
	{"expired_url", false, func(l *ops.Link) string { return l.ExpiredURL }, fieldtext.TextValue},
	{"max_hits", false, fieldtext.MaxHits, fieldtext.NumberValue},
	{"rules", false, targets.Rules, targets.RulesValue},
	{"split", false, targets.Split, targets.SplitValue},
	{"password", false, fieldtext.Password, fieldtext.PasswordValue},
	{"card.title", false, func(l *ops.Link) string { return l.Card.Title }, fieldtext.TextValue},
	{"card.description", false, func(l *ops.Link) string { return l.Card.Description }, fieldtext.TextValue},
	{"card.image", false, func(l *ops.Link) string { return l.Card.Image }, fieldtext.TextValue},
	{"redirect_status", false, func(l *ops.Link) string { return strconv.Itoa(l.RedirectStatus) }, fieldtext.NumberValue},
	{"query", false, func(l *ops.Link) string { return string(l.Query) }, fieldtext.TextValue},
	{"forward_path", false, func(l *ops.Link) string { return fieldtext.Check(l.ForwardPath) }, fieldtext.CheckValue},
	{"disabled", false, func(l *ops.Link) string { return fieldtext.Check(l.Disabled) }, fieldtext.CheckValue},
	{"reuse", true, func(*ops.Link) string { return "" }, fieldtext.CheckValue},
})

// textFields returns the fields that are text for people.
func textFields() (all []linkField) {
	for _, t := range texts.All() {
		all = append(all, linkField{t.Name, false, func(l *ops.Link) string { return *l.Text(t.Name) }, fieldtext.TextValue})
	}
	return all
}

// defaultShown are the texts of the fields of a new link that are not empty.
var defaultShown = map[string]string{"redirect_status": "302", "query": string(engine.ForwardNone)}

// A field is a field as a form shows it.
type field struct {
	Name, Value string
	Error       string
	Now         any  // after an edit that crossed another's: what the link has now, as inWords returns it; nil: the same
	Changed     bool // the other edit has changed it, and this one has not
	Focus       bool // the page begins here
}

// ID returns the id of the field's element.
func (f *field) ID() string { return "link-" + f.Name }

// Hint returns what stands beside the field's label.
func (f *field) Hint() string {
	if t := texts.Named(f.Name); t != nil {
		return t.Hint
	}
	return hints[f.Name]
}

var hints = map[string]string{
	"url":        "The address that the link leads to.",
	"alias":      "What follows the slash. Empty: a random code.",
	"tags":       "With commas between them.",
	"folder":     "Its members see the link and its figures, or edit it.",
	"starts_at":  "Empty: at once. Before it, the link does not exist for visitors.",
	"expires_at": "Empty: never.",
	"max_hits":   "Empty: no limit.",

	"rules": "A line each, the first that fits counts: device=ios and language=de -> https://example.org/app",
	"split": "A line each, for visitors whom no rule sends elsewhere: 70:https://example.org/a",

	"password": "Visitors must type it before they go on. Empty: none.",

	"expired_url": "Where visitors are sent once the link has expired or its limit is reached. Empty: they see a page that says so.",

	"card.title": "Empty: no card.",
	"card.image": "It must be on the web: https://…",

	"utm_source":   "Where visitors come from: newsletter.",
	"utm_medium":   "By what: email, social, print.",
	"utm_campaign": "For what: spring_sale.",
	"utm_term":     "Which word was paid for.",
	"utm_content":  "Which of several links.",
	"utm_keep":     "Empty: they are not saved.",
}

// Label returns the label of a field that pages draw by itself.
func (f *field) Label() string {
	if t := texts.Named(f.Name); t != nil {
		return t.Label
	}
	return labels[f.Name]
}

var labels = map[string]string{
	"utm_source": "Source", "utm_medium": "Medium", "utm_campaign": "Campaign", "utm_term": "Term", "utm_content": "Content",
	"utm_keep": "Save as a template named", "name": "Name",
	"card.title": "Title of the card", "card.description": "Description", "card.image": "Address of an image",
}

// Described returns the ids of the elements that describe the field.
func (f *field) Described() string {
	var ids []string
	if f.Hint() != "" {
		ids = append(ids, f.ID()+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.ID()+"-error")
	}
	return strings.Join(ids, " ")
}

// Redirects are the choices of how a link redirects.
func (f *field) Redirects() []fieldtext.Redirect { return fieldtext.Redirects }

// Queries are the choices of what becomes of the query of the short address.
func (f *field) Queries() []fieldtext.Query { return fieldtext.Queries }

// A linkForm is the form that creates or edits a link.
type linkForm struct {
	Action string // the path that it is sent to
	Fields map[string]*field
	Error  string // of no field
	Open   bool   // the details are unfolded

	Fetches bool         // the server may be asked for the title of the target
	Icon    template.URL // that was fetched with the title; empty: none

	Domains *visit.DomainChoice // of a form that creates; nil: there is only one

	Folders  visit.FolderChoice
	Campaign campaignForm
	UsedTags []string // suggestions

	Key             string // of a form that creates
	visit.Whose            // of a form that edits
	Version, Before string // the same; see digests
}

// Lines reports whether the field's text may have several lines.
func (f *field) Lines() bool { return texts.Named(f.Name).Lines }

// Texts returns the fields that are text for people. f is a copy, as templates have it.
func (f linkForm) Texts() (all []*field) {
	for _, t := range texts.All() {
		all = append(all, f.Fields[t.Name])
	}
	return all
}

// Card returns the fields of the card.
func (f linkForm) Card() []*field {
	return []*field{f.Fields["card.title"], f.Fields["card.description"], f.Fields["card.image"]}
}

// HasCard reports whether one of them is filled in, or wrong.
func (f linkForm) HasCard() bool {
	return slices.ContainsFunc(f.Card(), func(at *field) bool { return at.Value != "" || at.Error != "" || at.Changed })
}

// fill sets the fields to what was typed, or else to the text that shown returns. In a form that was sent, the target
// is marked with its campaign.
func (f *linkForm) fill(r *request, shown func(name string) string) (err error) {
	f.Fields, f.Fetches = make(map[string]*field, len(linkFields)), r.Fetches.Allowed()
	for _, of := range linkFields {
		text, ok := r.Typed(of.name)
		if !ok {
			text = shown(of.name)
		}
		if of.name != "password" { // whose blanks count
			text = strings.TrimSpace(text)
		}
		f.Fields[of.name] = &field{Name: of.name, Value: text}
	}
	if f.Campaign, err = r.campaignForm(); err != nil {
		return err
	}
	if at := f.Fields["url"]; r.Posts() {
		at.Value = f.Campaign.mark(at.Value)
	}
	if f.Folders, err = r.FoldersOfForm(f.Fields["folder"].Value); err != nil {
		return err
	}
	f.unfold()
	if !r.Posts() { // a form that was sent needs them only if it is shown again
		f.UsedTags, err = r.usedTags()
	}
	return err
}

// wantsTitle reports whether a form was sent to have its title filled in, and nothing else.
func (r *request) wantsTitle() bool { return r.Sent("fetch") != "" }

// fetchTitle fills in the title that the target has. It returns the status of the page that shows the form again.
func (f *linkForm) fetchTitle(r *request) (status int, err error) {
	f.Open = true
	p, err := r.Fetches.Page(r.Caller, f.Fields["url"].Value)
	if err == nil {
		f.Fields["title"].Value, f.Icon = p.Title, r.ShowIcon(&p)
		return fasthttp.StatusOK, nil
	}
	status, ok := f.refuse(err)
	if !ok {
		return 0, err
	}
	r.retryAfter(err)
	return status, nil
}

// field returns the field of a name; nil: there is none.
func (f *linkForm) field(name string) *field {
	for _, at := range f.Campaign.all() {
		if at.Name == name {
			return at
		}
	}
	return f.Fields[name]
}

// unfold opens the details if one of their fields has an error, or a value that is not the default.
func (f *linkForm) unfold() {
	for _, of := range linkFields {
		if of.name == "url" || of.name == "alias" || of.name == "domain" {
			continue
		}
		at := f.Fields[of.name]
		ofList := of.name == "folder" && f.Key != "" // a new link is put into the folder whose list is shown
		f.Open = f.Open || at.Error != "" || at.Value != defaultShown[of.name] && !ofList
	}
	f.Campaign.unfold()
	f.Open = f.Open || f.Campaign.Open
}

// body returns the JSON body of a call with the fields that has names. In a patch, a field that is
// empty gets null, or the empty text if the link must have it.
func (f *linkForm) body(patch bool, has func(name string) bool) (jsonbody.Body, error) {
	values := make(map[string]any)
	for _, of := range linkFields {
		text := f.Fields[of.name].Value
		if of.fixed && patch || !has(of.name) {
			continue
		}
		if !utf8.ValidString(text) {
			return jsonbody.Body{}, jsonbody.FieldError(of.name, "characters", "must be UTF-8")
		}
		switch value := of.value(text); {
		case isError(value):
			return jsonbody.Body{}, jsonbody.FieldError(of.name, "format", value.(error).Error())
		case value != nil:
			put(values, of.name, value)
		case patch && of.name == "url":
			values[of.name] = ""
		case patch:
			put(values, of.name, nil)
		}
	}
	text, err := json.Marshal(values) // sorted by name, so a repeat has the same bytes
	return jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: text}, err
}

func isError(value any) bool {
	_, is := value.(error)
	return is
}

// put puts the value of a field, or of a part of one, into the body of a call.
func put(values map[string]any, name string, value any) {
	name, part, isPart := strings.Cut(name, ".")
	if !isPart {
		values[name] = value
		return
	}
	parts, _ := values[name].(map[string]any)
	if parts == nil {
		parts = make(map[string]any)
		values[name] = parts
	}
	parts[part] = value
}

// refuse puts the errors of err at their fields, and returns the status of the answer. ok == false:
// the error is internal, or says that there is no such link.
func (f *linkForm) refuse(err error) (status int, ok bool) {
	p, known := problem.Of(err)
	if !known || p.Kind == problem.NotFound {
		return 0, false
	}
	if p.Kind == problem.AliasTaken {
		f.Fields["alias"].Error = visit.Sentence(p.Detail)
	} else if len(p.Fields) == 0 {
		f.Error = formError(p)
	}
	for _, e := range p.Fields {
		name, index, inList := strings.Cut(e.Field, "[")
		at := f.field(name)
		switch text := visit.Sentence(e.Message); {
		case at == nil:
			f.Error = visit.Sentence(e.Error())
		case at.Error != "": // the first is enough
		case inList:
			at.Error = itemNames[name] + " " + ordinal(index) + ": " + e.Message + "."
		default:
			at.Error = text
		}
	}
	f.unfold()
	f.focus()
	switch at := f.Fields["domain"]; {
	case f.Domains != nil:
		f.Domains.Error = at.Error
	case at.Error != "":
		f.Error = "The domain: " + at.Error
	}
	return p.Kind.Status, true
}

// focus lets the page begin at the first field with an error.
func (f *linkForm) focus() {
	for _, of := range linkFields {
		if at := f.Fields[of.name]; at.Error != "" {
			at.Focus = true
			return
		}
	}
	for _, at := range f.Campaign.all() {
		if at.Error != "" {
			at.Focus = true
			return
		}
	}
}

// itemNames are what people call the items of fields that are lists.
var itemNames = map[string]string{"tags": "Tag", "rules": "Rule", "split": "Part"}

// ordinal returns the number that people give to the place "0]" of a list, after which more may follow.
func ordinal(index string) string {
	index, _, _ = strings.Cut(index, "]")
	n, _ := strconv.Atoi(index)
	return strconv.Itoa(n + 1)
}

// warning is the kind of a notice that is one.
const warning = "warning"

// maxWarningsSaid is how many warnings a notice has.
const maxWarningsSaid = 3

// withWarnings returns what is said of a link that was just saved, with the parts of it that have no effect.
func withWarnings(kind, said string, warnings []engine.FieldError) (string, string) {
	for i, w := range warnings {
		kind = warning
		if i == maxWarningsSaid {
			return kind, said + " There are more warnings."
		}
		name, index, _ := strings.Cut(w.Field, "[")
		said += " " + itemNames[name] + " " + ordinal(index)
		if _, condition, ok := strings.Cut(index, "conditions["); ok {
			said += ", condition " + ordinal(condition) + ","
		}
		said += " " + w.Message + "."
	}
	return kind, said
}

// formError returns the text of a problem that is not about a field, with what the visitor can do.
func formError(p problem.Problem) string {
	if p.Kind == problem.OutcomeUnknown {
		return "The server's disk did not answer in time, so the change may have been made or not. Send the form again: nothing is made twice."
	}
	return strings.TrimSpace(visit.Sentence(p.Detail) + " " + visit.Advice[p.Kind])
}
