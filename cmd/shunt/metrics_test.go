package main

import (
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"shunt/api/admin"
	"shunt/cmd/shunt/certs"
)

func TestTheStoreReportsExactlyTheFiguresOfTheTable(t *testing.T) {
	parts := newStack()
	defer func() {
		if err := parts.stop(); err != nil {
			t.Error(err)
		}
	}()
	var c core
	if err := c.openStore(parts, &dataSettings{dataDir: filepath.Join(t.TempDir(), "data")}, true, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	m := c.storageMetrics()
	got := slices.Sorted(maps.Keys(m.Values))
	got = slices.Sorted(slices.Values(slices.AppendSeq(got, maps.Keys(m.Histograms))))
	if want := slices.Sorted(slices.Values(admin.StoreNames())); !slices.Equal(got, want) {
		t.Errorf("the store reports %v,\nthe table has %v", got, want)
	}
}

// fixedState is a source of which only the state is asked.
type fixedState struct {
	certs.Source
	state certs.State
}

func (s fixedState) State() certs.State { return s.state }

func TestACertificateIsWaitingValidOrFailing(t *testing.T) {
	day := time.Unix(86400, 0)
	for want, state := range map[admin.Certificate]certs.State{
		{ACME: true, State: admin.ACMEWaiting}:                             {ACME: true},
		{ACME: true, State: admin.ACMEValid, NotAfter: day}:                {ACME: true, NotAfter: day},
		{ACME: true, State: admin.ACMEFailing, Failures: 2}:                {ACME: true, Failing: true, Failures: 2},
		{ACME: true, State: admin.ACMEFailing, Failures: 1, NotAfter: day}: {ACME: true, Failing: true, Failures: 1, NotAfter: day},
		{State: admin.ACMEValid, NotAfter: day}:                            {NotAfter: day},
	} {
		if got := certificateFigures(fixedState{state: state})(); got != want {
			t.Errorf("%+v: got %+v, want %+v", state, got, want)
		}
	}
}
