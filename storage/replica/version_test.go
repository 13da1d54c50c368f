package replica

import (
	"testing"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

func TestEntriesAreOfAVersionThatAllNodesRead(t *testing.T) {
	reads := func(versions ...int) (nodes []clusterlog.Member) {
		for _, v := range versions {
			nodes = append(nodes, clusterlog.Member{Node: clusterlog.Node{Reads: v}, Live: true})
		}
		return nodes
	}
	down := reads(2, 2, 1)
	down[2].Live = false
	for name, c := range map[string]struct {
		nodes []clusterlog.Member
		want  int
	}{
		"no node":              {nil, 0},
		"one":                  {reads(3), 3},
		"all alike":            {reads(2, 2, 2), 2},
		"one that is older":    {reads(2, 1, 2), 1},
		"one that is newer":    {reads(1, 1, 2), 1},
		"an older one is down": {down, 1},
	} {
		expect.Equal(t, oldestReader(c.nodes), c.want, "%s", name)
	}
}
