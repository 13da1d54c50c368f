package source

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"shunt/engine/expect"
)

func sumOf(t *testing.T, text string) Summary {
	t.Helper()
	s, err := Open(strings.NewReader(text), int64(len(text)), Options{})
	expect.OK(t, err)
	for err == nil {
		_, err = s.Next()
	}
	return s.Summary()
}

// Twins and hosts are named for each form of a file, our own ones, too.
func TestTwinsAndHostsAreNamed(t *testing.T) {
	for name, text := range map[string]string{
		"lines as exported": `{"code":"Go","short_url":"x","url":"https://a.example/"}` + "\n" + `{"code":"go","short_url":"x","url":"https://a.example/"}` + "\n" +
			`{"code":"GO","short_url":"x","domain":"b.example","url":"https://a.example/","title":"\"code\":\"no\""}`,
		"lines otherwise": `{"url": "https://a.example/", "code": "go"}` + "\n" + `{ "code" : "Go" ,"url":"https://a.example/"}` + "\n" + `{"domain":"b.example","code":"go","url":"https://a.example/"}`,
		"own table":       "code,url,short_url,redirect_status,domain\nGo,https://a.example/,x,302,\ngo,https://a.example/,x,302,\nGO,https://a.example/,x,302,b.example\n",
	} {
		sum := sumOf(t, text)
		expect.Equal(t, fmt.Sprint(sum.Format, sum.Hosts), "shuntmap[:2 b.example:1]", name)
		expect.That(t, len(sum.Twins) == 1 && strings.EqualFold(sum.Twins[0], "go") && sum.TwinsShown() == sum.Twins[0], "%s: got %q", name, sum.Twins)
	}
	expect.Equal(t, sumOf(t, "url,code\nhttps://a.example/,go\nhttps://a.example/,gO\nhttps://a.example/,go\n").TwinsShown(), "gO", "another table")
	expect.Equal(t, sumOf(t, `{"code":"a","url":"x"}`).TwinsShown(), "", "no twins")
}

func TestTwinsBeyondTheFirstAreCounted(t *testing.T) {
	var text strings.Builder
	for i := range 2 * 130 {
		fmt.Fprintf(&text, `{"code":"%c%d","url":"https://a.example/"}`+"\n", "aA"[i%2], i/2)
	}
	sum := sumOf(t, text.String())
	expect.Equal(t, len(sum.Twins), maxTwins)
	expect.Equal(t, sum.MoreTwins, int64(30))
	expect.That(t, strings.HasSuffix(sum.TwinsShown(), ", A99 and 30 more"), "got %s", sum.TwinsShown())
}

// A small file has room for its codes, however short they are.
func TestTwinsOfASmallFileAreAllFound(t *testing.T) {
	var text strings.Builder
	n := 0
	for ; text.Len() < smallFile-2*len("zzzz,a://\n"); n++ {
		fmt.Fprintf(&text, "%s,a://\n", strconv.FormatInt(int64(n), 36))
	}
	text.WriteString("A,a://\n")
	sum := sumOf(t, text.String())
	expect.That(t, sum.Hosts[""] == int64(n)+1 && sum.TwinsShown() == "A", "%d links: got %v, %s", n, sum.Hosts, sum.TwinsShown())
}

// Only some codes are compared, in a table that is never full, and it is said.
func TestTwinsOfVeryManyCodesAreNotAllFound(t *testing.T) {
	var m twins
	for i := range maxSeen {
		m.note("", fmt.Sprint("a", i))
	}
	expect.That(t, !m.unseen && m.seen == maxSeen && m.names == nil, "%d codes were seen, %v", m.seen, m.names)
	m.note("", "b")
	m.note("", "A17")
	sum := Summary{}
	(&met{twins: m}).addTo(&sum)
	expect.Equal(t, sum.TwinsShown(), fmt.Sprintf("A17 (only the first %d codes were compared)", maxSeen))
	expect.Equal(t, (&Summary{Unseen: true}).TwinsShown(), fmt.Sprintf("none (only the first %d codes were compared)", maxSeen))
}
