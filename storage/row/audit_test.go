package row

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
)

var (
	goldenBy = engine.By{
		AtMs: 7, User: 300, Name: "ann", TokenID: "tok", RequestID: "r-1", Network: netip.MustParsePrefix("192.0.2.0/24"),
	}
	goldenAuditEdit = engine.AuditEntry{
		Stamp: 9 << 20, Action: engine.LinkEdited, By: goldenBy,
		Before: &engine.Record{Hot: goldenTombstone, Cold: goldenCold}, After: &engine.Record{Hot: goldenHot, Cold: goldenCold},
	}
	goldenAuditReset = engine.AuditEntry{
		Stamp: 9 << 20, Action: engine.LinkReset, By: engine.By{AtMs: 9},
		Before: &engine.Record{Hot: goldenTombstone, Cold: goldenCold}, After: &engine.Record{Hot: goldenTombstone, Cold: goldenCold},
	}
	goldenAuditBulk = engine.AuditEntry{
		Stamp: 9 << 20, Action: engine.LinksImported, By: engine.By{AtMs: 9, Local: true}, Created: 300, Existing: 1, Failed: 2, First: keyOf("a"), Last: engine.Key{Domain: 300, Code: "zz"},
		IDs: []engine.IDRun{{First: 5, Count: 299}, {First: 1 << 48, Count: 1}},
	}
	goldenAuditUser = engine.AuditEntry{
		Stamp: 9 << 20, Action: engine.UserEdited, By: engine.By{AtMs: 300, User: 1, Name: "b", SessionID: "s"}, User: 7,
		Changes: []engine.AuditChange{{Field: "role", Before: "member", After: "admin"}, {Field: "password"}},
	}
	goldenAuditToken = engine.AuditEntry{Stamp: 9<<20 + 5, Action: engine.TokenRevoked, By: engine.By{AtMs: 9}, User: 2, TokenID: "t"}
)

func TestAuditEntriesAreAsPinned(t *testing.T) {
	for name, c := range map[string]struct {
		entry engine.AuditEntry
		want  string
	}{
		"edit": {
			goldenAuditEdit, "01 02 03 ac02 03616e6e 01 03746f6b 03722d31 0c3139322e302e322e302f3234 03 0004636f6465 " +
				"000a 01 20 05 07 82a0abfef962 0028 01 04636f6465 02 8080f4f6905d 01 01028101 0202d804 03025469 04050178 02797a 63026162 800100 " +
				"001f 01 19 85808080808040 ac02 80a0abfef962 e807 68747470733a2f2f612e622f " +
				"0028 01 04636f6465 02 8080f4f6905d 01 01028101 0202d804 03025469 04050178 02797a 63026162 800100",
		},
		"reset": {
			goldenAuditReset, "01 0f 00 00 00 00 00 00 03 0004636f6465 " +
				"000a 01 20 05 07 82a0abfef962 0028 01 04636f6465 02 8080f4f6905d 01 01028101 0202d804 03025469 04050178 02797a 63026162 800100 " +
				"000a 01 20 05 07 82a0abfef962 0028 01 04636f6465 02 8080f4f6905d 01 01028101 0202d804 03025469 04050178 02797a 63026162 800100",
		},
		"import":     {goldenAuditBulk, "01 05 00 00 00 03 00 00 ac02 01 02 000161 ac02027a7a 02 05 ab02 80808080808040 01"},
		"user":       {goldenAuditUser, "01 07 c604 01 0162 02 0173 00 00 07 00 02 04726f6c65 066d656d626572 0561646d696e 0870617373776f7264 00 00"},
		"revocation": {goldenAuditToken, "01 0a 00 00 00 00 00 00 02 0174 00"},
	} {
		wantBytes(t, name, AppendAudit(nil, &c.entry), c.want)
		got, err := DecodeAudit(c.entry.Stamp, AppendAudit(nil, &c.entry))
		expect.That(t, err == nil && reflect.DeepEqual(got, c.entry), "%s: got %+v, %v", name, got, err)
	}
}

func TestAuditEntriesAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := engine.Key{Domain: genDomain.Draw(t, "domain"), Code: genText(engine.MaxCodeBytes).Draw(t, "code")}
		record := func() *engine.Record {
			rec := &engine.Record{Hot: genHot().Draw(t, "hot"), Cold: genCold().Draw(t, "cold")}
			rec.Hot.Key = key
			return rec
		}
		e := engine.AuditEntry{Stamp: rapid.Uint64().Draw(t, "stamp"), Action: engine.LinkEdited, By: goldenBy, Before: record(), After: record()}
		e.By.AtMs = rapid.Int64Range(1, maxAuditMs).Draw(t, "at")
		written := AppendAudit(nil, &e)
		e.Before.Cold.Password, e.After.Cold.Password = "", "" // they are nobody's but the link's
		for _, rec := range []*engine.Record{e.Before, e.After} {
			rec.Cold.Daily, rec.Cold.DailyOwner = "", 0
		}
		got, err := DecodeAudit(e.Stamp, written)
		expect.MustThat(t, err == nil && reflect.DeepEqual(got, e), "got %+v, %v, want %+v", got, err, e)
	})
}

func FuzzAudit(f *testing.F) {
	fuzzCodec(f, "audit", AppendAudit(nil, &goldenAuditEdit), AppendAudit(nil, &goldenAuditBulk),
		AppendAudit(nil, &goldenAuditUser), AppendAudit(nil, &goldenAuditToken))
}

func TestEntriesThatCouldNotBeReadBackAreRefused(t *testing.T) {
	long := strings.Repeat("x", engine.MaxAuditTextBytes+1)
	fine := engine.AuditEntry{Action: engine.UserEdited, By: goldenBy}
	expect.NoError(t, CheckAudit(&fine))
	for name, spoil := range map[string]func(*engine.AuditEntry){
		"of a link":       func(e *engine.AuditEntry) { e.Action = engine.LinkEdited },
		"of no action":    func(e *engine.AuditEntry) { e.Action = 0 },
		"of 17 changes":   func(e *engine.AuditEntry) { e.Changes = make([]engine.AuditChange, engine.MaxAuditChanges+1) },
		"of a long value": func(e *engine.AuditEntry) { e.Changes = []engine.AuditChange{{After: long}} },
		"of a long token": func(e *engine.AuditEntry) { e.TokenID = long },
		"by a long name":  func(e *engine.AuditEntry) { e.By.Name = long },
	} {
		e := fine
		if spoil(&e); CheckAudit(&e) == nil {
			t.Errorf("an entry %s was accepted", name)
		}
	}
	m := engine.Mutation{Hot: engine.Hot{Key: keyOf("a"), Flags: engine.FlagTombstone}, By: &engine.By{RequestID: long}}
	expect.That(t, CheckMutation(&m) != nil, "a deletion with a long request id was accepted")
}
