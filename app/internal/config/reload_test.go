// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mount is a directory in the form of a mounted ConfigMap: the file is a link through another link
// that is switched.
type mount struct {
	t       *testing.T
	dir     string
	version int
}

func newMount(t *testing.T, text string) *mount {
	t.Helper()
	m := &mount{t: t, dir: t.TempDir()}
	m.put(text)
	m.must(os.Symlink("..data/server.yaml", m.file()))
	return m
}

func (m *mount) file() string { return filepath.Join(m.dir, "server.yaml") }

func (m *mount) put(text string) {
	m.t.Helper()
	m.version++
	name := "..v" + string(rune('0'+m.version))
	m.must(os.Mkdir(filepath.Join(m.dir, name), 0o700))
	m.must(os.WriteFile(filepath.Join(m.dir, name, "server.yaml"), []byte(head+text), 0o600))
	m.must(os.Symlink(name, filepath.Join(m.dir, "new")))
	m.must(os.Rename(filepath.Join(m.dir, "new"), filepath.Join(m.dir, "..data")))
}

func (m *mount) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func TestReload(t *testing.T) {
	dir := newMount(t, "log: {level: warn}")
	synctest.Test(t, func(t *testing.T) {
		current, err := Load(dir.file())
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex // the bubble's clock does not synchronize for the race detector
		var told []string
		var refuse error
		tell := func(text string) error {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, text)
			return refuse
		}
		r := &Reloader{
			Path: dir.file(), Current: current, Interval: time.Minute,
			Apply: func(c *ServerConfiguration, fields []string) error {
				return tell("apply " + strings.Join(fields, ",") + " " + c.Log.Level)
			},
			Report: func(err error) { _ = tell(strings.ReplaceAll(err.Error(), dir.dir, "")) },
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.Run(ctx) }()

		step := func(reason string, act func(), want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			told = nil
			mu.Unlock()
			act()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(want, told); diff != "" {
				t.Errorf("%s: -want +got:\n%s", reason, diff)
			}
		}
		tick := func() { time.Sleep(time.Minute) } // the bubble's clock
		refusing := func(err error) {
			mu.Lock()
			defer mu.Unlock()
			refuse = err
		}
		const prefix = "cannot reload the configuration, the old one stays: "
		loud := prefix + `/server.yaml:3: log.level: Unsupported value: "loud": supported values: "debug", "info", ` +
			`"warn", "error"`

		step("the file is unchanged", tick)
		step("the file is unchanged after Reload", r.Reload)
		step("a reloadable change is applied", func() {
			dir.put("log: {level: error}")
			tick()
		}, "apply log.level error")
		step("an invalid change is reported", func() { dir.put("log: {level: loud}"); tick() }, loud)
		step("an invalid change is reported only once", tick)
		step("Reload reports it again", r.Reload, loud)
		step("with other changed fields nothing is applied", func() {
			dir.put("log: {level: debug}\ndataDir: x")
			r.Reload()
		},
			prefix+"/server.yaml changes fields that need a restart of the server: dataDir")
		step("the applied configuration is unchanged", func() { dir.put("log: {level: error}"); tick() })
		step("an error of Apply is reported", func() {
			refusing(errors.New("not now"))
			dir.put("log: {level: info}")
			tick()
		},
			"apply log.level info", prefix+"/server.yaml: cannot change log.level: not now")
		step("Reload calls Apply again", func() { refusing(nil); r.Reload(); r.Reload() }, "apply log.level info")
		step("a missing file is reported", func() { dir.must(os.Remove(dir.file())); tick() },
			prefix+"open /server.yaml: no such file or directory")
		step("a missing file is reported only once", tick)
		step("a restored file is applied", func() {
			dir.must(os.WriteFile(dir.file(), []byte(head+"log: {level: warn}"), 0o600))
			tick()
		}, "apply log.level warn")
		cancel()
		<-done
	})
}

func TestReloadKeepsOverrides(t *testing.T) {
	dir := newMount(t, "")
	override := func(c *ServerConfiguration) { c.DataDir = "/from/flag" }
	current, err := Load(dir.file(), override)
	if err != nil {
		t.Fatal(err)
	}
	dir.put("dataDir: /other\nsampling: {keepFailed: false}")
	var got *ServerConfiguration
	r := &Reloader{
		Path: dir.file(), Current: current, Overrides: []Override{override},
		Apply:  func(c *ServerConfiguration, _ []string) error { got = c; return nil },
		Report: func(err error) { t.Error(err) },
	}
	r.look(false)
	if got == nil || got.DataDir != "/from/flag" || got.Sampling.KeepFailed {
		t.Errorf("got %+v", got)
	}
}
