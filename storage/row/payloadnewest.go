//go:build !shuntnewerpayload

package row

// NewestPayload is the newest version of payloads that this program reads and can write.
const NewestPayload = 1
