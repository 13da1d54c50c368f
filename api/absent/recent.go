package absent

import (
	"time"

	"shunt/engine"
)

const (
	recentTime = 3 * time.Second // for at least so long a miss is kept, if there is room; for at most twice as long
	maxRecent  = 1 << 13         // misses of each half, of at most 64 bytes
)

// recent are the codes that the other server did not know a moment ago. A half is thrown away as a whole.
type recent struct {
	now, before map[engine.Key]struct{}
	begun       time.Time // of now
}

func (r *recent) turn(at time.Time) {
	switch age := at.Sub(r.begun); {
	case age < recentTime && r.now != nil:
		return
	case age < 2*recentTime:
		r.before = r.now
	default:
		r.before = nil
	}
	r.now, r.begun = make(map[engine.Key]struct{}), at
}

// add notes a miss, unless there are too many.
func (r *recent) add(k engine.Key, at time.Time) {
	if r.turn(at); len(r.now) < maxRecent {
		r.now[k] = struct{}{}
	}
}

// has reports whether a code was missed a moment ago.
func (r *recent) has(k engine.KeyView, at time.Time) bool {
	r.turn(at)
	_, now := r.now[engine.Key{Domain: k.Domain, Code: string(k.Code)}]
	_, before := r.before[engine.Key{Domain: k.Domain, Code: string(k.Code)}]
	return now || before
}
