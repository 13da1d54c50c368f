package form

import (
	"encoding/json"
	"strings"
	"testing"

	"shunt/api/jsonbody"
	"shunt/engine/expect"
)

func read(mediaType, text string) (string, error) {
	b, err := Read(jsonbody.Body{MediaType: []byte(mediaType), Text: []byte(text)})
	return string(b.Text), err
}

// partsOf returns a form in parts, of names and values.
func partsOf(fields ...string) string {
	var b strings.Builder
	for i := 0; i < len(fields); i += 2 {
		b.WriteString("--X\r\nContent-Disposition: form-data; name=\"" + fields[i] + "\"\r\n\r\n" + fields[i+1] + "\r\n")
	}
	return b.String() + "--X--\r\n"
}

func TestAFormSaysWhatTheObjectSays(t *testing.T) {
	for form, want := range map[string]string{
		"":                                   `{}`,
		"url=https%3A%2F%2Fa.example%2F%3Fb": `{"url":"https://a.example/?b"}`,
		"url=a&alias=b+c&title=":             `{"url":"a","alias":"b c"}`,
		"url=a&tags=x,+y&tags=z":             `{"url":"a","tags":["x","y","z"]}`,
		"max_hits=7&redirect_status=301&forward_query=on&disabled=FALSE&reuse=1": `{"max_hits":7,"redirect_status":301,"forward_query":true,"disabled":false,"reuse":true}`,
		"max_hits=many&disabled=perhaps&split=x":                                 `{"max_hits":"many","disabled":"perhaps","split":"x"}`,
		`split=[{"url":"a","weight":1}]`:                                         `{"split":[{"url":"a","weight":1}]}`,
		"url=a&url=b&%22=%00":                                                    `{"url":"a","url":"b","\"":"\u0000"}`,
	} {
		got, err := read("application/x-www-form-urlencoded; charset=UTF-8", form)
		expect.That(t, err == nil && got == want, "%q: got %s, %v, want %s", form, got, err, want)
	}
	got, err := read("multipart/form-data; boundary=X", partsOf("url", "https://a.example/", "tags", "x,y", "max_hits", "7"))
	expect.That(t, err == nil && got == `{"url":"https://a.example/","max_hits":7,"tags":["x","y"]}`, "in parts: got %s, %v", got, err)
	got, err = read("application/json", "url=a")
	expect.That(t, err == nil && got == "url=a", "no form: got %s, %v", got, err)
}

func TestWhatIsNoFormIsRefused(t *testing.T) {
	for name, c := range map[string][2]string{
		"a wrong escape":      {"application/x-www-form-urlencoded", "url=%zz"},
		"no boundary":         {"multipart/form-data", partsOf("url", "a")},
		"another one":         {"multipart/form-data; boundary=Y", partsOf("url", "a")},
		"cut off":             {"multipart/form-data; boundary=X", strings.TrimSuffix(partsOf("url", "a"), "--X--\r\n")},
		"a file":              {"multipart/form-data; boundary=X", strings.Replace(partsOf("url", "a"), `"url"`, `"url"; filename="a"`, 1)},
		"no UTF-8":            {"application/x-www-form-urlencoded", "url=http://a/%ff"},
		"a name that is none": {"application/x-www-form-urlencoded", "%ff=a"},
		"too many fields":     {"application/x-www-form-urlencoded", strings.Repeat("a=&", maxFields+1)},
	} {
		got, err := read(c[0], c[1])
		expect.That(t, err != nil, "%s: got %s", name, got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("application/x-www-form-urlencoded", "url=a&tags=b,c&max_hits=7")
	f.Add("multipart/form-data; boundary=X", partsOf("url", "a", "tags", "b"))
	f.Fuzz(func(t *testing.T, mediaType, text string) {
		got, err := read(mediaType, text)
		if err == nil && got != text {
			expect.MustThat(t, json.Valid([]byte(got)), "%q is read as %q", text, got)
		}
	})
}
