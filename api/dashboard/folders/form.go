package folders

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"shunt/api/dashboard/visit"
	"shunt/api/folder"
	"shunt/api/folders"
	"shunt/api/jsonbody"
)

// A form is the form that makes or changes a folder, with what was typed.
type form struct {
	Action, Key     string
	Version, Before string // of the folder when the form was shown, and digests of its texts; empty: it is a new one
	Fields          []*field
	Error           string // of no field
}

// A field is a field of the form. Those of members have e-mail addresses.
type field struct {
	Name, Label, Hint string
	Value, Error      string
	Required, Focus   bool

	Now     string // after another change was saved: what the folder has
	Differs bool   // Now is not what was typed
	Changed bool   // the value is that of the other change
}

// ID returns the id of the field's element.
func (f *field) ID() string { return "folder-" + f.Name }

// Members reports whether the field has e-mail addresses.
func (f *field) Members() bool { return !f.Required }

// Described returns the ids of the elements that describe the field.
func (f *field) Described() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.ID()+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.ID()+"-error")
	}
	return strings.Join(ids, " ")
}

// newForm returns the form with what was typed, or else with what a folder has; nil: it is a new one. What was typed is
// for the version of the folder that the visitor saw then.
func newForm(r *visit.Request, action string, o *folders.Object) *form {
	f := &form{Action: action, Key: r.FormKey(), Fields: []*field{
		{Name: "name", Label: "Name", Required: true},
		{Name: string(folder.Read), Label: "Who may read", Hint: "E-mail addresses. They see the links in it and their figures."},
		{Name: string(folder.Edit), Label: "Who may edit", Hint: "They also change, disable and delete these links, and put others there."},
	}}
	if o != nil {
		f.of(o)
		for _, at := range f.Fields {
			at.Value = at.textOf(o)
		}
	}
	if version, typed := r.Typed("version"); typed && o != nil {
		f.Version = version
		f.Before, _ = r.Typed("before")
	}
	for _, at := range f.Fields {
		if text, typed := r.Typed(at.Name); typed {
			at.Value = text
		}
	}
	return f
}

// of makes the form one for the folder as it is.
func (f *form) of(o *folders.Object) {
	var digests []string
	for _, at := range f.Fields {
		digests = append(digests, at.digest(at.textOf(o)))
	}
	f.Version, f.Before = strconv.FormatUint(o.Version, 10), strings.Join(digests, " ")
}

// textOf returns the text of the field for a folder.
func (f *field) textOf(o *folders.Object) string {
	if f.Members() {
		return addressesOf(o, folder.Right(f.Name))
	}
	return o.Name
}

// digest returns what a form has in Before for the field with a text.
func (f *field) digest(text string) string { return f.Name + "=" + visit.Digest(f.normal(text)) }

// normal returns a text of the field in the form in which texts are compared: addresses in whatever case and order.
func (f *field) normal(text string) string {
	if !f.Members() {
		return strings.TrimSpace(text)
	}
	all := addressesIn(strings.ToLower(text))
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// meet puts what a folder has after another change beside what was typed. A field that nobody has touched gets the new
// text.
func (f *form) meet(o *folders.Object) {
	for _, at := range f.Fields {
		now := at.textOf(o)
		switch {
		case at.normal(at.Value) == at.normal(now):
		case slices.Contains(strings.Fields(f.Before), at.digest(at.Value)):
			at.Value, at.Changed = now, true
		default:
			at.Now, at.Differs = strings.ReplaceAll(now, "\n", ", "), true
		}
	}
	f.of(o)
}

// addressesOf returns the members of a folder with a right, a line each.
func addressesOf(o *folders.Object, may folder.Right) string {
	var all []string
	for _, m := range o.Members {
		if m.May == may {
			all = append(all, m.Email)
		}
	}
	return strings.Join(all, "\n")
}

// A member is one as the call takes it.
type member struct {
	Email string       `json:"email"`
	May   folder.Right `json:"may"`
}

// members returns those of the form, in the order of its fields.
func (f *form) members() (all []member) {
	for _, at := range f.Fields {
		if !at.Members() {
			continue
		}
		for _, address := range addressesIn(at.Value) {
			all = append(all, member{address, folder.Right(at.Name)})
		}
	}
	return all
}

// addressesIn returns the addresses of a text.
func addressesIn(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(",; \t\r\n", c) })
}

// body returns the JSON body of a call.
func (f *form) body() (jsonbody.Body, error) {
	for _, at := range f.Fields {
		if !utf8.ValidString(at.Value) {
			return jsonbody.Body{}, jsonbody.FieldError(at.Name, "characters", "must be UTF-8")
		}
	}
	values := map[string]any{"name": f.Fields[0].Value, "members": append([]member{}, f.members()...)} // not null
	text, err := json.Marshal(values)
	return jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: text}, err
}

// refuse puts the errors of err at their fields, and returns the status of the answer. ok == false: the error is not
// about the form.
func (f *form) refuse(err error) (status int, ok bool) {
	names, members := []string{"members"}, f.members()
	for _, at := range f.Fields {
		names = append(names, at.Name)
	}
	for i := range members {
		names = append(names, ofMember(i))
	}
	errors, general, ok := visit.FieldErrors(err, names...)
	if !ok {
		return 0, false
	}
	for i, m := range members {
		if text := errors[ofMember(i)]; text != "" && errors[string(m.May)] == "" {
			errors[string(m.May)] = "“" + m.Email + "” " + text // which keeps the case of its first letter
		}
	}
	if text := errors["members"]; text != "" && general == "" {
		general = "the members " + text
	}
	f.Error = visit.Sentence(general)
	focused := false
	for _, at := range f.Fields {
		if text := errors[at.Name]; text != "" {
			at.Error = visit.Sentence(text)
		}
		at.Focus = at.Error != "" && !focused
		focused = focused || at.Focus
	}
	return visit.StatusOf(err), true
}

// ofMember returns the name that the call has for a member of the form.
func ofMember(i int) string { return fmt.Sprintf("members[%d]", i) }
