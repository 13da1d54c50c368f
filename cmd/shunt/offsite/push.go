package offsite

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"shunt/cmd/shunt/backups"
	"shunt/cmd/shunt/console"
)

// A Made is a backup in a folder, of a state that does not change.
type Made struct {
	Dir     string
	Store   [16]byte
	At      time.Time // when the state was taken: it has nothing that was written later
	Links   uint64
	Program string // this program's version
}

// An Order says where a backup goes, and which others stay there.
type Order struct {
	Place    Place
	Settings *Settings
	Seal     *Seal
	Keep     Keep
	Sums     *Sums // nil: none of earlier runs
	Sweep    bool  // look for objects that no backup needs: that reads the lists of all of them
	Say      func(progress string)
	Sent     func(bytes uint64) // nil: nobody counts

	pace pace // zero: normalPace
}

// A Sent is what a run has done.
type Sent struct {
	At           time.Time   `json:"at"`
	Files        int         `json:"files"`
	Bytes        uint64      `json:"bytes"`
	SentFiles    int         `json:"sent_files"` // the others were there, or are empty
	SentBytes    uint64      `json:"sent_bytes"`
	Removed      []time.Time `json:"removed,omitempty"`       // backups that were no longer to be kept
	RemovedFiles int         `json:"removed_files,omitempty"` // that no backup needs
	Warning      string      `json:"warning,omitempty"`       // what did not work, although the backup is whole
	EncryptedFor int         `json:"encrypted_for,omitempty"` // recipients
	Place        string      `json:"place"`
}

func storeText(id [16]byte) string { return hex.EncodeToString(id[:]) }

// Possible refuses to send backups that others could read on the way.
func Possible(s *Settings, seal *Seal) error {
	if seal == nil && s.inTheClear() {
		return fmt.Errorf("--s3-endpoint %s is plain HTTP, so all links and hashes of passwords could be read on the way: use https://, or --encrypt-to", s.Endpoint)
	}
	return nil
}

// Push sends a backup. If it returns nil, the backup is there as a whole, and can be restored. Errors: ErrBusy.
func Push(ctx context.Context, made Made, o Order) (sent Sent, err error) {
	if err := Possible(o.Settings, o.Seal); err != nil {
		return sent, err
	}
	b, err := openBucket(ctx, o.Place, o.Settings)
	if err != nil {
		return sent, err
	}
	if o.pace == (pace{}) {
		o.pace = normalPace
	}
	if o.Sums == nil {
		o.Sums = new(Sums)
	}
	r := run{b: b, o: &o, made: made, store: storeText(made.Store), sent: Sent{At: made.At.UTC().Truncate(time.Millisecond), Place: o.Place.String()}}
	if o.Seal != nil {
		r.sent.EncryptedFor = len(o.Seal.recipients)
	}
	r.turn, err = takeTurn(ctx, b, r.store, o.pace, o.Say)
	if err == nil {
		err = r.turn.hold(ctx, r.all)
	}
	if left := r.turn.leave(ctx); left != nil && err == nil {
		r.warn("its turn could not be ended: %v", left)
	}
	return r.sent, err
}

// A run sends a backup. Its turn is its own from the first request to the last.
type run struct {
	b     *bucket
	o     *Order
	made  Made
	store string
	sent  Sent
	turn  *turn

	manifest manifest
	bytes    atomic.Uint64 // hashed, then sent, of those that are to be
	todo     uint64
}

func (r *run) warn(format string, args ...any) {
	if r.sent.Warning == "" {
		r.sent.Warning = "the backup is whole, but " + fmt.Sprintf(format, args...)
	}
}

// all has the steps of the package comment.
func (r *run) all(ctx context.Context) error {
	if r.o.Sweep {
		if err := r.b.removeUnfinished(ctx, r.store+"/"+filesFolder); err != nil {
			r.warn("parts of files that were not sent to their end could not be removed: %v", err)
		}
	}
	r.o.Say("listing what is there")
	there, err := r.there(ctx)
	if err != nil {
		return err
	}
	if err := r.hash(ctx); err != nil {
		return err
	}
	if err := r.send(ctx, there); err != nil {
		return err
	}
	r.o.Say("verifying what was sent")
	if there, err = r.there(ctx); err != nil {
		return err
	}
	if lacking := r.lacking(there); len(lacking) > 0 {
		return fmt.Errorf("%s lacks %d of the files that were sent, or has them with another size; the first: %s", r.o.Place, len(lacking), lacking[0].SHA256)
	}
	if err := r.turn.held(ctx); err != nil {
		return err
	}
	name, err := r.conclude(ctx)
	if err != nil {
		return err
	}
	r.tidy(ctx, name)
	return nil
}

// there returns the sizes of the objects in files/ by their names.
func (r *run) there(ctx context.Context) (map[string]int64, error) {
	found, err := r.b.list(ctx, r.store+"/"+filesFolder)
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]int64, len(found))
	for _, o := range found {
		sizes[o.name] = o.bytes
	}
	return sizes, nil
}

// hash fills the manifest.
func (r *run) hash(ctx context.Context) error {
	names, err := backups.Files(r.made.Dir)
	if err != nil {
		return err
	}
	if len(names) > maxManifestFiles {
		return fmt.Errorf("the backup has %d files, and at most %d can be kept", len(names), maxManifestFiles)
	}
	r.manifest = manifest{
		Format: manifestFormat, Store: r.store, At: r.sent.At, Links: r.made.Links, Program: r.made.Program,
	}
	if r.o.Seal != nil {
		r.manifest.EncryptedTo = r.o.Seal.number
	}
	r.o.Sums.begin()
	for _, name := range names {
		bytes, sum, err := r.o.Sums.of(ctx, r.path(name), func(n int) {
			r.o.Say("hashing: " + console.Size(r.bytes.Add(uint64(n))))
		})
		if err != nil {
			return err
		}
		r.manifest.Files = append(r.manifest.Files, file{Name: name, Bytes: bytes, SHA256: sum})
	}
	r.sent.Files, r.sent.Bytes = len(names), r.manifest.bytes()
	return nil
}

func (r *run) path(name string) string { return filepath.Join(r.made.Dir, filepath.FromSlash(name)) }

// lacking returns the files of the backup whose contents are not among the objects; of equal ones, one. An empty file
// needs no object: some servers take one, and then lose count of the requests on its connection.
func (r *run) lacking(there map[string]int64) (lacking []*file) {
	seen := make(map[string]bool)
	for i := range r.manifest.Files {
		f := &r.manifest.Files[i]
		size, found := there[r.o.Seal.object(f.SHA256)]
		if f.Bytes > 0 && (!found || size != r.o.Seal.size(f.Bytes)) && !seen[f.SHA256] {
			seen[f.SHA256] = true
			lacking = append(lacking, f)
		}
	}
	return lacking
}

// send sends the files that are not there.
func (r *run) send(ctx context.Context, there map[string]int64) error {
	lacking := r.lacking(there)
	r.bytes.Store(0)
	for _, f := range lacking {
		r.todo += uint64(f.Bytes)
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for _, f := range lacking {
		if within.Err() != nil {
			break
		}
		g.Go(func() error { return r.sendOne(within, f) })
	}
	err := g.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	r.sent.SentFiles, r.sent.SentBytes = len(lacking), r.bytes.Load()
	return err
}

// sendOne sends a file, and fails unless what it read has the hash that names it.
func (r *run) sendOne(ctx context.Context, f *file) (err error) {
	source, err := os.Open(r.path(f.Name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	read := &verified{r: &counted{ctx, source, func(n int) {
		done := r.bytes.Add(uint64(n))
		if r.o.Sent != nil {
			r.o.Sent(uint64(n))
		}
		r.o.Say(fmt.Sprintf("sending: %s of %s", console.Size(done), console.Size(r.todo)))
	}}, left: f.Bytes, want: f.SHA256}
	sealed, err := r.o.Seal.encrypt(read)
	if err != nil {
		return err
	}
	if err := r.b.put(ctx, r.store+"/"+filesFolder+r.o.Seal.object(f.SHA256), sealed, r.o.Seal.size(f.Bytes)); err != nil {
		if errors.Is(err, errChanged) {
			return fmt.Errorf("%s was read twice, with two results: the disk or the memory of this machine is faulty: %w", f.Name, errChanged)
		}
		return err
	}
	return nil
}

// conclude writes the manifest, reads it back, and returns its name.
func (r *run) conclude(ctx context.Context) (name string, err error) {
	name, text, err := r.manifest.encode()
	if err != nil {
		return "", err
	}
	key := r.store + "/" + backupsFolder + name
	if err := r.b.put(ctx, key, bytes.NewReader(text), int64(len(text))); err != nil {
		return "", err
	}
	if back, err := r.b.read(ctx, key, maxManifest); err != nil || !bytes.Equal(back, text) {
		if err == nil {
			err = fmt.Errorf("%s: what was read back is not what was written", r.o.Place)
		}
		return "", errors.Join(err, r.b.remove(ctx, key))
	}
	return name, nil
}

// tidy removes what is not to be kept. The backup is whole, so an error is a warning.
func (r *run) tidy(ctx context.Context, name string) {
	removed, err := r.b.expire(ctx, r.store, r.o.Keep, name)
	r.sent.Removed = removed
	if err != nil {
		r.warn("an older one could not be removed: %v", err)
		return
	}
	if !r.o.Sweep {
		return
	}
	if r.sent.RemovedFiles, err = r.b.sweep(ctx, r.store, r.o.Say); err != nil {
		r.warn("what no backup needs could not be removed: %v", err)
	}
}
