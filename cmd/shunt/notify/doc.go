// Package notify tells the service manager how this process is doing, by the protocol of
// sd_notify(3): ready, a status line, reloading, stopping, and a sign of life for its watchdog. It
// knows the protocol only: what is ready, and what is alive, its caller says.
//
// A message is a datagram of lines NAME=VALUE, sent to the socket that NOTIFY_SOCKET names. A name
// that begins with @ is in the abstract namespace of Linux. Nobody answers, and no message waits
// longer than a second, so a service manager that hangs holds nothing up.
package notify
