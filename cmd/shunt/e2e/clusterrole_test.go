package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/engine/expect"
	"shunt/storage/etcdlog/etcdtest"
)

// newSiteTLS is newSite with servers of etcd that take only clients with a certificate.
func newSiteTLS(t *testing.T) *site {
	s := &site{t: t, dir: t.TempDir(), scheme: "etcd://"}
	s.makeAuthority()
	s.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "etcd1", OrganizationalUnit: []string{"etcd"}}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, "etcd1")
	s.makeCertificate("root", "etcd")
	file := func(name string) string { return filepath.Join(s.dir, name) }
	s.etcd = etcdtest.StartTLS(t, 3, file("etcd1.crt"), file("etcd1.key"), file("ca.crt"), s.tlsOf("root"),
		"--auto-compaction-mode", "periodic", "--auto-compaction-retention", "60s")
	return s
}

// tlsOf returns the settings of a client with the certificate of that name.
func (s *site) tlsOf(name string) *tls.Config {
	s.t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(s.dir, name+".crt"), filepath.Join(s.dir, name+".key"))
	expect.OK(s.t, err)
	roots := x509.NewCertPool()
	roots.AddCert(s.ca)
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, RootCAs: roots}
}

// etcdctl stands for the program of that name: it notes what it is to do, and has what it was told to add.
const etcdctl = `#!/bin/sh
case "$1 $2" in
"role get" | "user get" | "user list") exec awk -v what="$1 $2" -v name="$3" '
	$1 == "role" && $2 == "add" { roles[$3] = 1 }
	$1 == "role" && $2 == "delete" { delete roles[$3]; for (h in held) { split(h, p, " "); if (p[2] == $3) delete held[h] } }
	$1 == "user" && $2 == "add" { users[$NF] = 1 }
	$1 == "user" && $2 == "grant-role" { held[$3 " " $4] = 1 }
	$1 == "user" && $2 == "revoke-role" { delete held[$3 " " $4] }
	END {
		if (what == "role get") exit !(name in roles)
		if (what == "user list") { for (u in users) print u; exit 0 }
		if (!(name in users)) exit 1
		printf "User: %s\nRoles:", name
		for (h in held) { split(h, p, " "); if (p[1] == name) printf " %s", p[2] }
		print ""
	}' "$ETCDCTL_NOTES" ;;
esac
echo "$*" >>"$ETCDCTL_NOTES"
`

// authScript runs etcd-auth.sh with etcdctl above, which has the notes of earlier runs, and returns what was
// added to them. An error has what the script said.
func authScript(t *testing.T, before, edges string, nodes ...string) (added string, err error) {
	t.Helper()
	tools, notes := t.TempDir(), filepath.Join(t.TempDir(), "notes")
	expect.OK(t, errors.Join(os.WriteFile(filepath.Join(tools, "etcdctl"), []byte(etcdctl), 0o700), os.WriteFile(notes, []byte(before), 0o600)))
	script, err := filepath.Abs("../../deploy/cluster/etcd-auth.sh")
	expect.OK(t, err)
	cmd := exec.Command("sh", append([]string{script}, nodes...)...)
	cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "ETCDCTL_NOTES="+notes, "EDGES="+edges)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("etcd-auth.sh: %w: %s", err, out)
	}
	text, readErr := os.ReadFile(notes)
	return strings.TrimPrefix(string(text), before), errors.Join(err, readErr)
}

// restrict runs etcd-auth.sh and does at the servers what that has etcdctl do. before is what etcdctl has been
// told already, which it returns with the rest.
func (s *site) restrict(before, edges string, nodes ...string) (told string) {
	s.t.Helper()
	added, err := authScript(s.t, before, edges, nodes...)
	expect.OK(s.t, err)
	s.control(added)
	return before + added
}

// control does at the servers what etcdctl was told, a line for each call.
func (s *site) control(lines string) {
	s.t.Helper()
	client := s.etcd.Client()
	defer client.Close()
	for line := range strings.Lines(lines) {
		expect.OK(s.t, control(s.t.Context(), client, strings.Fields(line)), "etcdctl %s", line)
	}
}

// control does what etcdctl does with these arguments.
func control(ctx context.Context, client *clientv3.Client, args []string) (err error) {
	kinds := map[string]clientv3.PermissionType{
		"read": clientv3.PermissionType(clientv3.PermRead), "readwrite": clientv3.PermissionType(clientv3.PermReadWrite),
	}
	switch call := strings.Join(args[:2], " "); {
	case call == "role add" && len(args) == 3:
		_, err = client.RoleAdd(ctx, args[2])
	case call == "role grant-permission" && len(args) == 6 && args[2] == "--prefix=true":
		kind, known := kinds[args[4]]
		if !known {
			return errors.New("no such permission")
		}
		_, err = client.RoleGrantPermission(ctx, args[3], args[5], clientv3.GetPrefixRangeEnd(args[5]), kind)
	case call == "role grant-permission" && (len(args) == 5 || len(args) == 6):
		kind, known := kinds[args[3]]
		if !known {
			return errors.New("no such permission")
		}
		_, err = client.RoleGrantPermission(ctx, args[2], args[4], strings.Join(args[5:], ""), kind)
	case call == "role delete" && len(args) == 3:
		_, err = client.RoleDelete(ctx, args[2])
	case call == "user revoke-role" && len(args) == 4:
		_, err = client.UserRevokeRole(ctx, args[2], args[3])
	case call == "user add" && len(args) == 4 && args[2] == "--no-password":
		_, err = client.UserAddWithOptions(ctx, args[3], "", &clientv3.UserAddOptions{NoPassword: true})
	case call == "user grant-role" && len(args) == 4:
		_, err = client.UserGrantRole(ctx, args[2], args[3])
	case call == "auth enable" && len(args) == 2:
		_, err = client.AuthEnable(ctx)
	default:
		err = errors.New("etcdctl has no such command, or this test does not know it")
	}
	return err
}

// TestARoleOnThePrefixIsEnough has etcd-auth.sh restrict what the certificates of two nodes and an edge may do at
// etcd, and runs the cluster with that: writes, a change of leaders, hits, an edge, a node that joins. With
// the same certificates nobody can touch anything else. The edge starts before a link was made.
func TestARoleOnThePrefixIsEnough(t *testing.T) {
	s := newSiteTLS(t)
	s.restrict("", "edge-1 edge-2", "a", "b")
	s.begin([]string{"a", "b"})
	a, b := s.nodes[0], s.nodes[1]
	edge := s.edge("edge-1", a)
	s.leader().call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "hot", "title": titleOfAccounts}).want(t, 201)
	s.leads("hot", "https://example.com/")
	first := s.leader()
	first.terminate()
	s.writesAfter(time.Now(), s.without(first)...)
	first.start()
	s.await(s.caughtUp, "the node that was stopped has caught up")
	for _, n := range []*siteNode{a, b, edge} {
		s.await(func() bool { return n.redirects("hot") == 302 }, "it redirects at "+n.name)
	}
	s.ledger("hot")
	r := shunt(t, "", nil, append([]string{"cluster"}, b.flags()...)...)
	expect.That(t, r.code == exitDone && strings.Contains(r.stdout, "leads"), "shunt cluster: exit code %d: %s%s", r.code, r.stdout, r.stderr)
	s.wantNoAccountsFor("edge-1", "a")
	for name, mayWrite := range map[string]bool{"a": true, "edge-1": false} {
		s.wantNothingElse(name, mayWrite)
	}
	s.makeCertificate("stranger")
	s.wantDenied("stranger reads", func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.Get(ctx, "/shunt/head")
		return err
	}, "stranger")
	s.alike()
}

// Somebody with the role that edges had before, or root by mistake, deletes all rows of nodes. No node takes
// that for being forgotten, and writes go on.
func TestNodesOutliveTheDeletionOfTheirRows(t *testing.T) {
	s := newSiteTLS(t)
	s.restrict("", "edge-1", "a", "b", "c")
	s.begin([]string{"a", "b", "c"})
	edge := s.edge("edge-1", s.nodes[0])
	root := s.etcd.Client()
	defer root.Close()
	for round := range 3 {
		if _, err := root.Txn(t.Context()).Then(
			clientv3.OpDelete("/shunt/names/", clientv3.WithPrefix()), clientv3.OpDelete("/shunt/nodes/", clientv3.WithPrefix()),
		).Commit(); err != nil {
			t.Fatal(err)
		}
		deleted := time.Now()
		for _, n := range append(s.nodes, edge) {
			code := fmt.Sprintf("after-%d-%s", round, n.name)
			s.await(func() bool {
				return n.call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": code}).status == 201
			}, "a write is taken at "+n.name)
		}
		t.Logf("all nodes took writes after %v", time.Since(deleted))
		s.await(func() bool {
			names, err := root.Get(t.Context(), "/shunt/names/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			nodes, err2 := root.Get(t.Context(), "/shunt/nodes/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			return err == nil && err2 == nil && names.Count == 4 && nodes.Count == 4
		}, "all nodes are announced again")
	}
	expect.OK(t, expect.Err(root.Put(t.Context(), "/shunt/names/bad", "no node wrote this")))
	r := shunt(t, "", nil, append([]string{"cluster"}, s.nodes[0].flags()...)...)
	expect.That(t, r.code == exitDone && strings.Contains(r.stdout, "/shunt/names/bad") && strings.Contains(r.stdout, "leads"),
		"shunt cluster: exit code %d: %s%s", r.code, r.stdout, r.stderr)
	for i := range 1100 { // more than is kept for a node that comes back
		s.leader().call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": fmt.Sprintf("more-%d", i)}).want(t, 201)
	}
	s.await(func() bool {
		floor, err := root.Get(t.Context(), "/shunt/floor")
		return err == nil && len(floor.Kvs) == 1 && string(floor.Kvs[0].Value) > "0000000000000001"
	}, "the log is trimmed although there is a bad row")
	for _, n := range append(s.nodes, edge) {
		expect.That(t, !strings.Contains(n.lastWords(), "forgotten"), "%s: %s", n.name, n.lastWords())
	}
	s.alike()
}

// earlierScript is what etcd-auth.sh told etcdctl when all edges had one role.
const earlierScript = `role add shunt
role grant-permission --prefix=true shunt readwrite /shunt/
role add shunt-edge
role grant-permission --prefix=true shunt-edge read /shunt/
role grant-permission --prefix=true shunt-edge readwrite /shunt/names/
role grant-permission --prefix=true shunt-edge readwrite /shunt/nodes/
user add --no-password a
user grant-role a shunt
user add --no-password edge-1
user grant-role edge-1 shunt-edge
user add --no-password edge-2
user grant-role edge-2 shunt-edge
user add --no-password demoted
user grant-role demoted shunt
user add --no-password root
user grant-role root root
auth enable
`

// A call of etcd-auth.sh gives each edge that had the one role of all edges a role of its own, whoever it names.
func TestTheWideRoleOfEdgesIsTakenAway(t *testing.T) {
	s := newSiteTLS(t)
	s.control(earlierScript)
	told := s.restrict(earlierScript, "edge-1 demoted", "a")
	for range 2 {
		for _, edge := range []string{"edge-1", "edge-2", "demoted"} {
			s.makeCertificate(edge)
			s.wantRightsOfEdge(edge)
		}
		told = s.restrict(told, "", "a") // and a later call changes nothing
	}
	client := s.etcd.Client()
	defer client.Close()
	expect.Error(t, expect.Err(client.RoleGet(t.Context(), "shunt-edge")), rpctypes.ErrRoleNotFound, "the role of all edges")
}

// wantRightsOfEdge checks that an edge's certificate writes its own two keys and no other, and reads what edges
// read and nothing else.
func (s *site) wantRightsOfEdge(name string) {
	s.t.Helper()
	client := s.etcd.ClientOf(s.tlsOf(name))
	defer client.Close()
	for _, key := range []string{"/shunt/names/" + name, "/shunt/nodes/" + name} {
		expect.NoError(s.t, expect.Err(client.Put(s.t.Context(), key, "x")), "%s writes %s", name, key)
		expect.NoError(s.t, expect.Err(client.Delete(s.t.Context(), key)), "%s deletes %s", name, key)
	}
	expect.NoError(s.t, expect.Err(client.Get(s.t.Context(), "/shunt/floor", clientv3.WithRange("/shunt/nodes0"))), "%s reads the keys of edges", name)
	for _, key := range []string{
		"/shunt/head", "/shunt/leader", "/shunt/floor", "/shunt/id", "/shunt/log/0000000000000001", "/shunt/private/0000000000000001", "/shunt/marks/" + name, "/shunt/marks/a",
		"/shunt/names/a", "/shunt/nodes/a", "/shunt/names/other", "/shunt/names/" + name + "0", "/shunt/names/" + name + "/x", "/shunt/names/", "/shunt/nodes/",
	} {
		s.wantDenied(name+" writes "+key, func(ctx context.Context, c *clientv3.Client) error { _, err := c.Put(ctx, key, "x"); return err }, name)
		s.wantDenied(name+" deletes "+key, func(ctx context.Context, c *clientv3.Client) error { _, err := c.Delete(ctx, key); return err }, name)
	}
	for what, option := range map[string]clientv3.OpOption{"/shunt/": clientv3.WithPrefix(), "/shunt/names/": clientv3.WithPrefix(), "/shunt/nodes/": clientv3.WithPrefix()} {
		s.wantDenied(name+" deletes what is below "+what, func(ctx context.Context, c *clientv3.Client) error { _, err := c.Delete(ctx, what, option); return err }, name)
	}
	for what, option := range map[string]clientv3.OpOption{
		"/shunt/private/": clientv3.WithPrefix(), "/shunt/private/0000000000000001": clientv3.WithSerializable(), "/shunt/": clientv3.WithPrefix(), "/shunt/log/": clientv3.WithFromKey(),
	} {
		s.wantDenied(name+" reads "+what, func(ctx context.Context, c *clientv3.Client) error { _, err := c.Get(ctx, what, option); return err }, name)
		s.wantDenied(name+" reads in a transaction "+what, func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.Txn(ctx).Then(clientv3.OpGet("/shunt/head"), clientv3.OpGet(what, option)).Commit()
			return err
		}, name)
	}
}

// titleOfAccounts is in rows that edges must not read.
const titleOfAccounts = "a title for full nodes"

// wantNoAccountsFor checks that what an edge reads at etcd has entries, but not that title, which a full node reads.
func (s *site) wantNoAccountsFor(edge, full string) {
	s.t.Helper()
	read := func(name, from, to string) string {
		client := s.etcd.ClientOf(s.tlsOf(name))
		defer client.Close()
		resp, err := client.Get(s.t.Context(), from, clientv3.WithRange(to))
		expect.OK(s.t, err, "%s reads", name)
		var all strings.Builder
		for _, kv := range resp.Kvs {
			all.Write(kv.Value)
		}
		return all.String()
	}
	if all := read(edge, "/shunt/floor", "/shunt/nodes0"); strings.Contains(all, titleOfAccounts) || !strings.Contains(all, "https://example.com/") {
		s.t.Errorf("what an edge reads has a title: %v, and a target: %v", strings.Contains(all, titleOfAccounts), strings.Contains(all, "https://example.com/"))
	}
	expect.Contains(s.t, read(full, "/shunt/", "/shunt0"), titleOfAccounts, "a full node reads no title")
}

// wantNothingElse checks what a node's certificate may do at etcd.
func (s *site) wantNothingElse(name string, mayWrite bool) {
	s.t.Helper()
	put := func(key string) func(context.Context, *clientv3.Client) error {
		return func(ctx context.Context, c *clientv3.Client) error { _, err := c.Put(ctx, key, "x"); return err }
	}
	get := func(key string, o ...clientv3.OpOption) func(context.Context, *clientv3.Client) error {
		return func(ctx context.Context, c *clientv3.Client) error { _, err := c.Get(ctx, key, o...); return err }
	}
	for what, try := range map[string]func(context.Context, *clientv3.Client) error{
		"reads another key":      get("/other"),
		"reads all keys":         get("", clientv3.WithPrefix()),
		"reads what comes after": get("/shunt0"),
		"writes another key":     put("/other/x"),
		"writes a key beside":    put("/shunt"),
		"deletes all keys": func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.Delete(ctx, "", clientv3.WithPrefix())
			return err
		},
		"adds a user": func(ctx context.Context, c *clientv3.Client) error { _, err := c.UserAdd(ctx, "m", "m"); return err },
		"takes more rights": func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.UserGrantRole(ctx, name, "root")
			return err
		},
		"turns rights off":        func(ctx context.Context, c *clientv3.Client) error { _, err := c.AuthDisable(ctx); return err },
		"compacts":                func(ctx context.Context, c *clientv3.Client) error { _, err := c.Compact(ctx, 1); return err },
		"takes a server out":      func(ctx context.Context, c *clientv3.Client) error { _, err := c.MemberRemove(ctx, 1); return err },
		"copies all keys by hand": func(ctx context.Context, c *clientv3.Client) error { return snapshot(ctx, c) },
	} {
		s.wantDenied(name+" "+what, try, name)
	}
	if !mayWrite {
		s.wantRightsOfEdge(name)
		return
	}
	client := s.etcd.ClientOf(s.tlsOf(name))
	defer client.Close()
	expect.NoError(s.t, expect.Err(client.Get(s.t.Context(), "/shunt/", clientv3.WithPrefix())), "%s reads the keys of its cluster", name)
}

func snapshot(ctx context.Context, c *clientv3.Client) error {
	r, err := c.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = r.Read(make([]byte, 1))
	return err
}

// wantDenied checks that something is refused for want of rights.
func (s *site) wantDenied(what string, try func(context.Context, *clientv3.Client) error, name string) {
	s.t.Helper()
	client := s.etcd.ClientOf(s.tlsOf(name))
	defer client.Close()
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	switch err := try(ctx, client); {
	case err == nil:
		s.t.Errorf("%s, which it must not", what)
	case !errors.Is(err, rpctypes.ErrPermissionDenied) && !strings.Contains(err.Error(), "permission denied") && !strings.Contains(err.Error(), "user name is empty"):
		s.t.Errorf("%s: %v, want that it is not permitted", what, err)
	}
}

// Nothing is made for a node whose name is that of the user of etcd who may do everything.
func TestNoNodeIsNamedRoot(t *testing.T) {
	for _, args := range [][]string{
		{"serve", "--data", t.TempDir(), "--advertise", "https://a:8443", "--cluster-listen", "127.0.0.1:0"}, {"join", "--data", t.TempDir(), "--from", "a=https://a:8443"}, {"cluster"},
	} {
		r := shunt(t, "", nil, append(args, "--cluster", "etcd://h:2379", "--node-name", "root", "--cluster-ca", "ca", "--cluster-cert", "c", "--cluster-key", "k")...)
		expect.That(t, r.code == 2 && strings.Contains(r.stderr, "no node can be named root"), "shunt %s: exit code %d: %s", args[0], r.code, r.stderr)
	}
	for _, c := range []struct{ edges, node string }{{"root", "a"}, {"", "root"}, {"", "-x"}, {"a;b", ""}} {
		told, err := authScript(t, "", c.edges, strings.Fields(c.node)...)
		expect.That(t, err != nil && told == "" && strings.Contains(err.Error(), "name"), "etcd-auth.sh for %q and %q: told %q, %v", c.edges, c.node, told, err)
	}
	certs, err := filepath.Abs("../../deploy/cluster/certs.sh")
	expect.OK(t, err)
	for _, unit := range []string{"", "edge"} {
		pki := t.TempDir()
		cmd := exec.Command("sh", certs, pki, "root")
		cmd.Env = append(os.Environ(), "UNIT="+unit)
		out, err := cmd.CombinedOutput()
		_, stat := os.Stat(filepath.Join(pki, "root.crt"))
		expect.That(t, err != nil && stat != nil && strings.Contains(string(out), "no node can be named root"), "certs.sh with the unit %q: %v: %s", unit, err, out)
	}
}
