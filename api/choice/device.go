package choice

import (
	"bytes"

	"shunt/engine/extras"
)

// maxAgentBytes is how many bytes of a User-Agent are read. It names the system early.
const maxAgentBytes = 256

// systems are the words by which a User-Agent names its system, the surest first: a telephone with Windows says Android
// too, an iPhone Mac OS X, Android Linux, and Chrome OS X11. 0: it is none that a rule can name.
var systems = [...]struct {
	word   []byte
	device extras.Device
}{
	{[]byte("Windows Phone"), 0},
	{[]byte("iPhone"), extras.IOS},
	{[]byte("iPad"), extras.IOS},
	{[]byte("iPod"), extras.IOS},
	{[]byte("Android"), extras.Android},
	{[]byte("Windows"), extras.Windows},
	{[]byte("CrOS"), extras.ChromeOS},
	{[]byte("Macintosh"), extras.MacOS},
	{[]byte("Linux"), extras.Linux},
	{[]byte("X11"), extras.Linux},
}

// deviceOf returns the system that a User-Agent names; 0: it is not known. An iPad that asks for desktop pages says
// Macintosh; in an app it also says Mobile/, which no Macintosh says.
func deviceOf(agent []byte) extras.Device {
	agent = agent[:min(len(agent), maxAgentBytes)]
	for i := range systems {
		s := &systems[i]
		if !bytes.Contains(agent, s.word) {
			continue
		}
		if s.device == extras.MacOS && bytes.Contains(agent, []byte("Mobile/")) {
			return extras.IOS
		}
		return s.device
	}
	return 0
}

// isDevice reports whether device is wanted, or one of a group that is wanted.
func isDevice(device, wanted extras.Device) bool {
	switch wanted {
	case extras.Mobile:
		return device == extras.Android || device == extras.IOS
	case extras.Desktop:
		return device == extras.Windows || device == extras.MacOS || device == extras.Linux || device == extras.ChromeOS
	}
	return device == wanted
}
