package admin

import "testing"

func TestALoadSaysHowFarItIsInALine(t *testing.T) {
	number := func(n float64) *float64 { return &n }
	for want, h := range map[string]Health{
		"loading":                         {Status: StatusLoading, Progress: number(0)},
		"loading, 1 %":                    {Status: StatusLoading, Progress: number(0.019)},
		"loading, 43 %, about 7 s left":   {Status: StatusLoading, Progress: number(0.439), EstimateSeconds: number(7)},
		"loading, 9 %, about 179 s left":  {Status: StatusLoading, Progress: number(0.09), EstimateSeconds: number(179)},
		"loading, 9 %, about 4 min left":  {Status: StatusLoading, Progress: number(0.09), EstimateSeconds: number(181)},
		"draining":                        {Status: StatusDraining, Progress: number(0.5)},
		"ready":                           {Status: StatusOK, Conditions: []Condition{{Name: "stalled", OK: true}}},
		"ready, a: One thing, b: Another": {Status: StatusOK, Conditions: []Condition{{Name: "a", Detail: "One thing. Do this."}, {Name: "b", Detail: "Another."}}},
	} {
		if got := h.Line(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
