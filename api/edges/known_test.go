package edges

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

// TestATokenIsForOneEdge has edges come one after another; each letter is a process, and its store the number.
func TestATokenIsForOneEdge(t *testing.T) {
	who := func(text string) Who {
		n := min(1, len(text))
		return Who{Process: text[:n], Store: text[n:]}
	}
	for name, c := range map[string]struct {
		come string // each: seconds since the one before, the edge, and ! if it is refused
		twin bool
	}{
		"one edge":                              {"0 a1,1 a1,30 a1", false},
		"one that is started again":             {"0 a1,1 b1,1 b1,1 c1", false},
		"another folder at once":                {"0 a1,1 b2!,1 a1,1 b2!", false},
		"another folder after ten seconds":      {"0 a1,10 b2,1 a1!,1 b2", false},
		"the first one again after ten seconds": {"0 a1,10 b2,10 a1,1 b2!", false},
		"a copy of the folder":                  {"0 a1,1 b1,1 a1!,1 b1,1 a1!", true},
		"a copy of the folder comes back":       {"0 a1,1 b1,1 a1!,10 a1,1 b1!", true},
		"an edge without a store":               {"0 a,1 b,1 c1,1 d!,9 d,0 e2", false},
		"an edge of an earlier version":         {"0 ,1 a1,1 ,1 b2!", false},
	} {
		known, now := new(Known), time.Unix(1_700_000_000, 0)
		for step := range strings.SplitSeq(c.come, ",") {
			after, edge, _ := strings.Cut(step, " ")
			seconds, err := strconv.Atoi(after)
			expect.OK(t, err)
			now = now.Add(time.Duration(seconds) * time.Second)
			edge, refused := strings.CutSuffix(edge, "!")
			rival := known.Claim("oslo", "at "+edge, who(edge), now)
			expect.That(t, (rival != nil) == refused, "%s: %s: got %+v", name, step, rival)
			expect.That(t, rival == nil || rival.Twin == c.twin && rival.Address != "at "+edge, "%s: %s: got %+v", name, step, rival)
		}
	}
}

// TestAClaimIsToldOnceAMinute, and an edge whose question is held, or that takes a copy, is heard however long that
// lasts.
func TestAClaimIsToldOnceAMinute(t *testing.T) {
	known, now := new(Known), time.Unix(1_700_000_000, 0)
	first, other := Who{"1", "a"}, Who{"2", "b"}
	expect.That(t, known.Claim("oslo", "203.0.113.7", first, now) == nil, "the first one is refused")
	known.Asks("oslo", "203.0.113.7", &Ask{Who: first, Version: 1}, 9, now)
	told := 0
	for second := range 180 {
		rival := known.Claim("oslo", "203.0.113.8", other, now.Add(time.Duration(second)*time.Second))
		expect.MustThat(t, rival != nil && rival.Address == "203.0.113.7", "after %d s: got %+v", second, rival)
		if rival.Tell {
			told++
		}
	}
	expect.Equal(t, told, 3, "in three minutes")
	expect.That(t, known.Claim("rome", "203.0.113.8", other, now) == nil, "another name is refused")
	known.Copies("rome", "203.0.113.8", now)
	expect.That(t, known.Claim("rome", "203.0.113.7", first, now.Add(time.Hour)) != nil, "in the middle of a copy")
	known.Forget("rome")
	expect.That(t, known.Claim("rome", "203.0.113.7", first, now) == nil, "after it was forgotten")
}

// TestAnEdgeThatIsRefusedKeepsNobodyOut has an edge whose questions fail for another reason, such as its folder,
// between those of the one that may come.
func TestAnEdgeThatIsRefusedKeepsNobodyOut(t *testing.T) {
	known, now := new(Known), time.Unix(1_700_000_000, 0)
	wrong, right := Who{"1", "a"}, Who{"2", "b"}
	claim := func(who Who) bool {
		now = now.Add(time.Second)
		return known.Claim("oslo", "203.0.113.7", who, now) == nil
	}
	expect.That(t, claim(wrong), "nobody is there")
	known.Release("oslo", wrong)
	expect.That(t, claim(right), "one that was refused keeps another one out")
	known.Release("oslo", wrong)
	known.Release("rome", wrong)
	expect.That(t, !claim(wrong), "one that was refused takes the place of another one")
	answered := known.Asks("oslo", "203.0.113.7", &Ask{Who: right}, 9, now)
	known.Release("oslo", right)
	expect.That(t, !claim(wrong), "another question of the edge is not answered yet")
	answered(nil, now)
}

// TestAForgottenEdgeStaysForgotten has a copy end after its edge was forgotten.
func TestAForgottenEdgeStaysForgotten(t *testing.T) {
	known, now := new(Known), time.Unix(1_700_000_000, 0)
	ended := known.Copies("oslo", "203.0.113.7", now)
	expect.Equal(t, len(known.List(nil, nil, 9, now)), 1, "edges in a copy")
	known.Forget("oslo")
	ended(now)
	expect.Equal(t, len(known.List(nil, nil, 9, now)), 0, "edges after it was forgotten")
}
