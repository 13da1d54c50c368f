package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"shunt/engine/expect"
)

// This test runs Debian's Prometheus with the rules of cmd/deploy against the real binary under
// load, on a disk that is full, that hangs shortly, and that hangs for long. For each fault an alert
// must fire, and end after it. The rules that Prometheus gets have all times divided by sixty:
// promtool tests them as they are.
const (
	prometheusVariable = "SHUNTTEST_PROMETHEUS"

	deployPrometheus = "../../deploy/prometheus"
	deployDashboard  = "../../deploy/grafana/shunt.json"

	faster = 60 // times

	// alertLimit is the time within which an alert must fire, or end. Of the three alerts
	// ShuntFlushLate takes longest: 300 s and the flush interval, divided by faster.
	alertLimit = 45 * time.Second

	stallLimit = 2 * alertLimit

	// keeperTurns is the time between a sync and a hang of the device. In it the server makes the pages
	// of its journal writable again, and the kernel writes none back in the next half minute. A hit that
	// meets a clean page of a device that hangs would stop the server (engine/journal/keeper.go says why),
	// and a server that cannot be scraped is not the fault that is wanted here.
	keeperTurns = time.Second
)

func TestPrometheusAlertsOnFaultsAndAnswersTheDashboard(t *testing.T) {
	if os.Getenv(prometheusVariable) == "" {
		t.Skipf("this test needs root and Prometheus; %s=1 runs it, and so does make prometheus-test", prometheusVariable)
	}
	promtool(t, "", "check", "config", "prometheus.yml")
	promtool(t, "", "check", "rules", "rules/recording.yml", "rules/alerts.yml")
	promtool(t, "", "test", "rules", "rules/alerts_test.yml")

	m := newMounts(t)
	memory := m.tmpfs(3 * stallDiskBytes)
	outer := m.loop("ext4", memory.dir, 2*stallDiskBytes, "")
	disk := m.loop("ext4", outer.dir, stallDiskBytes, "")
	l := newSickLoad(t, disk.dir+"/data")
	l.unnamed = true
	l.serve(nil)
	l.begin()
	l.end()
	l.server.terminate() // which writes tables, so that something can be read through the cache
	l.serve(nil)
	l.begin()
	shunt(t, "", nil, "domain", "add", "go.example", "--data", l.dir).done(t) // with one alone, there are no figures by domain
	shunt(t, "", nil, "backup", "--to", filepath.Join(memory.dir, "backups"), "--data", l.dir).done(t)
	promtool(t, ask(t, l.server.admin+"/metrics", ""), "check", "metrics")
	w := &watched{sickLoad: l, prometheus: startPrometheus(t, l.server.admin), begun: time.Now()}
	w.await("Prometheus has figures", alertLimit, func() bool {
		shunt(t, "", nil, "ls", "--data", l.dir).done(t)
		return w.series("shunt:redirects:rate1m") > 0 && w.series("shunt:storage_cache_hit_ratio:rate5m >= 0") > 0
	})

	w.fault("ShuntReadOnly", func() (mend func()) { return disk.fill() })
	hang := func() (mend func()) {
		disk.sync()
		time.Sleep(keeperTurns)
		return outer.freeze(stallLimit)
	}
	w.fault("ShuntStalled", hang)
	w.fault("ShuntFlushLate", hang)
	w.await("no alert of a stall is left", alertLimit, func() bool { return !w.firing("ShuntStalled") })
	time.Sleep(calm)
	l.end()
	w.askDashboard()
	l.summary(t.Name(), w.told...)
	l.repeatUnknown()
	l.restart()
	l.server.terminate()
}

// promtool runs Debian's tool in the folder of the rules.
func promtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	cmd := exec.Command("promtool", args...)
	cmd.Dir, cmd.Stdin = deployPrometheus, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	expect.MustThat(t, err == nil, "promtool %s: %v\n%s", strings.Join(args, " "), err, out)
}

// watched is a load that Prometheus watches.
type watched struct {
	*sickLoad
	prometheus string // its address
	begun      time.Time
	told       []string
}

// startPrometheus starts Prometheus on a server, with its data in memory, and returns its address.
func startPrometheus(t *testing.T, admin string) (address string) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "shunt-test-prometheus-") // a disk that is frozen hangs whoever writes to it
	expect.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	for name, from := range map[string]string{
		"prometheus.yml": "prometheus.yml", "rules/recording.yml": "rules/recording.yml", "rules/alerts.yml": "rules/alerts.yml",
	} {
		text, err := os.ReadFile(filepath.Join(deployPrometheus, from))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700)
		}
		if err == nil {
			fast := strings.ReplaceAll(hurry(string(text)), "127.0.0.1:8081", strings.TrimPrefix(admin, "http://"))
			err = os.WriteFile(filepath.Join(dir, name), []byte(fast), 0o600)
		}
		expect.OK(t, err)
	}
	listen := freeAddress(t)
	cmd := exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+listen, "--log.level=warn")
	log, err := os.Create(filepath.Join(dir, "log"))
	expect.OK(t, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	expect.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("Prometheus said:\n%s", text)
		}
	})
	return "http://" + listen
}

var (
	duration = regexp.MustCompile(`\b(\d+)([smhd])\b`)
	seconds  = regexp.MustCompile(`\b(300|3600|86400)\b`)
)

// hurry divides the times in rules by faster.
func hurry(rules string) string {
	unit := map[string]int{"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
	rules = duration.ReplaceAllStringFunc(rules, func(text string) string {
		m := duration.FindStringSubmatch(text)
		n, _ := strconv.Atoi(m[1]) // digits
		return fmt.Sprintf("%dms", n*unit[m[2]]/faster)
	})
	return seconds.ReplaceAllStringFunc(rules, func(text string) string {
		n, _ := strconv.Atoi(text) // digits
		return strconv.Itoa(n / faster)
	})
}

// fault causes a fault, waits until the alert fires, mends it, and waits until the alert has ended.
func (w *watched) fault(alert string, cause func() (mend func())) {
	w.t.Helper()
	w.await(alert+" is silent before its fault", alertLimit, func() bool { return !w.firing(alert) })
	w.during(w.sick, func() {
		mend := cause()
		defer mend()
		fired := w.await(alert+" fires", alertLimit, func() bool { return w.firing(alert) })
		mend()
		mended := time.Now()
		ended := w.await(alert+" ends", alertLimit, func() bool { return !w.firing(alert) })
		w.awaitCreate(mended)
		w.told = append(w.told, fmt.Sprintf("%s fired %v after its fault and ended %v after that", alert, rounded(fired), rounded(ended)))
	})
}

// call asks Prometheus and decodes the data of its answer.
func (w *watched) call(path string, data any) error {
	response, err := http.Get(w.prometheus + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Status != "success" {
		return fmt.Errorf("%s: %s", response.Status, text)
	}
	return nil
}

// firing reports whether an alert fires. It is false as long as Prometheus does not answer.
func (w *watched) firing(name string) bool {
	var data struct {
		Alerts []struct {
			State       string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
	if err := w.call("/api/v1/alerts", &data); err != nil {
		w.failed("asking for alerts: %v", err)
	}
	for _, a := range data.Alerts {
		if a.Labels["alertname"] == name && a.State == "firing" {
			if a.Annotations["runbook"] != "RUNBOOK.md#"+strings.ToLower(name) {
				w.failed("%s: got the annotations %q", name, a.Annotations)
			}
			return true
		}
	}
	return false
}

// series returns how many series an expression has now; 0 if Prometheus does not answer yet.
func (w *watched) series(expr string) int {
	var data struct{ Result []json.RawMessage }
	if err := w.call("/api/v1/query?query="+url.QueryEscape(expr), &data); err != nil {
		return 0
	}
	return len(data.Result)
}

// askDashboard asks Prometheus every query of the dashboard over the time of the test. Each must
// have figures.
func (w *watched) askDashboard() {
	w.t.Helper()
	text, err := os.ReadFile(deployDashboard)
	expect.OK(w.t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	expect.OK(w.t, json.Unmarshal(text, &dashboard))
	asked := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			asked++
			expr := strings.NewReplacer("$__rate_interval", "5s", "$instance", ".*").Replace(target.Expr)
			values := url.Values{
				"query": {expr}, "start": {fmt.Sprint(w.begun.Unix())}, "end": {fmt.Sprint(time.Now().Unix())}, "step": {"1"},
			}
			var data struct {
				Result []struct{ Values [][2]any }
			}
			if err := w.call("/api/v1/query_range?"+values.Encode(), &data); err != nil {
				w.t.Errorf("%s: %s: %v", panel.Title, expr, err)
			} else if len(data.Result) == 0 || !hasNumber(data.Result[0].Values) && len(data.Result) == 1 {
				w.t.Errorf("%s: %s has no figures", panel.Title, expr)
			}
		}
	}
	w.told = append(w.told, fmt.Sprintf("answered %d queries of the dashboard", asked))
	expect.That(w.t, asked != 0, "the dashboard has no queries")
}

// hasNumber reports whether a series has a value that is a number.
func hasNumber(values [][2]any) bool {
	for _, v := range values {
		if v[1] != "NaN" {
			return true
		}
	}
	return false
}
