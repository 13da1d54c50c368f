// Package shlink is the door for clients of Shlink: its REST API, versions 1 to 3, as far as its web client and its
// libraries go. It is a face of package ops, and has no rule of its own about links. A link is a short URL, a hit a
// visit, and a token of this server an API key.
//
//	request ─▶ spot, call ─▶ House.Do ─▶ body or query in our names ─▶ ops ─▶ answer in Shlink's form
//	           (spot.go)                 (field.go, query.go)
//
// Paths are alike in all versions, and so are answers: those of version 3, with members that older clients read beside
// them. Errors have Shlink's types and statuses (problem.go); what Shlink has no type for has ours.
//
// # What differs from Shlink
//
//   - A visit is a hit: a redirect to a visitor that is no known bot. Nothing is kept of a single visit but its hour,
//     and later its day. So lists of visits have dates, and nothing else (visits.go); those of orphans are empty.
//   - findIfExists finds the newest active link that was made by a door, with reuse in our API, or by an import with
//     reuse, and that has what the request says; titles and forwardQuery do not matter. With a customSlug it finds the
//     link that has the slug already.
//   - Codes that are drawn have the length that this server draws, whatever shortCodeLength says, and no pathPrefix.
//   - Pages have numbers up to 10,000 links from the beginning, and beyond for who reads one after the other (ends.go).
//     Orders that are not kept here (shortCode, longUrl, title), several tags, and figures of tags are worked out in
//     memory, for up to 10,000 links (page.go, list.go); among more links the order of shortCode, by which other
//     systems read all of them, is that of the first 8 characters.
//   - A searchTerm is looked for as q of our API is: word by word.
//   - Tags are those of one domain: that of the query, or else the one that the caller means without a name.
//   - validUntil must be in the future when it is set; a custom slug is taken as it is, or refused.
//   - crawlable is always false. A domain has one address for all that is not found: invalidShortUrlRedirect.
//   - No domain is made by a short URL that names it.
//
// # Deleting
//
// Three calls take something away: DELETE of a short URL, of its visits, and of tags. Each needs its own path. A path
// is at one spot, whatever its method is, so a method that a spot lacks never reaches a link whose code looks like the
// path; a code with a slash at such a place is written with %2F. Visits are not deleted if the path could mean a link
// of that name. Tags are deleted only if the query has them as a list.
//
// Files, leaves first: query.go, field.go, problem.go, page.go, ends.go, shorturl.go, door.go, links.go, list.go,
// visits.go, tags.go, domains.go, rules.go, spot.go.
package shlink
