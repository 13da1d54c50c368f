package links

import (
	"fmt"

	"shunt/engine"
	"shunt/storage/row"
)

// Apply implements engine.Store. It does not wait: Run commits m. A mutation that no record could
// hold is an error. A purge reads tally rows, so only the flush goroutine may apply one.
func (l *Links) Apply(m engine.Mutation, done func(error)) {
	if err := row.CheckMutation(&m); err != nil {
		done(fmt.Errorf("storage: refusing a mutation: %w", err))
		return
	}
	q := queued{m: m, done: done}
	err := l.mayWrite()
	if err == nil && m.Purge != nil {
		if q.purged, err = l.rowsToPurge(m.Purge.ID); err != nil {
			done(fmt.Errorf("storage: purging link %d: %w", m.Purge.ID, err))
			return
		}
	}
	if err == nil {
		err = l.commits.enqueue(q)
	}
	if err != nil {
		l.commits.refused.Add(1)
		done(err)
	}
}

// ApplyAll implements engine.Store.
func (l *Links) ApplyAll(b engine.Bulk, done func(error)) {
	if err := row.CheckBulk(&b); err != nil {
		done(fmt.Errorf("storage: refusing a bulk: %w", err))
		return
	}
	err := l.mayWrite()
	if err == nil {
		err = l.commits.enqueue(queued{bulk: &b, done: done})
	}
	if err != nil {
		l.commits.refused.Add(1)
		done(err)
	}
}
