package load

import "fmt"

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
func templates(s *Spec) (made []template) {
	all := agents()
	if !s.Visitors {
		all = all[:1]
	}
	for _, agent := range all {
		text := fmt.Sprintf("GET /%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n\r\n", Code(0), s.Address, agent)
		made = append(made, template{[]byte(text), len("GET /")})
	}
	return made
}

// agents returns 160 User-Agents of Chrome: each has a version and one of a few systems.
func agents() (all []string) {
	for version := 110; version < 150; version++ {
		for _, of := range [][2]string{
			{"Windows NT 10.0; Win64; x64", ""}, {"Macintosh; Intel Mac OS X 10_15_7", ""}, {"X11; Linux x86_64", ""}, {"Linux; Android 10; K", "Mobile "},
		} {
			all = append(all, fmt.Sprintf("Mozilla/5.0 (%s) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.0.0 %sSafari/537.36", of[0], version, of[1]))
		}
	}
	return all
}
