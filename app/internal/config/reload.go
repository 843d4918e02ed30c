// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Reloader rereads a configuration file while a server runs, and applies changes that a running
// server can take over. Set the fields before Run; call Run once.
type Reloader struct {
	// Path is the file. Its content is compared, so that it may be a symbolic link that is
	// switched, as in a mounted ConfigMap.
	Path string
	// Current is the server's current configuration.
	Current *ServerConfiguration
	// Overrides are those of the initial load.
	Overrides []Override
	// Interval is the time between checks of the file; 0 means 10 seconds.
	Interval time.Duration
	// Apply takes over a valid configuration that differs from the current one only in reloadable
	// fields, listed in fields. If it fails, the current one stays.
	Apply func(c *ServerConfiguration, fields []string) error
	// Report is called with the reason why the file was not applied, once for each content of the
	// file. The current configuration stays.
	Report func(error)

	once  sync.Once
	asked chan struct{}

	// content and unread are the last content or read error.
	content []byte
	unread  string
	looked  bool
}

// defaultInterval is the default of Interval.
const defaultInterval = 10 * time.Second

// Run checks the file until ctx ends: at once, at each Interval, and after Reload. Run calls Apply
// and Report itself, one at a time.
func (r *Reloader) Run(ctx context.Context) {
	interval := r.Interval
	if interval <= 0 {
		interval = defaultInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for again := false; ; {
		r.look(again)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			again = false
		case <-r.asks():
			again = true
		}
	}
}

// Reload requests a check of the file now, as SIGHUP does. Unchanged content is validated and
// reported again. It does not block. It is safe for concurrent use; a request before Run is kept
// until Run starts.
func (r *Reloader) Reload() {
	select {
	case r.asks() <- struct{}{}:
	default: // a request is pending already
	}
}

func (r *Reloader) asks() chan struct{} {
	r.once.Do(func() { r.asked = make(chan struct{}, 1) })
	return r.asked
}

// look reads the file and evaluates it if it is new or if again is set.
func (r *Reloader) look(again bool) {
	data, err := readFile(r.Path)
	unread := ""
	if err != nil {
		unread = err.Error()
	}
	if r.looked && !again && unread == r.unread && bytes.Equal(data, r.content) {
		return
	}
	r.looked, r.content, r.unread = true, data, unread
	if err == nil {
		err = r.take(data)
	}
	if err != nil {
		r.Report(fmt.Errorf("cannot reload the configuration, the old one stays: %w", err))
	}
}

func (r *Reloader) take(data []byte) error {
	c, err := parse(r.Path, data, r.Overrides)
	if err != nil {
		return err
	}
	reload, restart := Diff(r.Current, c)
	switch {
	case len(restart) > 0:
		return fmt.Errorf(
			"%s changes fields that need a restart of the server: %s", r.Path, strings.Join(restart, ", "),
		)
	case len(reload) == 0:
		return nil
	}
	if err := r.Apply(c, reload); err != nil {
		return fmt.Errorf("%s: cannot change %s: %w", r.Path, strings.Join(reload, ", "), err)
	}
	r.Current = c
	return nil
}
