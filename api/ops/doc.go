// Package ops is the operations on links, their figures, users and tokens, without HTTP: each call
// takes a caller and typed arguments and returns typed results, or errors that package problem can
// show to clients. It knows engine and account, and no HTTP library. All rules of a call are here
// and nowhere else: the API's handlers serve the calls to programs, and pages use the same calls.
// Calls on accounts that need no rule beside those of package account are made there.
//
// # The table
//
// The fields of a link are the rows of one table (field.go). The table determines the fields that
// a creation, a patch, an import and a bulk accept, when a repeated request counts as the same
// one, and the link object. Most tests of fields, the check of openapi.json and that of the Go
// client follow from it, too. A new field is one new row, and the code in engine/link/link.go that
// stores it.
//
// Link objects are appended by hand, because encoding/json takes at least three times as long and,
// for 1,000 of them, 5,001 allocations in place of one (BenchmarkLinkObjects). The bytes are the same;
// a test compares them.
//
// # Who may call
//
// A Whose says whose links a call is about, and of which domain. ParseWhose makes it from parameters. Every call
// that takes one refuses it for links of others unless the caller is an admin or, to read, a viewer, wherever it came
// from. They see other people's links only by saying owner=all or owner=ID; without it a foreign link is missing for
// them, too.
// A caller who is limited to domains (account.Caller.Domains) uses links of these alone: to name another domain is
// forbidden, and without a name a list is of all that the caller may use, and a link or a tag of the one that Home
// returns. A link that is made must name its domain if there are several. mayUse and mayName check calls, linkOwners
// and figureOwners keep lists and figures to those domains, and the reader of links checks what is made.
//
// A link may be in a folder (room folder), whose members read it, or edit it, as if it were theirs. That holds only for
// what they ask without owner: sharedRight and guardOfMember say so, and what a link's owner alone does (to reset its
// figures, to give it away) uses neither. Lists, exports and sums of figures have such links with folder=ID.
//
// Scopes are not checked here: whoever serves the calls checks them before it makes a call.
//
// # Limits on costly work
//
// Work that keeps a core busy takes turns with all other such work (Cores). Heavy reads and exports
// have a fixed number of places, and each caller a share of them. A handler takes a place for a
// heavy read with BeginHeavy, and releases it when the answer has been sent, because the answer
// stays in memory until then. An export takes its own place.
//
// # Decisions
//
// A patch is read as a draft. Update reads its fields with the readers of Create, into a draft of
// zero values, which are the defaults; then it takes each field that was sent, null too, from the
// draft. A field that is not sent is not checked, so that an expired link can be retitled. A patch
// that changes nothing writes nothing, and the link keeps version and updated_at.
//
// Idempotency keys belong to a token (of local commands: to a user), because a client is known by
// its token. The store keeps a hash of path and body, 16 bytes of a SHA-256, to compare: a client
// that makes two bodies with one hash fools only itself. A repeat gets the link as it was first
// answered, with the hits and the state of that time, whatever happened to the link since. Only
// successes are kept, so a refused request may be corrected under the same key. Keys live 24 hours,
// and count for at most 5 minutes more towards the limit of 100,000.
//
// Cursors are authenticated and not stored (cursor.go). A cursor is valid as long as the store
// exists, and only for the list that it was given for; each request says whose links it asks for,
// and is checked. Nothing can make a cursor stale.
//
// A list by state judges twice. First the engine asks about each row, by its flags and by what memory has of the link
// (Options.StateNow), or about each link in memory, so that no record is read of a link in another state. Then the
// state of each link object is compared, because the link, the clock or the block list may have changed in between.
// Both are the verdict of package redirect. An index by state was rejected: states change with the clock, with hits and
// with the block list, and without a write.
//
// A bulk is judged item by item, and written as a whole. An error in an item is the result of that
// item; an error that keeps the store from writing (read_only, overloaded, outcome_unknown) is the
// answer for all of them. An item has the size limit of a body of POST /shorten. A repeat under the
// same Idempotency-Key shows the links as they are now, and a deleted one as 410 gone; a request in
// which nothing succeeded may be corrected under its key.
//
// The links of an export are those of the moment when it began; the hits and the state of a link
// are those of the moment when the link is written. At most 16 exports run at once, and 2 of a
// caller, because each keeps a snapshot open.
package ops
