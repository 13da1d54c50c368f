// Package httpclients has a test of the built binary with the HTTP clients of the world: each asks for
// links whose targets have unusual bytes, and follows the redirect to a server of the test, which records
// what it is asked for. The package has only tests, and nothing may import it.
//
// make http-clients installs the clients and sets SHUNTTEST_HTTPCLIENTS, the folder with the packages of
// Node; without it the test is skipped. RESULTS.md has the table of the last run that passed, and the test
// writes it. Adding a client is a row in clients_test.go, adding a target one in targets_test.go.
//
// One target has an IDN host. Every client finds it in /etc/hosts, a file of the test's that is mounted
// over the system's for that one process: so all clients get the same address, none needs an option, and
// the system's file is not changed. (Systems do not agree whether names below localhost are loopback, and not
// all clients take a proxy.) Mounting needs root, and unshare.
package httpclients
