package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"shunt/engine/expect"
)

// The cases of these tests are in testdata/cases: see caseFolder.

func TestTypicalMistakesGetHelpfulMessages(t *testing.T) {
	t.Parallel()
	c := newCaseFolder(t)
	c.takePort()
	c.run("mistakes")
}

func TestCommandsNeedTheRightFolder(t *testing.T) {
	t.Parallel()
	c := newCaseFolder(t)
	c.takePort()
	c.run("nostore")
}

func TestCommandsOnAFolder(t *testing.T) {
	for _, file := range []string{"alone", "server", "several", "owners", "baseurl", "journalfile", "journalmoves", "journalcopied", "health", "setuplink", "backup", "config", "importing", "importdaily", "importtimes", "importfiles", "importrejects", "tables", "importreuse", "filtered", "resolve", "complete", "help", "sheet", "qrcodes", "deadtargets", "domains", "folders", "sort", "timezone"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			newCaseFolder(t).run(file)
		})
	}
}

func TestAResetOutlivesAKill(t *testing.T) {
	t.Parallel()
	newCaseFolder(t).run("reset")
}

func TestADeletedLinkIsInTheTrash(t *testing.T) {
	t.Parallel()
	newCaseFolder(t).run("trash")
}

func TestHitsSurviveAKillAlthoughTheJournalMoves(t *testing.T) {
	t.Parallel()
	newCaseFolder(t).run("journal")
}

func TestAnEmptiedFileOfTheJournalFolderCountsAsAbsent(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "blank": ` \n`, "zeros": `\0\0\0`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCaseFolder(t)
			c.env = append(c.env, "BLANK="+text)
			c.run("journalblank")
		})
	}
}

func TestEveryCommandRefusesDataFromBeforeTheFirstRelease(t *testing.T) {
	t.Parallel()
	c := newCaseFolder(t)
	unpackPrerelease(t, c.dir)
	c.run("prerelease")
}

// TestCommandsWorkAlikeWhereverTheServerIs runs the same cases alone, while a server runs, and against a remote server.
func TestCommandsWorkAlikeWhereverTheServerIs(t *testing.T) {
	for _, file := range []string{"anywhere-users", "anywhere-links", "anywhere-audit", "anywhere-import", "anywhere-addresses", "anywhere-folders"} {
		for name, begin := range map[string]func(c *caseFolder){
			"alone": func(c *caseFolder) {
				data := filepath.Join(c.dir, "data")
				shunt(c.t, "", nil, "token", "add", "--name", "test", "--init", "--data", data).done(c.t)
				c.env = append(c.env, "SHUNT_DATA="+data, "SHUNT_BASE_URL=https://sho.rt")
			},
			"beside": func(c *caseFolder) {
				c.serve("--base-url", "https://sho.rt")
				c.server.token()
			},
			"remote": func(c *caseFolder) {
				p := startServer(c.t, filepath.Join(c.t.TempDir(), "data"), "--base-url", "https://sho.rt", "--private-targets", "allow")
				c.env = append(c.env, "SHUNT_SERVER="+p.public, "SHUNT_TOKEN="+p.token())
			},
		} {
			t.Run(file+"/"+name, func(t *testing.T) {
				t.Parallel()
				c := newCaseFolder(t)
				begin(c)
				c.run(file)
			})
		}
	}
}

func TestTheLastAdminStays(t *testing.T) {
	t.Parallel()
	p := startServer(t, filepath.Join(t.TempDir(), "data"))
	token := []string{"SHUNT_SERVER=" + p.public, "SHUNT_TOKEN=" + p.token()}
	run := func(env []string, args ...string) result {
		return shunt(t, "", append(env, "SHUNT_DATA="+p.dir), args...)
	}
	run(nil, "user", "add", "boss@example.com", "--admin").done(t)
	shunt(t, "", token, "user", "rm", "admin").want(t, exitDone, "", "")
	shunt(t, "", token, "user", "rm", "boss@example.com").want(t, exitFailed, "", `401 unauthorized`) // it was admin's token
	run(nil, "user", "rm", "boss@example.com").want(t, exitFailed, "", `last admin`)
}

func TestTokensOfTheFolderHaveScopes(t *testing.T) {
	t.Parallel()
	p := startServer(t, filepath.Join(t.TempDir(), "data"))
	for _, scopes := range []string{`["links:read","links:write","stats:read","tokens:write","admin"]`, `["links:read","links:write","stats:read","tokens:write"]`} {
		expect.Contains(t, ask(t, p.public+"/api/v1/me", p.token()), `"scopes":`+scopes, "want scopes %s", scopes)
	}
}

// TestEachFlagOfADomainHasACase looks for the flags of two commands in the cases of domains.
func TestEachFlagOfADomainHasACase(t *testing.T) {
	t.Parallel()
	cases, err := os.ReadFile(filepath.Join("testdata", "cases", "domains.txt"))
	expect.OK(t, err)
	for _, verb := range []string{"add", "edit"} {
		flags := regexp.MustCompile(`(?m)^ +--([a-z-]+)`).FindAllStringSubmatch(shunt(t, "", nil, "domain", verb, "--help").stdout, -1)
		expect.That(t, len(flags) > 12, "domain %s has only the flags %v", verb, flags)
		for _, flag := range flags {
			if slices.Contains([]string{"config", "data", "server", "token"}, flag[1]) {
				continue // of all commands
			}
			tried := regexp.MustCompile(`(?m)^(shunt domain )?` + verb + ` .*--` + flag[1] + `[ =\n]`)
			expect.That(t, tried.Match(cases), "no case has shunt domain %s --%s", verb, flag[1])
		}
	}
}
