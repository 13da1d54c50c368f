package etcdlog

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

func TestALogOfAnotherClusterIsRefused(t *testing.T) {
	s := newSite(t, 1)
	own := Options{Endpoints: s.Endpoints(), ID: s.id}
	other := own
	other.ID = clusterlog.NewID()
	otherKey := own
	otherKey.Key = clusterlog.FingerprintOf([16]byte{1})
	elsewhere := own
	elsewhere.Prefix = "/elsewhere/"
	client := s.Client()
	defer client.Close()
	before := s.dump(client)

	expect.Error(t, Create(within(t), own), nil, "to make the same log again")
	expect.Error(t, Create(within(t), other), clusterlog.ErrForeignLog, "to make another in its place")
	if err := Create(within(t), otherKey); !errors.Is(err, clusterlog.ErrForeignLog) || !strings.Contains(err.Error(), "visitor key") {
		t.Errorf("to make it again with another visitor key: got %v, want %v", err, clusterlog.ErrForeignLog)
	}
	if id, key, err := Find(within(t), other); err != nil || id != s.id || key != (clusterlog.Fingerprint{}) {
		t.Errorf("Find: got %v, %v; want %v", id, err, s.id)
	}
	_, _, err := Find(within(t), elsewhere)
	expect.Error(t, err, clusterlog.ErrForeignLog, "Find where nothing is")
	for name, o := range map[string]Options{"of another cluster": other, "of an empty prefix": elsewhere, "of another visitor key": otherKey} {
		l, err := New(o)
		expect.OK(t, err)
		_, campaign := l.Campaign(within(t), "a")
		_, status := l.Status(within(t))
		follow := l.Follow(within(t), clusterlog.Origin(o.ID), func(clusterlog.Progress) error { return errEnough })
		_, nodes := l.Nodes(within(t))
		_, announce := l.Announce(within(t), testNode("a"), clusterlog.Claim{1})
		forget := l.Forget(within(t), "a")
		for call, err := range map[string]error{"Nodes": nodes, "Announce": announce, "Forget": forget, "Check": l.Check(within(t)), "Campaign": campaign, "Status": status, "Follow": follow} {
			expect.Error(t, err, clusterlog.ErrForeignLog, "%s %s", call, name)
		}
		expect.NoError(t, l.Close())
	}
	after := s.dump(client)
	expect.That(t, after == before, "the servers have\n%s\nand had\n%s", after, before)
	expect.Error(t, s.open().Check(within(t)), nil, "the own log")
}

// dump returns all keys and values.
func (s *site) dump(client *clientv3.Client) string {
	s.t.Helper()
	all, err := client.Get(within(s.t), "", clientv3.WithPrefix())
	expect.OK(s.t, err)
	var text strings.Builder
	for _, kv := range all.Kvs {
		text.WriteString(string(kv.Key) + " = " + string(kv.Value) + "\n")
	}
	return text.String()
}

func TestALogOfANewerProgramIsRefused(t *testing.T) {
	s := newSite(t, 1)
	client := s.Client()
	defer client.Close()
	l := s.open()
	for line, want := range map[string]error{
		"shunt log, version 3": clusterlog.ErrNewerVersion, "shunt log, version 1": clusterlog.ErrForeignLog, "shunt log, version 0": clusterlog.ErrForeignLog, "something": clusterlog.ErrForeignLog,
	} {
		_, err := client.Put(within(t), l.keys.format, line)
		expect.OK(t, err)
		expect.Error(t, l.Check(within(t)), want, "%q", line)
	}
}

func TestAnOldServerIsRefusedByItsVersion(t *testing.T) {
	for version, old := range map[string]bool{
		"3.6.16": false, "3.6.17": false, "3.7.0": false, "4.0.0": false, "3.7.0-rc.0": false,
		"3.6.15": true, "3.5.30": true, "2.9.99": true, "": true, "new": true,
	} {
		err := checkVersion("h1:2379", version)
		expect.Equal(t, errors.Is(err, clusterlog.ErrOldServer), old, "%s: got %v", version, err)
		expect.That(t, !old || strings.Contains(err.Error(), "h1:2379") && strings.Contains(err.Error(), version), "%s: the error is %q", version, err)
	}
}

func TestServersThatDoNotAnswerAreNamed(t *testing.T) {
	l, err := New(Options{Endpoints: []string{"127.0.0.1:1"}})
	expect.OK(t, err)
	defer l.Close()
	err = l.Check(within(t))
	expect.That(t, errors.Is(err, clusterlog.ErrUnavailable) && strings.Contains(err.Error(), "127.0.0.1:1"), "got %v", err)
	for _, o := range []Options{{}, {Endpoints: []string{"x"}, Prefix: "/shunt"}} {
		expect.That(t, expect.Err(New(o)) != nil, "%+v is accepted", o)
	}
}

// A restore of the servers from an older copy takes entries from the log, and it may go on with
// others.
func TestAFollowerOfARestoredLogIsTold(t *testing.T) {
	s := newSite(t, 3)
	l := s.open()
	r := s.lead(l, "a")
	first, second := r.mustAppend("first"), r.mustAppend("second")
	expect.OK(t, r.stop())
	client := s.Client()
	defer client.Close()
	_, err := client.Txn(within(t)).Then(clientv3.OpDelete(l.keys.entry(2)), clientv3.OpPut(l.keys.head, first.String())).Commit()
	expect.OK(t, err)
	applied := 0
	follow := func(from clusterlog.Position) error {
		ctx, cancel := context.WithTimeout(within(t), 5*time.Second)
		defer cancel()
		return l.Follow(ctx, from, func(p clusterlog.Progress) error {
			applied += len(p.Entries)
			return nil
		})
	}
	expect.Error(t, follow(second), clusterlog.ErrAhead, "the error")
	next := s.lead(l, "b")
	next.mustAppend("another second")
	expect.Error(t, follow(second), clusterlog.ErrDiverged, "at the head")
	next.mustAppend("third")
	err = follow(second)
	expect.That(t, errors.Is(err, clusterlog.ErrDiverged) && applied == 0, "beyond it: got %v, want %v; %d entries applied", err, clusterlog.ErrDiverged, applied)
	s.wantPayloads(l, "first", "another second", "third")
}

func TestAUserWithARoleOnThePrefixIsEnough(t *testing.T) {
	s := newSite(t, 3)
	client := s.Client()
	defer client.Close()
	leader := s.Leader()
	ctx := within(t)
	_, role := client.RoleAdd(ctx, "shunt")
	_, grant := client.RoleGrantPermission(ctx, "shunt", DefaultPrefix, clientv3.GetPrefixRangeEnd(DefaultPrefix), clientv3.PermissionType(clientv3.PermReadWrite))
	_, user := client.UserAdd(ctx, "shunt", "secret")
	_, given := client.UserGrantRole(ctx, "shunt", "shunt")
	_, root := client.UserAdd(ctx, "root", "secret")
	_, rootRole := client.UserGrantRole(ctx, "root", "root")
	_, enabled := client.AuthEnable(ctx)
	expect.OK(t, errors.Join(role, grant, user, given, root, rootRole, enabled))
	o := Options{Endpoints: s.Endpoints(), ID: s.id, Username: "shunt", Password: "secret"}
	l, err := New(o)
	expect.OK(t, err)
	t.Cleanup(func() { _ = l.Close() })
	expect.OK(t, l.Check(ctx))
	r := s.lead(l, "a")
	r.mustAppend("first")
	a := s.announce(l, testNode("a"), clusterlog.Claim{1})
	eventually(t, "the node is live", func() bool { return s.live(l, "a") })
	if err := a.stop(); err != nil || s.live(l, "a") {
		t.Errorf("the announcement: %v; live after its end: %t", err, s.live(l, "a"))
	}
	expect.Error(t, l.Forget(within(t), "a"), nil, "Forget")
	leader.Kill()
	r.mustAppend("second")
	leader.Start()
	s.wantPayloads(l, "first", "second")
	expect.Error(t, r.Trim(within(t), 1), nil, "Trim")
	expect.Error(t, r.stop(), nil, "Run")
	o.Password = "wrong"
	wrong, err := New(o)
	expect.OK(t, err)
	defer wrong.Close()
	err = wrong.Check(within(t))
	expect.That(t, errors.Is(err, clusterlog.ErrUnavailable) && strings.Contains(err.Error(), "authentication failed"), "with a wrong password: %v", err)
}
