package domains

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/engine/expect"
)

// TestAHostThatDoesNotAnswerKeepsNoOtherFromBeingChecked has a domain with many hosts. Those with an even number answer
// after a second, the others never.
func TestAHostThatDoesNotAnswerKeepsNoOtherFromBeingChecked(t *testing.T) {
	check := func(ctx context.Context, host string) (HostCheck, error) {
		c := HostCheck{Host: host, DNS: CheckOK, HTTP: CheckOK, HTTPS: CheckOK}
		var n int
		expect.OK(t, expect.Err(fmt.Sscanf(host, "h%d.test", &n)))
		wait := time.Second
		if n%2 == 1 {
			wait = time.Hour
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			c.DNS = "DNS does not answer"
		}
		return c, nil
	}
	for name, want := range map[string]struct {
		hosts, answered int // at least
		notAsked        bool
		took            time.Duration // at most
	}{
		"few":  {hosts: 10, answered: 5, took: 27 * time.Second},
		"many": {hosts: 100, answered: 1, notAsked: true, took: time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &domain.Domain{Number: 1, Host: "h0.test"}
			for i := range want.hosts - 1 {
				d.Aliases = append(d.Aliases, fmt.Sprintf("h%d.test", i+1))
			}
			c := &Calls{Certificates: Certificates{Check: check}, Places: NewPlaces()}
			began := time.Now()
			got, err := c.CheckDomain(account.Caller{}, d)
			expect.OK(t, err)
			answered, notAsked := 0, 0
			for i, one := range got.Data {
				expect.Equal(t, one.Host, fmt.Sprintf("h%d.test", i), "%s: host %d", name, i)
				switch one.DNS {
				case CheckOK:
					answered++
				case CheckNotAsked:
					notAsked++
				}
			}
			expect.That(t, answered >= want.answered && time.Since(began) <= want.took, "%s: %d answered, %d not asked, in %v", name, answered, notAsked, time.Since(began))
			expect.That(t, (notAsked > 0) == want.notAsked && len(got.Data) == want.hosts, "%s: %d not asked of %d", name, notAsked, len(got.Data))
		})
	}
	c := &Calls{Certificates: Certificates{Check: func(context.Context, string) (HostCheck, error) { return HostCheck{}, errors.New("full") }}, Places: NewPlaces()}
	_, err := c.CheckDomain(account.Caller{}, &domain.Domain{Number: 1, Host: "h0.test"})
	expect.That(t, err != nil, "a check that cannot be made succeeds")
}
