// Package doors has the doors for other people's clients: ways in that answer as other link shorteners do, so that
// tools which were made for those work here. Each is a room: see its doc.go for what it gives and what it lacks. They
// are off unless the operator names them (serve --doors), and a door that is off is a 404. Package door is what they
// stand on. This package has the table of them, and knows nothing else of the server.
//
// # Where doors are
//
// At the default domain, where the API is, and nowhere else: a client gives its short domain as the address of its
// server, and that is the base URL. The paths of doors are reserved, whether a door is on or not, so no link ever has
// one of them (engine/index/code.go). A path that is below those of two doors is for the one with the longer path.
//
// An edge passes all requests at its doors on, and a node of a cluster passes them to the node that leads: some
// protocols create by GET.
//
// A new door is a room below this folder, a row in the table, and its paths among the reserved ones.
//
// Files, leaves first: doors.go.
package doors
