package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shunt/bench/compare/load"
)

const calm, loud = 0.01, 0.5 // shares of the cores that others use

func TestMediansAreOverCalmTurns(t *testing.T) {
	all := samples{{round: 0, cpu: 9, others: loud}, {round: 1, cpu: 4, others: calm}, {round: 2, cpu: 2, others: calm}, {round: 3, cpu: 3, others: calm}}
	if got, want := spreadOf(all.calm().values(cpuOf)), (spread{3, 2, 4, 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := all.calmTurns(); got != 3 {
		t.Errorf("%d turns were calm, want 3", got)
	}
	if got := all[:1].calm(); len(got) != 1 {
		t.Errorf("without a calm turn: got %v, want all", got)
	}
	if got, want := spreadOf([]float64{4, 1, 2, 3}), (spread{2.5, 1, 4, 4}); got != want {
		t.Errorf("of an even number: got %+v, want %+v", got, want)
	}
}

func TestRatiosAreOfTheSameRound(t *testing.T) {
	ours := samples{{round: 0, cpu: 2, others: calm}, {round: 1, cpu: 6, others: calm}, {round: 2, cpu: 9, others: calm}}
	theirs := samples{{round: 1, cpu: 3, others: calm}, {round: 0, cpu: 4, others: calm}, {round: 2, cpu: 1, others: loud}}
	if got, want := spreadOf(ours.ratios(theirs, ofCPU)), (spread{1.25, 0.5, 2, 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := ours.ratios(theirs, ofP99); got != nil {
		t.Errorf("of what was not measured: got %v", got)
	}
	if got := ours[2:].ratios(theirs, ofCPU); len(got) != 1 || got[0] != 9 {
		t.Errorf("without a round that was calm for both: got %v", got)
	}
}

func TestAReportBecomesASample(t *testing.T) {
	s := sampleOf(3, &load.Report{
		Answers: 1000, Elapsed: 2 * time.Second, CPU: 5 * time.Millisecond, Own: 10 * time.Millisecond, Busy: 100 * time.Millisecond,
		Stolen: 115 * time.Millisecond, P50: 1, P99: 2,
	}, 2)
	if want := (sample{round: 3, cpu: 5, perSecond: 500, p50: 1, p99: 2, others: 0.05}); s != want || !s.calm() {
		t.Errorf("got %+v, want %+v", s, want)
	}
}

func TestTablesHaveRatiosAndVerdicts(t *testing.T) {
	hot := map[string]samples{
		fasthttpConstant: {{round: 0, cpu: 5, perSecond: 123456.7, p50: 1500 * time.Microsecond, p99: 2 * time.Millisecond}},
		nginx:            {{round: 0, cpu: 4}},
		shunt:            {{round: 0, cpu: 4.5}},
	}
	var b strings.Builder
	results{"hot": hot}.writeAll(&b, scenarios[:1], []string{fasthttpConstant, nginx, shunt, haproxy})
	for _, want := range []string{
		"| shunt | 0.90 |\n",
		"| hot | CPU of a request of shunt | at most 0.80 × fasthttp constant | 0.90 | **not met** |\n",
		"### hot: one link, 64 connections\n",
		"| fasthttp constant | 5.00 | 1.00 | 1.25 | 123,457 | 1.50 | 2.00 | 1 of 1 |\n",
		"| shunt | 4.50 | 0.90 | 1.12 | 0 | – | – | 1 of 1 |\n",
		"| HAProxy, map | – |\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
	b.Reset()
	results{"hot": {shunt: hot[shunt]}}.writeAll(&b, scenarios[:1], []string{shunt})
	if want := "| not measured |"; !strings.Contains(b.String(), want) {
		t.Errorf("without the other server, %q is not in\n%s", want, &b)
	}
}

func TestNumbersAreWrittenForPeople(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", 1234567.8: "1,234,568"} {
		if got := thousands(v); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got, want := (spread{0.8, 0.75, 0.9, 6}).String(), "0.80 (0.75–0.90)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestGuestsTakePartOnlyWhereTheyAreNamed(t *testing.T) {
	for _, sc := range scenarios {
		for name, want := range map[string]bool{
			shunt: true, nginx: true, shuntBusy: sc.name == "paced", shuntSyncs: sc.name == "paced", nginxSyncs: sc.name == "paced",
		} {
			if got := sc.takesPart(name); got != want {
				t.Errorf("%s in %s: got %v", name, sc.name, got)
			}
		}
	}
}

func TestALoadIsForTheLinksOfTheServer(t *testing.T) {
	hot, zipf := &scenarios[0], &scenarios[1]
	for _, c := range []struct {
		sc          *scenario
		links, want int
	}{{hot, 100, 1}, {zipf, 100, 100}, {zipf, 0, 5000}} {
		s := c.sc.specFor(c.links, 5000, time.Second, 4)
		if s.Links != c.want || s.Length != time.Second || s.WarmUp != time.Second/2 || s.Seed != 4 {
			t.Errorf("%s with %d links: got %+v", c.sc.name, c.links, s)
		}
	}
}

func TestProxiesAreConfiguredWithTheirLinks(t *testing.T) {
	s := &site{temp: t.TempDir(), links: 20}
	p := &place{address: "127.0.0.1:80", dir: t.TempDir()}
	for name, line := range map[string]string{"nginx.conf": "\t/%s %s;\n", "haproxy.cfg": "/%s %s\n"} {
		file, err := s.configure(name, line, p)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		table := filepath.Join(s.temp, name+".map")
		for _, want := range []string{p.address, table, "20 links"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
		links, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(links), "/"+load.Code(19)+" "+load.Target(19)); n != 1 || strings.Count(string(links), "\n") != 20 {
			t.Errorf("the last link is %d times in\n%s", n, links)
		}
	}
}

func TestAllServersAreKnownByDifferentNames(t *testing.T) {
	seen := make(map[string]bool)
	for _, sv := range servers(&site{links: 10}) {
		if seen[sv.name] {
			t.Errorf("two servers are called %s", sv.name)
		}
		seen[sv.name] = true
	}
	for _, sc := range scenarios {
		for _, target := range sc.targets {
			if !seen[target.of] || !seen[target.against] {
				t.Errorf("%s: there is no server %s or %s", sc.name, target.of, target.against)
			}
		}
		for _, name := range sc.guests {
			if !seen[name] {
				t.Errorf("%s: there is no server %s", sc.name, name)
			}
		}
	}
}

func TestAnImportMustBeWhole(t *testing.T) {
	for out, whole := range map[string]bool{
		"10 links imported, 0 already there, 0 refused": true,
		"7 links imported, 3 already there, 0 refused":  true,
		"7 links imported, 3 already there, 1 refused":  false,
		"9 links imported, 0 already there, 0 refused":  false,
		"": false,
	} {
		if err := allImported(out, 10); (err == nil) != whole {
			t.Errorf("%q: got %v", out, err)
		}
	}
}
