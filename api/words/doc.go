// Package words translates the texts of pages. English stands in the templates and in the code, where it is read and
// changed; it is also the key of a text. A language is a Catalog: a file of JSON with the text of each key.
//
// # Keys
//
// A key may have holes, {0}, {1} and so on. A template's key is the text between two tags, with a hole for each value
// in it: Translate puts the texts of a language into the templates once, so a page of another language costs what an
// English one costs. A text that code has made, such as an error, is finished when a template says it; Catalog.Say then
// finds the key whose holes it fills; those of a key without a word, such as {0}%, only numbers fill. In a translation
// {0!} is a hole whose value is a text, too.
//
// A key is a whole sentence, because languages order words differently: a template has one for each branch, and for one
// and for several: {{plural .N "1 link is gone." "{0} links are gone."}}.
//
// A text that a catalog does not have stays English. Tests find it: those of package dashboard draw all pages in a
// language that marks whatever it translates.
//
// Files, leaves first: key.go, catalog.go, tree.go, fragment.go, script.go, languages.go.
package words
