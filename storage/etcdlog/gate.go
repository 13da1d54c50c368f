package etcdlog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/storage/clusterlog"
)

// Two kinds of keys say which nodes are let in. mistrusted/WHAT exists while certificates are refused: WHAT is
// name/NAME or serial/HEX. An edge's role reads them, because an edge refuses certificates, too; so they lie
// between floor and the end of nodes. admitted/NAME exists, under a lease, while a node of that name may take
// one copy of the data. Edges may write neither.

func (k *keys) mistrusted() string             { return k.prefix + "mistrusted/" }
func (k *keys) refusal(what string) string     { return k.mistrusted() + what }
func (k *keys) refusedName(name string) string { return k.refusal("name/" + name) }
func (k *keys) admission(name string) string   { return k.prefix + "admitted/" + name }

// MaxRefusals is how many names and serial numbers can be refused at once.
const MaxRefusals = 4096

// AdmissionTime is how long an admission is valid.
const AdmissionTime = 10 * time.Minute

// ErrTooManyRefusals: no more names and serial numbers can be refused.
var ErrTooManyRefusals = fmt.Errorf("%d names and serial numbers are refused, which is the most", MaxRefusals)

// A Refusal is of all certificates with a name or a serial number; the other one is "".
type Refusal struct {
	Name   string // the first DNS name of a certificate
	Serial string // in lower-case hexadecimal, without leading zeros
}

func (r Refusal) path() string {
	if r.Name != "" {
		return "name/" + r.Name
	}
	return "serial/" + r.Serial
}

// Refuse makes all nodes refuse certificates, within a second while the servers answer, beside those that are
// refused already. The error is ErrTooManyRefusals, ErrNoSpace, or ErrUnavailable once ctx ends.
func (l *Log) Refuse(ctx context.Context, r Refusal) error {
	k := &l.keys
	all, err := l.Refusals(ctx)
	if err != nil {
		return err
	}
	if len(all) >= MaxRefusals && !slices.Contains(all, r) {
		return ErrTooManyRefusals
	}
	return l.change(ctx, clientv3.OpPut(k.refusal(r.path()), ""))
}

// Trust ends a refusal, if there is one. Errors are those of Refuse.
func (l *Log) Trust(ctx context.Context, r Refusal) error {
	return l.change(ctx, clientv3.OpDelete(l.keys.refusal(r.path())))
}

// Admit lets a node of that name take one copy of another node's data within AdmissionTime, and ends the refusal of
// the name. Errors are those of Refuse.
func (l *Log) Admit(ctx context.Context, name string) error {
	lease, err := l.grant(ctx, AdmissionTime)
	if err != nil {
		return err
	}
	k := &l.keys
	return l.change(ctx, clientv3.OpPut(k.admission(name), "", clientv3.WithLease(lease.ID)), clientv3.OpDelete(k.refusedName(name)))
}

// TakeAdmission reports whether a node of that name is admitted, and uses the admission up. If a server's answer is
// lost, it may report false although the node was admitted.
func (l *Log) TakeAdmission(ctx context.Context, name string) (admitted bool, err error) {
	resp, err := l.txn(ctx, tx{Then: []clientv3.Op{clientv3.OpDelete(l.keys.admission(name))}})
	if err != nil {
		return false, err
	}
	return resp.Responses[0].GetResponseDeleteRange().Deleted > 0, nil
}

// change makes all changes at once, in the log of this cluster only.
func (l *Log) change(ctx context.Context, ops ...clientv3.Op) error {
	resp, err := l.txn(ctx, tx{If: []clientv3.Cmp{l.isOwn()}, Then: ops})
	if err == nil && !resp.Succeeded {
		err = fmt.Errorf("%w: it is not that of cluster %v", clusterlog.ErrForeignLog, l.id)
	}
	return err
}

// Refusals returns all refusals, by name and serial number. It skips keys that are not refusals.
func (l *Log) Refusals(ctx context.Context) ([]Refusal, error) {
	k := &l.keys
	kvs, err := l.get(ctx, k.mistrusted(), below(k.mistrusted()), clientv3.WithKeysOnly(), clientv3.WithLimit(2*MaxRefusals))
	if err != nil {
		return nil, err
	}
	all := make([]Refusal, 0, len(kvs))
	for _, kv := range kvs {
		kind, what, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), k.mistrusted()), "/")
		switch {
		case kind == "name" && what != "":
			all = append(all, Refusal{Name: what})
		case kind == "serial" && what != "":
			all = append(all, Refusal{Serial: what})
		}
	}
	return all, nil
}

// FollowRefusals calls fn with all refusals at once, and again whenever they have changed, within a second while the
// servers answer, until ctx ends; it returns its error.
func (l *Log) FollowRefusals(ctx context.Context, fn func([]Refusal)) error {
	w, stop := l.watch(ctx, l.keys.mistrusted(), clientv3.GetPrefixRangeEnd(l.keys.mistrusted()))
	defer stop()
	return follow(ctx, w, 0, "The refused certificates", l.Refusals, fn)
}
