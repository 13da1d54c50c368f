// Package problem is the only table of errors that clients see: RFC 9457 problems with stable
// codes. It knows the errors of engine, account and turnstile, and no HTTP library. Every listener
// answers errors through Of; a new problem is one row here.
package problem
