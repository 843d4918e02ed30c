// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"errors"
	"fmt"
	"sync"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// current is the open archive, or the reason for a missing one. It is safe for concurrent use.
type current struct {
	// opened is closed by the first open.
	opened chan struct{}
	once   sync.Once

	mu      sync.Mutex
	archive store.Archive
	why     error
	// damage is the damage that another user of the archive has found.
	damage error
}

// errOpening is the reason at the start.
var errOpening = errors.New("it is being opened")

func newCurrent() current { return current{opened: make(chan struct{}), why: errOpening} }

// get returns the archive; nil means none.
func (c *current) get() store.Archive {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.archive
}

// available returns the archive, or an error that wraps store.ErrUnavailable.
func (c *current) available() (store.Archive, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.archive == nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, kindOf(c.why))
	}
	return c.archive, nil
}

func (c *current) open(archive store.Archive) {
	c.mu.Lock()
	c.archive = archive
	c.mu.Unlock()
	c.once.Do(func() { close(c.opened) })
}

// lack records the reason for a missing archive.
func (c *current) lack(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.archive, c.why = nil, why
}

// damaged records damage of an archive, if it is the present one.
func (c *current) damaged(archive store.Archive, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(err, store.ErrDamaged) && c.archive == archive {
		c.damage = err
	}
}

// takeDamage returns the recorded damage, once.
func (c *current) takeDamage() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.damage
	c.damage = nil
	return err
}

// errTrouble stands for an error without a kind.
var errTrouble = errors.New("see the log of the server")

// kindOf returns the error of package store that err wraps.
func kindOf(err error) error {
	for _, kind := range []error{
		errOpening, store.ErrDamaged, store.ErrForeign, store.ErrNewer, store.ErrInUse, store.ErrFull,
		store.ErrReadOnly, store.ErrClosed,
	} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return errTrouble
}
