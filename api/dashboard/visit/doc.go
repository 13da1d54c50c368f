// Package visit is a visitor's request for a page of the dashboard: who asks, whether they may, what they typed, what
// is kept for the session's next page, and how a page or an error is drawn. It knows no page: those are the rows of a
// Content, which package dashboard gives it.
//
// # Safety
//
// A page loads only its style and the script, whose paths have their hashes; the policy allows
// nothing inline. All text goes through html/template. Only the cookie of a session identifies a
// visitor, and it is SameSite=Strict. A form is taken only from a page of ours (Sessions.Own). When
// a visitor follows a link on another site to a page, the browser leaves the cookie out; the page
// continue.html then asks for the same address from our own site. After signing in, only a page of
// the table is returned to (NextPage): any other path of this server may be a short link.
//
// Pages are compressed, and some show a secret (a token, a setup link). The length of a compressed
// page betrays a secret only to somebody who makes the browser ask for it again and again with
// chosen text beside the secret (BREACH). Here a secret is shown once, requests from other sites
// come without the cookie, and no page has a lasting secret such as a form's token.
//
// # Memory
//
// Package visit keeps in memory what a session's next page shows once (keep): a notice, a token,
// a form to fill in again after signing in. Before the visitor has signed in, that form is in hidden
// fields of the form to sign in, so nothing is kept for strangers.
//
// A browser remembers the span that was chosen last and the zone of its days, in cookies that only the pages get. They
// identify nobody.
//
// Files, leaves first: row.go, labels.go, keep.go, dashboard.go, functions.go, request.go, once.go, listcut.go,
// keptform.go, next.go, assets.go, say.go, formwords.go, upload.go, viewer.go, views.go, whose.go, folders.go,
// domains.go, failure.go, serve.go.
package visit
