package offsite

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"

	"shunt/engine/expect"
)

func answerOf(code string, status int) error {
	return minio.ErrorResponse{Code: code, StatusCode: status}
}

func TestAPlaceIsABucketAndAPrefix(t *testing.T) {
	for text, want := range map[string]Place{
		"s3://backups":            {"backups", ""},
		"s3://backups/":           {"backups", ""},
		"s3://my.backups/a/b-c_d": {"my.backups", "a/b-c_d/"},
		"s3://backups/shunt/":     {"backups", "shunt/"},
		"s3://b/x":                {},
		"s3://Backups/x":          {},
		"s3:///x":                 {},
		"s3://backups//x":         {},
		"s3://backups/x//y":       {},
		"s3://backups/../x":       {},
		"s3://backups/x/./y":      {},
		"s3://backups/ö":          {},
		"s3://backups/a b":        {},
		"s3://user:pw@backups/x":  {},
		"s3://backups/x?y=1":      {},
		"s3://a..b/x":             {},
		"https://backups/x":       {},
		"/backups":                {},
		"":                        {},
		"s3://backups/" + strings.Repeat("x", maxPrefix+1): {},
	} {
		got, err := ParsePlace(text)
		expect.That(t, got == want && (err == nil) == (want != Place{}), "%q: got %+v, %v, want %+v", text, got, err, want)
		if err == nil {
			again, err := ParsePlace(got.String())
			expect.That(t, err == nil && again == got, "%q: shown as %q", text, got.String())
		}
	}
}

func TestKeysAreThoseOfTheDefaultSection(t *testing.T) {
	for text, want := range map[string]keys{
		"":                    {},
		"aws_access_key_id=a": {id: "a"},
		"aws_access_key_id = a\naws_secret_access_key = b=c/d+\n# aws_session_token = x\n":                  {id: "a", secret: "b=c/d+"},
		"[x]\naws_access_key_id=a\n[y]\naws_access_key_id=b\n":                                              {id: "a"},
		"[x]\naws_access_key_id=a\n[default]\nAWS_ACCESS_KEY_ID=b\naws_session_token=c\nregion=somewhere\n": {id: "b", session: "c"},
	} {
		expect.Equal(t, parseKeys([]byte(text)), want, "%q", text)
	}
}

func whole() *manifest {
	sum := strings.Repeat("0123456789abcdef", 4)
	return &manifest{
		Format: 1, Store: storeText(storeA), At: noon, Links: 3, Program: "1.2.3",
		Files: []file{{"db/000004.sst", 5, sum}, {"format", 6, sum}},
	}
}

// The text of a list is a durable format: what stands here must be readable for ever.
const golden = `{"shunt_backup":1,"store":"0a000000000000000000000000000000","at":"2026-11-28T12:00:00Z","links":3,"program":"1.2.3",` +
	`"files":[{"name":"db/000004.sst","bytes":5,"sha256":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},` +
	`{"name":"format","bytes":6,"sha256":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}]}`

func TestAListOfABackupIsReadAgain(t *testing.T) {
	m := whole()
	name, text, err := m.encode()
	expect.OK(t, err)
	for _, text := range [][]byte{text, []byte(golden)} {
		name := name[:len("20261128T120000.000Z-")] + sumInName(text) + ".json"
		got, err := decode(name, m.Store, text)
		expect.OK(t, err)
		expect.Equal(t, fmt.Sprint(*got), fmt.Sprint(*m))
	}
	at, ok := timeOf(name)
	expect.That(t, ok && at.Equal(noon), "got %v, %v", at, ok)
	expect.Error(t, expect.Err(decode(name, m.Store, text[1:])), errDamaged, "another text")
	expect.Error(t, expect.Err(decode("x.json", m.Store, text)), errDamaged, "another name")
	expect.Error(t, expect.Err(decode(name, storeText(storeB), text)), errDamaged, "another store")
}

func TestAListThatNoRunWritesIsRefused(t *testing.T) {
	for what, change := range map[string]func(m *manifest){
		"a newer format":       func(m *manifest) { m.Format = 2 },
		"no format":            func(m *manifest) { m.Format = 0 },
		"a path upwards":       func(m *manifest) { m.Files[0].Name = "db/../../x" },
		"an absolute path":     func(m *manifest) { m.Files[0].Name = "/etc/passwd" },
		"a file beside db":     func(m *manifest) { m.Files[0].Name = "journal" },
		"a file twice":         func(m *manifest) { m.Files[0].Name = "format" },
		"no file format":       func(m *manifest) { m.Files = m.Files[:1] },
		"a negative size":      func(m *manifest) { m.Files[0].Bytes = -1 },
		"a hash with a path":   func(m *manifest) { m.Files[0].SHA256 = "../../x" },
		"a number with a path": func(m *manifest) { m.EncryptedTo = "../x" },
		"no time":              func(m *manifest) { m.At = m.At.AddDate(-2025, -10, -27).Add(-12 * 3600e9) },
	} {
		m := whole()
		change(m)
		name, text, err := m.encode()
		expect.OK(t, err)
		got, err := decode(name, m.Store, text)
		expect.That(t, err != nil && got == nil, "%s: got %+v", what, got)
	}
}

func FuzzDecodeTakesOnlyNamesInTheFolder(f *testing.F) {
	f.Add([]byte(golden))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := decode("20261128T120000.000Z-"+sumInName(text)+".json", storeText(storeA), text)
		if err != nil {
			return
		}
		for i := range m.Files {
			name := m.Files[i].Name
			expect.That(t, filepath.IsLocal(name) && objectName.MatchString(m.object(&m.Files[i])), "took %q", name)
		}
	})
}

func TestTheSizeOfAnEncryptedFileIsKnown(t *testing.T) {
	seal, path := newKey(t)
	key := readKey(t, path)
	for _, size := range []int{0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3 * chunkBytes} {
		plain := strings.Repeat("x", size)
		r, err := seal.encrypt(strings.NewReader(plain))
		expect.OK(t, err)
		var sealed, opened strings.Builder
		n, err := io.Copy(&sealed, r)
		expect.OK(t, err)
		expect.Equal(t, n, seal.size(int64(size)), "%d bytes", size)
		back, err := key.decrypt(strings.NewReader(sealed.String()))
		expect.OK(t, err)
		_, err = io.Copy(&opened, back)
		expect.That(t, err == nil && opened.String() == plain, "%d bytes: %v", size, err)
	}
}

func TestTheNumberOfRecipientsIsOfTheirSet(t *testing.T) {
	expect.Equal(t, numberOf([]byte("b\n# x\na\n")), numberOf([]byte(" a\n\nb\nb")))
	expect.That(t, numberOf([]byte("a\n")) != numberOf([]byte("a\nb\n")), "others have the same number")
}

func TestFilesOfKeysThatAreWrongAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	_, secret := newKey(t)
	for text, want := range map[string][2]string{ // what ReadSeal says, and ReadKey
		"":                            {"is not a file of recipients", "is not a file of identities"},
		"hello\n":                     {"is not a file of recipients", "is not a file of identities"},
		"age-encryption.org/v1\n-> x": {"is not a file of recipients", "is encrypted itself"},
		"ssh-ed25519 AAAA":            {"is not a file of recipients", "is not a file of identities"},
	} {
		expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
		_, sealErr := ReadSeal(path)
		_, keyErr := ReadKey(path)
		for i, err := range []error{sealErr, keyErr} {
			expect.That(t, err != nil && strings.Contains(err.Error(), want[i]), "%q: got %v, want %q", text, err, want[i])
		}
	}
	_, err := ReadSeal(secret)
	expect.That(t, err != nil && strings.Contains(err.Error(), "has a secret key") && !strings.Contains(err.Error(), "SECRET-KEY-1"), "got %v", err)
}
