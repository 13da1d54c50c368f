package domains

import (
	"context"
	"sync"
	"time"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

// A Certificate is how the certificate of a domain is.
type Certificate struct {
	From          string     `json:"from"` // what domain.Settings.Certificate may be
	State         string     `json:"state"`
	ExpiresAt     *time.Time `json:"expires_at"`
	Error         string     `json:"error"` // why the last attempt failed; empty: it did not
	NextAttemptAt *time.Time `json:"next_attempt_at"`

	Failures int `json:"-"` // in a row
}

// States of certificates.
const (
	CertificateNone    = "none"
	CertificateWaiting = "waiting" // for the first one, and no attempt has failed yet
	CertificateValid   = "valid"
	CertificateFailing = "failing" // the last attempt failed; there may be one
)

// Certificates are what a server knows of the certificates of its domains; zero: it does not speak HTTPS.
type Certificates struct {
	// Of returns how the certificate of a domain is; nil: nobody knows.
	Of func(*domain.Domain) *Certificate
	// Check asks a host of this server, over its name, whether it leads here. It takes seconds.
	Check func(ctx context.Context, host string) (HostCheck, error)
	// Nonce returns what a host answers a check that asks for a token; ok is false if no check does.
	Nonce func(host, token string) (text string, ok bool)
}

func (c *Certificates) of(d *domain.Domain) *Certificate {
	if c.Of == nil {
		return nil
	}
	return c.Of(d)
}

// A HostCheck is how a host of a domain answers: each of DNS, HTTP and HTTPS is CheckOK, CheckNotAsked, or what is
// wrong.
type HostCheck struct {
	Host      string   `json:"host"`
	Addresses []string `json:"addresses"`
	DNS       string   `json:"dns"` // whether the name leads here
	HTTP      string   `json:"http"`
	HTTPS     string   `json:"https"`
}

// The answers of a check that are no reasons.
const (
	CheckOK       = "ok"
	CheckNotAsked = "not asked"
)

// A Checked is what POST /domains/{host}/check answers.
type Checked struct {
	Data []HostCheck `json:"data"`
}

// maxChecks is how many checks run at once. Each takes some seconds.
const maxChecks = 4

// NewPlaces returns the places for checks.
func NewPlaces() *ops.Places { return ops.NewPlaces("checks of domains", maxChecks, maxChecks) }

// CheckDomain asks the hosts of a domain, over their names, whether they lead here.
func (c *Calls) CheckDomain(caller account.Caller, d *domain.Domain) (o Checked, err error) {
	if c.Certificates.Check == nil {
		return o, problem.New(problem.Invalid, "a domain is checked by a server: start it first")
	}
	if err := c.Places.Take(ops.KeyOf(caller)); err != nil {
		return o, err
	}
	defer c.Places.Leave(ops.KeyOf(caller))
	hosts := d.Hosts()
	if d.Number == engine.DefaultDomain { // whose host may have a port
		name, err := engine.HostName(d.Host)
		if err != nil {
			return o, err
		}
		hosts = []string{name}
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	return c.checkHosts(ctx, hosts)
}

const (
	checkTimeout = 60 * time.Second // of all hosts of a domain
	hostTimeout  = 25 * time.Second // of one: what is asked in it waits 5 seconds each time
	maxHosts     = 8                // of a domain that are asked at once
)

// checkHosts asks hosts at once, so that one that does not answer keeps no other from being asked. Those whose turn has
// not come when ctx ends are not asked.
func (c *Calls) checkHosts(ctx context.Context, hosts []string) (o Checked, err error) {
	o.Data = make([]HostCheck, len(hosts))
	errs := make([]error, len(hosts))
	turns := make(chan struct{}, maxHosts)
	var asking sync.WaitGroup
	for i, host := range hosts {
		asking.Go(func() {
			select {
			case turns <- struct{}{}:
				defer func() { <-turns }()
			case <-ctx.Done():
			}
			if ctx.Err() != nil {
				o.Data[i] = HostCheck{Host: host, Addresses: []string{}, DNS: CheckNotAsked, HTTP: CheckNotAsked, HTTPS: CheckNotAsked}
				return
			}
			one, cancel := context.WithTimeout(ctx, hostTimeout)
			defer cancel()
			o.Data[i], errs[i] = c.Certificates.Check(one, host)
		})
	}
	asking.Wait()
	for _, err := range errs {
		if err != nil {
			return Checked{}, err
		}
	}
	return o, nil
}
