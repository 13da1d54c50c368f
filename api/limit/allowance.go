package limit

import (
	"net/netip"
	"strconv"
	"time"

	"shunt/api/rate"
)

// An Allowance is what one request asks of the rules that it comes under, from the narrowest to the
// widest, and what is left of them.
type Allowance struct {
	network, site [16]byte
	asked         [3]struct {
		rule    *rule
		key     []byte
		verdict rate.Verdict
	}
	n int
}

// Ask adds the rules that a request of that scope comes under: for owner, unless it is nil, and for
// network, unless it is the zero Addr. Neither is copied: owner must stay as it is while a is used.
func (r *Rules) Ask(a *Allowance, scope Scope, owner []byte, network netip.Addr) {
	if owner != nil {
		a.under(&r.own[scope], owner)
	}
	if !network.IsValid() {
		return
	}
	a.network = network.As16()
	a.under(&r.byNetwork[scope], a.network[:])
	var found bool
	if a.site, found = siteOf(network); found {
		a.under(&r.bySite[scope], a.site[:])
	}
}

// TakeForNetwork takes one event of a scope that is limited by network only. It is Ask and Take for
// misses: an Allowance escapes to the heap, so it is made only for a refusal.
func (r *Rules) TakeForNetwork(scope Scope, network netip.Addr, at time.Time) (refused *Allowance, wait time.Duration) {
	limit := &r.byNetwork[scope]
	if limit.table == nil || !network.IsValid() {
		return nil, 0
	}
	key := network.As16()
	verdict := limit.table.Take(key[:], at, 1)
	if verdict.Wait == 0 {
		return nil, 0
	}
	refused = &Allowance{network: key}
	refused.under(limit, refused.network[:])
	refused.asked[0].verdict = verdict
	return refused, verdict.Wait
}

// under adds a rule that the request comes under, unless it is off.
func (a *Allowance) under(r *rule, key []byte) {
	if r.table != nil {
		a.asked[a.n].rule, a.asked[a.n].key = r, key
		a.n++
	}
}

// Take takes cost events by every rule. If they are too many for one of the rules, it takes nothing
// and wait is the longest time until they are not. It looks at all rules before it takes, so that
// what one refuses leaves no trace in the others. It takes by the widest first, so that an account
// at an address that races for the last attempt of the address is not counted either. A rule that
// refuses although it looked well, because of such a race, gives the wider ones back.
func (a *Allowance) Take(at time.Time, cost int) (wait time.Duration) {
	for i := range a.asked[:a.n] {
		q := &a.asked[i]
		q.verdict = q.rule.table.Peek(q.key, at, cost)
		wait = max(wait, q.verdict.Wait)
	}
	for i := a.n - 1; i >= 0 && wait == 0; i-- {
		q := &a.asked[i]
		q.verdict = q.rule.table.Take(q.key, at, cost)
		if wait = q.verdict.Wait; wait > 0 {
			a.giveBack(i+1, at, cost)
		}
	}
	return wait
}

// GiveBack undoes a Take of cost events.
func (a *Allowance) GiveBack(at time.Time, cost int) { a.giveBack(0, at, cost) }

// giveBack undoes a take by the rules from the first-th on.
func (a *Allowance) giveBack(first int, at time.Time, cost int) {
	for i := first; i < a.n; i++ {
		a.asked[i].rule.table.GiveBack(a.asked[i].key, at, cost)
	}
}

// AppendFields appends what a client is told of its allowance after a Take: the values of
// RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-11). These are for each
// policy the quota q in a window of w seconds, what remains of it, and the seconds t until it is
// whole again. It appends nothing if the request comes under no rule.
func (a *Allowance) AppendFields(policies, left []byte) (newPolicies, newLeft []byte) {
	for i := range a.asked[:a.n] {
		q := &a.asked[i]
		if i > 0 {
			policies, left = append(policies, ", "...), append(left, ", "...)
		}
		policies = append(policies, q.rule.policy...)
		left = append(append(append(left, '"'), q.rule.name...), `";r=`...)
		left = strconv.AppendInt(left, int64(q.verdict.Remaining), 10)
		left = strconv.AppendInt(append(left, ";t="...), WholeSeconds(q.verdict.Full), 10)
	}
	return policies, left
}

// WholeSeconds returns d in seconds, rounded up.
func WholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
