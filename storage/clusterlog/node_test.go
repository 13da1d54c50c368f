package clusterlog

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"shunt/engine/expect"
)

var goldenNode = Node{
	Name: "node-1", Advertise: "https://10.0.0.1:7443", Role: Full, Outbox: [16]byte([]byte("an outbox's id..")),
	Reads: 1, Applied: 1<<64 - 1, SinceMs: 1767225600000, ClockMs: 1767225601234,
}

func TestANodeHasTheseBytes(t *testing.T) {
	const rest = `"name":"node-1","advertise":"https://10.0.0.1:7443","role":"full","outbox":"616e206f7574626f7827732069642e2e",` +
		`"reads":1,"applied":18446744073709551615,"since_ms":1767225600000,"clock_ms":1767225601234}`
	claim := Claim([]byte("16 random bytes!"))
	node, err := EncodeNode(&goldenNode)
	want := `{"version":1,` + rest
	expect.That(t, string(node) == want && err == nil, "got  %s, %v\nwant %s", node, err, want)
	claimed, err := EncodeClaim(&goldenNode, claim)
	if want := `{"version":1,"claim":"31362072616e646f6d20627974657321",` + rest; string(claimed) != want || err != nil {
		t.Errorf("got  %s, %v\nwant %s", claimed, err, want)
	}
	n, err := DecodeNode(node)
	expect.That(t, n == goldenNode && err == nil, "got %+v, %v", n, err)
	if n, c, err := DecodeClaim(claimed); n != goldenNode || c != claim || err != nil {
		t.Errorf("got %+v, %x, %v", n, c, err)
	}
	expect.Error(t, expect.Err(DecodeNode(claimed)), ErrCorrupt, "a claim as a node")
	if _, _, err := DecodeClaim(node); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a node as a claim: got %v, want %v", err, ErrCorrupt)
	}
}

func TestANodeThatIsNotValidIsNotWritten(t *testing.T) {
	for name, change := range map[string]func(*Node){
		"no name":                  func(n *Node) { n.Name = "" },
		"a name of 64 bytes":       func(n *Node) { n.Name = strings.Repeat("a", 64) },
		"a capital":                func(n *Node) { n.Name = "A" },
		"the user of etcd who may": func(n *Node) { n.Name = "root" },
		"a slash":                  func(n *Node) { n.Name = "a/b" },
		"no address":               func(n *Node) { n.Advertise = "" },
		"no https":                 func(n *Node) { n.Advertise = "http://h:1" },
		"no port":                  func(n *Node) { n.Advertise = "https://h" },
		"port 0":                   func(n *Node) { n.Advertise = "https://h:0" },
		"port 65536":               func(n *Node) { n.Advertise = "https://h:65536" },
		"no host":                  func(n *Node) { n.Advertise = "https://:1" },
		"a path":                   func(n *Node) { n.Advertise = "https://h:1/" },
		"a query":                  func(n *Node) { n.Advertise = "https://h:1?q" },
		"a user":                   func(n *Node) { n.Advertise = "https://u@h:1" },
		"a host of 600 bytes":      func(n *Node) { n.Advertise = "https://" + strings.Repeat("h", 600) + ":1" },
		"no role":                  func(n *Node) { n.Role = "" },
		"another role":             func(n *Node) { n.Role = "Full" },
		"no version of entries":    func(n *Node) { n.Reads = 0 },
		"a start before 1970":      func(n *Node) { n.SinceMs = -1 },
		"a start in a far future":  func(n *Node) { n.SinceMs = 1 << 53 },
		"a clock before 1970":      func(n *Node) { n.ClockMs = -1 },
		"a clock in a far future":  func(n *Node) { n.ClockMs = 1 << 53 },
	} {
		n := goldenNode
		change(&n)
		v, err := EncodeNode(&n)
		expect.That(t, v == nil && errors.Is(err, ErrInvalidNode), "%s: got %s, %v, want %v", name, v, err, ErrInvalidNode)
	}
	for _, address := range []string{"https://node.example:7443", "https://[::1]:1", "https://h:65535"} {
		n := Node{Name: strings.Repeat("a", 63), Advertise: address, Role: Edge, Reads: 1}
		if v, err := EncodeNode(&n); err != nil {
			t.Errorf("%s: %v", address, err)
		} else if again, err := DecodeNode(v); again != n || err != nil {
			t.Errorf("%s: read as %+v, %v", address, again, err)
		}
	}
}

func TestNodesThatNobodyWroteAreRefused(t *testing.T) {
	whole, err := EncodeNode(&goldenNode)
	expect.OK(t, err)
	edit := func(old, new string) string {
		expect.MustThat(t, bytes.Contains(whole, []byte(old)), "%s has no %s", whole, old)
		return strings.Replace(string(whole), old, new, 1)
	}
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"nothing":             {"", ErrCorrupt},
		"null":                {"null", ErrCorrupt},
		"a number":            {"7", ErrCorrupt},
		"an empty object":     {"{}", ErrCorrupt},
		"half of one":         {string(whole[:60]), ErrCorrupt},
		"one and more":        {string(whole) + "}", ErrCorrupt},
		"one with a newline":  {string(whole) + "\n", ErrCorrupt},
		"an unknown field":    {edit(`"name"`, `"x":1,"name"`), ErrCorrupt},
		"a field twice":       {edit(`"reads":1`, `"reads":1,"reads":1`), ErrCorrupt},
		"another case":        {edit(`"name"`, `"Name"`), ErrCorrupt},
		"another order":       {edit(`"version":1,"name":"node-1"`, `"name":"node-1","version":1`), ErrCorrupt},
		"a negative sequence": {edit("18446744073709551615", "-1"), ErrCorrupt},
		"a large sequence":    {edit("18446744073709551615", "18446744073709551616"), ErrCorrupt},
		"a short outbox":      {edit("616e", "61"), ErrCorrupt},
		"an outbox of zeros":  {edit("616e206f7574626f7827732069642e2e", strings.Repeat("0", 32)), ErrCorrupt},
		"a name with a slash": {edit("node-1", "node/1"), ErrCorrupt},
		"version 0":           {edit(`"version":1`, `"version":0`), ErrCorrupt},
		"version 2":           {`{"version":2,"anything":[]}`, ErrNewerVersion},
		"a large one":         {edit("node-1", strings.Repeat("a", MaxNodeBytes)), ErrCorrupt},
		"invalid UTF-8":       {edit("10.0.0.1", "\xff"), ErrCorrupt},
	} {
		n, err := DecodeNode([]byte(c.text))
		expect.That(t, n == (Node{}) && errors.Is(err, c.want), "%s: got %+v, %v; want %v", name, n, err, c.want)
	}
}

// FuzzDecodeNode decodes any bytes as a node and as a claim: only what is encoded is accepted.
func FuzzDecodeNode(f *testing.F) {
	node, _ := EncodeNode(&goldenNode)
	claimed, _ := EncodeClaim(&Node{Name: "a", Advertise: "https://[::1]:1", Role: Edge, Reads: 3}, Claim{1})
	for _, seed := range [][]byte{node, claimed, []byte(`{"version":2}`), []byte(`{"version":1,"name":"\u0061"}`), nil} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		n, err := DecodeNode(v)
		again, encoding := EncodeNode(&n)
		checkDecoded(t, v, again, err, encoding)
		n, c, err := DecodeClaim(v)
		again, encoding = EncodeClaim(&n, c)
		checkDecoded(t, v, again, err, encoding)
	})
}

func checkDecoded(t *testing.T, v, again []byte, decoding, encoding error) {
	t.Helper()
	expect.MustThat(t, decoding != nil || encoding == nil && bytes.Equal(v, again), "%q decodes and is encoded as %q, %v", v, again, encoding)
	expect.MustThat(t, decoding == nil || errors.Is(decoding, ErrCorrupt) || errors.Is(decoding, ErrNewerVersion), "%q: an error without a name: %v", v, decoding)
}
