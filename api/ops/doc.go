// Package ops is what can be asked of links and their figures, without HTTP: each call takes a
// caller and typed arguments and returns typed results, or errors that package problem has. It
// knows engine and account, and no HTTP library. No rule of a call stands anywhere else. The API's
// handlers are its face for programs; pages use the same calls.
//
// # The table
//
// The fields of a link are the rows of one table (field.go). What a creation, a patch, an import
// and a bulk take, what makes a repeated request the same one, and the link object follow from it,
// and so do most tests of fields, the check of openapi.json and that of the Go client. A field more
// is a row more, and what engine/link.go needs to keep it.
//
// Link objects are appended, not encoded: 1,000 of them in 1.6 ms and one allocation, where
// encoding/json needs 5.1 ms and 5,001 (BenchmarkLinkObjects, two cores of an AMD EPYC). The bytes
// are the same; a test compares them.
//
// # Who may
//
// An engine.Guard says whose links a call is about. ParseGuard makes it of parameters, and every
// call that takes one refuses a guard for links of others unless the caller is an admin, whoever
// has made it. An admin sees other people's links only by saying owner=all or owner=ID; without it
// a foreign link is missing for admins, too. Scopes are asked for at the door, before a call.
//
// # How much
//
// What keeps a core busy is done in turn with all else that does (Cores). Heavy reads and exports
// have places, some for each caller: a face takes one with BeginHeavy, and gives it back when the
// answer has been sent, because the answer stays in memory until then. An export takes its own.
//
// # Decisions
//
// A patch is a draft. Update reads its fields with the readers of Create, into a draft of zero
// values, which are the defaults; then it takes each field that was sent, null too, from the draft.
// A field that is not sent is not checked, so that an expired link can be retitled. A patch that
// changes nothing writes nothing, and the link keeps version and updated_at.
//
// Idempotency keys belong to a token (of local commands: to a user), since that is what a client
// has. A hash of path and body is compared, 16 bytes of a SHA-256: whoever makes two bodies of one
// hash fools only themselves. A repeat shows the link as it was first answered, with the hits and
// the state of then, whatever has become of it. Only successes are kept, so a refused request may
// be corrected under the same key. Keys live 24 hours, and at most 5 minutes more in what counts
// for the limit of 100,000.
//
// Cursors are authenticated and not kept (cursor.go): they hold as long as the store, and only for
// the list that they are of; each request says whose links it asks for, and is checked. Nothing can
// make a cursor stale.
//
// A bulk is judged item by item, and made as a whole. What is wrong with an item is its result;
// what keeps the store from writing (read_only, overloaded, outcome_unknown) is the answer of all.
// An item has the limit of a body of POST /shorten. A repeat under the same Idempotency-Key shows
// the links as they are now, and a deleted one as 410 gone; a request of which nothing succeeded
// may be corrected under its key.
//
// An export's links are of one moment, its hits and states of when each is written. Exports are 16
// at a time, 2 a caller, because each keeps a snapshot open.
package ops
