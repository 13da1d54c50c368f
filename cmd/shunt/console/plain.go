package console

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// PlainText returns err's text for people: names of system calls, packages and functions, which the
// system and the standard library put into it, become words. The rest of the text stays.
func PlainText(err error) string {
	text := err.Error()
	for _, inner := range chain(err) {
		if plain := plainOne(inner); plain != "" {
			text = strings.Replace(text, inner.Error(), plain, 1)
		}
	}
	return withoutPackages.Replace(text)
}

// withoutPackages removes the prefixes of our packages, because a person knows one program. The
// last is a mark of Pebble's.
var withoutPackages = strings.NewReplacer(
	"storage: backup: ", "", "storage: restore: ", "", "storage: check: ", "", "storage: ", "", "engine: ", "", "client: ", "",
	"pebble: ", "", "\n<corruption detail carrier>", "")

// Plainly returns err in plain words.
func Plainly(err error) error { return plainError{err} }

// A plainError is an error in plain words, of which the cause can still be asked.
type plainError struct{ cause error }

func (e plainError) Error() string { return PlainText(e.cause) }
func (e plainError) Unwrap() error { return e.cause }

// chain returns err and all that it wraps, the outermost first.
func chain(err error) []error {
	all := []error{err}
	switch wrapper := err.(type) {
	case interface{ Unwrap() error }:
		if inner := wrapper.Unwrap(); inner != nil {
			all = append(all, chain(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range wrapper.Unwrap() {
			all = append(all, chain(inner)...)
		}
	}
	return all
}

// plainOne returns the plain text of an error of the standard library; "" for other errors.
func plainOne(err error) string {
	switch e := err.(type) {
	case *fs.PathError:
		return plainPath(e.Op, e.Path, e.Err)
	case *os.LinkError:
		return plainPath(e.Op, e.New, e.Err)
	case *url.Error:
		return plainRequest(e)
	case *os.SyscallError:
		return e.Err.Error()
	case *net.OpError:
		return plainConnection(e)
	case *net.DNSError:
		return fmt.Sprintf("there is no address for the name %s", e.Name)
	case *tls.CertificateVerificationError:
		return "its certificate is not trusted (" + strings.TrimPrefix(e.Err.Error(), "x509: ") + ")"
	}
	return ""
}

// plainRequest explains why a request got no answer.
func plainRequest(e *url.Error) string {
	notTLS := errors.As(e.Err, new(tls.RecordHeaderError)) || strings.Contains(e.Err.Error(), "HTTP response to HTTPS client")
	switch {
	case notTLS:
		return "it speaks plain HTTP, not HTTPS: write http:// before the address"
	case errors.Is(e.Err, io.EOF), errors.Is(e.Err, io.ErrUnexpectedEOF):
		return "the connection ended before it"
	}
	return PlainText(e.Err)
}

// plainPath explains what is wrong with a file or folder.
func plainPath(op, path string, err error) string {
	switch {
	case strings.HasPrefix(op, "mkdir") && !errors.Is(err, syscall.ENOSPC):
		return fmt.Sprintf("the folder %s cannot be made: %v", path, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%s does not exist", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("this user may not use %s: permission denied", path)
	case errors.Is(err, syscall.EISDIR):
		return fmt.Sprintf("%s is a folder, not a file", path)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Sprintf("%s is a file, or in one, not a folder", path)
	}
	return fmt.Sprintf("%s: %v", path, err)
}

// plainConnection explains why an address could not be reached.
func plainConnection(e *net.OpError) string {
	name := errors.As(e.Err, new(*net.DNSError))
	switch {
	case e.Op != "dial" || name || e.Addr == nil:
		return PlainText(e.Err)
	case e.Timeout():
		return fmt.Sprintf("%s does not answer", e.Addr)
	case errors.Is(e, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens on %s", e.Addr)
	case errors.Is(e, syscall.ENETUNREACH), errors.Is(e, syscall.EHOSTUNREACH):
		return fmt.Sprintf("there is no route to %s", e.Addr)
	}
	return fmt.Sprintf("%s: %s", e.Addr, PlainText(e.Err))
}
