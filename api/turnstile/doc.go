// Package turnstile limits how much runs at once: it admits a fixed number of requests in all and
// for each caller, and queues a fixed number more, each for a limited time. It knows nothing of
// ours. It is the one primitive for every bounded resource: cores (password hashes, QR codes,
// lists), memory (large bodies, answers being sent) and answers that go on for long (exports, live
// streams).
//
// # Terminology
//
// A request holds a place while it does the work that is limited. A key names a caller: a user, or
// the network of a client without a login. A request is present while it holds a place or waits for
// one. A caller's share is how many of its requests may be present. The zero key is nobody in
// particular, such as a trusted proxy that does not say for whom it asks: it has no share.
//
// # Who is next
//
//	callers that wait    [ A ]   [ B ]   [ C ]          the first one is next
//	                       │       │       │
//	their requests        A2      B1      C1            each caller's own, the oldest first
//	                       │       │
//	                      A3      B2
//
// A place that becomes free goes straight to the oldest request of the first caller. That caller
// then goes to the end of the queue if more of its requests wait; so does a caller that gives a
// place back. So at most one request of each other caller is served before the first request of a
// caller without a place, however many requests the others have; a caller with places may go to the
// end once for each. This is fair queueing by round robin (Nagle, RFC 970), in which all requests
// count the same: long work should be cut into slices, each of which enters by itself.
//
// When the queue is full, a new request is still queued if some caller has at least two more
// waiting requests than its own caller: the youngest request of the caller with the most is refused
// instead (buffer stealing, McKenney 1990). So no caller, not even the zero key, can keep the
// others out of the queue.
//
// Requests wait only while every place is held; those of EnterPatiently also while their caller's
// share is used up. These are passed over until it has a place less, and no new request takes their
// room in the queue.
//
// # Concurrency
//
// A turnstile has one mutex, which is held for a few comparisons; with a full queue, for a look at
// each waiting caller. There is no goroutine: the request that gives a place back wakes the next. A
// request that waits costs a channel and a timer; one that finds a place costs two look-ups in a
// map.
//
// Rejected: a buffered channel (first come, first served: eight requests of one caller are all
// served before the first of another); a channel for each caller (it is not known when to remove
// it); priorities (some caller starves).
package turnstile
