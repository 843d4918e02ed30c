// SPDX-License-Identifier: Apache-2.0

// Package recent keeps values that were used recently, in bounded memory.
package recent

import "sync"

// Cache holds values by key: at most Size, the recently used ones among them. Values must not change
// once they are in it. It is safe for concurrent use. The zero value holds nothing.
type Cache[K comparable, V any] struct {
	Size int

	mu sync.Mutex
	// young are the keys used since young was last full, old those used before.
	young, old map[K]V
}

// Get returns the value of a key.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, found := c.young[key]
	if !found {
		if v, found = c.old[key]; found {
			c.put(key, v)
		}
	}
	return v, found
}

// Put stores a value.
func (c *Cache[K, V]) Put(key K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, v)
}

func (c *Cache[K, V]) put(key K, v V) {
	if len(c.young) >= c.Size/2 {
		c.young, c.old = nil, c.young
	}
	if c.young == nil {
		c.young = map[K]V{}
	}
	c.young[key] = v
}
