package etcdlog

import (
	"context"
	"sync"

	"shunt/storage/clusterlog"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// defaultQuotaBytes is etcd's quota if its operator sets none; it reports 0 then.
const defaultQuotaBytes = 2 << 30

// Status implements clusterlog.Log. It takes up to three attempts.
func (l *Log) Status(ctx context.Context) (clusterlog.Status, error) {
	servers := l.askAll(ctx)
	ctx, cancel := context.WithTimeout(ctx, 3*attemptTimeout)
	defer cancel()
	s, err := l.ownState(ctx)
	return clusterlog.Status{ID: s.id, Head: s.head, Floor: s.floor, Leader: s.leader, Servers: servers}, err
}

// askAll asks all servers how they are, at once.
func (l *Log) askAll(ctx context.Context) []clusterlog.Server {
	servers := make([]clusterlog.Server, len(l.servers))
	var all sync.WaitGroup
	for i, s := range l.servers {
		all.Go(func() { servers[i] = s.status(ctx) })
	}
	all.Wait()
	return servers
}

func (s *server) status(ctx context.Context) clusterlog.Server {
	answer := clusterlog.Server{Endpoint: s.endpoint}
	answer.Err = s.ask(ctx, attemptTimeout, func(ctx context.Context, client *clientv3.Client) error {
		status, err := client.Status(ctx, s.config.Endpoints[0])
		if err != nil {
			return err
		}
		answer.Version = status.Version
		answer.Leads = status.Leader != 0 && status.Leader == status.Header.MemberId
		answer.SizeBytes, answer.UsedBytes, answer.QuotaBytes = status.DbSize, status.DbSizeInUse, status.DbSizeQuota
		if answer.QuotaBytes == 0 {
			answer.QuotaBytes = defaultQuotaBytes
		}
		return checkVersion(s.endpoint, status.Version)
	})
	return answer
}
