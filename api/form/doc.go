// Package form reads a form that asks for a link, as the JSON object that asks for the same: for tools that send forms
// only. What a field may be, package ops says; this package knows only which of them are no text.
//
// Files, leaves first: form.go.
package form
