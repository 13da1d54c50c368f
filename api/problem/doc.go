// Package problem is the one table of errors that clients see: RFC 9457 problems with stable codes.
// It knows the errors of engine, account and turnstile, and no HTTP library.
// Every way in answers errors through Of; a new problem is one row here.
package problem
