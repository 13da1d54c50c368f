package load

import (
	"fmt"
	"strings"
)

// A template is a request with room for a code.
type template struct {
	bytes  []byte
	codeAt int
}

// appendTo appends the request for a code.
func (t *template) appendTo(b []byte, c *code) []byte {
	at := len(b) + t.codeAt
	b = append(b, t.bytes...)
	*(*code)(b[at:]) = *c
	return b
}

// templates returns the requests that a Spec asks for, one for each User-Agent.
func templates(s *Spec) []template {
	agents := allAgents()
	if !s.Visitors {
		agents = agents[:1]
	}
	made := make([]template, len(agents))
	for i, a := range agents {
		made[i] = a.template(s)
	}
	return made
}

// An agent is a browser as its header fields describe it.
type agent struct {
	version          int
	platform, system string
	mobile           bool
}

// allAgents returns 160 agents: Chrome's User-Agent has a version and one of a few systems.
func allAgents() (all []agent) {
	for version := 110; version < 150; version++ {
		all = append(all,
			agent{version, "Windows", "Windows NT 10.0; Win64; x64", false},
			agent{version, "macOS", "Macintosh; Intel Mac OS X 10_15_7", false},
			agent{version, "Linux", "X11; Linux x86_64", false},
			agent{version, "Android", "Linux; Android 10; K", true})
	}
	return all
}

func (a *agent) userAgent() string {
	mobile := ""
	if a.mobile {
		mobile = "Mobile "
	}
	return fmt.Sprintf("Mozilla/5.0 (%s) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.0.0 %sSafari/537.36", a.system, a.version, mobile)
}

// template returns the request of the agent: the fields that every client sends, or all that
// Chrome sends when a link on another site is followed.
func (a *agent) template(s *Spec) template {
	var b strings.Builder
	b.WriteString("GET /")
	codeAt := b.Len()
	fmt.Fprintf(&b, "%s HTTP/1.1\r\nHost: %s\r\n", Code(0), s.Address)
	switch {
	case s.Reconnect:
		b.WriteString("Connection: close\r\n")
	case s.Browser:
		b.WriteString("Connection: keep-alive\r\n")
	}
	if s.Browser {
		a.writeBrowserFields(&b)
	} else {
		fmt.Fprintf(&b, "User-Agent: %s\r\n", a.userAgent())
	}
	b.WriteString("\r\n")
	return template{[]byte(b.String()), codeAt}
}

func (a *agent) writeBrowserFields(b *strings.Builder) {
	mobile := 0
	if a.mobile {
		mobile = 1
	}
	fmt.Fprintf(b, "sec-ch-ua: \"Chromium\";v=\"%d\", \"Google Chrome\";v=\"%[1]d\", \"Not?A_Brand\";v=\"99\"\r\n"+
		"sec-ch-ua-mobile: ?%d\r\nsec-ch-ua-platform: \"%s\"\r\n", a.version, mobile, a.platform)
	fmt.Fprintf(b, "Upgrade-Insecure-Requests: 1\r\nUser-Agent: %s\r\n", a.userAgent())
	b.WriteString("Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8," +
		"application/signed-exchange;v=b3;q=0.7\r\n" +
		"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1\r\nSec-Fetch-Dest: document\r\n" +
		"Referer: https://news.example.org/\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-US,en;q=0.9\r\n")
}
