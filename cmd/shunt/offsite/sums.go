package offsite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Sums remembers the hashes of table files between runs of one process, so that a run reads only new ones. The zero
// value remembers nothing yet. It is for one run at a time.
type Sums struct{ known, used map[identity]string }

// An identity is that of a table file, which never changes: the file system gives the number to another file only after
// this one is gone, and that one was then written later.
type identity struct {
	device, inode  uint64
	bytes, writeNs int64
}

const tableSuffix = ".sst"

func identityOf(info os.FileInfo) (id identity, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return id, false
	}
	return identity{uint64(stat.Dev), uint64(stat.Ino), info.Size(), info.ModTime().UnixNano()}, true
}

// begin forgets what the last run did not use.
func (s *Sums) begin() { s.known, s.used = s.used, make(map[identity]string) }

// of returns the size of a file and its hash. read is called with the bytes of each part that was read.
func (s *Sums) of(ctx context.Context, path string, read func(n int)) (bytes int64, sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return 0, "", err
	}
	id, ok := identityOf(info)
	ok = ok && strings.HasSuffix(filepath.Base(path), tableSuffix)
	if sum = s.known[id]; !ok || sum == "" {
		if sum, err = sumOf(ctx, f, read); err != nil {
			return 0, "", err
		}
	} else {
		read(int(info.Size()))
	}
	if ok {
		s.used[id] = sum
	}
	return info.Size(), sum, nil
}

func sumOf(ctx context.Context, r io.Reader, read func(n int)) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, &counted{ctx, r, read})
	return hex.EncodeToString(h.Sum(nil)), err
}

// A counted reader reports what is read, and ends with its context.
type counted struct {
	ctx  context.Context
	r    io.Reader
	read func(n int)
}

func (c *counted) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	n, err := c.r.Read(p)
	c.read(n)
	return n, err
}

// A verified reader fails with errChanged, before it gives the last bytes of r away, unless r has the size and hash
// that are wanted.
type verified struct {
	r    io.Reader
	left int64
	want string
	hash hash.Hash // nil before the first Read
}

// errChanged says that a content is not what its hash promises.
var errChanged = errors.New("its content has another hash")

func (v *verified) Read(p []byte) (int, error) {
	if v.hash == nil {
		v.hash = sha256.New()
	}
	n, err := v.r.Read(p)
	v.hash.Write(p[:n])
	v.left -= int64(n)
	ended := errors.Is(err, io.EOF)
	if v.left < 0 || ended && v.left > 0 || v.left == 0 && hex.EncodeToString(v.hash.Sum(nil)) != v.want {
		return 0, errChanged
	}
	return n, err
}
