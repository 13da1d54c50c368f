package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
	"shunt/storage/etcdlog"
	"shunt/storage/replicate"
)

// refused starts a node that must end by itself, and returns what it said.
func (n *siteNode) refused(args ...string) string {
	n.site.t.Helper()
	p := launch(n.site.t, n.data, args...)
	select {
	case <-p.ended:
	case <-time.After(40 * time.Second):
		n.site.t.Fatalf("a node that must be refused runs on:\n%s", p.lastWords())
	}
	expect.MustThat(n.site.t, p.cmd.ProcessState.ExitCode() != exitDone, "a node that must be refused ended with exit code 0:\n%s", p.lastWords())
	return p.stderr()
}

// args are all arguments of the node.
func (n *siteNode) args() []string {
	args := append(n.flags(), "--advertise", "https://"+n.advertise, "--cluster-listen", cmp.Or(n.behind, n.advertise), "--base-url", "http://sho.rt")
	if n.role != "" {
		args = append(args, "--role", n.role)
	}
	return args
}

// replaced returns args with another value of a flag.
func replaced(args []string, flag, value string) []string {
	args = append([]string{}, args...)
	for i := range args {
		if args[i] == flag {
			args[i+1] = value
		}
	}
	return args
}

// keysOf are the keys of a log with their values.
type keysOf map[string]string

func (s *site) keys() keysOf {
	s.t.Helper()
	c := s.etcd.Client()
	defer c.Close()
	resp, err := c.Get(context.Background(), "/shunt/", clientv3.WithPrefix())
	expect.OK(s.t, err)
	keys := make(keysOf)
	for _, kv := range resp.Kvs {
		keys[string(kv.Key)] = string(kv.Value)
	}
	return keys
}

// restoreKeys makes the keys of the log what they were, in one moment: an etcd that was restored from an
// older copy. The leader's key is gone then, with its lease.
func (s *site) restoreKeys(keys keysOf) {
	s.t.Helper()
	c := s.etcd.Client()
	defer c.Close()
	var all []clientv3.Op
	for key := range s.keys() {
		if value, kept := keys[key]; kept && !strings.HasSuffix(key, "/leader") {
			all = append(all, clientv3.OpPut(key, value))
		} else {
			all = append(all, clientv3.OpDelete(key))
		}
	}
	expect.OK(s.t, expect.Err(c.Txn(context.Background()).Then(all...).Commit()))
}

// TestMistakesWithAClusterAreClearAndChangeNothing starts nodes that must be refused, and looks at the line
// that says why.
func TestMistakesWithAClusterAreClearAndChangeNothing(t *testing.T) {
	s := newSite(t, "a", "b")
	a, b := s.nodes[0], s.nodes[1]
	a.call("POST", "/shorten", map[string]any{"url": "https://example.com/1", "alias": "one"}).want(t, 201)
	s.await(s.caughtUp, "all nodes have caught up")
	yesterday := s.keys()
	a.call("POST", "/shorten", map[string]any{"url": "https://example.com/2", "alias": "two"}).want(t, 201)
	s.await(s.caughtUp, "all nodes have caught up")
	b.terminate()

	fresh := &siteNode{site: s, name: "b", data: filepath.Join(s.dir, "fresh"), advertise: b.advertise}
	other := &siteNode{site: s, name: "other", data: filepath.Join(s.dir, "other"), advertise: b.advertise}
	s.makeCertificate("other")
	expect.OK(t, os.CopyFS(filepath.Join(s.dir, "copied"), os.DirFS(b.data)))
	expect.OK(t, os.Remove(filepath.Join(s.dir, "copied", "node"))) // as a restored backup has none
	copied := &siteNode{site: s, name: "b", data: filepath.Join(s.dir, "copied"), advertise: b.advertise}
	for _, c := range []struct {
		mistake string
		node    *siteNode
		args    []string
		want    string
	}{
		{"no such server", fresh, replaced(b.args(), "--cluster", "etcd+http://127.0.0.1:1"), "unavailable"},
		{"a folder of no cluster, and a cluster that is there", fresh, b.args(), "shunt join"},
		{"the folder of another cluster", b, replaced(b.args(), "--cluster", b.flags()[1]+"/other/"), "right prefix"},
		{"the certificate of another node", b, replaced(b.args(), "--node-name", "a"), "not that of the node a"},
		{"the name of another node", copied, b.args(), "cluster forget b"},
		{"a node without --advertise", b, b.flags(), "--cluster needs --advertise"},
		{"a cluster without a scheme", b, replaced(b.args(), "--cluster", "h1:2379"), "must be like etcd://"},
		{"a password in a wrong address", b, replaced(b.args(), "--cluster", "http://u:secret@h1:2379"), "must be like etcd://"},
		{"a name with a space", other, replaced(other.args(), "--node-name", "other one"), "1 to 63 of a-z"},
		{"a node of a cluster without --cluster", b, nil, "start with --cluster"},
	} {
		said := c.node.refused(c.args...)
		expect.Contains(t, said, c.want, "%s: it says", c.mistake)
		expect.That(t, !strings.Contains(said, "secret"), "%s: a line has the password: %s", c.mistake, said)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "fresh", "db")); err == nil {
		id := s.keys()["/shunt/id"]
		expect.That(t, id == yesterday["/shunt/id"], "the id of the cluster is %q, was %q", id, yesterday["/shunt/id"])
	}

	a.terminate()
	s.restoreKeys(yesterday)
	if said := a.refused(a.args()...); !strings.Contains(said, "ahead of the cluster's log") || !strings.Contains(said, "restored from an older copy") {
		t.Errorf("an etcd that was restored from yesterday: it says %q", said)
	}
	for _, n := range s.nodes {
		shunt(t, "", nil, "check", "--data", n.data).done(t)
	}
}

// TestANodeThatRunsWhileEtcdIsRestoredRedirectsOn takes yesterday's etcd away under nodes that run: they
// say so, refuse the API, and redirect.
func TestANodeThatRunsWhileEtcdIsRestoredRedirectsOn(t *testing.T) {
	s := newSite(t, "a", "b")
	a := s.nodes[0]
	yesterday := s.keys()
	s.shorten("one", "https://example.com/1")
	s.restoreKeys(yesterday)
	for _, n := range s.nodes {
		a.call("POST", "/shorten", map[string]any{"url": "https://example.com/2"}) // nobody asks etcd without a write
		s.await(func() bool { return strings.Contains(n.stderr(), "can no longer follow its cluster") }, n.name+" says that it cannot go on")
		s.await(func() bool { return n.call("GET", "/links", nil).status == 503 }, n.name+" refuses the API")
		status, location, err := n.redirect("one")
		expect.That(t, err == nil && status == 302 && location == "https://example.com/1", "%s: a redirect: %d %s, %v", n.name, status, location, err)
	}
}

// announceOther announces a full node that does nothing else, and whose clock is apart by an offset.
func (s *site) announceOther(name string, offset time.Duration) {
	s.t.Helper()
	log := s.openLog(etcdlog.Options{Now: func() time.Time { return time.Now().Add(offset) }})
	s.announce(log, clusterlog.Node{
		Name: name, Advertise: "https://" + freeAddress(s.t), Role: clusterlog.Full, Reads: replicate.ReadsEntries,
	})
}

// openLog opens the log of the cluster as a node of this test's.
func (s *site) openLog(o etcdlog.Options) *etcdlog.Log {
	s.t.Helper()
	o.Endpoints = s.etcd.Endpoints()
	var err error
	o.ID, o.Key, err = etcdlog.Find(s.t.Context(), o)
	expect.OK(s.t, err)
	log, err := etcdlog.New(o)
	expect.OK(s.t, err)
	s.t.Cleanup(func() { expect.OK(s.t, log.Close()) })
	return log
}

// announce announces a node until the test ends.
func (s *site) announce(log *etcdlog.Log, n clusterlog.Node) {
	s.t.Helper()
	announcement, err := log.Announce(s.t.Context(), n, clusterlog.Claim(fmt.Appendf(nil, "%-16s", n.Name)))
	expect.OK(s.t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- announcement.Run(ctx) }()
	s.t.Cleanup(func() {
		stop()
		expect.NoError(s.t, <-ended)
	})
}

// TestANodeWhoseClockIsHoursApartDoesNotStart puts it among nodes most of which have a time three hours later.
// A node that runs already says so and redirects on.
func TestANodeWhoseClockIsHoursApartDoesNotStart(t *testing.T) {
	s := newSite(t, "a", "b")
	a, b := s.nodes[0], s.nodes[1]
	a.call("POST", "/shorten", map[string]any{"url": "https://example.com/1", "alias": "one"}).want(t, 201)
	s.await(s.caughtUp, "all nodes have caught up")
	b.terminate()
	s.announceOther("x", 3*time.Hour)
	s.announceOther("y", 3*time.Hour)
	claim := s.keys()["/shunt/names/b"]
	said := b.refused(b.args()...)
	for _, want := range []string{"the clock of this node is wrong", "this one is 3h0m0s behind it", "(2 of 3 other nodes", "preferably with NTP"} {
		expect.Contains(t, said, want, "it says")
	}
	expect.Equal(t, s.keys()["/shunt/names/b"], claim, "the claim of the node")
	s.await(func() bool { return strings.Contains(a.stderr(), "clocks of the cluster are apart") }, "a node that runs says that the clocks are apart")
	status, _, err := a.redirect("one")
	expect.Equal(t, status, 302, "it redirects with, %v", err)
	shunt(t, "", nil, "check", "--data", b.data).done(t)
}
