//go:build shuntnewerpayload

package row

// NewestPayload is that of the next version of shunt, which tests build with this tag and let take over a
// cluster: it differs in the number only.
const NewestPayload = 2
