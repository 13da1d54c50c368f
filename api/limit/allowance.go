package limit

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"time"

	"shunt/api/rate"
)

// An Allowance is one request's use of the rules that apply to it, from the narrowest to the
// widest, and what is left of each.
type Allowance struct {
	network, site [16]byte
	link          [24]byte // a site and a link
	asked         [4]struct {
		rule    *rule
		key     []byte
		verdict rate.Verdict
	}
	n int
}

// Ask adds the rules that apply to a request of that scope: those for owner, unless owner is nil,
// and those for network, unless network is the zero Addr. owner is not copied, and must not change
// while a is used.
func (r *Rules) Ask(a *Allowance, scope Scope, owner []byte, network netip.Addr) {
	if owner != nil {
		a.under(r.own[scope].Load(), owner)
	}
	if !network.IsValid() {
		return
	}
	a.network = network.As16()
	a.under(r.byNetwork[scope].Load(), a.network[:])
	var found bool
	if a.site, found = siteOf(network); found {
		a.under(r.bySite[scope].Load(), a.site[:])
	}
}

// AskUnlock adds the rules that apply to an attempt to open the link with that id: for the pair of link and network, for
// the network, and of IPv6 for both of its /48. Clients of whom no network is known share one.
func (r *Rules) AskUnlock(a *Allowance, id uint64, network netip.Addr) {
	key := network.As16()
	r.Ask(a, Unlocks, binary.BigEndian.AppendUint64(key[:], id), network)
	if site, found := siteOf(network); found {
		copy(a.link[:], site[:])
		binary.BigEndian.PutUint64(a.link[16:], id)
		a.under(r.siteOwn.Load(), a.link[:])
	}
}

// TakeForNetwork takes one event of a scope that is limited by network only. It is Ask and Take for
// misses: an Allowance escapes to the heap, so it is made only for a refusal.
func (r *Rules) TakeForNetwork(scope Scope, network netip.Addr, at time.Time) (refused *Allowance, wait time.Duration) {
	limit := r.byNetwork[scope].Load()
	if limit == nil || limit.table == nil || !network.IsValid() {
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

// under adds a rule that applies to the request, unless there is none or it is off.
func (a *Allowance) under(r *rule, key []byte) {
	if r != nil && r.table != nil {
		a.asked[a.n].rule, a.asked[a.n].key = r, key
		a.n++
	}
}

// Take counts cost events by every rule. If they are too many for one of the rules, it counts
// nothing, and wait is the longest time until every rule allows them. It checks all rules before it
// counts, so that a request that one rule refuses leaves no trace in the others. It counts by the
// widest rule first: if requests race for the last attempt of an address, the loser is not counted
// for its account. A rule may refuse after the check allowed it, because of such a race; then Take
// gives back what it took from the wider rules.
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

// giveBack undoes a Take by the rules from index first on.
func (a *Allowance) giveBack(first int, at time.Time, cost int) {
	for i := first; i < a.n; i++ {
		a.asked[i].rule.table.GiveBack(a.asked[i].key, at, cost)
	}
}

// AppendFields appends the header values that show a client its allowance after a Take:
// RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-11). Each policy has the
// quota q in a window of w seconds, the rest r of the quota, and the seconds t until the quota is
// whole again. It appends nothing if no rule applies to the request.
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
