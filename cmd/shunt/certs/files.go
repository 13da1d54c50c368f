package certs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"shunt/cmd/shunt/settings"
)

const (
	// lookInterval is how often the files are read. A new pair is taken when it is the same in two
	// looks running, so that a certificate whose key is not there yet is not an error.
	lookInterval = time.Second

	maxFileBytes = 1 << 20
)

// A Pair is the files of a certificate and its key, and the flags that name them.
type Pair struct {
	Cert, Key         string
	CertFlag, KeyFlag string

	// Accept refuses a certificate that would not do; nil: all do.
	Accept func(*tls.Certificate) error
}

// Files is a certificate in two files, which may be replaced at any time.
type Files struct {
	pair    Pair
	log     *slog.Logger
	current atomic.Pointer[tls.Certificate]

	// Of the goroutine of Run.
	seen    [sha256.Size]byte // what the last look saw
	decided [sha256.Size]byte // what was last taken, or refused
}

// OpenFiles reads the pair.
func OpenFiles(p Pair, log *slog.Logger) (*Files, error) {
	f := &Files{pair: p, log: log}
	certPEM, keyPEM, err := f.read()
	if err != nil {
		return nil, err
	}
	pair, err := f.parse(certPEM, keyPEM)
	if err != nil {
		return nil, f.pairError(err)
	}
	f.current.Store(&pair)
	f.seen = digest(certPEM, keyPEM, nil)
	f.decided = f.seen
	return f, nil
}

func (f *Files) read() (certPEM, keyPEM []byte, err error) {
	if certPEM, err = settings.ReadAtMost(f.pair.Cert, maxFileBytes); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.pair.CertFlag, err)
	}
	if keyPEM, err = settings.ReadAtMost(f.pair.Key, maxFileBytes); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.pair.KeyFlag, err)
	}
	return certPEM, keyPEM, nil
}

// parse makes a certificate of what was read.
func (f *Files) parse(certPEM, keyPEM []byte) (tls.Certificate, error) {
	c, err := tls.X509KeyPair(certPEM, keyPEM)
	if err == nil && f.pair.Accept != nil {
		err = f.pair.Accept(&c)
	}
	return c, err
}

// mismatch reports whether err, of tls.X509KeyPair, says that a certificate and a key, each whole,
// are not of one pair. It has no type; a test holds its text.
func mismatch(err error) bool { return strings.Contains(err.Error(), "does not match public key") }

// pairError explains what is wrong with the files.
func (f *Files) pairError(err error) error {
	why := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "tls: "), "x509: ")
	switch {
	case mismatch(err):
		why = "the key does not belong to the certificate"
	case strings.Contains(why, "find any PEM data in certificate"):
		why = "the first has no certificate in PEM"
	case strings.Contains(why, "find any PEM data in key"):
		why = "the second has no private key in PEM"
	}
	return fmt.Errorf("%s %s, %s %s: %s", f.pair.CertFlag, f.pair.Cert, f.pair.KeyFlag, f.pair.Key, why)
}

// digest identifies what one look has seen.
func digest(certPEM, keyPEM []byte, err error) [sha256.Size]byte {
	sum := sha256.Sum256(certPEM)
	all := append(sum[:], keyPEM...)
	if err != nil {
		all = fmt.Append(all, err)
	}
	return sha256.Sum256(all)
}

// Current returns the certificate in force.
func (f *Files) Current() *tls.Certificate { return f.current.Load() }

// Certificate returns what a handshake is given.
func (f *Files) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.current.Load(), nil
}

// Challenged reports that no authority asks for anything.
func (*Files) Challenged() bool { return false }

// Prepare reads the pair, as a reload asks for: it is taken without a second look.
func (f *Files) Prepare() (commit func(), err error) {
	certPEM, keyPEM, err := f.read()
	if err != nil {
		return nil, err
	}
	pair, err := f.parse(certPEM, keyPEM)
	if err != nil {
		return nil, f.pairError(err)
	}
	return func() { f.take(&pair) }, nil
}

// take puts pair in force if it is a new one.
func (f *Files) take(pair *tls.Certificate) {
	if slices.EqualFunc(f.current.Swap(pair).Certificate, pair.Certificate, bytes.Equal) {
		return // as after a bad pair that has been taken back
	}
	f.log.Info("the certificate has been replaced", slog.String("cert", f.pair.Cert), slog.Time("expires", pair.Leaf.NotAfter))
}

// Run looks at the files until ctx ends.
func (f *Files) Run(ctx context.Context) error {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f.look()
		case <-ctx.Done():
			return nil
		}
	}
}

// look takes the pair if it differs from the current one and has not changed since the last look.
// Files that are not a pair are logged once, and the old pair stays.
func (f *Files) look() {
	certPEM, keyPEM, err := f.read()
	sum := digest(certPEM, keyPEM, err)
	if settled := sum == f.seen; !settled || sum == f.decided {
		f.seen = sum
		return
	}
	f.decided = sum
	var pair tls.Certificate
	if err == nil {
		pair, err = f.parse(certPEM, keyPEM)
	}
	if err != nil {
		f.sayRefused(err)
		return
	}
	f.take(&pair)
}

// sayRefused logs why the current files are not taken. A renewal replaces one file after the other.
func (f *Files) sayRefused(err error) {
	files := []any{slog.String("cert", f.pair.Cert), slog.String("key", f.pair.Key)}
	if mismatch(err) {
		f.log.Warn("the certificate does not match its key yet: only one of the files has been replaced; still using "+
			"the old pair until both are", files...)
		return
	}
	f.log.Warn("the certificate files were replaced, but they cannot be used; still using the old pair",
		append(files, slog.Any("cause", err))...)
}

var errNoCertificate = errors.New("there is no certificate yet")
