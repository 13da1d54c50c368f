// Package notify tells the service manager how this process is doing, by the protocol of
// sd_notify(3): ready, a status line, reloading, stopping, and a sign of life for its watchdog. It
// knows the protocol only: what is ready, and what is alive, its caller says.
//
// The messages themselves are sent by go-systemd.
package notify
