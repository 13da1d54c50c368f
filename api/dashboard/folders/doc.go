// Package folders is the pages about folders: a table of those that the visitor may see, a form that makes one, and the
// page of each. It has no rule of a folder: a form becomes the JSON body of the API's call.
//
// Files, leaves first: form.go, pages.go.
package folders
