package engine_test

import (
	"fmt"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
)

func TestFaultsOfFilesComeFirstAndOthersAreGrouped(t *testing.T) {
	var f engine.Faults
	f.Add("meta, id", "before any file")
	f.AddFile("db/1.sst", "it is damaged")
	f.Follow()
	for i := range 3 * engine.MaxFaults {
		f.Add(fmt.Sprintf("by owner, key %d", i), "it cannot be read")
	}
	f.Add("hot", "it cannot be read")
	f.AddFile("journal/ring-1", "it is damaged too")
	first, total := f.Found()
	expect.MustThat(t, total == 3*engine.MaxFaults+4 && len(first) == engine.MaxFaults+2, "got %d of %d faults", len(first), total)
	for i, want := range []engine.Fault{
		{Where: "db/1.sst", What: "it is damaged"}, {Where: "journal/ring-1", What: "it is damaged too"},
		{Where: "meta, id", What: "before any file"}, {Where: "by owner, key 0", What: "it cannot be read", Follows: true},
	} {
		expect.Equal(t, first[i], want, "fault %d", i)
	}
	groups := f.Groups()
	expect.That(t, len(groups) == 2 && groups[0].Where == "by owner" && groups[0].Count == 3*engine.MaxFaults && groups[1].Where == "hot" && groups[1].Count == 1,
		"got groups %+v", groups)
}
