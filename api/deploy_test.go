package api

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shunt/api/domain"
	"shunt/engine/expect"
)

// The rules, the runbook and the dashboard in cmd/deploy name metrics. A query for a name that no
// server has is no error in Prometheus: it is an alert that never fires.

const (
	prometheusFolder = "../cmd/deploy/prometheus/"
	dashboardFile    = "../cmd/deploy/grafana/shunt.json"
)

// A query is an expression of a rule or a panel, and the labels that its legend shows.
type query struct{ where, expr, legend string }

// liveMetrics are the names, with _bucket and the like, and the values by label that a server has.
type liveMetrics struct {
	labels map[string]map[string][]string // values by name and label
	text   string
}

func gatherLive(t *testing.T) *liveMetrics {
	t.Helper()
	st := newSite(t, allSources(t))
	st.addDomain(domain.Domain{Host: "d000.test"})
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	st.get("/x", browser)
	st.get("/none")
	live := &liveMetrics{labels: map[string]map[string][]string{}, text: st.metricsText()}
	for _, m := range st.samples() {
		if live.labels[m[1]] == nil {
			live.labels[m[1]] = map[string][]string{}
		}
		for _, pair := range labelPair.FindAllStringSubmatch(m[2], -1) {
			live.labels[m[1]][pair[1]] = append(live.labels[m[1]][pair[1]], pair[2])
		}
	}
	return live
}

func readDeploy(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.OK(t, err)
	return string(text)
}

var (
	ruleStart = regexp.MustCompile(`(?m)^      - (alert|record): (\S+)$`)
	ruleExpr  = regexp.MustCompile(`(?ms)^        expr: (?:\|\n)?(.*?)\n(?:        \S|      [-#]|\z|\n)`)
)

// rulesIn returns the expressions of a file of rules by the name of their rule.
func rulesIn(t *testing.T, path string) (names []string, queries []query) {
	t.Helper()
	text := readDeploy(t, path) + "\n"
	starts := ruleStart.FindAllStringSubmatchIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		name := text[at[4]:at[5]]
		expr := ruleExpr.FindStringSubmatch(text[at[0]:end])
		expect.MustThat(t, expr != nil, "%s: %s has no expression", path, name)
		names, queries = append(names, name), append(queries, query{where: name, expr: expr[1]})
	}
	return names, queries
}

// dashboardQueries returns the queries of the dashboard's panels, annotations and variables.
func dashboardQueries(t *testing.T) (queries []query) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			ID                       int
			Type, Title, Description string
			Targets                  []struct{ Expr, LegendFormat string }
		}
		Annotations struct{ List []struct{ Name, Expr string } }
		Templating  struct {
			List []struct{ Name, Type, Definition string }
		}
	}
	expect.OK(t, json.Unmarshal([]byte(readDeploy(t, dashboardFile)), &dashboard))
	ids := map[int]bool{}
	for _, p := range dashboard.Panels {
		expect.That(t, !ids[p.ID] && (p.Type != "row") == (len(p.Targets) > 0 && p.Description != ""),
			"panel %d, %q: its id is not unique, or it lacks a query or a description", p.ID, p.Title)
		ids[p.ID] = true
		for _, target := range p.Targets {
			queries = append(queries, query{p.Title, target.Expr, target.LegendFormat})
		}
	}
	for _, a := range dashboard.Annotations.List {
		queries = append(queries, query{where: a.Name, expr: a.Expr})
	}
	for _, v := range dashboard.Templating.List {
		if v.Type == "query" {
			queries = append(queries, query{where: v.Name, expr: v.Definition})
		}
	}
	return queries
}

var (
	metricUse  = regexp.MustCompile(`\b((?:shunt|go|process)_[a-z0-9_]+|up\b|shunt:[a-z0-9_:]+)(?:\{([^}]*)\})?`)
	grouping   = regexp.MustCompile(`\bby \(([^)]*)\)`)
	matcher    = regexp.MustCompile(`([a-z]+)(=~|!=|!~|=)"([^"]*)"`)
	legendName = regexp.MustCompile(`\{\{(\w+)\}\}`)
)

// given are labels that Prometheus itself adds.
var given = []string{"job", "instance"}

// hold checks one query.
func (live *liveMetrics) hold(t *testing.T, q query, recorded []string) {
	t.Helper()
	known, uses := slices.Clone(given), metricUse.FindAllStringSubmatch(q.expr, -1)
	expect.That(t, len(uses) != 0, "%s: %q asks for no metric", q.where, q.expr)
	for _, use := range uses {
		name := use[1]
		labels, there := live.labels[name]
		if strings.Contains(name, ":") {
			there = slices.Contains(recorded, name)
		}
		expect.That(t, there || name == "up", "%s: there is no metric %s", q.where, name)
		for label := range labels {
			known = append(known, label)
		}
		for _, m := range matcher.FindAllStringSubmatch(use[2], -1) {
			values, has := labels[m[1]]
			expect.That(t, (has || slices.Contains(given, m[1])) && (!has || m[2] != "=" || slices.Contains(values, m[3])),
				"%s: %s has no %s=%q", q.where, name, m[1], m[3])
		}
	}
	for _, by := range grouping.FindAllStringSubmatch(q.expr, -1) {
		for label := range strings.SplitSeq(by[1], ",") {
			if label = strings.TrimSpace(label); !slices.Contains(known, label) {
				t.Errorf("%s: by (%s): its metrics have %q", q.where, label, known)
			}
		}
	}
	for _, label := range legendName.FindAllStringSubmatch(q.legend, -1) {
		expect.That(t, slices.Contains(known, label[1]), "%s: legend {{%s}}: its metrics have %q", q.where, label[1], known)
	}
}

func TestRulesAndDashboardAskForLiveMetricsOnly(t *testing.T) {
	live := gatherLive(t)
	recorded, queries := rulesIn(t, prometheusFolder+"rules/recording.yml")
	_, alerts := rulesIn(t, prometheusFolder+"rules/alerts.yml")
	panels := dashboardQueries(t)
	expect.MustThat(t, len(recorded) >= 5 && len(alerts) >= 15 && len(panels) >= 30,
		"found %d recording rules, %d alerts and %d queries of the dashboard", len(recorded), len(alerts), len(panels))
	for _, q := range slices.Concat(queries, alerts, panels) {
		live.hold(t, q, recorded)
	}
}

var (
	runbookTitle = regexp.MustCompile(`(?m)^## (\w+)$`)
	runbookName  = regexp.MustCompile("`(shunt_[a-z0-9_]+)`")
	runbookGrep  = regexp.MustCompile(`/metrics \| grep (?:-E )?'([^']*)'`)
	oneGroup     = regexp.MustCompile(`\(([^)]*)\)`)
)

func TestEveryAlertHasASectionOfTheRunbookAndACase(t *testing.T) {
	alerts, _ := rulesIn(t, prometheusFolder+"rules/alerts.yml")
	rules, runbook := readDeploy(t, prometheusFolder+"rules/alerts.yml"), readDeploy(t, prometheusFolder+"RUNBOOK.md")
	cases := readDeploy(t, prometheusFolder+"rules/alerts_test.yml")
	var titles []string
	for _, m := range runbookTitle.FindAllStringSubmatch(runbook, -1) {
		titles = append(titles, m[1])
	}
	slices.Sort(titles)
	slices.Sort(alerts)
	expect.Slices(t, titles, slices.Compact(alerts), "the runbook, the rules %q", alerts)
	for _, name := range alerts {
		expect.Contains(t, rules, "runbook: RUNBOOK.md#"+strings.ToLower(name)+"\n", "%s does not name its section of the runbook", name)
		for _, want := range []string{"\n        exp_alerts: []\n", "\n        exp_alerts:\n"} {
			expect.Contains(t, cases, "alertname: "+name+want, "%s: no case has%s", name, want)
		}
	}
}

func TestTheRunbooksCommandsFindLiveMetrics(t *testing.T) {
	live, runbook := gatherLive(t), readDeploy(t, prometheusFolder+"RUNBOOK.md")
	for _, m := range runbookName.FindAllStringSubmatch(runbook, -1) {
		expect.That(t, live.labels[m[1]] != nil, "there is no metric %s", m[1])
	}
	commands := runbookGrep.FindAllStringSubmatch(runbook, -1)
	expect.MustThat(t, len(commands) >= 10, "found %d commands", len(commands))
	for _, m := range commands {
		group := oneGroup.FindStringSubmatch(m[1])
		if group == nil {
			group = []string{m[1], m[1]}
		}
		for alternative := range strings.SplitSeq(group[1], "|") {
			pattern := strings.Replace(m[1], group[0], alternative, 1)
			expect.That(t, regexp.MustCompile("(?m)"+pattern).MatchString(live.text), "%q finds nothing", pattern)
		}
	}
}
