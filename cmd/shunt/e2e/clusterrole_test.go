package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
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
		"--auto-compaction-mode", "periodic", "--auto-compaction-retention", "10s")
	return s
}

// tlsOf returns the settings of a client with the certificate of that name.
func (s *site) tlsOf(name string) *tls.Config {
	s.t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(s.dir, name+".crt"), filepath.Join(s.dir, name+".key"))
	if err != nil {
		s.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.ca)
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, RootCAs: roots}
}

// etcdctl stands for the program of that name: it notes what it is to do, and has what it was told to add.
const etcdctl = `#!/bin/sh
[ "$2" != get ] || exec grep -qs "^$1 add\( --no-password\)\? $3\$" "$ETCDCTL_NOTES"
echo "$*" >>"$ETCDCTL_NOTES"
`

// restrict runs etcd-auth.sh and does at the servers what that has etcdctl do.
func (s *site) restrict(edges string, nodes ...string) {
	s.t.Helper()
	tools, notes := s.t.TempDir(), filepath.Join(s.t.TempDir(), "notes")
	if err := os.WriteFile(filepath.Join(tools, "etcdctl"), []byte(etcdctl), 0o700); err != nil {
		s.t.Fatal(err)
	}
	script, err := filepath.Abs("../../deploy/cluster/etcd-auth.sh")
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command("sh", append([]string{script}, nodes...)...)
	cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "ETCDCTL_NOTES="+notes, "EDGES="+edges)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("etcd-auth.sh: %v: %s", err, out)
	}
	text, err := os.ReadFile(notes)
	if err != nil {
		s.t.Fatal(err)
	}
	client := s.etcd.Client()
	defer client.Close()
	for line := range strings.Lines(string(text)) {
		if err := control(s.t.Context(), client, strings.Fields(line)); err != nil {
			s.t.Fatalf("etcdctl %s: %v", line, err)
		}
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
// the same certificates nobody can touch anything else.
func TestARoleOnThePrefixIsEnough(t *testing.T) {
	s := newSiteTLS(t)
	s.restrict("edge-1", "a", "b")
	s.begin([]string{"a", "b"})
	a, b := s.nodes[0], s.nodes[1]
	edge := s.edge("edge-1", a)
	s.leader().call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": "hot"}).want(t, 201)
	s.leads("hot", "https://example.com/")
	first := s.leader()
	first.terminate()
	s.writesAfter(time.Now(), s.without(first)...)
	first.start()
	s.await(s.caughtUp, "the node that was stopped has caught up")
	for _, n := range []*siteNode{a, b, edge} {
		s.await(func() bool { status, _, _ := n.redirect("hot"); return status == 302 }, "it redirects at "+n.name)
	}
	s.ledger("hot")
	if r := shunt(t, "", nil, append([]string{"cluster"}, b.flags()...)...); r.code != exitDone || !strings.Contains(r.stdout, "leads") {
		t.Errorf("shunt cluster: exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
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
	client := s.etcd.ClientOf(s.tlsOf(name))
	defer client.Close()
	if _, err := client.Get(s.t.Context(), "/shunt/", clientv3.WithPrefix()); err != nil {
		s.t.Errorf("%s reads the keys of its cluster: %v", name, err)
	}
	if mayWrite {
		return
	}
	for _, key := range []string{"/shunt/head", "/shunt/leader", "/shunt/log/0000000000000001", "/shunt/id"} {
		s.wantDenied(name+" writes "+key, put(key), name)
	}
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
