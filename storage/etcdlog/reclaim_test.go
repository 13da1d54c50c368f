package etcdlog

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

// Whoever may write all rows of nodes deletes them, again and again. Nobody takes that for being forgotten, and
// nobody who lists the nodes misses one.
func TestNodesWhoseRowsAreDeletedClaimTheirNamesAgain(t *testing.T) {
	s := newSite(t, 3)
	l := s.open()
	names := []string{"a", "b", "c"}
	var running []*presence
	for i, name := range names {
		running = append(running, s.announce(s.open(), testNode(name), clusterlog.Claim{byte(i + 1)}))
	}
	all := func() bool {
		live := 0
		for _, name := range names {
			if m, ok := s.member(l, name); !ok {
				t.Fatalf("%s is no node any more", name)
			} else if m.Live {
				live++
			}
		}
		return live == len(names)
	}
	eventually(t, "all are announced", func() bool {
		members, err := l.Nodes(within(t))
		return err == nil && len(members) == len(names)
	})
	eventually(t, "all are live", all)
	client := s.Client()
	defer client.Close()
	for range 3 {
		ops := []clientv3.Op{clientv3.OpDelete(l.keys.names, below(l.keys.names)), clientv3.OpDelete(l.keys.nodes, below(l.keys.nodes))}
		_, err := client.Txn(within(t)).Then(ops...).Commit()
		expect.OK(t, err)
		deleted := time.Now()
		eventually(t, "all are live again", all)
		t.Logf("after %v", time.Since(deleted))
		eventually(t, "all have claims again", func() bool {
			resp, err := client.Get(within(t), l.keys.names, below(l.keys.names), clientv3.WithCountOnly())
			return err == nil && resp.Count == int64(len(names))
		})
	}
	for i, p := range running {
		expect.Error(t, p.stop(), nil, "%s", names[i])
		expect.Error(t, l.Forget(within(t), names[i]), nil, "to forget %s", names[i])
		m, ok := s.member(l, names[i])
		expect.That(t, !ok, "it was forgotten, and is %+v", m)
	}
}

// A node whose claim was deleted while it was cut off, and whose name was then given to another, stops.
func TestANodeWhoseNameWasGivenAwayStops(t *testing.T) {
	for name, forgotten := range map[string]bool{"forgotten": true, "deleted": false} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, 1)
			l := s.open()
			announced, err := l.Announce(within(t), testNode("a"), clusterlog.Claim{1})
			expect.OK(t, err)
			client := s.Client()
			defer client.Close()
			want := clusterlog.ErrNameTaken
			if forgotten {
				want, err = clusterlog.ErrForgotten, l.Forget(within(t), "a")
			} else {
				_, err = client.Delete(within(t), l.keys.name("a"))
			}
			expect.OK(t, err)
			s.announce(s.open(), testNode("a"), clusterlog.Claim{2})
			eventually(t, "the other is live", func() bool { return s.live(l, "a") })
			old := s.run(announced)
			await(t, "it ends", old.ended)
			expect.Error(t, old.stop(), want, "the error")
		})
	}
}

// A node that was forgotten and started again is a new one. If its claim is deleted then, that is no forgetting.
func TestAMarkIsOnlyOfClaimsBeforeIt(t *testing.T) {
	s := newSite(t, 1)
	l := s.open()
	_, err := l.Announce(within(t), testNode("a"), clusterlog.Claim{1})
	expect.OK(t, err)
	expect.OK(t, l.Forget(within(t), "a"))
	s.announce(s.open(), testNode("a"), clusterlog.Claim{1})
	eventually(t, "it is live", func() bool { return s.live(l, "a") })
	client := s.Client()
	defer client.Close()
	_, err = client.Delete(within(t), l.keys.name("a"))
	expect.OK(t, err)
	eventually(t, "it has claimed its name again", func() bool {
		resp, err := client.Get(within(t), l.keys.name("a"))
		return err == nil && len(resp.Kvs) == 1
	})
	expect.That(t, s.live(l, "a"), "it is not live")
}

func TestMarksHaveALimit(t *testing.T) {
	s := newSite(t, 1)
	l := s.open()
	client := s.Client()
	defer client.Close()
	for i := range maxMarks + 3 {
		_, err := client.Put(within(t), l.keys.mark(fmt.Sprintf("n%d", i)), "")
		expect.OK(t, err)
	}
	_, err := l.Announce(within(t), testNode("a"), clusterlog.Claim{1})
	expect.OK(t, err)
	expect.OK(t, l.Forget(within(t), "a"))
	resp, err := client.Get(within(t), l.keys.marks, below(l.keys.marks), clientv3.WithKeysOnly())
	expect.MustThat(t, err == nil && len(resp.Kvs) == maxMarks, "%d marks, %v; want %d", len(resp.Kvs), err, maxMarks)
	has := make(map[string]bool)
	for _, kv := range resp.Kvs {
		has[strings.TrimPrefix(string(kv.Key), l.keys.marks)] = true
	}
	expect.That(t, !has["n3"] && has["n4"] && has["a"], "n3 is there: %v, n4: %v, the last one: %v", has["n3"], has["n4"], has["a"])
}

// A node whose rows are gone counts for a minute, and one whose claim is bad as long as the claim is there.
func TestMissingNodesAreRemembered(t *testing.T) {
	var s sightings
	now := time.Now()
	a, b := clusterlog.Member{Node: testNode("a"), Live: true}, clusterlog.Member{Node: testNode("b")}
	missing := s.note([]clusterlog.Member{a, b}, map[string]int64{"a": 5, "b": 7}, now)
	expect.Equal(t, len(missing), 0, "got %v", missing)
	bad := map[string]int64{"b": 9}
	now = now.Add(missingGrace)
	if missing := s.note(nil, bad, now); len(missing) != 2 || missing["a"].member != a || missing["a"].created != 5 || missing["b"].created != 7 {
		t.Errorf("after a minute: got %+v", missing)
	}
	now = now.Add(time.Second)
	if missing := s.note(nil, bad, now); len(missing) != 1 || missing["b"].member != b {
		t.Errorf("after more than that: got %+v", missing)
	}
}

// Edges write their own rows as often as they like.
func TestABadRowIsLoggedOnce(t *testing.T) {
	var text strings.Builder
	var s sightings
	now := time.Now()
	row := BadRow{Key: "/shunt/names/x", Err: errors.New("it is bad")}
	logger := slog.New(slog.NewTextHandler(&text, nil))
	for range 100 {
		s.report(logger, []BadRow{row}, now)
		now = now.Add(time.Second)
		s.report(logger, nil, now)
	}
	expect.Equal(t, strings.Count(text.String(), row.Key), 1, "it was logged times: %s", &text)
}

// Other rows take no place from the nodes, and more nodes than there may be are not listed.
func TestMoreRowsThanNodes(t *testing.T) {
	k := keysBelow("/p/")
	var names []*mvccpb.KeyValue
	for i := range clusterlog.MaxNodes + 5 {
		n := testNode(fmt.Sprintf("n%04d", i))
		claim, err := clusterlog.EncodeClaim(&n, clusterlog.Claim{1})
		expect.OK(t, err)
		names = append(names, &mvccpb.KeyValue{Key: []byte(k.name(n.Name)), Value: claim}, &mvccpb.KeyValue{Key: []byte(k.name(n.Name + "/x")), Value: claim})
	}
	members, bad := k.members(names, nil)
	expect.That(t, len(members) == clusterlog.MaxNodes && len(bad) == clusterlog.MaxNodes+10, "%d nodes and %d bad rows", len(members), len(bad))
}
