package texts

import "slices"

// Texts are the texts of a link.
type Texts struct {
	Title string `json:"title,omitempty"`
	Note  string `json:"note,omitempty"`
}

// A Text describes a field of Texts.
type Text struct {
	Name   string   // in the API
	Max    int      // bytes
	Lines  bool     // it may have several, with a line feed between them
	Label  string   // for people
	Hint   string   // beside its input
	Others []string // what sheets and other systems call it, in lower case and without signs
}

// all has all fields of Texts, the most relevant to a search first: the title. Their limits are part of the contract
// with clients, and only rise, because stored links must stay valid.
var all = [...]Text{
	{"title", 512, false, "Title", "Visitors do not see it.", []string{"name"}},
	{
		"note", 2000, true, "Note", "For you: why the link exists. Visitors do not see it.",
		[]string{"notes", "comment", "comments", "description"},
	},
}

// Number is how many fields Texts has.
const Number = len(all)

// All returns a Text for each field of Texts, in the order of a link in the API. It must not be changed.
func All() []Text { return all[:] }

// Named returns the Text of that name; nil: there is none.
func Named(name string) *Text {
	if i := slices.IndexFunc(all[:], func(t Text) bool { return t.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Text returns the field of that name. It is a switch, and no table of functions, so that t need not be on the heap.
func (t *Texts) Text(name string) *string {
	switch name {
	case "title":
		return &t.Title
	case "note":
		return &t.Note
	}
	panic("no text: " + name)
}

// TextBytes returns the size of all fields of t.
func (t *Texts) TextBytes() (n int) {
	for i := range all {
		n += len(*t.Text(all[i].Name))
	}
	return n
}
