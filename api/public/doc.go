// Package public serves the pages that anybody may see: errors, previews, QR codes, the reference page, /, the logo.
// It knows how pages look (page, preview, qrcode, docs) and finds links as a redirect does, but no call of the API.
// Package api passes it all paths that are neither codes nor of the API, and codes that fail. A page is a row in New.
// pages.go compresses pages for clients that accept it; those of the dashboard are compressed in api/dashboard/visit.
//
// A code may be followed by + (a preview), .svg or .png (QR codes). No code contains these bytes,
// so no path has two meanings. These pages read a link as a redirect would find it now, and count
// no hit. Their cost is bounded: QR codes, 1 to 2 ms each, are drawn in turn with other costly
// work, at most 16 previews read the store at once, and each client's network has a share of both.
// A request beyond that gets 503.
//
// A program that shows previews of links in chats gets the card of a link, if it has one (ServeCard), where others are
// redirected. Card and preview share the places of reads of the store. A domain may have documents for telephones,
// which ask a host whether its links open in an app; they are below /.well-known.
//
// Package preview renders the preview, package page holds what all pages share, and package docs
// renders the reference page. Redirects have none of the header fields of pages, because browsers
// read only Location and Cache-Control of a redirect.
//
// An Upgrader serves plain HTTP for clients that should use HTTPS. It answers a 301, or a 308 that
// keeps the method, to the same bytes of path and query on BaseURL, never on the Host of the
// request. It also answers ACME's http-01 challenges.
//
// Files, leaves first: pages.go, docs.go, peek.go, preview.go, card.go, qrcode.go, router.go, unlock.go, upgrade.go.
package public
