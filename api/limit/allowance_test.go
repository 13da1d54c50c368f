package limit

import (
	"fmt"
	"testing"
	"time"

	"shunt/api/rate"
	"shunt/engine/expect"
)

func TestTheDefaultLimitsAreThoseOfTheContract(t *testing.T) {
	l := Default()
	want := "200/s:2000 1000/s 5/15min 20/15min 300/min"
	expect.Equal(t, fmt.Sprint(l.Creates, l.Calls, l.Logins, l.AddressLogins, l.Misses), want)
}

// If two requests race for the last event of a rule, both see it as free. The one that comes second
// must not be counted by the wider rules. Asking one rule twice simulates the race.
func TestARefusalInARaceIsGivenBack(t *testing.T) {
	at := time.Unix(0, 0)
	one := rate.Limit{Events: 1, Period: time.Hour, Burst: 1}
	account, address := newRule("account", one, at), newRule("address", rate.Limit{Events: 2, Period: time.Hour, Burst: 2}, at)
	var a Allowance
	a.under(account, []byte("a"))
	a.under(account, []byte("a"))
	a.under(address, []byte("b"))
	expect.That(t, a.Take(at, 1) != 0, "both requests were allowed, want one")
	expect.That(t, address.table.Peek([]byte("b"), at, 2).Allowed, "the refused request is counted for the address")
}
