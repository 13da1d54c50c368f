// Package yourls is the door for clients of YOURLS: /yourls-api.php by GET or POST, with parameters in the query, in a
// form, or in both. The answers are those of YOURLS 1.9 and later.
//
// # Who may
//
// signature is a token of this server; or else username and password are those of a user, at the cost of a password's
// hash each time; the audit log then has the user, and none as the way. A signature with a timestamp is refused: it is
// a hash of a secret that the server must be able to read back, and this one keeps hashes of tokens only.
//
// # Actions
//
//	shorturl   url, keyword, title   a link; without a keyword, the target of an earlier one gives that one again
//	expand     shorturl              the target of a code or a short address
//	url-stats  shorturl              the same with its hits
//	stats      filter, limit, start  links: top, bottom, last (the newest), rand (of the newest thousand); and sums:
//	                                 at most 10,000 links, from one of the first 10,000 on
//	db-stats                         the sums
//	version    db                    of YOURLS, not of this server
//
// Formats are xml (the default), json, jsonp and simple. A format that is another one, or in capitals, is simple: so
// does YOURLS, and plugins of WordPress that ask for JSON rely on it. The HTTP status is statusCode, or else errorCode.
//
// # What differs from YOURLS
//
//   - Everything is about the links of the caller, and not about those of all.
//   - A repeated target is a success, and not error:url, if it comes without a keyword: clients that treat error:url as
//     a failure were broken by it. With --doors yourls:unique it is error:url, with the link that is there. A target is
//     known if an active link to it was made by a door, with reuse in the API, or by an import with reuse, whatever its
//     title is. With a keyword another link is made.
//   - ip is always empty: nobody's address is kept. No page is fetched for a title.
//   - Sums are of the links that are there and of the hits in the days that are kept.
//   - Times are UTC. There are no plugins: action=delete and others are unknown.
//
// It knows package door and what that knows, and no other door.
//
// Files, leaves first: answer.go, write.go, stats.go, shorten.go, yourls.go.
package yourls
