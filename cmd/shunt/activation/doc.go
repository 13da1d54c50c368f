// Package activation takes the listening sockets that a service manager opened and passed to this
// process, as systemd's socket units do (sd_listen_fds(3)). It knows sockets and their names. It knows
// no command and no setting.
//
// The sockets outlive the process: the service manager holds them, so connections that arrive while
// the process is restarted wait in their queue, and none is refused. Whoever stops serving such a
// socket must leave its queue to the next process.
package activation
