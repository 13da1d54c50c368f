package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shunt/bench/compare/load"
	"shunt/engine/expect"
)

func TestRatiosAreOfTheSameRound(t *testing.T) {
	r, sc := make(results), &scenario{name: "x"}
	for round, v := range map[int]float64{0: 2, 1: 6, 2: 9} {
		r.add("x", shunt, round, sample{cpu: v})
	}
	for round, v := range map[int]float64{1: 3, 0: 4, 5: 1} {
		r.add("x", nginx, round, sample{cpu: v})
	}
	expect.Equal(t, r.ratio(sc, shunt, nginx, cpu), (spread{1.25, 0.5, 2, 2}))
	if got := r.ratio(sc, shunt, nginx, p99); got.n != 0 {
		t.Errorf("of what was not measured: got %v", got)
	}
	if got, want := r.spread(sc, shunt, cpu), (spread{6, 2, 9, 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := spreadOf([]float64{4, 1, 2, 3}), (spread{2.5, 1, 4, 4}); got != want {
		t.Errorf("of an even number: got %+v, want %+v", got, want)
	}
}

func TestAReportBecomesASample(t *testing.T) {
	s := sampleOf(&load.Report{Answers: 1000, Elapsed: 2 * time.Second, CPU: 5 * time.Millisecond, P50: time.Millisecond, P99: 2 * time.Millisecond})
	expect.That(t, s[cpu] == 5 && s[second] == 500 && s[p50] == 1 && s[p99] == 2, "got %v", s)
}

func TestTablesHaveRatiosAndVerdicts(t *testing.T) {
	r := make(results)
	r.add("zipf", nginx, 0, sample{cpu: 5, second: 123456.7, p50: 1.5, p99: 2})
	r.add("zipf", shunt, 0, sample{cpu: 4.5})
	r.add("create", shuntEmpty, 1, sample{cpu: 40, second: 1000})
	r.add("create", shuntFull, 1, sample{cpu: 50, second: 900})
	var b strings.Builder
	r.write(&b, []scenario{redirects[0], writes[0], redirects[1]})
	for _, want := range []string{
		"| zipf | CPU of shunt | at most 0.89 × nginx, map | 0.90 | **not met** |\n",
		"### zipf: Zipf over all links, 64 connections\n",
		"| nginx, map | 5.00 | 1.00 | 123,457 | 1.50 | 2.00 |\n",
		"| shunt | 4.50 | 0.90 | 0 | – | – |\n",
		"| create | CPU of shunt, full | at most 1.15 × shunt, empty | 1.25 | **not met** |\n",
		"| shunt, full | 50.00 | 1.25 | 900 |",
		"| not measured |",
	} {
		expect.That(t, strings.Contains(b.String(), want), "%q is not in\n%s", want, &b)
	}
}

func TestNumbersAreWrittenForPeople(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", 1234567.8: "1,234,568"} {
		expect.Equal(t, thousands(v), want)
	}
	expect.Equal(t, (spread{0.8, 0.75, 0.9, 6}).String(), "0.80 (0.75–0.90)")
}

func TestNginxIsConfiguredWithItsLinks(t *testing.T) {
	s := &site{temp: t.TempDir(), links: 20}
	p := &place{address: "127.0.0.1:80", dir: t.TempDir()}
	expect.OK(t, expect.Err(s.nginxMap("nginx", p)))
	text, err := os.ReadFile(filepath.Join(p.dir, "nginx.conf"))
	expect.OK(t, err)
	table := filepath.Join(s.temp, "nginx.map")
	for _, want := range []string{p.address, table, "20 links"} {
		expect.That(t, strings.Contains(string(text), want), "%q is not in\n%s", want, text)
	}
	links, err := os.ReadFile(table)
	expect.OK(t, err)
	n := strings.Count(string(links), "/"+load.Code(19)+" "+load.Target(19))
	expect.That(t, n == 1 && strings.Count(string(links), "\n") == 20, "the last link is %d times in\n%s", n, links)
}

func TestEveryTargetIsOfServersThatAreMeasured(t *testing.T) {
	for _, sc := range append(append([]scenario(nil), redirects...), writes...) {
		measured := "," + strings.Join(sc.servers, ";") + ";"
		for _, x := range sc.targets {
			for _, name := range []string{x.of, x.against} {
				expect.Contains(t, measured, name+";", "%s: %s is not measured", sc.name, name)
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
		err := allImported(out, 10)
		expect.Equal(t, err == nil, whole, "%q: got %v", out, err)
	}
}

func TestScenariosAreChosenByTheirNames(t *testing.T) {
	s := settings{tools: "x", rounds: 1, seconds: 1, links: 1, scenarios: "all", writes: "create,bulk"}
	chosen, err := s.chosen()
	expect.That(t, err == nil && namesOf(chosen) == "create,bulk", "got %v, %v", chosen, err)
	s.writes = "all"
	if chosen, err := s.chosen(); err != nil || len(chosen) != len(writes) {
		t.Errorf("all: got %v, %v", chosen, err)
	}
	s.writes = ""
	if chosen, err := s.chosen(); err != nil || len(chosen) != len(redirects) {
		t.Errorf("redirects: got %v, %v", chosen, err)
	}
	s.writes = "zipf"
	expect.That(t, expect.Err(s.chosen()) != nil, "a scenario of redirects was accepted as one of writes")
}

// made is an answer that says that a link was made.
const made = "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nlink"

func TestOnlyAnswersThatMadeLinksAreAccepted(t *testing.T) {
	const bulk = "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n\"created\":1000,"
	for name, c := range map[string]struct {
		answer string
		links  int
		ok     bool
	}{
		"made":         {made, 1, true},
		"a bulk":       {bulk, bulkLinks, true},
		"refused":      {strings.Replace(made, "201 Created", "429 Too Many Requests", 1), 1, false},
		"another bulk": {strings.Replace(bulk, "1000", "9999", 1), bulkLinks, false},
		"a cut body":   {made[:len(made)-1], 1, false},
		"a cut head":   {made[:20], 1, false},
		"nothing":      {"", 1, false},
		"not HTTP":     {"+OK\r\n\r\n", 1, false},
	} {
		err := (&posts{links: c.links}).check(bufio.NewReader(strings.NewReader(c.answer)))
		expect.Equal(t, err == nil, c.ok, "%s: got %v", name, err)
	}
}

func TestARequestAsksForItsLinks(t *testing.T) {
	for _, links := range []int{1, bulkLinks} {
		s := postsTo("127.0.0.1:1")
		s.links = links
		seen := make(map[string]bool)
		for range 2 {
			_, body, _ := strings.Cut(string(s.request(nil)), "\r\n\r\n")
			got := strings.Count(body, load.TargetStart)
			expect.That(t, got == links && !seen[body], "got %d links, want %d that are new", got, links)
			seen[body] = true
		}
	}
}

func TestAWrongAnswerEndsARun(t *testing.T) {
	s := postsTo(answering(t, strings.Replace(made, "201 Created", "429 Too Many Requests", 1)))
	_, err := s.run(t.Context())
	expect.That(t, err != nil && strings.Contains(err.Error(), "429 Too Many"), "got %v, want the answer", err)
}

func TestARunCountsTheAnswersAfterTheWarmUp(t *testing.T) {
	r, err := postsTo(answering(t, made)).run(t.Context())
	expect.That(t, err == nil && r.Answers != 0 && r.P99 >= r.P50 && r.P50 != 0, "got %+v, %v", r, err)
}

func TestACancelledRunIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expect.That(t, expect.Err(postsTo(answering(t, made)).run(ctx)) != nil, "got no error")
}

// postsTo returns posts that take this process for the server at an address.
func postsTo(address string) *posts {
	self, _ := os.FindProcess(os.Getpid())
	p := &process{server: &server{token: "token"}, place: &place{address: address}, cmd: &exec.Cmd{Process: self}}
	return &posts{process: p, connections: 2, links: 1, warmUp: 10 * time.Millisecond, length: 100 * time.Millisecond}
}

// answering returns the address of a listener that answers each read with the same bytes, until the test ends.
func answering(t *testing.T, answer string) string {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	expect.OK(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for request := make([]byte, 4096); ; {
					if _, err := conn.Read(request); err != nil {
						return
					}
					if _, err := io.WriteString(conn, answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}
