package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// certLookInterval is how often the files are read. A new pair is taken when it is the same in two looks running, so that
	// a certificate without its key yet is no error.
	certLookInterval = time.Second

	maxCertFileBytes = 1 << 20 // stops a wrong path from being read whole
)

// certFiles is a certificate in two files, which may be replaced at any time.
type certFiles struct {
	certPath, keyPath string
	log               *slog.Logger
	current           atomic.Pointer[tls.Certificate]

	// Of the goroutine of Run.
	seen    [sha256.Size]byte // what the last look saw
	decided [sha256.Size]byte // what was last taken, or refused
}

// openCertFiles reads the pair.
func openCertFiles(certPath, keyPath string, log *slog.Logger) (*certFiles, error) {
	f := &certFiles{certPath: certPath, keyPath: keyPath, log: log}
	certPEM, keyPEM, err := f.read()
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert %s, --tls-key %s: %w", certPath, keyPath, err)
	}
	f.current.Store(&pair)
	f.seen = digest(certPEM, keyPEM, nil)
	f.decided = f.seen
	return f, nil
}

func (f *certFiles) read() (certPEM, keyPEM []byte, err error) {
	if certPEM, err = readBounded(f.certPath); err != nil {
		return nil, nil, fmt.Errorf("--tls-cert: %w", err)
	}
	if keyPEM, err = readBounded(f.keyPath); err != nil {
		return nil, nil, fmt.Errorf("--tls-key: %w", err)
	}
	return certPEM, keyPEM, nil
}

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxCertFileBytes+1))
	if err == nil && len(text) > maxCertFileBytes {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxCertFileBytes)
	}
	return text, err
}

// digest stands for what a look has seen.
func digest(certPEM, keyPEM []byte, err error) [sha256.Size]byte {
	sum := sha256.Sum256(certPEM)
	all := append(sum[:], keyPEM...)
	if err != nil {
		all = fmt.Append(all, err)
	}
	return sha256.Sum256(all)
}

// certificate is what a handshake is given.
func (f *certFiles) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.current.Load(), nil
}

// Run looks at the files until ctx ends.
func (f *certFiles) Run(ctx context.Context) error {
	tick := time.NewTicker(certLookInterval)
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

// look takes the pair if it is another one than before, and has not changed since the last look. What is no pair is said once,
// and the old pair stays.
func (f *certFiles) look() {
	certPEM, keyPEM, err := f.read()
	sum := digest(certPEM, keyPEM, err)
	if settled := sum == f.seen; !settled || sum == f.decided {
		f.seen = sum
		return
	}
	f.decided = sum
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.X509KeyPair(certPEM, keyPEM)
	}
	if err != nil {
		f.log.Warn("the certificate has been replaced by something that is none; going on with the old one",
			slog.String("cert", f.certPath), slog.String("key", f.keyPath), slog.Any("cause", err))
		return
	}
	if slices.EqualFunc(f.current.Load().Certificate, pair.Certificate, bytes.Equal) {
		return // as after a bad pair that has been taken back
	}
	f.current.Store(&pair)
	f.log.Info("the certificate has been replaced", slog.String("cert", f.certPath), slog.Time("expires", pair.Leaf.NotAfter))
}

var errNoCertificate = errors.New("there is no certificate yet")
