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

// Reloader reads a configuration file again while a server runs, and hands on
// what is new in it if a running server can take it over. Set the fields before
// Run; call Run once.
type Reloader struct {
	// Path is the file. It is looked at by its content, so it may be a link
	// that is switched over, as those of a mounted ConfigMap are.
	Path string
	// Current is what the server runs with.
	Current *ServerConfiguration
	// Overrides are those that the file was loaded with.
	Overrides []Override
	// Interval is how often the file is looked at; 10 seconds if it is 0.
	Interval time.Duration
	// Apply takes over a configuration that is valid and differs from the
	// present one in reloadable fields only, which are named. If it fails, the
	// present one stays.
	Apply func(c *ServerConfiguration, fields []string) error
	// Report is told, once for each content of the file, why it is not taken
	// over; the present configuration stays.
	Report func(error)

	once  sync.Once
	asked chan struct{}

	// content and unread are what was seen last.
	content []byte
	unread  string
	looked  bool
}

// defaultInterval is how often the file is looked at.
const defaultInterval = 10 * time.Second

// Run looks after the file until ctx is done: at once, at each Interval, and
// when Reload asks for it. Apply and Report are called by Run itself, one at a
// time.
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

// Reload has the file looked at now, and judged (and reported on) anew even if
// it has not changed: what SIGHUP does. It does not wait. It is safe for
// concurrent use; before Run it is kept until Run begins.
func (r *Reloader) Reload() {
	select {
	case r.asks() <- struct{}{}:
	default: // asked already
	}
}

func (r *Reloader) asks() chan struct{} {
	r.once.Do(func() { r.asked = make(chan struct{}, 1) })
	return r.asked
}

// look reads the file and judges it if it is new, or if that is asked for.
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
		return fmt.Errorf("%s changes what needs a restart of the server: %s", r.Path, strings.Join(restart, ", "))
	case len(reload) == 0:
		return nil
	}
	if err := r.Apply(c, reload); err != nil {
		return fmt.Errorf("%s: cannot change %s: %w", r.Path, strings.Join(reload, ", "), err)
	}
	r.Current = c
	return nil
}
