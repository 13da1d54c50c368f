package main

import (
	"strings"
	"testing"
)

func TestCodesOfImportsAreDistinct(t *testing.T) {
	seen := make(map[string]bool)
	for i := range uint64(100_000) {
		c := wideCode(i * 997)
		if len(c) != 8 || seen[c] {
			t.Fatalf("link %d: got %q", i, c)
		}
		seen[c] = true
	}
}

func TestTheSumIsOfTheSameRound(t *testing.T) {
	r := results{"create": {
		httpAlone:   {{round: 0, cpu: 10, others: calm}, {round: 1, cpu: 20, others: calm}},
		pebbleGroup: {{round: 1, cpu: 5, others: loud}, {round: 2, cpu: 7}},
		shuntEmpty:  {{round: 1, cpu: 50, perSecond: 1000, others: calm}},
	}}
	r.withSum("create")
	if got := r["create"][httpAndPebble]; len(got) != 1 || got[0] != (sample{round: 1, cpu: 25, others: loud}) {
		t.Errorf("got %+v", got)
	}
	if got := r.halfRate(); got != 500 {
		t.Errorf("half of 1,000 links a second: got %v", got)
	}
	var b strings.Builder
	create := writings[0].asScenario()
	r.writeTargets(&b, []scenario{create})
	r.writeWrites(&b, &writings[0])
	for _, want := range []string{"| create | CPU of a link of shunt, empty | at most 1.80 × HTTP + Pebble | 2.00 | **not met** |", "| HTTP + Pebble | 25.00 | – | – | – | 0 of 1 |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &b)
		}
	}
}

func TestEveryTargetIsOfServersThatAreMeasured(t *testing.T) {
	for _, w := range writings {
		for _, x := range w.targets {
			for _, name := range []string{x.of, x.against} {
				known := name == httpAndPebble || name == importBoth
				for _, s := range w.servers {
					known = known || s == name
				}
				if !known {
					t.Errorf("%s: %s is not measured", w.name, name)
				}
			}
		}
	}
}
