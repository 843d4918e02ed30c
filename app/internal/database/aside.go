// SPDX-License-Identifier: Apache-2.0

package database

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// setAside renames the database and its neighbour files, if they exist. Without any, it does
// nothing.
func setAside(path string, now time.Time, why error) (Opening, error) {
	return SetAside(path, "damaged", now, why)
}

// SetAside renames the closed database at path and its neighbour files, if they exist: a label and
// the time are added to the name. Without any, it does nothing.
func SetAside(path, label string, now time.Time, why error) (Opening, error) {
	to := path + "." + label + "-" + now.UTC().Format("20060102T150405.000000000Z")
	o := Opening{Why: why}
	for _, suffix := range []string{"-shm", "-wal", ""} {
		err := os.Rename(path+suffix, to+suffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return Opening{}, fmt.Errorf("it cannot be used (%w), and cannot be set aside: %w", why, err)
		}
		if err == nil {
			o.SetAside = to + suffix
		}
	}
	return o, nil
}

// Reports counts the reports of damage in one open database. The first report leads to a check of
// the file. That check does not find all damage, such as wrong rows of an index. So the second
// report needs no check. The zero value has no reports.
type Reports struct {
	one    bool
	damage error
}

// Add adds a report, which wraps store.ErrDamaged. A store.LostError begins a new count: its file is
// gone.
func (r *Reports) Add(why error) {
	var gone *store.LostError
	if r.damage = nil; errors.As(why, &gone) {
		r.one = false
		return
	}
	if r.one {
		r.damage = why
	}
	r.one = !r.one
}

// Take returns the damage for Replace, once; nil means Open.
func (r *Reports) Take() error {
	out := r.damage
	r.damage = nil
	return out
}
