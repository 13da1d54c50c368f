package offsite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"shunt/cmd/shunt/backups"
	"shunt/cmd/shunt/console"
)

// A Wanted says which backup is to be fetched.
type Wanted struct {
	Place    Place
	Settings *Settings
	Store    string    // its id; "": the only one at the place
	At       time.Time // the last backup that has nothing of a later time; zero: the newest
	Key      *Key
}

// A Found is a backup at a place.
type Found struct {
	Entry
	b        *bucket
	key      *Key
	manifest *manifest
}

// Find returns the backup that is wanted.
func Find(ctx context.Context, w Wanted) (*Found, error) {
	b, err := openBucket(ctx, w.Place, w.Settings)
	if err != nil {
		return nil, err
	}
	e, err := b.choose(ctx, w.Store, w.At)
	if err != nil {
		return nil, err
	}
	f := &Found{Entry: e, b: b, key: w.Key}
	if f.manifest, err = b.manifest(ctx, e.Store, e.name); err != nil {
		return nil, fmt.Errorf("%w; choose another with --at", err)
	}
	if f.manifest.EncryptedTo != "" && w.Key == nil {
		return nil, errNeedsKey
	}
	if f.manifest.EncryptedTo == "" && w.Settings.inTheClear() {
		return nil, fmt.Errorf("--s3-endpoint %s is plain HTTP, and the backup is not encrypted: others could read and change it on the way. Use https://", w.Settings.Endpoint)
	}
	f.Links, f.Files, f.Bytes, f.Encrypted = f.manifest.Links, len(f.manifest.Files), f.manifest.bytes(), f.manifest.EncryptedTo != ""
	return f, nil
}

// Fetch writes the files of the backup into dir, which is empty, durably. Each has the hash that the manifest says.
func (f *Found) Fetch(ctx context.Context, dir string, say func(string)) error {
	var format *file
	var done atomic.Uint64
	fetch := func(ctx context.Context, one *file) error {
		err := f.fetchOne(ctx, one, filepath.Join(dir, filepath.FromSlash(one.Name)), func(n int) {
			say(fmt.Sprintf("receiving: %s of %s", console.Size(done.Add(uint64(n))), console.Size(f.Bytes)))
		})
		switch {
		case errors.Is(err, errChanged):
			return fmt.Errorf("the object of %s in the backup of %s is damaged or not the one that was sent (%s, SHA-256 %s): "+
				"choose another backup with --at ('shunt backup ls' lists them)", one.Name, shown(f.At), f.b.place, one.SHA256)
		case errors.Is(err, syscall.ENOSPC):
			return fmt.Errorf("there is no room for the backup, which has %s: %w", console.Size(f.Bytes), err)
		}
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, backups.DBName), 0o700); err != nil {
		return err
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i := range f.manifest.Files {
		one := &f.manifest.Files[i]
		if one.Name == backups.FormatName {
			format = one
			continue
		}
		if within.Err() != nil {
			break
		}
		g.Go(func() error { return fetch(within, one) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := fetch(ctx, format); err != nil { // a folder without it is not a backup
		return err
	}
	return backups.SyncFolder(dir)
}

// fetchTries is how often a file is fetched whose connection ends.
const fetchTries = 4

// fetchOne writes a file. What the server sends is compared with the hash, so nothing is believed.
func (f *Found) fetchOne(ctx context.Context, one *file, path string, read func(n int)) (err error) {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if one.Bytes == 0 { // has no object
		return to.Sync()
	}
	for try := range fetchTries {
		if err = f.copyOne(ctx, one, to, read); err == nil {
			return to.Sync()
		}
		if !errors.As(err, new(*brokenError)) || ctx.Err() != nil {
			return err
		}
		if err := rewind(to); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second << try):
		}
	}
	return err
}

func rewind(f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return f.Truncate(0)
}

// A brokenError is that of a connection in the middle of an object.
type brokenError struct{ cause error }

func (e *brokenError) Error() string { return e.cause.Error() }
func (e *brokenError) Unwrap() error { return e.cause }

// A breaking reader marks the errors of a connection.
type breaking struct{ r io.Reader }

func (b breaking) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &brokenError{err}
	}
	return n, err
}

func (f *Found) copyOne(ctx context.Context, one *file, to io.Writer, read func(n int)) (err error) {
	body, err := f.b.body(ctx, f.Store+"/"+filesFolder+f.manifest.object(one))
	if missing(err) {
		return errChanged
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	var plain io.Reader = breaking{body}
	if f.manifest.EncryptedTo != "" {
		if plain, err = f.key.decrypt(plain); err != nil {
			return f.sealedError(ctx, err)
		}
	}
	content := &verified{r: &counted{ctx, plain, read}, left: one.Bytes, want: one.SHA256}
	if _, err = io.Copy(to, content); err == nil && content.left > 0 {
		err = errChanged
	}
	return f.sealedError(ctx, err)
}

// sealedError returns the error of a copy: what cannot be decrypted is damaged.
func (f *Found) sealedError(ctx context.Context, err error) error {
	broken, written := errors.As(err, new(*brokenError)), errors.As(err, new(*os.PathError))
	switch {
	case err == nil, written, errors.Is(err, errWrongKey), errors.Is(err, errNeedsKey), errors.Is(err, errChanged):
		return err
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case broken:
		return &brokenError{f.b.explain(ctx, err)}
	}
	return errChanged
}
