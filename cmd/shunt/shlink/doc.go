// Package shlink reads the links of a Shlink server over its API, page by page, and writes the pages as they come: as a
// file that api/source reads. It knows HTTP and what a terminal can show, and no flags.
//
// A page is asked for in the order of codes: otherwise Shlink's pages are not stable, and a link may be in two of them
// or in none. In the end as many links must have come as the server says it has; if some were made or deleted
// meanwhile, the pages cannot be trusted, and Fetch returns an error.
//
// Everything that the server decides has a limit: the size of a page, the number of links, how often a request is
// repeated and how long a wait may be. The key is sent to the host that was named and to no other: a redirect to
// another one is an error.
package shlink
