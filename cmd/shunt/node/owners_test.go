package node

import (
	"testing"

	"shunt/api/cluster"
	"shunt/engine/expect"
)

func TestAnOutboxIsOfTheNodeThatSaidSoFirst(t *testing.T) {
	one, two, three := [16]byte{1}, [16]byte{2}, [16]byte{3}
	full := func(name string) cluster.Peer { return cluster.Peer{Name: name} }
	edge := func(name string) cluster.Peer { return cluster.Peer{Name: name, Edge: true} }
	honest := map[string][16]byte{"a": one, "b": two, "e": three}
	for name, c := range map[string]struct {
		by     map[string][16]byte
		before cluster.Peer // takes its outbox first; "": nobody
		peer   cluster.Peer
		id     [16]byte
		want   error
	}{
		"its own":                             {honest, cluster.Peer{}, full("b"), two, nil},
		"an edge's own":                       {honest, cluster.Peer{}, edge("e"), three, nil},
		"another one's":                       {honest, cluster.Peer{}, edge("e"), two, errClaims},
		"another one's, by a full node":       {honest, cluster.Peer{}, full("a"), two, errClaims},
		"one that nobody has":                 {honest, cluster.Peer{}, full("a"), [16]byte{9}, errOutbox},
		"of a stranger":                       {honest, cluster.Peer{}, full("x"), [16]byte{9}, errOutbox},
		"of a stranger, none":                 {honest, cluster.Peer{}, full("x"), [16]byte{}, errOutbox},
		"a full node whose id an edge claims": {map[string][16]byte{"b": two, "e": two}, cluster.Peer{}, full("b"), two, nil},
		"an edge that claims a full node's":   {map[string][16]byte{"b": two, "e": two}, cluster.Peer{}, edge("e"), two, errClaims},
		"the first of two edges":              {map[string][16]byte{"e": two, "f": two}, edge("e"), edge("e"), two, nil},
		"the second of two edges":             {map[string][16]byte{"e": two, "f": two}, edge("e"), edge("f"), two, errClaims},
		"two edges, nobody was first":         {map[string][16]byte{"e": two, "f": two}, cluster.Peer{}, edge("f"), two, errClaims},
	} {
		var o owners
		if c.before.Name != "" {
			expect.OK(t, o.check(map[string][16]byte{c.before.Name: c.id}, c.before, c.id))
		}
		expect.Error(t, o.check(c.by, c.peer, c.id), c.want, name)
	}
	var o owners
	expect.That(t, o.accuse("e") && !o.accuse("e") && o.accuse("f"), "a node is not reported exactly once")
}

func TestWhatIsRefusedIsANameOrASerialNumber(t *testing.T) {
	for text, want := range map[string]string{
		"b": "name/b", "edge-1": "name/edge-1", "serial=0A1B": "serial/a1b", "0A:1B": "serial/a1b", "0x0a1b": "serial/a1b", "AB": "serial/ab", "ab": "name/ab",
		"5f3c00a1d2e4b697": "serial/5f3c00a1d2e4b697", "serial=00": "serial/0", "": "", "B_": "", "serial=": "", "serial=xy": "", "-": "", "a/b": "",
	} {
		got, err := ParseRefusal(text)
		said := ""
		if err == nil {
			if said = "serial/" + got.Serial; got.Name != "" {
				said = "name/" + got.Name
			}
		}
		expect.Equal(t, said, want, "%q, %v", text, err)
	}
}
