// Package failures logs failed logins and refused tokens, so that an operator sees an attack, and a
// program such as fail2ban can lock its client out. It knows no HTTP and no accounts: its caller
// says what failed, and for which client.
//
// # The lines
//
// Each line is a warning with one of the messages of a Kind, in the text form of log/slog
//
//	time=2026-01-02T03:04:05.678Z level=WARN msg="login failed" client=192.0.2.7 request_id=4JmCqX0bTz7Lw2Ds
//
// or, as JSON,
//
//	{"time":"2026-01-02T03:04:05.678Z","level":"WARN","msg":"login failed","client":"192.0.2.7","request_id":"4JmCqX0bTz7Lw2Ds"}
//
// cmd/deploy/fail2ban has the filter that reads both. A line has no name of an account, because
// people type passwords there, and no token. client is the address of who sent the request, and
// the only address that the server's log has. It is missing if the operator wants no addresses, and
// if a proxy sent the request without naming its client: nobody must lock the proxy out. No byte of
// a line is the client's own choice, except for a request id of letters, digits, - and _.
//
// # How many
//
// A log that clients can fill at will fills the disk that the hits need. So an address has 10
// lines a minute (an IPv6 address counts as its /64), and all together have 50 in a second; that is
// 0.6 GB a day at most. The rest is counted, and the first line after a minute says how many are
// missing ("failures not logged"). The metric shunt_auth_failures_total counts all of them.
package failures
