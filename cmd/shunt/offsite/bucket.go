package offsite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/errgroup"
)

const (
	// partBytes is what one request sends at most, and what a worker has in memory. With 10,000 parts a file may have
	// 156 GiB; the store's have at most a few hundred MiB.
	partBytes = 16 << 20
	// workers is how many files are sent, fetched or removed at a time.
	workers = 3
	// tries is how often a request is made before its error is reported, within some seconds.
	tries = 6

	// maxListed bounds the objects that are listed.
	maxListed = 5_000_000
)

// A bucket is a place at its server. Any goroutine may call its methods. Their errors are in words.
type bucket struct {
	client *minio.Client
	place  Place
}

// An object is one of a list.
type object struct {
	name    string // after what was listed
	bytes   int64
	written time.Time // by the server's clock
}

// openBucket makes no request. Requests end soon after ctx does.
func openBucket(ctx context.Context, place Place, s *Settings) (*bucket, error) {
	k, err := s.readKeys()
	if err != nil {
		return nil, err
	}
	lookup := map[string]minio.BucketLookupType{"path": minio.BucketLookupPath, "host": minio.BucketLookupDNS}[s.Addressing]
	client, err := minio.New(s.Endpoint.Host, &minio.Options{
		Creds: credentials.NewStaticV4(k.id, k.secret, k.session), Secure: s.Endpoint.Scheme == "https",
		Transport: newLasting(ctx, newTransport()), Region: s.Region, BucketLookup: lookup, MaxRetries: tries,
	})
	if err != nil {
		return nil, fmt.Errorf("--s3-endpoint: %w", err)
	}
	client.SetAppInfo("shunt", "1")
	return &bucket{client, place}, nil
}

func (b *bucket) explain(ctx context.Context, err error) error { return explain(ctx, b.place, err) }

// put writes an object of that size. The server compares each part with an MD5.
func (b *bucket) put(ctx context.Context, name string, r io.Reader, size int64) error {
	info, err := b.client.PutObject(ctx, b.place.Bucket, b.place.Prefix+name, onlyReader{r}, size, minio.PutObjectOptions{
		ContentType: "application/octet-stream", SendContentMd5: true, PartSize: partBytes,
	})
	if err == nil && info.Size != size {
		err = fmt.Errorf("the server took %d of %d bytes", info.Size, size)
	}
	return b.explain(ctx, err)
}

// An onlyReader hides what else a reader can do: of one that can seek, the client sends several parts at once, and
// takes memory for each.
type onlyReader struct{ io.Reader }

// body returns the content of an object, which the caller closes. Errors of its Read are not in words.
func (b *bucket) body(ctx context.Context, name string) (io.ReadCloser, error) {
	body, _, _, err := minio.Core{Client: b.client}.GetObject(ctx, b.place.Bucket, b.place.Prefix+name, minio.GetObjectOptions{})
	return body, b.explain(ctx, err)
}

// read returns an object of at most that many bytes.
func (b *bucket) read(ctx context.Context, name string, most int64) ([]byte, error) {
	body, err := b.body(ctx, name)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	n, err := io.Copy(&text, io.LimitReader(body, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return text.Bytes(), errors.Join(b.explain(ctx, err), body.Close())
}

// list returns the objects below a folder, sorted by their names.
func (b *bucket) list(ctx context.Context, folder string) (found []object, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for info := range b.client.ListObjectsIter(ctx, b.place.Bucket, minio.ListObjectsOptions{Prefix: b.place.Prefix + folder, Recursive: true}) {
		if info.Err != nil {
			return nil, b.explain(ctx, info.Err)
		}
		if len(found) == maxListed {
			return nil, fmt.Errorf("%s/%s has more than %d objects", b.place, folder, maxListed)
		}
		found = append(found, object{strings.TrimPrefix(info.Key, b.place.Prefix+folder), info.Size, info.LastModified})
	}
	return found, b.explain(ctx, context.Cause(ctx))
}

// stores returns the ids of the stores that have something at the place.
func (b *bucket) stores(ctx context.Context) (ids []string, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for info := range b.client.ListObjectsIter(ctx, b.place.Bucket, minio.ListObjectsOptions{Prefix: b.place.Prefix}) {
		if info.Err != nil {
			return nil, b.explain(ctx, info.Err)
		}
		if id := strings.TrimSuffix(strings.TrimPrefix(info.Key, b.place.Prefix), "/"); storeName.MatchString(id) {
			ids = append(ids, id)
		}
	}
	return ids, b.explain(ctx, context.Cause(ctx))
}

// remove deletes objects. Those that do not exist are skipped.
func (b *bucket) remove(ctx context.Context, names ...string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for _, name := range names {
		g.Go(func() error {
			err := b.client.RemoveObject(ctx, b.place.Bucket, b.place.Prefix+name, minio.RemoveObjectOptions{})
			if missing(err) {
				return nil
			}
			return b.explain(ctx, err)
		})
	}
	return g.Wait()
}

// removeUnfinished removes the parts of files in a folder that were not sent to their end. Not every server lists
// them, and some remove them by themselves, so an error is for the caller to judge.
func (b *bucket) removeUnfinished(ctx context.Context, folder string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for info := range b.client.ListIncompleteUploads(ctx, b.place.Bucket, b.place.Prefix+folder, true) {
		if info.Err != nil {
			return b.explain(ctx, info.Err)
		}
		core := minio.Core{Client: b.client}
		if err := core.AbortMultipartUpload(ctx, b.place.Bucket, info.Key, info.UploadID); err != nil && !missing(err) {
			return b.explain(ctx, err)
		}
	}
	return b.explain(ctx, context.Cause(ctx))
}
