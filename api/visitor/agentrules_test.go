package visitor

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"shunt/engine/expect"
)

// The cases are in testdata/cases: lines of a name and of what a request has in its header, and what is read from that.
func TestHeadersAreReadAsTheFilesSay(t *testing.T) {
	datadriven.Walk(t, "testdata/cases", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for _, c := range casesIn(d.Input) {
				switch d.Cmd {
				case "agent":
					fmt.Fprintf(&out, "%s → %s\n", c.name, agentText(classify([]byte(c.header))))
				case "referrer":
					fmt.Fprintf(&out, "%s → %q\n", c.name, appendReferrerHost(nil, []byte(c.header)))
				}
			}
			return out.String()
		})
	})
}

type headerCase struct{ name, header string }

// casesIn returns the lines of a name and a header, which may be quoted.
func casesIn(text string) (cases []headerCase) {
	for line := range strings.Lines(text) {
		name, header, found := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if unquoted, err := strconv.Unquote(header); err == nil {
			header = unquoted
		}
		if found && !strings.HasPrefix(line, "#") {
			cases = append(cases, headerCase{name, header})
		}
	}
	return cases
}

// agentText returns an Agent in words.
func agentText(a Agent) string {
	switch {
	case a.Unfurls():
		return "bot, previews"
	case a.IsBot():
		return "bot"
	}
	return fmt.Sprintf("%v, %v", a.Dimensions().Device(), a.Dimensions().Browser())
}

// usualAgents returns User-Agents by their names.
func usualAgents(t testing.TB) []headerCase {
	text, err := os.ReadFile("testdata/cases/agents.txt")
	expect.OK(t, err)
	return casesIn(string(text))
}

func TestWhatAnAppSaysTooLateIsNotRead(t *testing.T) {
	agent := "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) " + strings.Repeat("x ", maxAgentBytes/2) + " Instagram 1"
	expect.Equal(t, agentText(classify([]byte(agent))), "mobile, unknown")
}

// BenchmarkClassify is what a User-Agent costs that is not in the cache.
func BenchmarkClassify(b *testing.B) {
	for _, c := range usualAgents(b) {
		switch c.name {
		case "Chrome on Windows", "Instagram on Android", "Safari on an iPhone", "curl":
			b.Run("agent="+strings.ReplaceAll(c.name, " ", "_"), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					classify([]byte(c.header))
				}
			})
		}
	}
}
