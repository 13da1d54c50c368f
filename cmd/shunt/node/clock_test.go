package node

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

func TestANodeWhoseClockIsFarFromMostOthersIsToldSo(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	member := func(name string, offset time.Duration) clusterlog.Member {
		return clusterlog.Member{Node: clusterlog.Node{Name: name, ClockMs: now.Add(offset).UnixMilli()}, Live: true}
	}
	dead := member("dead", -9*time.Hour)
	dead.Live = false
	silent := clusterlog.Member{Node: clusterlog.Node{Name: "silent"}, Live: true}
	type members = []clusterlog.Member
	for name, c := range map[string]struct {
		members members
		want    string // in the error; "": none
	}{
		"nobody else":                   {members{member("me", 3*time.Hour)}, ""},
		"nearly the same time":          {members{member("a", 9*time.Minute), member("b", -20*time.Second)}, ""},
		"one that is hours ahead":       {members{member("a", 3*time.Hour)}, "2026-03-04T05:00:00Z here and 2026-03-04T08:00:00Z at node a, so this one is 3h0m0s behind it (1 of 1"},
		"one that is hours behind":      {members{member("a", -2*time.Hour)}, "2h0m0s ahead of it"},
		"one of two":                    {members{member("a", 2*time.Hour), member("b", 0)}, ""},
		"two of three":                  {members{member("a", 2*time.Hour), member("b", 0), member("c", -2*time.Hour)}, "2 of 3"},
		"both of two, and one is down":  {members{member("a", 2*time.Hour), member("b", 2*time.Hour), dead}, "2 of 2"},
		"one that was left behind dead": {members{dead}, ""},
		"one that says no time":         {members{silent}, ""},
	} {
		err := checkClock(now, "me", c.members)
		expect.That(t, (err == nil) == (c.want == "") && (err == nil || errors.Is(err, clusterlog.ErrClock) && strings.Contains(err.Error(), c.want)),
			"%s: got %v, want %q in it", name, err, c.want)
	}
}

func TestClocksThatDriftApartAreReportedOnce(t *testing.T) {
	var said bytes.Buffer
	n := &Node{settings: &Settings{Name: "me"}, log: slog.New(slog.NewTextHandler(&said, nil))}
	now := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	other := []clusterlog.Member{{Node: clusterlog.Node{Name: "a", ClockMs: now.UnixMilli()}, Live: true}}
	var w clockWatch
	for i, step := range []struct {
		jump time.Duration
		want string // is said; "": nothing
	}{{0, ""}, {-time.Hour, "clocks of the cluster are apart"}, {-time.Hour, ""}, {0, "agree again"}, {0, ""}, {time.Hour, "are apart"}} {
		said.Reset()
		w.look(n, now.Add(step.jump), other)
		got := said.String()
		expect.That(t, (got == "") == (step.want == "") && strings.Contains(got, step.want), "step %d: got %q, want %q", i, got, step.want)
	}
}
