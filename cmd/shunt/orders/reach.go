package orders

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"

	"shunt/api/certificate"
	"shunt/api/public"
	"shunt/engine"
)

// Challenges by their names (RFC 8555, 8.3; RFC 8737).
const (
	wayHTTP = "http-01"
	wayALPN = "tls-alpn-01"
)

const (
	askTimeout     = 5 * time.Second
	maxAnswerBytes = 4 << 10
	maxAddresses   = 4 // of a name, that are asked

	// Other nodes and edges have a challenge within a moment: a wrong answer may be one of a node that does not have it
	// yet.
	askTimes    = 4
	askInterval = 500 * time.Millisecond
)

// A Reach is how a server asks a host of its own over its name, as an authority does.
type Reach struct {
	Resolver    *net.Resolver
	Private     bool   // private addresses are asked, too
	Off         bool   // nobody is asked: every host leads here
	Plain, TLS  string // the ports of a host
	Unreachable string // what is said of a host that does not lead here: which settings must be right
	Hosts       string // the file of names that this machine asks before DNS; empty: hostsFile
}

const hostsFile = "/etc/hosts"

// A Finding is what a host answered.
type Finding struct {
	Addresses []netip.Addr
	DNS       error // why no address is asked; nil: all are
	HTTP, TLS error // why the challenge was not answered in that way; nil: it was
	Proxied   bool  // it was answered through a proxy, in a way in which no authority asks
}

// ways returns the challenges that the host answers, best first.
func (f *Finding) ways() (ways []string) {
	if f.TLS == nil {
		ways = append(ways, wayALPN)
	}
	if f.HTTP == nil {
		ways = append(ways, wayHTTP)
	}
	return ways
}

// err returns why a host does not lead here; nil: it does.
func (f *Finding) err(host string) error {
	switch {
	case f.DNS != nil:
		return f.DNS
	case f.HTTP == nil || f.TLS == nil:
		return nil
	case errors.Is(f.HTTP, errOther) || errors.Is(f.TLS, errOther):
		return sentencef("%s leads to %s, which is not this server", host, spelled(f.Addresses))
	}
	return sentencef("%s leads to %s, where %v, and %v", host, spelled(f.Addresses), f.HTTP, f.TLS)
}

// errBy returns why a host does not answer the challenge of a way; nil: it does. An authority asks in that way only.
func (f *Finding) errBy(host, way string) error {
	if err := f.err(host); err != nil {
		return err
	}
	why := f.HTTP
	if way == wayALPN {
		why = f.TLS
	}
	if why == nil {
		return nil
	}
	return sentencef("%s leads to %s, but the authority would ask by %s, and %v", host, spelled(f.Addresses), way, why)
}

func spelled(addresses []netip.Addr) string {
	texts := make([]string, len(addresses))
	for i, a := range addresses {
		texts[i] = a.String()
	}
	return strings.Join(texts, ", ")
}

// errOther means that somebody else answered.
var errOther = errors.New("another server answers")

// look returns the addresses of a host that may be asked.
func (r *Reach) look(ctx context.Context, host string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	name := host
	if _, err := netip.ParseAddr(host); err != nil && strings.Contains(host, ".") {
		name += "." // no search list of this machine is for it
	}
	found, err := r.Resolver.LookupNetIP(ctx, "ip", name)
	var notFound *net.DNSError
	switch {
	case errors.As(err, &notFound) && notFound.IsNotFound, err == nil && len(found) == 0:
		return nil, sentencef("%s has no address in DNS", host)
	case err != nil:
		return nil, sentencef("DNS does not answer for %s", host)
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	slices.SortFunc(found, netip.Addr.Compare)
	found = slices.Compact(found)
	found = found[:min(len(found), maxAddresses)]
	for _, a := range found {
		if !r.Private && a.IsLoopback() && r.inHosts(host, a) {
			return found, sentencef("%s leads to %v by the hosts file of this server, which goes before DNS: remove it from there, or start the server "+
				"with --acme-check off", host, a)
		}
		if !r.Private && engine.InOwnNetwork(net.JoinHostPort(a.String(), "80")) {
			return found, sentencef("%s leads to %v, which is a private address: no authority can reach it", host, a)
		}
	}
	return found, nil
}

// inHosts reports whether an address of a host is from the file of names of this machine. Debian lists a machine's own
// name there, with 127.0.1.1, and no resolver of Go can leave it out.
func (r *Reach) inHosts(host string, a netip.Addr) bool {
	text, err := os.ReadFile(cmp.Or(r.Hosts, hostsFile))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 || !slices.ContainsFunc(words[1:], func(name string) bool { return strings.EqualFold(strings.TrimSuffix(name, "."), host) }) {
			continue
		}
		if listed, err := netip.ParseAddr(words[0]); err == nil && listed.Unmap() == a {
			return true
		}
	}
	return false
}

// ask asks the host of a challenge for its answer, in both ways.
func (r *Reach) ask(ctx context.Context, kept *certificate.Certificates, c *certificate.Challenge) (f Finding) {
	if r.Off {
		return f
	}
	if f.Addresses, f.DNS = r.look(ctx, c.Host); f.DNS != nil {
		return f
	}
	var asking sync.WaitGroup
	asking.Go(func() {
		f.HTTP = eventually(ctx, f.Addresses, func(a netip.Addr) error { return r.askHTTP(ctx, a, c) })
	})
	asking.Go(func() {
		f.TLS = eventually(ctx, f.Addresses, func(a netip.Addr) error { return r.askTLS(ctx, kept, a, c) })
	})
	asking.Wait()
	return f
}

// eventually asks the addresses until one gives the right answer.
func eventually(ctx context.Context, addresses []netip.Addr, ask func(netip.Addr) error) (err error) {
	for range askTimes {
		for _, a := range addresses {
			if err = ask(a); err == nil {
				return nil
			}
		}
		if !errors.Is(err, errOther) {
			return err
		}
		select {
		case <-time.After(askInterval):
		case <-ctx.Done():
			return err
		}
	}
	return err
}

// dial connects to a port of an address.
func dial(ctx context.Context, a netip.Addr, port string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: askTimeout}).DialContext(ctx, "tcp", net.JoinHostPort(a.String(), port))
	if err != nil {
		return nil, fmt.Errorf("nobody answers at port %s", port)
	}
	_ = conn.SetDeadline(time.Now().Add(askTimeout))
	return conn, nil
}

// askHTTP asks as http-01 does.
func (r *Reach) askHTTP(ctx context.Context, a netip.Addr, c *certificate.Challenge) error {
	text, err := r.fetch(ctx, a, "http://"+c.Host+challengePath+c.Token)
	if err == nil && text != c.Text {
		err = errOther
	}
	return err
}

// fetch returns the text that an address has at a URL, whatever its certificate is; empty if its answer is not a 200.
func (r *Reach) fetch(ctx context.Context, a netip.Addr, url string) (string, error) {
	port := r.Plain
	if strings.HasPrefix(url, "https:") {
		port = r.TLS
	}
	transport := &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, a, port) },
	}
	client := &http.Client{
		Transport: transport, Timeout: askTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	req.Header.Set("User-Agent", "shunt")
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("nobody answers at port %s", port)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	if err != nil || resp.StatusCode != http.StatusOK {
		return "", nil
	}
	return string(text), nil
}

// askTLS asks as tls-alpn-01 does (RFC 8737). A check takes the answer to another challenge of the host as well: an
// authority may ask at the same time.
func (r *Reach) askTLS(ctx context.Context, kept *certificate.Certificates, a netip.Addr, c *certificate.Challenge) error {
	conn, err := dial(ctx, a, r.TLS)
	if err != nil {
		return err
	}
	defer conn.Close()
	client := tls.Client(conn, &tls.Config{ServerName: c.Host, NextProtos: []string{acme.ALPNProto}, InsecureSkipVerify: true})
	if err := client.HandshakeContext(ctx); err != nil {
		return errOther
	}
	got, want := client.ConnectionState().PeerCertificates, firstOf(c.Chain)
	if len(got) > 0 && (bytes.Equal(got[0].Raw, want) || c.Check && kept.Proves(c.Host, got[0].Raw)) {
		return nil
	}
	return errOther
}

// firstOf returns the first certificate of a chain in PEM.
func firstOf(chain []byte) []byte {
	if block, _ := pem.Decode(chain); block != nil {
		return block.Bytes
	}
	return nil
}

// newChallenge returns the challenge with a token. key is that of the account, or, if no authority asks, any.
func newChallenge(key *ecdsa.PrivateKey, host, token string) (c certificate.Challenge, err error) {
	client := &acme.Client{Key: key}
	c = certificate.Challenge{Token: token, Host: host}
	if c.Text, err = client.HTTP01ChallengeResponse(token); err != nil {
		return c, err
	}
	pair, err := client.TLSALPN01ChallengeCert(token, host)
	if err != nil {
		return c, err
	}
	c.Chain, c.Key, err = encodePair(pair.Certificate, pair.PrivateKey)
	return c, err
}

// encodePair returns a chain and its key in PEM.
func encodePair(ders [][]byte, key any) (chain, keyPEM []byte, err error) {
	for _, der := range ders {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return chain, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// newKey returns a new key of the kind that all clients know.
func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

// nonce asks a host, over its name, for a challenge that nobody can know.
func (r *Reach) nonce(ctx context.Context, certificates *certificate.Certificates, host string) (f Finding, err error) {
	if r.Off {
		return f, nil
	}
	if f.Addresses, f.DNS = r.look(ctx, host); f.DNS != nil {
		return f, nil // nothing is written for a name that leads nowhere
	}
	key, err := newKey()
	if err != nil {
		return f, err
	}
	c, err := newChallenge(key, host, rand.Text())
	if err != nil {
		return f, err
	}
	c.Check = true
	if err := certificates.Expect(c); err != nil {
		return f, inStore(err)
	}
	f = r.ask(ctx, certificates, &c)
	if f.err(host) != nil && f.DNS == nil {
		f.Proxied = r.behindProxy(ctx, f.Addresses, &c)
	}
	return f, inStore(certificates.Settle(c.Token))
}

// behindProxy reports whether a host leads here through a proxy that ends TLS, or speaks plain HTTP only.
func (r *Reach) behindProxy(ctx context.Context, addresses []netip.Addr, c *certificate.Challenge) bool {
	for _, a := range addresses {
		for _, scheme := range []string{"https://", "http://"} {
			if text, err := r.fetch(ctx, a, scheme+c.Host+public.NoncePath+c.Token); err == nil && text == c.Text {
				return true
			}
		}
	}
	return false
}
