package browser

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"shunt/engine/expect"
)

// This file is programs that use the API beside the people in front of their pages.

// token makes a token for the oldest admin, by the command.
func (s *server) token() string {
	s.t.Helper()
	return s.run("", "token", "add", "--name", "test")
}

// ask sends a request of the API and returns the answer with its body.
func (s *server) ask(token, method, path string, body any) (*http.Response, string) {
	s.t.Helper()
	var sent bytes.Buffer
	if body != nil {
		expect.OK(s.t, json.NewEncoder(&sent).Encode(body))
	}
	request, err := http.NewRequest(method, s.base+"/api/v1"+path, &sent)
	expect.OK(s.t, err)
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return s.send(request)
}

func (s *server) send(request *http.Request) (*http.Response, string) {
	s.t.Helper()
	response, err := s.client.Do(request)
	expect.OK(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	expect.OK(s.t, err)
	return response, string(text)
}

// answerOf does what ask does, fails the test unless the call succeeds, and decodes the answer.
func answerOf[T any](s *server, token, method, path string, body any) (answer T) {
	s.t.Helper()
	response, text := s.ask(token, method, path, body)
	expect.MustThat(s.t, response.StatusCode < 300, "%s %s: got %d: %s", method, path, response.StatusCode, text)
	if text != "" {
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			s.t.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
	return answer
}

// A short is what these tests need of a link.
type shortLink struct {
	Code     string `json:"code"`
	ShortURL string `json:"short_url"`
}

// create makes a link of the token's owner.
func (s *server) create(token string, fields map[string]any) shortLink {
	s.t.Helper()
	return answerOf[shortLink](s, token, http.MethodPost, "/shorten", fields)
}

// addUser makes a user, with the password of all users of these tests.
func (s *server) addUser(token, email, role string) {
	s.t.Helper()
	answerOf[any](s, token, http.MethodPost, "/users", map[string]any{"email": email, "role": role, "password": password})
}

// password is that of all users of these tests.
const password = "correct horse battery"

// logIn returns the cookies of a new session.
func (s *server) logIn(email, password string) []*http.Cookie {
	s.t.Helper()
	response, text := s.ask("", http.MethodPost, "/session", map[string]string{"email": email, "password": password})
	expect.MustThat(s.t, response.StatusCode < 300 && len(response.Cookies()) != 0, "logging in: got %d: %s", response.StatusCode, text)
	return response.Cookies()
}

// A visitor is who follows a link.
type visitor struct{ agent, referrer, country string }

// hit follows a link n times.
func (s *server) hit(code string, n int, v visitor) {
	s.t.Helper()
	for range n {
		request, err := http.NewRequest(http.MethodGet, s.base+"/"+code, nil)
		expect.OK(s.t, err)
		request.Header.Set("User-Agent", v.agent)
		if v.referrer != "" {
			request.Header.Set("Referer", v.referrer)
		}
		if v.country != "" {
			request.Header.Set(countryHeader, v.country)
		}
		if r, text := s.send(request); r.StatusCode >= 500 {
			s.t.Fatalf("following %s: got %d: %s", code, r.StatusCode, text)
		}
	}
}
