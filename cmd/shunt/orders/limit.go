package orders

import (
	"hash/fnv"
	"slices"
	"time"

	"shunt/api/certificate"
)

const (
	maxAttempts   = 2 // at once
	maxOrders     = 10
	maxFailing    = 8 // of maxOrders, for hosts that have failed: one that nobody has tried yet finds a place
	ordersPer     = time.Hour
	minBackoff    = 2 * time.Minute
	maxBackoff    = 24 * time.Hour
	backoffJitter = 0.1 // of a backoff, at most
)

// backoff returns how long a host waits after a number of failures, without jitter.
func backoff(failures int) time.Duration {
	wait := minBackoff
	for range failures - 1 {
		if wait *= 2; wait >= maxBackoff {
			return maxBackoff
		}
	}
	return wait
}

// due returns when the next attempt for a host is to begin. A renewal is due when a third of the lifetime is left, or
// up to a thirtieth earlier: which follows from the host and the certificate, so that hosts of one hour spread.
func due(h *certificate.Host) time.Time {
	switch {
	case h == nil:
		return time.Time{}
	case h.Error != "":
		return h.NextAt
	case h.Certificate == nil:
		return h.NextAt
	}
	leaf := h.Certificate.Leaf
	lifetime := leaf.NotAfter.Sub(leaf.NotBefore)
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(h.Name))
	_, _ = sum.Write(leaf.SerialNumber.Bytes())
	early := time.Duration(float64(lifetime) / 30 * float64(sum.Sum32()) / (1 << 32))
	if renewal := leaf.NotAfter.Add(-lifetime/3 - early); renewal.After(h.NextAt) {
		return renewal
	}
	return h.NextAt
}

// A window counts the orders of an hour.
type window struct{ begun []time.Time }

// recent returns those of the times of orders that still count. It changes orders.
func recent(orders []time.Time, now time.Time) []time.Time {
	return slices.DeleteFunc(orders, func(t time.Time) bool { return now.Sub(t) >= ordersPer })
}

// take begins an order, unless there were enough. failing reports whether the host has failed.
func (w *window) take(now time.Time, failing bool) bool {
	w.begun = recent(w.begun, now)
	if n := len(w.begun); n >= maxOrders || failing && n >= maxFailing {
		return false
	}
	w.begun = append(w.begun, now)
	return true
}

// back takes back an order that did not reach the authority.
func (w *window) back(begun time.Time) {
	if i := slices.Index(w.begun, begun); i >= 0 {
		w.begun = slices.Delete(w.begun, i, i+1)
	}
}
