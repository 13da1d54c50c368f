package rate

import "time"

// gcra is the Generic Cell Rate Algorithm in its form of virtual scheduling (ITU-T Recommendation
// I.371, annex A; ATM Forum Traffic Management 4.1, section 4.4.2). The state of a client is one
// number: the theoretical arrival time (tat), at which it is back at its full allowance. An event
// at now is allowed if tat, moved on by one interval, is no further away than a whole burst lasts.
//
// Arithmetic is exact. Times are integers in units of 1/den ms, in which an interval is a whole
// number:
//
//	interval = Period / Events = (Period in ms / g) / den ms    with g = gcd(Period in ms, Events), den = Events / g
//
// A time is at most MaxEvents times a number of milliseconds, so 63 bits last for 292 years; a debt
// is at most (MaxBurst + MaxCost) · MaxPeriod = 8.7e13 units.
type gcra struct {
	den      int64
	interval int64 // between two events, on average
	burst    int64 // how long a burst lasts
}

func newGCRA(l Limit) gcra {
	periodMs := l.Period.Milliseconds()
	g := gcd(periodMs, int64(l.Events))
	interval := periodMs / g
	return gcra{den: int64(l.Events) / g, interval: interval, burst: interval * int64(l.Burst)}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// time returns a duration since the epoch in units. A time before the epoch counts as the epoch.
func (g *gcra) time(d time.Duration) int64 { return max(0, d.Milliseconds()) * g.den }

// duration returns units as a duration, rounded up to milliseconds.
func (g *gcra) duration(units int64) time.Duration {
	return time.Duration((units+g.den-1)/g.den) * time.Millisecond
}

// take moves tat on by cost events if they are allowed at now; otherwise it returns how long it
// takes until they are. More events than a burst are allowed at full allowance, and paid for in
// full afterwards: otherwise they could never be allowed.
func (g *gcra) take(tat, now, cost int64) (next, wait int64) {
	tat = max(tat, now)
	price := cost * g.interval
	if wait = tat + min(price, g.burst) - (now + g.burst); wait > 0 {
		return tat, wait
	}
	return tat + price, 0
}

// remaining returns how many events are allowed at once after tat.
func (g *gcra) remaining(tat, now int64) int64 {
	return max(0, now+g.burst-max(tat, now)) / g.interval
}
