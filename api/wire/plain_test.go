package wire

import (
	"net/netip"
	"testing"
)

var somePurposes = []string{"Sec-Purpose", "purpose", "x-purpose", "X-Moz"}

// ordinary has a request of each ordinary client as it sends it.
var ordinary = map[string]string{
	"curl":            "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n",
	"curl -I":         "HEAD /aB3dE6gH HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n",
	"wget":            "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nUser-Agent: Wget/1.21.3\r\nAccept: */*\r\nAccept-Encoding: identity\r\nConnection: Keep-Alive\r\n\r\n",
	"wrk":             "GET /aB3dE6gH HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n",
	"ab":              "GET /aB3dE6gH HTTP/1.0\r\nHost: 127.0.0.1:8080\r\nUser-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n",
	"k6":              "GET /aB3dE6gH HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: k6/0.55.0 (https://k6.io/)\r\n\r\n",
	"Go":              "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nUser-Agent: Go-http-client/1.1\r\nAccept-Encoding: gzip\r\n\r\n",
	"Go, one request": "GET /aB3dE6gH HTTP/1.1\r\nHost: [::1]:8080\r\nUser-Agent: Go-http-client/1.1\r\nConnection: close\r\nAccept-Encoding: gzip\r\n\r\n",
	"Firefox": "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\nConnection: keep-alive\r\nReferer: https://www.example.com/a/b\r\nUpgrade-Insecure-Requests: 1\r\n" +
		"Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-User: ?1\r\nPriority: u=1\r\n\r\n",
	"Chrome": "GET /aB3dE6gH?utm_source=news&utm_medium=email HTTP/1.1\r\nHost: sho.rt\r\nConnection: keep-alive\r\n" +
		"sec-ch-ua: \"Chromium\";v=\"130\", \"Google Chrome\";v=\"130\", \"Not?A_Brand\";v=\"99\"\r\nsec-ch-ua-mobile: ?0\r\nsec-ch-ua-platform: \"Windows\"\r\n" +
		"Upgrade-Insecure-Requests: 1\r\nUser-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7\r\n" +
		"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1\r\nSec-Fetch-Dest: document\r\nReferer: https://www.example.com/\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7\r\n\r\n",
	"Chrome, prefetch": "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nConnection: keep-alive\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36\r\n" +
		"Accept: */*\r\nSec-Purpose: prefetch;prerender\r\nPurpose: prefetch\r\nAccept-Encoding: gzip, deflate, br\r\n\r\n",
	"Safari": "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nUpgrade-Insecure-Requests: 1\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n" +
		"User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1\r\n" +
		"Accept-Language: en-GB,en;q=0.9\r\nPriority: u=0, i\r\nAccept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\n\r\n",
	"Googlebot": "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nConnection: keep-alive\r\nAccept: text/html,application/xhtml+xml,application/signed-exchange;v=b3,application/xml;q=0.9,*/*;q=0.8\r\n" +
		"From: googlebot(at)googlebot.com\r\nUser-Agent: Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)\r\n" +
		"Accept-Encoding: gzip, deflate, br\r\nIf-Modified-Since: Sat, 01 Nov 2025 10:00:00 GMT\r\n\r\n",
	"okhttp": "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nConnection: Keep-Alive\r\nAccept-Encoding: gzip\r\nUser-Agent: okhttp/4.12.0\r\n\r\n",
	"nginx 1.22": "GET /aB3dE6gH HTTP/1.0\r\nX-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\nHost: sho.rt\r\nConnection: close\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\nUpgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n" +
		"Sec-Fetch-Site: none\r\nSec-Fetch-User: ?1\r\n\r\n",
	"HAProxy": "GET /aB3dE6gH HTTP/1.1\r\nhost: sho.rt\r\nuser-agent: curl/7.88.1\r\naccept: */*\r\nx-forwarded-for: 203.0.113.9\r\nx-forwarded-for: 192.0.2.7\r\nx-forwarded-proto: https\r\n\r\n",
}

func TestOrdinaryRequestsArePlain(t *testing.T) {
	rd := NewReader(&someProxies, somePurposes)
	for client, raw := range ordinary {
		var r Plain
		if n, more := rd.Read([]byte(raw), netip.MustParseAddr("10.0.0.1"), &r); n != len(raw) || more {
			t.Errorf("%s: got %d, %v, want %d, false", client, n, more, len(raw))
		}
	}
}
