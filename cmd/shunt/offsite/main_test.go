package offsite

import (
	"os"
	"testing"

	"shunt/cmd/shunt/offsite/s3test"
)

func TestMain(m *testing.M) {
	if place := os.Getenv(childEnv); place != "" {
		os.Exit(child(place))
	}
	code := m.Run()
	s3test.Remove()
	os.Exit(code)
}
