package bench

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/pprof"
	"strings"
	"time"
)

// cpuParts are the parts of the program between which cpuByPart divides the samples of a CPU
// profile. A sample belongs to the first part one of whose functions is on its stack. Work of the
// garbage collector that an allocation has to do itself belongs to the part that allocates.
var cpuParts = []struct {
	name      string
	functions []string
}{
	{"hits", []string{"bench.(*heavyHour).hits"}},
	{"fold", []string{"engine.(*Engine).foldLoop"}},
	{"rollup", []string{"storage.(*Store).RollUp"}},
	{"flush", []string{"engine.(*Engine).flushLoop"}},
	{"memtables", []string{"pebble/v2.(*DB).flush"}},
	{"compaction", []string{"pebble/v2.(*DB).compact"}},
	{"log", []string{"record.(*LogWriter)"}},
	{"gc", []string{"runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge"}},
}

const otherPart = "other" // the scheduler, commits of links, this benchmark's own samples

// partProfile is a CPU profile that is being taken.
type partProfile struct{ file bytes.Buffer }

func startPartProfile() (*partProfile, error) {
	p := new(partProfile)
	return p, pprof.StartCPUProfile(&p.file)
}

// stop ends the profile and returns the CPU time by part.
func (p *partProfile) stop() (map[string]time.Duration, error) {
	pprof.StopCPUProfile()
	z, err := gzip.NewReader(&p.file)
	if err != nil {
		return nil, err
	}
	message, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	return cpuByPart(message)
}

// cpuByPart divides the time of a profile (profile.proto of github.com/google/pprof) between the
// parts of cpuParts.
func cpuByPart(message []byte) (map[string]time.Duration, error) {
	p := profile{locations: map[uint64][]uint64{}, functions: map[uint64]uint64{}}
	if err := eachField(message, p.field); err != nil {
		return nil, fmt.Errorf("reading a CPU profile: %w", err)
	}
	parts := map[string]time.Duration{}
	for _, s := range p.samples {
		parts[p.part(s.locations)] += time.Duration(s.nanoseconds)
	}
	return parts, nil
}

// profile is what cpuByPart needs of a profile.
type profile struct {
	samples   []profileSample
	locations map[uint64][]uint64 // ids of functions by id of a location: several if calls are inlined
	functions map[uint64]uint64   // index of the name by id
	strings   []string
}

type profileSample struct {
	locations   []uint64
	nanoseconds uint64
}

// field takes one field of the message Profile.
func (p *profile) field(number int, _ uint64, b []byte) error {
	switch number {
	case 2:
		var s profileSample
		err := eachField(b, s.field)
		p.samples = append(p.samples, s)
		return err
	case 4:
		return p.location(b)
	case 5:
		var id, name uint64
		err := eachField(b, func(number int, n uint64, _ []byte) error {
			switch number {
			case 1:
				id = n
			case 2:
				name = n
			}
			return nil
		})
		p.functions[id] = name
		return err
	case 6:
		p.strings = append(p.strings, string(b))
	}
	return nil
}

// field takes one field of the message Sample. Numbers come one by one or, if there are many, as
// bytes. The last value is the CPU time.
func (s *profileSample) field(number int, n uint64, b []byte) error {
	if b == nil {
		s.take(number, n)
	}
	for len(b) > 0 && number <= 2 {
		n, width := binary.Uvarint(b)
		if width <= 0 {
			return errProfile
		}
		s.take(number, n)
		b = b[width:]
	}
	return nil
}

func (s *profileSample) take(number int, n uint64) {
	switch number {
	case 1:
		s.locations = append(s.locations, n)
	case 2:
		s.nanoseconds = n
	}
}

func (p *profile) location(b []byte) error {
	var id uint64
	var functions []uint64
	err := eachField(b, func(number int, n uint64, line []byte) error {
		switch number {
		case 1:
			id = n
		case 4:
			return eachField(line, func(number int, n uint64, _ []byte) error {
				if number == 1 {
					functions = append(functions, n)
				}
				return nil
			})
		}
		return nil
	})
	p.locations[id] = functions
	return err
}

func (p *profile) part(stack []uint64) string {
	for _, part := range cpuParts {
		for _, function := range part.functions {
			if p.onStack(stack, function) {
				return part.name
			}
		}
	}
	return otherPart
}

func (p *profile) onStack(stack []uint64, function string) bool {
	for _, location := range stack {
		for _, id := range p.locations[location] {
			if name := p.functions[id]; name < uint64(len(p.strings)) && strings.Contains(p.strings[name], function) {
				return true
			}
		}
	}
	return false
}

var errProfile = errors.New("malformed profile")

// eachField calls fn for each field of a protocol buffer: with n for a number, with b, which is not
// nil, for bytes.
func eachField(message []byte, fn func(number int, n uint64, b []byte) error) error {
	for len(message) > 0 {
		key, width := binary.Uvarint(message)
		if width <= 0 {
			return errProfile
		}
		n, more := binary.Uvarint(message[width:])
		if more <= 0 || key&7 != 0 && key&7 != 2 {
			return errProfile
		}
		message = message[width+more:]
		var b []byte
		if key&7 == 2 {
			if n > uint64(len(message)) {
				return errProfile
			}
			b, message = message[:n], message[n:]
		}
		if err := fn(int(key>>3), n, b); err != nil {
			return err
		}
	}
	return nil
}
