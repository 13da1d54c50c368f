// Package shed decides which requests a server refuses when the CPU is saturated: creates
// of links first, redirects never. It knows how long the event loops have been pressed, and nothing
// of HTTP, of links or of callers. Package api asks it before it calls the handler of an endpoint.
//
// # Why
//
// A create costs as much processor time as ten redirects. Threads share the processor evenly, so
// without a Shedder each kind of request gets its share of an overload: a quarter of a core that
// sustained 21,000 redirects and 200 creates a second gave 17,000 redirects and 580 creates at three
// times that load (make overload).
//
// # When
//
// An event loop is pressed while it finds several requests at every look: it never rests, and requests
// queue. That is so whatever the cause is: too many requests, too little processor time in a control
// group, or another process on the machine. Queues of milliseconds are common, so what counts is how
// often all loops have been pressed for 20 ms or more (level), as an average of the last 200 ms or so.
// Creates are shed from a quarter on (begins), until it is less than a tenth (ends): in an overload
// the loops still rest now and then, because clients are late too, and at three quarters of what a
// server can do they hardly ever stay pressed for 20 ms.
//
// While creates are shed, one is admitted each 50 ms; the others are refused after a second.
//
// The level is measured when creates come, and by nothing else: so it costs nothing while there are
// none, and needs no goroutine.
//
// A server whose loops serve no connection (with TLS, or --front fasthttp) is never pressed: there
// Go's scheduler hands out the processor, request by request.
package shed
