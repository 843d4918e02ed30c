// SPDX-License-Identifier: Apache-2.0

package watch

import "time"

// startingUp is how long refusals count as temporary after the server was lost.
const startingUp = 30 * time.Second

// contact is the API server as the requests of one stream show it.
type contact struct {
	// lost is when the last watch ended, or the server last gave no useful response. Zero means never.
	lost time.Time
	// refused means that the server has rejected the credentials since the last success.
	refused bool
}

// lose records the end of a watch, or of an attempt without a useful response.
func (c *contact) lose(now time.Time) { c.lost = now }

// refuse records rejected credentials.
func (c *contact) refuse() { c.refused = true }

// accept records a success. It reports whether the server had rejected the credentials before.
func (c *contact) accept() bool {
	was := c.refused
	c.refused = false
	return was
}

// isStarting reports whether a refusal may be due to the server's start. At first, a new server does
// not have all rights and kinds loaded.
func (c *contact) isStarting(now time.Time) bool {
	return !c.lost.IsZero() && now.Sub(c.lost) < startingUp
}
