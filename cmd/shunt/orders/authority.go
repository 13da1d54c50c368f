package orders

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/acme"

	"shunt/api/certificate"
)

// An Authority gives certificates. Any goroutine may call it.
type Authority interface {
	// Order returns a certificate for a host, and its key, in PEM. ways are the challenges that the host answers, best
	// first. It may take minutes; ctx ends it.
	Order(ctx context.Context, host string, ways []string) (chain, key []byte, err error)
}

// ACME is an authority on the network.
type ACME struct {
	Directory    string // its URL
	Email        string // where it may write to; empty: nowhere
	Certificates *certificate.Certificates
	Reach        *Reach

	joining sync.Mutex
	client  *acme.Client // with an account; nil: not yet
	key     *ecdsa.PrivateKey
}

// orderTimeout bounds an order.
const orderTimeout = 5 * time.Minute

// join returns a client with an account at the authority, which is made at the first order.
func (a *ACME) join(ctx context.Context) (*acme.Client, error) {
	a.joining.Lock()
	defer a.joining.Unlock()
	if a.client != nil {
		return a.client, nil
	}
	key, err := a.accountKey()
	if err != nil {
		return nil, err
	}
	client := &acme.Client{Key: key, DirectoryURL: a.Directory, UserAgent: "shunt", RetryBackoff: retry}
	account := &acme.Account{}
	if a.Email != "" {
		account.Contact = []string{"mailto:" + a.Email}
	}
	if _, err := client.Register(ctx, account, acme.AcceptTOS); err != nil && !errors.Is(err, acme.ErrAccountAlreadyExists) {
		return nil, inAuthority("registering with the authority", err)
	}
	a.client, a.key = client, key
	return client, nil
}

// maxRetries is how often a request to an authority that answers with an error is made again.
const maxRetries = 3

// retry returns how long to wait until a request is made again, 0 if it is not. An authority that limits requests is
// asked again by the next attempt only: until then, another host has the place of this one.
func retry(n int, _ *http.Request, resp *http.Response) time.Duration {
	if resp.StatusCode == http.StatusTooManyRequests || n > maxRetries {
		return 0
	}
	return time.Duration(n) * time.Second
}

// accountKey returns the key of the account, and makes and keeps it if there is none.
func (a *ACME) accountKey() (*ecdsa.PrivateKey, error) {
	if kept := a.Certificates.AccountKey(); kept != nil {
		block, _ := pem.Decode(kept)
		if block == nil {
			return nil, sentence("the key of the account at the authority cannot be read")
		}
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if ec, ok := key.(*ecdsa.PrivateKey); err == nil && ok {
			return ec, nil
		}
		return nil, sentence("the key of the account at the authority cannot be read")
	}
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	_, text, err := encodePair(nil, key)
	if err != nil {
		return nil, err
	}
	return key, inStore(a.Certificates.SetAccountKey(text))
}

// Order implements Authority.
func (a *ACME) Order(ctx context.Context, host string, ways []string) (chain, key []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, orderTimeout)
	defer cancel()
	client, err := a.join(ctx)
	if err != nil {
		return nil, nil, err
	}
	order, err := client.AuthorizeOrder(ctx, acme.DomainIDs(host))
	if err != nil {
		return nil, nil, inAuthority("ordering", err)
	}
	for _, url := range order.AuthzURLs {
		if err := a.prove(ctx, client, url, host, ways); err != nil {
			return nil, nil, err
		}
	}
	if _, err = client.WaitOrder(ctx, order.URI); err != nil {
		return nil, nil, inAuthority("waiting for the order", err)
	}
	return a.finish(ctx, client, order, host)
}

// prove proves to the authority that a host leads here.
func (a *ACME) prove(ctx context.Context, client *acme.Client, url, host string, ways []string) error {
	z, err := client.GetAuthorization(ctx, url)
	if err != nil {
		return inAuthority("reading what is to be proved", err)
	}
	if z.Status == acme.StatusValid {
		return nil
	}
	chosen := choose(z.Challenges, ways)
	if chosen == nil {
		return sentencef("the authority offers no challenge that %s can answer", host)
	}
	c, err := newChallenge(a.key, host, chosen.Token)
	if err != nil {
		return err
	}
	if err := a.Certificates.Expect(c); err != nil {
		return inStore(err)
	}
	defer func() { _ = a.Certificates.Settle(c.Token) }() // the next leader settles what is left
	f := a.Reach.ask(ctx, a.Certificates, &c)
	if err := f.errBy(host, chosen.Type); err != nil {
		_ = client.RevokeAuthorization(ctx, url) // so that it does not count as one that is open
		return err
	}
	if _, err := client.Accept(ctx, chosen); err != nil {
		return inAuthority("answering the challenge", err)
	}
	_, err = client.WaitAuthorization(ctx, z.URI)
	return err
}

// choose returns the first of the challenges that is of a way, nil if none is.
func choose(offered []*acme.Challenge, ways []string) *acme.Challenge {
	for _, way := range ways {
		if i := slices.IndexFunc(offered, func(c *acme.Challenge) bool { return c.Type == way }); i >= 0 {
			return offered[i]
		}
	}
	return nil
}

// finish gets the certificate of an order that the authority has granted.
func (a *ACME) finish(ctx context.Context, client *acme.Client, order *acme.Order, host string) (chain, keyPEM []byte, err error) {
	key, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{host}}, key)
	if err != nil {
		return nil, nil, err
	}
	ders, _, err := client.CreateCertFromOrder(ctx, order, csr, true)
	if err != nil {
		return nil, nil, inAuthority("getting the certificate", err)
	}
	return encodePair(ders, key)
}
