package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"shunt/bench/compare/load"
	"shunt/engine/expect"
)

// What the figures of clusters have in common. Each is measured by a test of its own, for
// SHUNTTEST_FIGURES seconds (make cluster-figures FIGURES=name).

// figureSeconds returns how long each part of a figure is measured; without figures it skips the test.
func figureSeconds(t *testing.T) time.Duration {
	t.Helper()
	seconds, _ := strconv.Atoi(os.Getenv("SHUNTTEST_FIGURES"))
	if seconds == 0 {
		t.Skip("make cluster-figures runs it")
	}
	return time.Duration(seconds) * time.Second
}

// shippedEtcd are the settings of etcd in cmd/deploy/cluster, but for TLS.
var shippedEtcd = []string{
	"--quota-backend-bytes", "2147483648", "--snapshot-catchup-entries", "500",
	"--feature-gates", "InitialCorruptCheck=true", "--corrupt-check-time", "1h",
}

// figureSite starts a site with the settings that are shipped and the defaults of nodes.
func figureSite(t *testing.T, names ...string) *site {
	t.Helper()
	return newSiteOn(t, siteOptions{etcd: shippedEtcd, nodes: []string{"--flush-interval", "1s"}}, names...)
}

// generatorName is the name under which the test program sends redirects: it reads a load.Spec from its
// input and prints a load.Report.
const generatorName = "shunt-test-generator"

func standInForGenerator(in io.Reader, out io.Writer) (code int) {
	var spec load.Spec
	err := json.NewDecoder(in).Decode(&spec)
	if err == nil {
		var report *load.Report
		if report, err = load.Run(&spec); err == nil {
			err = json.NewEncoder(out).Encode(report)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	return exitDone
}

// generate loads a node at a URL with redirects of links that plant made, from a process of its own, and
// measures the CPU time of p meanwhile.
func generate(p *process, url string, spec load.Spec) (*load.Report, error) {
	spec.Address, spec.Processes = strings.TrimPrefix(url, "http://"), []int{p.cmd.Process.Pid}
	spec.Pipeline, spec.WarmUp = max(spec.Pipeline, 1), time.Second
	text, err := json.Marshal(&spec)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Args[0] = generatorName
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	var out, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &out, &complaints
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("load on %s: %w: %s", url, err, complaints.Bytes())
	}
	report := new(load.Report)
	return report, json.Unmarshal(out.Bytes(), report)
}

// plant makes the links that generate follows, at a node, by bulks of 1,000.
func plant(t *testing.T, url, token string, links int) {
	t.Helper()
	const bulk = 1000
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	for from := 0; from < links; from += bulk {
		var items []map[string]string
		for i := from; i < min(from+bulk, links); i++ {
			items = append(items, map[string]string{"url": load.Target(i), "alias": load.Code(i)})
		}
		body, err := json.Marshal(items)
		expect.OK(t, err)
		postBulk(t, client, url, token, body)
	}
}

// postBulk posts a bulk, all of whose links must be made.
func postBulk(t *testing.T, client *http.Client, url, token string, body []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/v1/shorten/bulk", bytes.NewReader(body))
	expect.OK(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	expect.OK(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	expect.MustThat(t, err == nil && resp.StatusCode/100 == 2 && !bytes.Contains(text, []byte(`"status":4`)),
		"a bulk: status %d, %v: %.300s", resp.StatusCode, err, text)
}

// clockOf returns the CPU time that a process has used.
func clockOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	took, err := load.CPUTime(pid)
	expect.OK(t, err)
	return took
}

// memoryOf returns a line of /proc/PID/status in MiB: VmRSS is resident, VmHWM was at most.
func memoryOf(t *testing.T, pid int, name string) float64 {
	t.Helper()
	return float64(field(t, fmt.Sprintf("/proc/%d/status", pid), name)) / 1024
}

// A spread is a number of measurements of the same.
type spread []float64

func (s spread) String() string {
	s = slices.Sorted(slices.Values(s))
	return fmt.Sprintf("%.3g (%.3g to %.3g)", s.median(), s[0], s[len(s)-1])
}

func (s spread) median() float64 { return median(s) }
