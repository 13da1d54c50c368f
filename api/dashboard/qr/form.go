package qr

import (
	"net/url"
	"strings"

	"shunt/api/dashboard/visit"
	"shunt/api/ops"
	"shunt/api/qrcode"
	"shunt/api/qrorder"
)

// A field is a field of the form. Value is what it has if nothing was typed.
type field struct {
	Name, Label, Hint, Value, Error string
	Color, File                     bool
	Choices                         []visit.Parameter // their texts and values
}

// ID returns the id of the field's element.
func (f field) ID() string { return "qr-" + f.Name }

// Described returns the ids of the elements that describe the field.
func (f field) Described() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.ID()+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.ID()+"-error")
	}
	return strings.Join(ids, " ")
}

// fields are the fields of the look, which are parameters of pictures, too.
var fields = []field{
	{Name: "color", Label: "Color", Value: "#000000", Color: true},
	{Name: "background", Label: "Background", Value: "#ffffff", Color: true},
	{Name: "mm", Label: "Side in mm", Hint: "With the margin. Empty: of any size."},
	{Name: "dpi", Label: "Dots per inch", Hint: "Of a PNG.", Value: "300"},
	{Name: "margin", Label: "Margin in modules", Hint: "Scanners need 4.", Value: "4"},
	{Name: "level", Label: "How much may be damaged", Choices: []visit.Parameter{
		{Name: "15 % (M), with a logo 30 % (H)", Value: ""}, {Name: "7 % (L)", Value: "L"}, {Name: "15 % (M)", Value: "M"},
		{Name: "25 % (Q)", Value: "Q"}, {Name: "30 % (H)", Value: "H"},
	}},
	{Name: "track", Label: "Scans", Choices: []visit.Parameter{
		{Name: "count apart from clicks", Value: ""}, {Name: "count as clicks: the code has the short address alone", Value: "false"},
	}},
}

// logoFields are those of the form with a logo.
var logoFields = []field{
	{Name: "logo", Label: "Logo", Hint: "A PNG or JPEG of at most 1 MiB and 2 megapixels. It is put into the middle of the code above, and is not kept.", File: true},
	{Name: "format", Label: "File", Choices: []visit.Parameter{{Name: "PDF", Value: "pdf"}, {Name: "SVG", Value: "svg"}, {Name: "PNG", Value: "png"}}},
}

// errorNames are the fields that can have an error.
var errorNames = []string{"color", "background", "margin", "level", "mm", "dpi", "track", "logo", "format"}

// A look is what was typed, by the names of fields.
type look map[string]string

// noBackground is the field of a box that is ticked for a code without a background, and the value that stands for
// that.
const noBackground = "transparent"

// readLook reads the fields of a look.
func readLook(typed func(name string) string) look {
	l := look{}
	for _, f := range fields {
		l[f.Name] = typed(f.Name)
	}
	if typed(noBackground) != "" {
		l["background"] = noBackground
	}
	return l
}

// pairs returns what was typed as parameters of a picture.
func (l look) pairs() (pairs []string) {
	for _, f := range fields {
		if v := l[f.Name]; v != f.Value {
			pairs = append(pairs, f.Name, v)
		}
	}
	return pairs
}

// A view is what the page shows.
type view struct {
	visit.Whose
	Link    ops.Link
	Fields  map[string]field
	Clear   bool   // there is no background
	Idle    bool   // the link redirects nobody at present
	Error   string // of no field
	Preview string // address; empty: the values are wrong
	Files   []file
	Hidden  []visit.Parameter // the look, for the form with a logo
}

// A file is a picture to be kept.
type file struct{ Title, Path, Name string }

// Action is the address of both forms.
func (v *view) Action() string { return Path(v.Link.Code) }

// Back is the address of the page of the link.
func (v *view) Back() string {
	return v.Whose.Address(visit.Root + "link/" + url.PathEscape(v.Link.Code))
}

// fill fills in the fields.
func (v *view) fill(l look, errors map[string]string) {
	v.Fields, v.Clear = map[string]field{}, l["background"] == noBackground
	for _, f := range fields {
		value := l[f.Name]
		if value != "" {
			v.Hidden = append(v.Hidden, visit.Parameter{Name: f.Name, Value: value})
		}
		f.Error = errors[f.Name]
		if c, isColor := qrcode.ParseColor(value); f.Color && isColor && !c.None { // a browser shows no other value
			f.Value = c.String()
		} else if !f.Color && value != "" {
			f.Value = value
		}
		v.Fields[f.Name] = f
	}
	for _, f := range logoFields {
		f.Error = errors[f.Name]
		v.Fields[f.Name] = f
	}
}

// offer adds the preview and the files of a look that has no errors.
func (v *view) offer(l look) {
	v.Preview = v.picture(qrorder.SVG, l)
	for _, c := range logoFields[1].Choices {
		format := qrorder.Format(c.Value)
		v.Files = append(v.Files, file{c.Name, v.picture(format, l), fileName(v.Link.Code, format)})
	}
}

// picture returns the address of a picture.
func (v *view) picture(f qrorder.Format, l look) string {
	return v.Whose.Address(Path(v.Link.Code)+"."+string(f), l.pairs()...)
}

// Path returns the path of the page of a link.
func Path(code string) string { return visit.Root + "link/" + url.PathEscape(code) + "/qr" }

// fileName returns the name of a file. A code may have slashes.
func fileName(code string, f qrorder.Format) string { return url.PathEscape(code) + "." + string(f) }
