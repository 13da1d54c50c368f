package auth

import "testing"

func TestAnInvalidOriginIsRefusedAtStart(t *testing.T) {
	for _, text := range []string{"", "app.example", "https://", "https://app.example//", "https://app.example/x", "https://a*.example", "https://*", "https://*.", "https://a.*.example", "*://app.example",
		"chrome-extension://", "chrome-extension://*.x", "chrome-extension://x/page.html", "https://a@app.example",
		"ftp://app.example", "https://app.example?x", "null", "https://*.example\x00"} {
		if _, err := NewCORS([]string{text}); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestOriginsAreWrittenAsBrowsersWriteThem(t *testing.T) {
	for baseURL, want := range map[string]string{
		"https://sho.rt": "https://sho.rt", "https://sho.rt:443": "https://sho.rt", "http://sho.rt:443": "http://sho.rt:443",
		"http://SHO.rt:80": "http://sho.rt", "http://[::1]:8080": "http://[::1]:8080", "http://[::1]:80": "http://[::1]",
	} {
		if got := OriginOf(baseURL); got != want {
			t.Errorf("%s: got %s, want %s", baseURL, got, want)
		}
	}
}
