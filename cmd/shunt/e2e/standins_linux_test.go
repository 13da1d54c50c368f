package e2e

import "os"

func init() {
	standIns[guardianName] = func() int { return standInForGuardian(os.Stdin) }
	standIns[generatorName] = func() int { return standInForGenerator(os.Stdin, os.Stdout) }
}
