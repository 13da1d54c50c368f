package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"shunt/engine"
	"shunt/engine/expect"
)

func draftFor(owner uint32) engine.Draft {
	return engine.Draft{Owner: owner, Target: "https://x.example/"}
}

// TestAnOwnerWithACreateUnderWayIsNotRetired uses a fake clock. When the owner is to be retired,
// the create's caller has stopped waiting, but its commit has not ended.
func TestAnOwnerWithACreateUnderWayIsNotRetired(t *testing.T) {
	for name, create := range map[string]func(e *testEngine) error{
		"one": func(e *testEngine) error {
			_, _, err := e.Create(context.Background(), draftFor(2))
			return err
		},
		"one that may be repeated": func(e *testEngine) error {
			_, _, err := e.CreateOnce(context.Background(), engine.Request{}, func() (engine.Draft, error) { return draftFor(2), nil })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newTestEngine(t, engine.Options{})
				defer e.stop()
				e.create(t, "before") // has ids allocated
				var held func()
				stall := func(commit func()) { held = commit }
				e.gate.apply.Store(&stall)
				if err := create(e); !errors.Is(err, engine.ErrOutcomeUnknown) {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(context.Background(), engine.CommitTimeout)
				defer cancel()
				_, err := e.RetireUser(ctx, 2)
				expect.Error(t, err, engine.ErrOverloaded, "while the commit is under way")
				settled, err := e.RetireUser(context.Background(), 3)
				expect.Error(t, err, nil, "another owner")
				settled(true)
				e.gate.apply.Store(nil)
				held()
				synctest.Wait()
				_, err = e.RetireUser(context.Background(), 2)
				expect.Error(t, err, engine.ErrOwnsLinks, "after it")
			})
		})
	}
}

// TestACreateWaitsForTheRetirementOfItsOwner uses a fake clock.
func TestACreateWaitsForTheRetirementOfItsOwner(t *testing.T) {
	for _, c := range []struct {
		name string
		gone bool
		want error
	}{{"the owner stays", false, nil}, {"the owner goes", true, engine.ErrOwnerGone}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newTestEngine(t, engine.Options{})
				defer e.stop()
				settle, err := e.RetireUser(context.Background(), 2)
				expect.OK(t, err)
				_, err = e.RetireUser(context.Background(), 2)
				expect.Error(t, err, engine.ErrOverloaded, "a second time at once")
				_, _, err = e.Create(context.Background(), draftFor(2))
				expect.Error(t, err, engine.ErrOverloaded, "a create that waits for too long")
				answers := make(chan error, 2)
				go func() {
					_, _, err := e.Create(context.Background(), draftFor(2))
					answers <- err
				}()
				go func() {
					_, err := e.CreateBulk(context.Background(), []engine.BulkItem{{Draft: draftFor(1)}, {Draft: draftFor(2)}})
					answers <- err
				}()
				synctest.Wait()
				expect.MustEqual(t, len(answers), 0, "creates that did not wait")
				settle(c.gone)
				for range 2 {
					expect.Error(t, <-answers, c.want)
				}
			})
		})
	}
}
