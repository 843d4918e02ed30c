// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// process is a replica under test, in a bubble with fake time.
type process struct {
	*client
	stop  func() // ends it and waits
	mu    sync.Mutex
	leads bool
	since time.Time // of the current lead
	ahead time.Duration
	told  []time.Time
}

func options(client *client, identity string) Options {
	return Options{
		Client: client, Namespace: "lifeline", Name: "lifeline", Identity: identity,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
	}
}

func start(t *testing.T, s *server, identity string) *process {
	t.Helper()
	p := &process{client: s.client()}
	o := options(p.client, identity)
	o.OnLead = func(lead bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.leads, p.since = lead, time.Now()
	}
	o.Delivered = func() time.Time {
		p.mu.Lock()
		defer p.mu.Unlock()
		return time.Now().Add(p.ahead)
	}
	o.OnDelivered = func(at time.Time) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.told = append(p.told, at)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run() of %s: %v", identity, err)
		}
	})
	return p
}

func (p *process) leading() (bool, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leads, p.since
}

func (p *process) latest() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.told) == 0 {
		return time.Time{}
	}
	return p.told[len(p.told)-1]
}

// pass advances time until ok is true, and fails after a minute.
func pass(t *testing.T, what string, ok func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !ok() {
		if time.Since(began) > time.Minute {
			t.Fatalf("not within a minute: %s", what)
		}
		time.Sleep(10 * time.Millisecond) // fake time in a bubble
		synctest.Wait()
	}
	return time.Since(began)
}

func (p *process) isLeading() bool { leads, _ := p.leading(); return leads }

func TestOneLeads(t *testing.T) {
	cases := map[string]struct {
		reason string
		// end ends the leader.
		end func(leader *process)
		// least and most bound the time until the other one leads.
		least, most time.Duration
	}{
		"Stopped": {
			reason: "a graceful stop gives the Lease free at once",
			end:    func(leader *process) { leader.stop() },
			most:   5600 * time.Millisecond, // the Lease is held for a second, plus a pause of up to 4.4s
		},
		"CutOff": {
			reason: "who cannot renew has stopped before the Lease is another's",
			end:    func(leader *process) { leader.setDown(true) },
			least:  13 * time.Second, most: 25 * time.Second, // includes two pauses of up to 4.4s
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				a := start(t, s, "a")
				defer a.stop()
				pass(t, "the first leads", a.isLeading)
				b := start(t, s, "b")
				defer b.stop()
				time.Sleep(5 * time.Minute)
				if b.isLeading() || !a.isLeading() {
					t.Fatalf("%s: leadership moved though nothing happened", c.reason)
				}

				c.end(a)
				took := pass(t, "the other leads", b.isLeading)
				if took < c.least || took > c.most {
					t.Errorf("%s: the other leads after %s, want %s to %s", c.reason, took, c.least, c.most)
				}
				leads, stopped := a.leading()
				_, started := b.leading()
				if leads || started.Before(stopped) {
					t.Errorf("%s: two lead: one until %s (leading %t), one from %s", c.reason, stopped, leads, started)
				}

				a.setDown(false)
				time.Sleep(5 * time.Minute)
				if a.isLeading() || !b.isLeading() {
					t.Errorf("%s: who comes back takes the Lease away", c.reason)
				}
			})
		})
	}
}

func TestNobodyLeadsWithoutServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a, b := start(t, s, "a"), start(t, s, "b")
		defer a.stop()
		defer b.stop()
		pass(t, "one leads", func() bool { return a.isLeading() != b.isLeading() })
		a.setDown(true)
		b.setDown(true)
		took := pass(t, "nobody leads", func() bool { return !a.isLeading() && !b.isLeading() })
		if took > 10*time.Second+20*time.Millisecond { // pass polls every 10ms
			t.Errorf("the leader went on for %s without its Lease, want 10s at most", took)
		}
		time.Sleep(5 * time.Minute)
		a.setDown(false)
		b.setDown(false)
		pass(t, "one leads again", func() bool { return a.isLeading() != b.isLeading() })
	})
}

func TestDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		a := start(t, s, "a")
		defer a.stop()
		pass(t, "the first leads", a.isLeading)
		b := start(t, s, "b")
		defer b.stop()
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if behind := time.Since(b.latest()); behind < Margin || behind > Margin+3*deliveredEvery {
			t.Errorf("the standby knows of what was delivered %s ago, want a little more than %s", behind, Margin)
		}
		if got := a.latest(); !got.IsZero() {
			t.Errorf("the leader was told of what it has delivered: %s", got)
		}

		// A wrong clock makes no replica forget entries.
		a.mu.Lock()
		a.ahead = time.Hour
		a.mu.Unlock()
		time.Sleep(3 * time.Minute)
		if got := b.latest(); got.After(time.Now()) {
			t.Errorf("the standby believes that was delivered what nobody has queued yet, at %s", got)
		}
		// The next leader's clock is right.
		before := b.latest()
		a.stop()
		pass(t, "the other leads", b.isLeading)
		a = start(t, s, "a")
		defer a.stop()
		time.Sleep(3 * time.Minute)
		if got := a.latest(); !got.After(before.Add(Margin)) {
			t.Errorf("the new leader's word does not count: %s, want after %s", got, before)
		}
	})
}

func TestTimesOfDeliveryOnlyGrow(t *testing.T) {
	s := newServer()
	o := options(s.client(), "a")
	d, other := told{o: &o}, told{o: &o}
	now := time.Now()
	for i, at := range []time.Time{{}, now, now.Add(-time.Hour), now.Add(time.Second)} {
		if err := []*told{&d, &other}[i%2].publish(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	got, err := d.read(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(now.Add(time.Second-Margin).UTC(), got); diff != "" {
		t.Errorf("read() -want +got:\n%s", diff)
	}
}

func TestOptions(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*Options)
	}{
		"NoClient":   {"a client is needed", func(o *Options) { o.Client = nil }},
		"NoIdentity": {"two without identity would both lead", func(o *Options) { o.Identity = "" }},
		"NoName":     {"a Lease has a name", func(o *Options) { o.Name = "" }},
		"NoPlace":    {"a Lease has a namespace", func(o *Options) { o.Namespace = "" }},
		"NoRoom": {
			"the leader has to stop before others begin", func(o *Options) { o.RenewDeadline = o.LeaseDuration },
		},
		"OneTry":   {"one failed request is no reason to stop", func(o *Options) { o.RetryPeriod = o.RenewDeadline }},
		"Fraction": {"a Lease counts in seconds", func(o *Options) { o.LeaseDuration += time.Millisecond }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := options(newServer().client(), "a")
			c.change(&o)
			if err := Elect(t.Context(), o); err == nil {
				t.Errorf("%s: Elect() accepts it", c.reason)
			}
		})
	}
}
