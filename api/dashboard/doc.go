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
// # Memory
//
// What the next page of a session shows once is kept in memory (keep): a notice, a token, a form to
// fill in again after signing in. Until then that form is in hidden fields of the form to sign in,
// so nothing is kept for strangers.
package dashboard
