package memory

import (
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"shunt/engine/expect"
)

func TestTheCacheIsSizedByTheMemory(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name         string
		memory, want uint64
	}{
		{"unknown", 0, 64 * mib},
		{"a small container", 256 * mib, 64 * mib},
		{"2 GiB", 2048 * mib, 128 * mib},
		{"8 GiB", 8192 * mib, 512 * mib},
		{"a large machine", 1 << 40, 1024 * mib},
	} {
		expect.Equal(t, CacheBytes(c.memory), int64(c.want), "%s: a cache of bytes, want %d", c.name, c.want)
	}
}

func TestTheLimitOfAContainerCounts(t *testing.T) {
	const none = math.MaxUint64
	for _, c := range []struct {
		name, groups string
		files        string // path=content, one a word
		want         uint64
	}{
		{"no control groups", "", "", none},
		{"no limit", "0::/\n", "memory.max=max", none},
		{"version 2, in a container", "0::/\n", "memory.max=536870912", 512 << 20},
		{"version 2, of a unit", "0::/system.slice/shunt.service\n", "system.slice/shunt.service/memory.max=1073741824", 1 << 30},
		{"of a group above", "0::/a/b\n", "a/memory.max=4096 a/b/memory.max=8192", 4096},
		{"version 2, the path is the host's", "0::/docker/0123\n", "memory.max=4096", 4096},
		{"version 1", "4:cpu,cpuacct:/x\n9:memory:/x\n0::/\n", "memory/x/memory.limit_in_bytes=4096", 4096},
		{"version 1 without a limit", "9:memory:/\n", "memory/memory.limit_in_bytes=9223372036854771712", 9223372036854771712},
		{"not a number", "0::/\nnonsense\n", "memory.max=lots", none},
		{"a path that leads out", "0::/../..\n", "memory.max=4096", 4096},
	} {
		root := fstest.MapFS{"proc/self/cgroup": {Data: []byte(c.groups)}}
		for _, file := range strings.Fields(c.files) {
			name, content, _ := strings.Cut(file, "=")
			root["sys/fs/cgroup/"+name] = &fstest.MapFile{Data: []byte(content + "\n")}
		}
		expect.Equal(t, groupMemory(root), c.want, "%s bytes", c.name)
	}
	got := Usable(fstest.MapFS{})
	expect.That(t, got >= 64<<20 && got <= 1<<50, "this machine has %d bytes of memory", got)
}
