// Package target is what a target may be: its syntax, our own origins, hosts that are private, and
// the block list. It knows the limits of a link's fields and the errors of its checks, and no
// links. A target is checked by a Policy when it is written, and asked for in a BlockList when it
// is followed.
//
// Nothing here looks names up or opens connections: a name that leads to a private address is not
// found out. What is refused is decided by the text alone, in every spelling of an address and
// however an IPv6 address carries an IPv4 one (privatehost.go). Only the host of a target is ever
// rewritten.
package target
