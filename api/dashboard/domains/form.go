package domains

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"shunt/api/dashboard/visit"
	"shunt/api/domains"
	"shunt/api/jsonbody"
)

// A form is the form that adds or changes a domain, with what was typed.
type form struct {
	Action, Key string
	Fields      []*field
	Fixed       bool   // of the default domain: its hosts are those of the settings
	Error       string // of no field
	Open        bool   // the fields that are seldom needed are unfolded
}

// A field is a field of the form.
type field struct {
	Name, Label, Hint string
	Value, Error      string
	Required, Address bool
	Lines, Focus      bool
	JSON              bool
	Choices           []choice // of a field that is chosen; the first is the default
}

// A choice is a value of a field, which is empty for the default.
type choice struct{ Value, Title string }

// fixed are the fields that the default domain does not have.
var fixed = []string{"host", "aliases", "base_url", "certificate"}

// fields returns the fields of a form, empty.
func fields() []*field {
	return []*field{
		{Name: "host", Label: "Host", Hint: "A name, such as go.example. Its DNS must lead to this server.", Required: true},
		{Name: "aliases", Label: "Aliases", Hint: "Other hosts with the same links, with spaces between them."},
		{Name: "base_url", Label: "Short addresses begin with", Hint: "Empty: with the host, as those of the default domain do.", Address: true},
		{Name: "root_url", Label: "Root leads to", Hint: "Where the host without a code leads. Empty: nowhere.", Address: true},
		{Name: "not_found_url", Label: "Unknown codes lead to", Hint: "{path} stands for what was asked for, such as https://example.org/find?q={path}. Empty: nowhere.", Address: true},
		{Name: "expired_url", Label: "Expired links lead to", Hint: "Empty: nowhere.", Address: true},
		{Name: "redirect_status", Label: "Kind of redirect of new links", Choices: []choice{{"", "as usual: 302"}, {"301", "301"}, {"302", "302"}, {"307", "307"}, {"308", "308"}}},
		{Name: "case", Label: "Upper and lower case in codes", Choices: []choice{{"", "make a difference"}, {domains.CaseFold, "make none"}}},
		{Name: "trim", Label: "Dots and brackets after an address", Choices: []choice{{"", "are ignored"}, {"false", "count"}}},
		{Name: "unicode_codes", Label: "Letters in codes", Choices: []choice{{"", "from a to z"}, {"true", "of all scripts"}}},
		{Name: "robots", Label: "robots.txt", Hint: "Empty: the usual one. The word none: robots are to stay away. Else the text of the file.", Lines: true},
		{Name: "apple_app_site_association", Label: "App links on iOS", Hint: "JSON, as Apple describes it. It is at /.well-known/apple-app-site-association. Empty: nothing is.", Lines: true, JSON: true},
		{Name: "assetlinks", Label: "App links on Android", Hint: "JSON, as Google describes it. It is at /.well-known/assetlinks.json. Empty: nothing is.", Lines: true, JSON: true},
		{Name: "certificate", Label: "Certificate", Choices: []choice{
			{"", "as the server gets its own"}, {"acme", "the server gets it (ACME)"}, {"files", "from the files of the settings"}, {"none", "no certificate"},
		}},
	}
}

// ID returns the id of the field's element.
func (f *field) ID() string { return "domain-" + f.Name }

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

// First returns the fields that are always shown; the others are in Rest.
func (f *form) First() []*field {
	if f.Fixed {
		return nil
	}
	return f.Fields[:2]
}

// Rest returns the fields that First leaves out.
func (f *form) Rest() []*field {
	if f.Fixed {
		return f.Fields
	}
	return f.Fields[2:]
}

// newForm returns the form with what was typed, or else with what a domain has; nil: it is a new one.
func newForm(r *visit.Request, action string, o *domains.Object) *form {
	f := &form{Action: action, Key: r.FormKey(), Fields: fields(), Fixed: o != nil && o.Default, Open: o != nil}
	if f.Fixed {
		f.Fields = slices.DeleteFunc(f.Fields, func(at *field) bool { return slices.Contains(fixed, at.Name) })
	}
	for i, at := range f.Fields {
		text, typed := r.Typed(at.Name)
		if !typed && o != nil {
			text = textOf(o, at.Name)
		}
		at.Value = text
		f.Open = f.Open || i >= 2 && text != ""
	}
	return f
}

// textOf returns the text of a field of a domain.
func textOf(o *domains.Object, name string) string {
	switch name {
	case "host":
		return o.Host
	case "aliases":
		return strings.Join(o.Aliases, " ")
	case "base_url":
		return o.BaseURL
	case "root_url":
		return orEmpty(o.RootURL)
	case "not_found_url":
		return orEmpty(o.NotFoundURL)
	case "expired_url":
		return orEmpty(o.ExpiredURL)
	case "robots":
		return orEmpty(o.Robots)
	case "apple_app_site_association":
		return indented(o.AppSiteAssociation)
	case "assetlinks":
		return indented(o.AssetLinks)
	case "case":
		if o.Case == domains.CaseFold {
			return o.Case
		}
		return ""
	case "trim":
		if !o.Trim {
			return "false"
		}
		return ""
	case "unicode_codes":
		if o.UnicodeCodes {
			return "true"
		}
		return ""
	case "certificate":
		return orEmpty(o.Certificate)
	}
	if o.RedirectStatus == nil {
		return ""
	}
	return strconv.Itoa(*o.RedirectStatus)
}

// indented returns a document as people read it.
func indented(document json.RawMessage) string {
	var b bytes.Buffer
	if len(document) == 0 || json.Indent(&b, document, "", "  ") != nil {
		return ""
	}
	return b.String()
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// body returns the JSON body of a call. In a patch, an empty field gets null, or the empty text if a domain must have
// it.
func (f *form) body(patch bool) (jsonbody.Body, error) {
	values := make(map[string]any)
	for _, at := range f.Fields {
		text := strings.TrimSpace(at.Value)
		if !utf8.ValidString(text) {
			return jsonbody.Body{}, jsonbody.FieldError(at.Name, "characters", "must be UTF-8")
		}
		switch {
		case text == "" && patch && !at.Required:
			values[at.Name] = nil
		case text != "" || at.Required:
			values[at.Name] = at.value(text)
		}
	}
	text, err := json.Marshal(values)
	return jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: text}, err
}

// value returns the JSON value of a text. One that is none of its field stays as it is, so that the call refuses it.
func (f *field) value(text string) any {
	if f.Name == "aliases" {
		return strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(", \t\n\r", c) })
	}
	if f.JSON && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	var scalar any
	if json.Unmarshal([]byte(text), &scalar) == nil && f.Choices != nil && f.Name != "case" {
		return scalar
	}
	return text
}

// refuse puts the errors of err at their fields, and returns the status of the answer. ok == false: the error is not
// about the form.
func (f *form) refuse(err error) (status int, ok bool) {
	var names []string
	for _, at := range f.Fields {
		names = append(names, at.Name)
	}
	errors, general, ok := visit.FieldErrors(err, names...)
	if !ok {
		return 0, false
	}
	f.Error = visit.Sentence(general)
	focused := false
	for i, at := range f.Fields {
		at.Error = visit.Sentence(errors[at.Name])
		at.Focus = at.Error != "" && !focused
		focused = focused || at.Focus
		f.Open = f.Open || i >= 2 && at.Error != ""
	}
	return visit.StatusOf(err), true
}
