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

func TestTablesOfWritesHaveTheirTargets(t *testing.T) {
	r := results{"create": {
		shuntEmpty: {{round: 1, cpu: 40, perSecond: 1000, others: calm}},
		shuntFull:  {{round: 1, cpu: 50, perSecond: 900, others: calm}},
	}}
	var b strings.Builder
	create := writings[0].asScenario()
	r.writeTargets(&b, []scenario{create})
	r.writeWrites(&b, &writings[0])
	for _, want := range []string{"| create | CPU of a link of shunt, full | at most 1.15 × shunt, empty | 1.25 | **not met** |", "| shunt, full | 50.00 | 900 |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &b)
		}
	}
}

func TestEveryTargetIsOfServersThatAreMeasured(t *testing.T) {
	for _, w := range writings {
		for _, x := range w.targets {
			for _, name := range []string{x.of, x.against} {
				known := name == importBoth
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
