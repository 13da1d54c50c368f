// Package turnstile bounds what runs at a time: a fixed number in all, a fixed number for each
// caller, and a fixed number that wait, each for a limited time. It is the one primitive for every
// bounded place: what costs a core (password hashes, QR codes, lists), what costs memory (large
// bodies, answers on their way) and what goes on for long (exports, live streams).
//
// # Terminology
//
// A place is what a request holds while it does the work that is bounded. A key names a caller: a
// user, or the network of a client that nobody knows. A request is present while it holds a place
// or waits for one. A caller's share is how many of its requests may be present. The zero key
// stands for nobody in particular, such as a trusted proxy that does not say for whom it asks: it
// has no share.
//
// # Who is next
//
//	callers that wait    [ A ]   [ B ]   [ C ]          the first one is next
//	                       │       │       │
//	their requests        A2      B1      C1            each caller's own, the oldest first
//	                       │       │
//	                      A3      B2
//
// A place that is given back goes straight to the oldest request of the first caller. That caller
// then goes to the end, behind the others, if more of its requests wait; so does a caller that
// gives a place back. So at most one request of each other caller is served before the first of
// a caller that holds no place, however many requests the others have; one that holds places may
// go to the end once for each. This is fair queueing by round robin (Nagle, RFC
// 970), in which all requests count the same: work that takes long should be cut into slices, each
// of which enters for itself.
//
// When the queue is full, a newcomer still gets in if some caller has at least two more waiting
// requests than the newcomer's caller: the youngest request of the caller with the most is refused
// instead (buffer stealing, McKenney 1990). So one caller never keeps the others from waiting, not
// even the zero key.
//
// Somebody waits only while every place is held.
//
// # Concurrency
//
// One mutex for each turnstile, held for a few comparisons; with a full queue for a look at each
// caller that waits. There is no goroutine: whoever gives a place back wakes the next. A request
// that waits costs a channel and a timer; one that finds a place costs two look-ups in a map.
//
// Rejected: a buffered channel (first come, first served: eight requests of one caller are all
// served before the first of another); a channel for each caller (nobody
// knows when to remove it); priorities (somebody starves).
package turnstile
