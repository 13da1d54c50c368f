// Package folders has the calls on folders, for the API and for pages. What a folder is, is in package folder; what it
// lets people do with links, in package ops.
//
// Files, leaves first: calls.go, http.go.
package folders
