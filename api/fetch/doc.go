// Package fetch asks other servers about the targets of links, when somebody asks for that: for the title and the icon
// of a page (Page), or whether a target answers (Answers). It is off unless the operator allows it, because a server
// that fetches what its users name can be led to what only it can reach.
//
// # What keeps it outside
//
// Each address of a request, the first and that of each redirect, must be one that a link may have: http or https, not
// private, not our own, not blocked. A name says nothing of where it leads, and may lead elsewhere the next time
// (rebinding). So the address that a connection is made to is checked once more where nothing can change it any more:
// in the hook that the dialer calls between the lookup and connect. What it refuses is reported like a name that nobody
// has, so that nobody is told which names a network has. No proxy is used, which would connect in our place; no
// connection is kept, so each request passes the hook; no cookie, no token and no Referer is sent.
//
// Everything has a bound: five redirects, five seconds in all, 512 KiB of a page, 256 KiB and 1,024 × 1,024 pixels of
// an icon, which is decoded and drawn anew. Nothing of an answer is shown but the title, the icon and the status.
//
// # Checks
//
// A check (Checks) asks for the targets of a list of links, one a second, page by page, so that no view of the store is
// kept for hours. It is a goroutine that a request has begun and Close joins; a user has one, and eight run at once.
// Before each target it looks whether its user may still read the links: with a token that was revoked, it ends, and
// what it has found goes. What a caller may not read, Read does not show. All of it is in memory: in a cluster, that of
// the node that leads, to which all its calls go.
//
// Files, leaves first: client.go, page.go, dead.go, calls.go, checks.go, http.go.
package fetch
