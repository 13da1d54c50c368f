package storage

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/storage/row"
)

// applyTogether puts mutations into the queue before it is run, so that they share a commit.
func applyTogether(t *testing.T, s *Store, all ...engine.Mutation) {
	t.Helper()
	errs := make([]error, len(all))
	for i, m := range all {
		errs[i] = errors.New("not answered")
		s.Apply(m, func(err error) { errs[i] = err })
	}
	start(t, s)()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if got := s.Metrics().CommitBatches; got != 1 {
		t.Fatalf("got %d commits, want one", got)
	}
}

func TestMutationsOfACodeInACommitTakeEffectInTheirOrder(t *testing.T) {
	first, second := link("code", 1, 1, "old"), link("code", 2, 1, "new")
	for name, c := range map[string]struct {
		mutations []engine.Mutation
		want      uint64 // id of the live link; 0: none
		indexed   int    // links that the owner's lists show
	}{
		"deleted and made again": {[]engine.Mutation{creation(first), deletion(first), creation(second)}, 2, 1},
		"made and deleted":       {[]engine.Mutation{creation(link("other", 9, 1)), creation(first), deletion(first)}, 0, 1},
		"made and edited":        {[]engine.Mutation{creation(first), edit(first, link("code", 1, 1, "newer"))}, 1, 1},
		"made twice":             {[]engine.Mutation{creation(first), creation(second)}, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := openMem(t, vfs.NewMem())
			applyTogether(t, s, c.mutations...)
			got, err := s.ReadRecord("code")
			live := err == nil && got.Hot.Flags&engine.FlagTombstone == 0
			if live != (c.want != 0) || live && got.Hot.ID != c.want {
				t.Errorf("got %+v, %v, want link %d", got.Hot, err, c.want)
			}
			if got := len(rows(t, s, row.TableByOwner)); got != c.indexed {
				t.Errorf("got %d rows by owner, want %d", got, c.indexed)
			}
			closeStore(t, s)
		})
	}
}

func TestAllCreationsOfACommitAreWrittenHoweverMany(t *testing.T) {
	for _, n := range []int{1, mostTogether - 1, mostTogether, mostTogether + 1, 3*mostTogether + 5} {
		s := openMem(t, vfs.NewMem())
		var all []engine.Mutation
		for i := range n {
			all = append(all, creation(link(fmt.Sprintf("c%d", n-i), uint64(i+1), 1, "tag")))
		}
		applyTogether(t, s, all...)
		for _, m := range all {
			if got, err := s.ReadRecord(m.Hot.Code); err != nil || got.Hot.ID != m.Hot.ID || got.Cold.Title != m.Cold.Title {
				t.Fatalf("%d together, link %q: got %+v, %v", n, m.Hot.Code, got, err)
			}
		}
		for _, table := range []byte{row.TableHot, row.TableCold, row.TableByOwner, row.TableByTag} {
			if got := len(rows(t, s, table)); got != n {
				t.Errorf("%d together: got %d rows of table %q", n, got, table)
			}
		}
		closeStore(t, s)
	}
}
