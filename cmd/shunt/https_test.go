package main

import (
	"testing"
)

func TestTheBaseURLOfAnACMEDomainIsThatDomain(t *testing.T) {
	for want, s := range map[string]dataSettings{
		"https://sho.example":    {listen: ":443", acmeDomain: "sho.example"},
		"https://other.example":  {listen: ":443", acmeDomain: "sho.example", baseURL: "https://other.example"},
		"https://127.0.0.1:4711": {listen: "127.0.0.1:0", secure: true},
	} {
		if got, err := s.resolveBaseURL("127.0.0.1:4711"); err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}
