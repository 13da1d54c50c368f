package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"shunt/storage/clusterlog"
)

// maxAnswerBytes bounds an answer. The largest that is expected is a chunk of entries (read.go).
const maxAnswerBytes = chunkBytes + 1<<20

// server is one of etcd's servers, with a client of its own. A client that knows several servers would
// choose among them by itself, and might stay with one that does not answer.
type server struct {
	endpoint string
	config   clientv3.Config
	ready    atomic.Pointer[clientv3.Client] // nil until the server is connected and known to be new enough

	// turn is a lock: the goroutine that has filled it connects, and owns the fields after it. It is not a
	// mutex, because waiters must be able to give up: the lease is renewed at all servers in turn.
	turn   chan struct{}
	client *clientv3.Client
	closed bool
}

func newServer(endpoint string, o *Options) *server {
	scheme := "http://"
	if o.TLS != nil {
		scheme = "https://"
	}
	// grpc would wait 20 s for a connection that hangs, and up to two minutes between attempts.
	connecting := grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: .2, MaxDelay: time.Second},
		MinConnectTimeout: time.Second,
	}
	return &server{endpoint: endpoint, turn: make(chan struct{}, 1), config: clientv3.Config{
		Endpoints:            []string{scheme + endpoint},
		TLS:                  o.TLS,
		Username:             o.Username,
		Password:             o.Password,
		DialKeepAliveTime:    10 * time.Second, // grpc allows no less
		DialKeepAliveTimeout: 2 * time.Second,
		MaxCallRecvMsgSize:   maxAnswerBytes,
		MaxUnaryRetries:      2, // the second is for a token that has expired
		DialOptions:          []grpc.DialOption{grpc.WithConnectParams(connecting)},
		Logger:               zap.NewNop(),
	}}
}

// connect returns the server's client. It makes sure once that the server is not too old. The client
// is made when it is first needed, since with a password that takes a request.
func (s *server) connect(ctx context.Context) (*clientv3.Client, error) {
	if client := s.ready.Load(); client != nil {
		return client, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.closed {
		return nil, errors.New("the log is closed")
	}
	if s.client == nil {
		config := s.config
		if deadline, ok := ctx.Deadline(); ok {
			config.DialTimeout = max(time.Until(deadline), time.Millisecond)
		}
		client, err := clientv3.New(config)
		if err != nil {
			return nil, err
		}
		s.client = client
	}
	status, err := s.client.Status(ctx, s.config.Endpoints[0])
	if err != nil {
		return nil, err
	}
	if err := checkVersion(s.endpoint, status.Version); err != nil {
		return nil, err
	}
	s.ready.Store(s.client)
	return s.client, nil
}

func (s *server) close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.closed = true
	if s.client == nil {
		return nil
	}
	return s.client.Close()
}

// minVersion is the oldest server that is trusted.
var minVersion = []int{3, 6, 16}

func checkVersion(endpoint, text string) error {
	v := make([]int, len(minVersion))
	if _, err := fmt.Sscanf(text, "%d.%d.%d", &v[0], &v[1], &v[2]); err != nil {
		return fmt.Errorf("%w: %s says that its version is %q", clusterlog.ErrOldServer, endpoint, text)
	}
	if slices.Compare(v, minVersion) < 0 {
		return fmt.Errorf("%w: %s is etcd %s; it must be %d.%d.%d or newer",
			clusterlog.ErrOldServer, endpoint, text, minVersion[0], minVersion[1], minVersion[2])
	}
	return nil
}

// A request is one call of a server. It must respect ctx.
type request func(ctx context.Context, client *clientv3.Client) error

// ask makes one request at one server.
func (s *server) ask(ctx context.Context, timeout time.Duration, r request) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client, err := s.connect(ctx)
	if err == nil {
		err = r(ctx, client)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.endpoint, err)
	}
	return nil
}

// tx is a transaction.
type tx struct {
	If         []clientv3.Cmp
	Then, Else []clientv3.Op
}

// txn executes a transaction, by one request.
func (s *server) txn(ctx context.Context, t tx) (resp *clientv3.TxnResponse, err error) {
	err = s.ask(ctx, attemptTimeout, func(ctx context.Context, client *clientv3.Client) (err error) {
		resp, err = client.Txn(ctx).If(t.If...).Then(t.Then...).Else(t.Else...).Commit()
		return err
	})
	return resp, err
}

// txn executes a transaction as repeat does. It may be executed several times, and an answer of an earlier time lost.
func (l *Log) txn(ctx context.Context, t tx) (resp *clientv3.TxnResponse, err error) {
	err = l.repeat(ctx, func(ctx context.Context, client *clientv3.Client) (err error) {
		resp, err = client.Txn(ctx).If(t.If...).Then(t.Then...).Else(t.Else...).Commit()
		return err
	})
	return resp, err
}

// get reads keys as repeat does.
func (l *Log) get(ctx context.Context, key string, opts ...clientv3.OpOption) ([]*mvccpb.KeyValue, error) {
	resp, err := l.txn(ctx, tx{Then: []clientv3.Op{clientv3.OpGet(key, opts...)}})
	if err != nil {
		return nil, err
	}
	return found(resp, 0), nil
}

// found returns what the read with an index in a transaction has found.
func found(resp *clientv3.TxnResponse, at int) []*mvccpb.KeyValue {
	return resp.Responses[at].GetResponseRange().Kvs
}

// created and written are conditions that the revision that created a key, or wrote it last, compares to another. 0 is
// that of a key that is missing.
func created(key, compares string, revision int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(key), compares, revision)
}

func written(key, compares string, revision int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(key), compares, revision)
}

// repeat makes a request at one server after the other, until it succeeds, or no server would give another answer: then
// the error is ErrNoSpace, or that the answer is too large, or the revision too old; or until ctx ends: then it is the
// last server's, with ErrUnavailable. It begins with the server that answered last.
func (l *Log) repeat(ctx context.Context, r request) error {
	report := time.Now().Add(reportFirst)
	for n := 0; ; n++ {
		at := l.preferred.Load()
		err := l.server(at).ask(ctx, attemptTimeout, r)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, rpctypes.ErrNoSpace):
			return fmt.Errorf("%w: %w", clusterlog.ErrNoSpace, err)
		case isTooLarge(err), errors.Is(err, rpctypes.ErrCompacted):
			return err
		}
		l.preferred.CompareAndSwap(at, at+1)
		l.counts.retries.Add(1)
		l.reportStall(&report, err)
		if !wait(ctx, l.pause(n)) {
			return fmt.Errorf("%w: %w", clusterlog.ErrUnavailable, err)
		}
	}
}

// reportFirst is how long a call waits for the servers before it logs that, reportEvery how often it does then.
const (
	reportFirst = 2 * time.Second
	reportEvery = 10 * time.Second
)

// reportStall reports err at the time next, and sets the next one.
func (l *Log) reportStall(next *time.Time, err error) {
	if time.Now().Before(*next) {
		return
	}
	*next = time.Now().Add(reportEvery)
	if refusesUser(err) {
		l.logger.Error("the servers of etcd refuse the user of this node, whose name is that of its certificate: make the user there, "+
			"with the role of its kind (etcd-auth.sh); retrying", "error", err)
		return
	}
	l.logger.Warn("the cluster's log does not answer; retrying", "error", err)
}

// refusesUser reports whether a server does not know the user that asks, or gives it no right to that.
func refusesUser(err error) bool {
	for _, one := range []error{rpctypes.ErrPermissionDenied, rpctypes.ErrUserNotFound, rpctypes.ErrUserEmpty, rpctypes.ErrAuthFailed, rpctypes.ErrRoleNotFound} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

func (l *Log) server(at uint32) *server { return l.servers[at%uint32(len(l.servers))] }

// pause returns how long to wait after n+1 failures: not at all while there are other servers to ask,
// then longer with every round.
func (l *Log) pause(n int) time.Duration {
	round, last := (n+1)/len(l.servers), (n+1)%len(l.servers) == 0
	if !last {
		return 0
	}
	return min(20*time.Millisecond<<min(round-1, 4), 250*time.Millisecond)
}

// wait waits for d and reports whether ctx is still valid.
func wait(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	return ctx.Err() == nil
}
