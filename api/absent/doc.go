// Package absent asks another server about codes that this one does not know: a link that was made elsewhere a moment
// ago must not be a 404 here. It knows neither HTTP nor where it asks (Source).
//
// A question costs a visitor at most Patience, and the other server little: there is one question at a time, with all
// codes that wait by then; a code that is being asked for is not asked for twice; what the other server does not know
// either is not asked for again for a moment; each network has a rate; and while the other server is known to be gone,
// nobody asks. Whoever is beyond a limit is told that the code is unknown, without a wait.
//
// Files, leaves first: recent.go, asker.go.
package absent
