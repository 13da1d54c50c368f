package links

import "shunt/engine"

// fillEntry makes e the entry of a mutation; it uses after for the record after it.
func fillEntry(e *engine.AuditEntry, after *engine.Record, m *engine.Mutation, deleted bool) {
	*e = engine.AuditEntry{Action: engine.LinkEdited, By: *m.By, Before: m.Before}
	switch {
	case m.Trash == engine.TrashRestored:
		e.Action, e.Before = engine.LinkRestored, nil
	case m.Trash == engine.TrashPurged:
		e.Action = engine.LinkPurged
	case deleted:
		e.Action = engine.LinkDeleted
	case m.Before == nil:
		e.Action = engine.LinkCreated
	case m.ResetAtMs != 0:
		e.Action = engine.LinkReset
	}
	if !deleted {
		*after = engine.Record{Hot: m.Hot, Cold: m.Cold}
		e.After = after
	}
}

// auditOfBulk returns the entry of the creations of one request.
func auditOfBulk(x *engine.Bulk) *engine.AuditEntry {
	e := &engine.AuditEntry{
		Action: engine.LinksCreated, By: *x.By,
		Created: uint32(len(x.Creations)), Existing: x.Existing, Failed: x.Failed,
	}
	if x.Imported {
		e.Action = engine.LinksImported
	}
	for i := range x.Creations {
		key := x.Creations[i].Hot.Key
		e.AddID(x.Creations[i].Hot.ID)
		if i == 0 || key.Compare(e.First) < 0 {
			e.First = key
		}
		if i == 0 || key.Compare(e.Last) > 0 {
			e.Last = key
		}
	}
	return e
}
