// SPDX-License-Identifier: Apache-2.0

package scheduler

import "github.com/kube-lifeline/lifeline/internal/message"

// maxCleaned limits the remembered messages, and maxRemembered their length in bytes.
const (
	maxCleaned    = 1024
	maxRemembered = 256
)

// cleaner removes text that may quote values from messages. It remembers some, as most attempts have
// the same. It belongs to one goroutine.
type cleaner struct{ known map[string]string }

func (c *cleaner) text(text string) string {
	if clean, ok := c.known[text]; ok {
		return clean
	}
	clean := message.Clean(text)
	if len(text) > maxRemembered {
		return clean
	}
	if c.known == nil || len(c.known) >= maxCleaned {
		c.known = map[string]string{}
	}
	c.known[text] = clean
	return clean
}
