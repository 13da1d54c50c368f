// Package polr is the door for clients of Polr's API v2: /api/v2/action/…, by GET or POST, with parameters in the query
// or in a form. The parameter key is a token of this server; response_type is plain_text (the default) or json.
//
//	shorten  url, custom_ending  the short address; without an ending, the target of an earlier link gives that one again
//	lookup   url_ending          the target; in JSON with times and clicks
//
// Secret links (is_secret, url_key), listLinks and updateLinks are not there. Everything is about the caller's own
// links.
//
// It knows package door and what that knows, and no other door.
//
// Files, leaves first: write.go, polr.go.
package polr
