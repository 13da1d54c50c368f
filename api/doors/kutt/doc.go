// Package kutt is the door for clients of Kutt's API v2: /api/v2/links and /api/v2/health. The API key, in the field
// X-API-KEY, is a token of this server.
//
// # Calls
//
//	GET    /links             limit (10; at most 50), skip, search, all (of all users, for admins)
//	POST   /links             target, customurl, password, reuse, domain, description, expire_in; JSON or a form
//	PATCH  /links/{id}        target, password, description, expire_in; empty values change nothing
//	DELETE /links/{id}
//	GET    /links/{id}/stats  the last day, week, month and year
//	GET    /health            OK, for everybody
//
// DELETE /links/{id}/stats gets the figures, as GET does: a client on npm asks for them so.
//
// # What differs from Kutt
//
//   - The id of a link is no UUID. It is the code of the link, or else ~ and its short address in base64url: see id.go.
//   - A code cannot be changed: a PATCH with another address is refused.
//   - reuse finds active links that were made by a door, with reuse in our API, or by an import with reuse.
//   - Figures have no operating systems, and the names of browsers and countries are those of this server.
//   - A link that is missing is 404 and one that is taken 400, where versions of Kutt answer 500 for both.
//   - There are no calls on users and domains, and no bans.
//
// It knows package door and what that knows, and no other door.
//
// Files, leaves first: id.go, expiry.go, link.go, body.go, stats.go, kutt.go.
package kutt
