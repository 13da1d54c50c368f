// Package dashboard is the pages under /_/ for people: figures, links, tokens, users. It knows ops,
// account and engine; package api decides who makes a request (Sessions). Only package api uses it.
// What every page needs of the request that it answers is in visit.
//
// # Pages
//
// A page is a row of the table rows (rows.go), a method of request, and a template of its own. Forms are sent
// to the path of the page that shows them, or below it, and are answered with 303 See Other to a
// page, or, if they are of selected links, with a page or a file. A form with errors is shown again with what was
// typed, each error at its field.
//
// No rule of a call is here. A form becomes the JSON body of the API's call, or of a change of several links
// (ops.Several), and goes to package ops or account, so that pages and API accept the same values and refuse them with
// the same words.
//
// # Without script
//
// Every function works without script. script.js adds to that: copying, search as one types, live
// numbers, values of charts, local time. It finds its work by data attributes; its first comment
// lists them.
//
// # Cost
//
// Pages come second to redirects. Figures and lists take the places and turns of the API's heavy
// calls; a page waits up to 5 s for a place, because a browser that is started again asks for all of
// its tabs at once. Large pages are drawn in a turn, too. On a store of a million links and 400 days
// of figures a page takes 0.1 to 23 ms of a core, one of 400 days over all links 80 to 120 ms
// (bench/RESULTS.md).
//
// html/template calls methods by names that are known only at run time, so the linker keeps more of
// them: the binary has 41.3 MB instead of 40.1. It escapes for attributes, addresses and script by
// itself, which is worth that.
//
// Files, leaves first: system.go, dashboard.go, users.go, campaigns.go, figures.go, tags.go, account.go, linkform.go,
// create.go, usersone.go, overview.go, edit.go, confirm.go, by.go, compare.go, signin.go, tokens.go, transfer.go,
// bulk.go, links.go, select.go, audit.go, link.go, rows.go.
package dashboard
