package s3test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Env names the program of the server.
const Env = "SHUNTTEST_S3"

// The credentials of each server.
const (
	ID     = "shunttest"
	Secret = "a secret of tests only"
)

// Bucket is there at each server.
const Bucket = "backups"

// A Server is an S3 server on loopback. It belongs to one test.
type Server struct {
	Endpoint string
	data     string // its folder: each folder in it is a bucket, each file in that an object
}

// Start starts the server that Env names, and ends it with the test. It skips the test if Env names none.
func Start(t testing.TB) *Server {
	t.Helper()
	program := os.Getenv(Env)
	if program == "" {
		t.Skip("make s3 runs this test: it needs an S3 server, which takes two minutes to build")
	}
	dir := t.TempDir()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, address, dir)
	cmd.Env = append(os.Environ(), Credentials()...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the S3 server said:\n%s", said.String())
		}
	})
	s := &Server{Endpoint: "http://" + address, data: filepath.Join(dir, "data")}
	s.await(t)
	s.MakeBucket(t, Bucket)
	return s
}

// Credentials are the variables with which the servers are used.
func Credentials() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + ID, "AWS_SECRET_ACCESS_KEY=" + Secret, "AWS_SESSION_TOKEN="}
}

func (s *Server) await(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint+"/health", nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := http.DefaultClient.Do(r); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatal("the S3 server does not answer")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// MakeBucket makes a bucket.
func (s *Server) MakeBucket(t testing.TB, name string) {
	t.Helper()
	client, err := minio.New(strings.TrimPrefix(s.Endpoint, "http://"), &minio.Options{Creds: credentials.NewStaticV4(ID, Secret, "")})
	if err == nil {
		err = client.MakeBucket(t.Context(), name, minio.MakeBucketOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Path returns the file of an object in Bucket.
func (s *Server) Path(name string) string {
	return filepath.Join(s.data, Bucket, filepath.FromSlash(name))
}

// Objects returns the objects in Bucket below a folder, "" for all, with their sizes.
func (s *Server) Objects(t testing.TB, below string) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	top := s.Path("")
	err := filepath.WalkDir(s.Path(below), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			if err == nil && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir // parts of objects on their way
			}
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(top, path)
		found[filepath.ToSlash(name)] = info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A Narrow is a connection to a server that passes a limited number of bytes, and then stalls until Open.
type Narrow struct {
	Endpoint string
	Stuck    chan struct{} // closed when nothing moves
	left     int64
	mu       sync.Mutex
	open     chan struct{}
}

// Narrow makes a way to the server on which that many bytes of requests get through. It ends with the test.
func (s *Server) Narrow(t testing.TB, bytes int64) *Narrow {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &Narrow{Endpoint: "http://" + ln.Addr().String(), Stuck: make(chan struct{}), left: bytes, open: make(chan struct{})}
	var all sync.WaitGroup
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(func() { end(); _ = ln.Close(); n.Open(); all.Wait() })
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() { n.carry(ctx, conn, strings.TrimPrefix(s.Endpoint, "http://")) })
		}
	})
	return n
}

// Open lets everything through from now on.
func (n *Narrow) Open() {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.open:
	default:
		close(n.open)
	}
}

func (n *Narrow) carry(ctx context.Context, from net.Conn, address string) {
	to, err := net.Dial("tcp", address)
	if err != nil {
		_ = from.Close()
		return
	}
	var both sync.WaitGroup
	closed := func() { _, _ = from.Close(), to.Close() }
	stop := context.AfterFunc(ctx, closed)
	defer stop()
	both.Go(func() { _, _ = io.Copy(from, to); closed() })
	both.Go(func() { _, _ = io.Copy(to, narrowed{from, n}); closed() })
	both.Wait()
}

type narrowed struct {
	io.Reader
	n *Narrow
}

func (r narrowed) Read(p []byte) (int, error) {
	got, err := r.Reader.Read(p)
	if r.n.take(int64(got)) {
		<-r.n.open
	}
	return got, err
}

// take reports whether the way is full.
func (n *Narrow) take(bytes int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.left
	n.left -= bytes
	if n.left < 0 && before >= 0 {
		close(n.Stuck)
	}
	return n.left < 0
}
