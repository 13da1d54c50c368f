// Package apps is the page with what other programs need to make links here: ShareX, Shortcuts of iPhones, curl, n8n
// and the bookmarks of a browser. It makes a token for each, so that each can be revoked by itself, and knows only how
// these programs are set up: the calls of the API are those of everybody.
//
// Files, leaves first: app.go, page.go.
package apps
