// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// opened is an archive without data.
type opened struct{ store.Archive }

func TestCurrent(t *testing.T) {
	first, second := &opened{}, &opened{}
	damage := fmt.Errorf("page 7: %w", store.ErrDamaged)
	for name, c := range map[string]struct {
		reason string
		events func(*current)
		// want is the archive, or else the reason for a missing one.
		want   store.Archive
		why    error
		damage error
		opened bool
	}{
		"New":  {"the archive is opened in the background", func(*current) {}, nil, errOpening, nil, false},
		"Open": {"an open archive", func(c *current) { c.open(first) }, first, nil, nil, true},
		"Failed": {
			"the reason has a kind", func(c *current) { c.lack(fmt.Errorf("lock: %w", store.ErrInUse)) },
			nil, store.ErrInUse, nil, false,
		},
		"Unknown": {
			"a reason without a kind is in the log", func(c *current) { c.lack(context.Canceled) },
			nil, errTrouble, nil, false,
		},
		"Lost": {
			"it was opened before", func(c *current) { c.open(first); c.lack(store.ErrDamaged) },
			nil, store.ErrDamaged, nil, true,
		},
		"Replaced": {
			"a new archive after a loss", func(c *current) { c.open(first); c.lack(store.ErrDamaged); c.open(second) },
			second, nil, nil, true,
		},
		"Damaged": {
			"a user has found damage", func(c *current) { c.open(first); c.damaged(first, damage) },
			first, nil, damage, true,
		},
		"FormerDamage": {
			"the damage of a former archive is known", func(c *current) { c.open(second); c.damaged(first, damage) },
			second, nil, nil, true,
		},
		"OtherError": {
			"an error that is no damage", func(c *current) { c.open(first); c.damaged(first, context.Canceled) },
			first, nil, nil, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			of := newCurrent()
			c.events(&of)
			got, err := of.available()
			if got != c.want || of.get() != c.want {
				t.Errorf("%s: got another archive", c.reason)
			}
			if !errors.Is(err, c.why) || err != nil && !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%s: got %v, want %v", c.reason, err, c.why)
			}
			if err := of.takeDamage(); !errors.Is(err, c.damage) || of.takeDamage() != nil {
				t.Errorf("%s: got the damage %v, want %v, once", c.reason, err, c.damage)
			}
			select {
			case <-of.opened:
				if !c.opened {
					t.Errorf("%s: it counts as opened", c.reason)
				}
			default:
				if c.opened {
					t.Errorf("%s: it does not count as opened", c.reason)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	var r refusals
	for n := range maxRefusals {
		if got, want := r.areEnough(3), n == maxRefusals-1; got != want {
			t.Errorf("enough after %d: %t, want %t", n+1, got, want)
		}
	}
	if r.areEnough(4) {
		t.Error("the refusals of another batch count")
	}
}
