// Package socket is the socket in the data folder, through which commands talk to the server that
// runs on it. It knows paths, listeners and who listens, and nothing of the requests over the
// socket. Serve listens here; every command that looks for a server asks Path and connects with Dial.
//
// Whoever can open the socket acts as any user, so it is never open to others, not even between its
// creation and a chmod. It is bound in a folder that only this user can enter, and then moved into
// the data folder, which others may be able to enter.
package socket
