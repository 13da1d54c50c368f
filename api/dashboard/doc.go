// Package dashboard is the pages under /_/ for people: figures, links, tokens, users. It knows ops,
// account and engine, and shows HTML; package api decides who makes a request (Sessions). Only
// package api uses it.
//
// # Pages
//
// A page is a row of the table rows, a method of request, and a template of its own. Forms are sent
// to the path of the page that shows them, or below it, and are answered with 303 See Other to a
// page. A form with errors is shown again with what was typed, each error at its field.
//
// No rule of a call is here. A form becomes the JSON body of the API's call, and goes to package
// ops or account, so that pages and API accept the same values and refuse them with the same words.
//
// # Without script
//
// Every function works without script. script.js adds to that: copying, search as one types, live
// numbers, values of charts, local time. It finds its work by data attributes; its first comment
// lists them.
//
// # Safety
//
// A page loads only its style and the script, whose paths have their hashes; the policy allows
// nothing inline. All text goes through html/template. Only the cookie of a session identifies a
// visitor, and it is SameSite=Strict. A form is taken only from a page of ours (Sessions.Own). When
// a visitor follows a link on another site to a page, the browser leaves the cookie out; the page
// continue.html then asks for the same address from our own site. After signing in, only a page of
// the table is returned to (nextPage): any other path of this server may be a short link.
//
// Pages are compressed, and some show a secret (a token, a setup link). The length of a compressed
// page betrays a secret only to somebody who makes the browser ask for it again and again with
// chosen text beside the secret (BREACH). Here a secret is shown once, requests from other sites
// come without the cookie, and no page has a lasting secret such as a form's token.
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
// # Memory
//
// Package dashboard keeps in memory what a session's next page shows once (keep): a notice, a token,
// a form to fill in again after signing in. Before the visitor has signed in, that form is in hidden
// fields of the form to sign in, so nothing is kept for strangers.
package dashboard
