package main

import "testing"

func TestTheSpreadIsTheShareOfTheFullestLoop(t *testing.T) {
	got := mostShare(map[string]float64{`shunt_loop_connections{loop="0"}`: 300, `shunt_loop_connections{loop="1"}`: 200, "shunt_connections": 1})
	if got != 0.6 {
		t.Errorf("got %v, want 0.6", got)
	}
	if got := mostShare(map[string]float64{"shunt_connections": 1}); got != 0 {
		t.Errorf("without the metric: got %v", got)
	}
}

func TestNumbersAreFoundByTheirNames(t *testing.T) {
	const text = "sockets: used 11\nTCP: inuse 1 orphan 0 tw 0 alloc 1 mem 37\nUDP: mem 2\nSlab:   1234 kB\n"
	for _, c := range []struct {
		start, name string
		want        float64
	}{{"TCP:", "mem", 37}, {"Slab:", "", 1234}, {"TCP:", "more", 0}, {"RAW:", "mem", 0}} {
		if got := wordAfter([]byte(text), c.start, c.name); got != c.want {
			t.Errorf("%s %s: got %v, want %v", c.start, c.name, got, c.want)
		}
	}
}

func TestSettingsOutOfRangeAreRefused(t *testing.T) {
	good := settings{tools: "x", rounds: 6, seconds: 3, links: 1000}
	if err := good.check(); err != nil {
		t.Errorf("good ones: %v", err)
	}
	for name, change := range map[string]func(*settings){
		"no tools":            func(s *settings) { s.tools = "" },
		"no rounds":           func(s *settings) { s.rounds = 0 },
		"no time":             func(s *settings) { s.seconds = 0 },
		"too many links":      func(s *settings) { s.links = 1<<20 + 1 },
		"an unknown scenario": func(s *settings) { s.scenarios = "hot,cold" },
	} {
		s := good
		if change(&s); s.check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
