package audit

import (
	"shunt/storage/check"
	"shunt/storage/row"
)

// Check returns how the entries of the audit log are checked, each alone: what it says may be gone by now.
func Check(c *check.Run) check.Subject {
	entry := func(key, value []byte) error {
		stamp, err := row.SplitAuditKey(key)
		if err == nil {
			_, err = row.DecodeAudit(stamp, value)
		}
		return err
	}
	return check.Subject{Tables: []check.Table{
		{Table: row.TableAudit, Name: "audit", Begin: c.Alone("audit", entry), Rows: func(r *check.Report) *uint64 { return &r.Audit }},
	}}
}
