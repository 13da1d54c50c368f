// Package accesslog writes a line for each request, or for one in a given number. It knows no HTTP library
// and no link: its caller hands over what a line has, see Entry.
//
// # What a line has
//
// A line says when somebody asked for what, and how it was answered. It has no query, because a
// query may hold a secret (a setup code); a path, referrer or User-Agent that holds a token, or the page
// of setup codes, is cut there, also if it is percent-encoded. Who asked (the
// address, the User-Agent, the referrer without its query) is in it only if the operator wants it:
// Options.Clients. No line has a cookie or a token. Bytes that a terminal or a parser could take for
// something else are escaped, and each field has a limit, so a line has at most maxLine bytes and
// always exactly one end.
//
// # Memory and threads
//
//	Note ──▶ shard 0: | lines … |        |──┐
//	Note ──▶ shard 1: | lines |          |──┼──▶ Run: one goroutine, one write for each shard ──▶ file
//	   …                                    │    250 ms after a line, or once a shard is half full
//	Note ──▶ shard 7: | lines … |        |──┘
//
// Note is called by event loops, which must never wait. So it only tries locks: it appends its line
// to the first of 8 shards whose lock it gets and that has room, or else drops the line and counts
// it. A shard has 256 KiB, and Run holds its lock only to exchange its buffer for an empty one. Run
// alone touches the file: a disk that does not answer holds Run, the shards fill up, further lines
// are dropped, and no redirect waits. All buffers together have 2.3 MiB, whatever happens.
//
// Note allocates nothing. Lines of one shard are in order; lines of two shards may be exchanged
// within 250 ms. Nothing is synced: the access log is no record that must outlive a power cut.
//
// Rejected: a channel of lines (an allocation and a copy for each, and its lock is not tried but
// waited for); a buffer for each loop (requests that fasthttp answers have no loop).
package accesslog
