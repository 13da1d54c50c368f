// Package fieldtext is how the fields of a link read in a form: the text of a field for what a link has, and the JSON
// value of what was typed without blanks at its ends, which a call then checks: nil is the default, an error one of the
// field. It knows nothing of forms.
//
// Files, leaves first: values.go, kinds.go.
package fieldtext
