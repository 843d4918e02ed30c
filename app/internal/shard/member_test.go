// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/kube-lifeline/lifeline/app/internal/replica/leasetest"
)

// process is a Member whose observer and sender are a member of the model.
type process struct {
	*member
	*Member
	client *leasetest.Client
	stop   context.CancelFunc
	ended  chan error
	dead   bool
	downed int // remaining ticks without a connection
}

const step = 500 * time.Millisecond

// group is a world whose members communicate through Leases. The lock is the world's.
type group struct {
	*world
	mu        sync.Mutex
	server    *leasetest.Server
	processes []*process
	over      bool // later events do not count
}

func newGroup(t *testing.T, seed uint64) *group {
	t.Helper()
	return &group{
		world: &world{
			t:     t,
			r:     rand.New(rand.NewPCG(seed, 7)),
			rv:    10,
			kept:  1e6,
			sent:  map[string]int{},
			asked: map[string]uint64{},
		},
		server: leasetest.New(),
	}
}

func options(client *leasetest.Client, identity string, hooks Hooks) Options {
	return Options{
		Client:        client,
		Namespace:     "lifeline",
		Name:          "lifeline",
		Identity:      identity,
		Grace:         20 * time.Minute,
		Recall:        20 * time.Second,
		LeaseDuration: 15 * time.Second,
		RenewDeadline: 10 * time.Second,
		RetryPeriod:   2 * time.Second,
		Hooks:         hooks,
	}
}

// start runs a process for the model's member m.
func (g *group) start(m *member) *process {
	g.t.Helper()
	p := &process{member: m, client: g.server.Client(), ended: make(chan error, 1)}
	inside := func(do func()) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !g.over {
			do()
		}
	}
	var err error
	p.Member, err = New(options(p.client, m.identity, Hooks{
		OnView: func(v View) { inside(func() { m.view, m.ready = v, false }) },
		Ready: func(v View) (ok bool) {
			inside(func() { ok = m.ready && m.view.table.Version == v.table.Version })
			return ok
		},
		Seen:     func() (rv uint64) { inside(func() { rv = m.at }); return rv },
		Open:     func() (rv uint64) { inside(func() { rv = g.open(m) }); return rv },
		Complete: func() (rv uint64) { inside(func() { rv = m.at }); return rv },
	}))
	if err != nil {
		g.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(g.t.Context())
	p.stop = cancel
	go func() { p.ended <- p.Run(ctx) }()
	g.processes = append(g.processes, p)
	return p
}

// pass advances the time by d in small steps. In each, the cluster works and the processes observe
// and send.
func (g *group) pass(d time.Duration, busy bool) {
	for range d / (step) {
		time.Sleep(step) // of fake time
		synctest.Wait()
		g.happen(busy)
	}
}

func (g *group) happen(busy bool) {
	g.mu.Lock()
	defer g.mu.Unlock() // also when the test fails
	if busy {
		g.write()
	} else {
		g.rv++
	}
	for _, p := range g.processes {
		if p.dead {
			continue
		}
		if p.downed > 0 {
			if p.downed--; p.downed == 0 {
				p.client.SetDown(false)
			}
		}
		g.observe(p.member)
		if !busy {
			p.at = g.rv
		}
		p.member.view = p.Member.View() // it may have expired
		if g.r.IntN(4) > 0 {
			g.sync(p.member)
		}
		g.record(p.Member) // first: it holds what may come twice
		g.export(p.member)
	}
}

// record keeps the published Since of crashed members, from m's Table.
func (g *group) record(m *Member) {
	t := m.View().Table()
	if t.Version <= g.table.Version {
		return
	}
	g.table = t
	g.note("table %s", short(t))
	if g.began == 0 && len(t.Epochs) > 0 {
		g.began = g.rv
	}
	for _, p := range g.processes {
		for _, e := range t.Epochs {
			if gone := e.gone(p.identity); gone != nil &&
				(p.crashed || p.member.leaving) { // or no member was there to take over
				g.asked[p.identity] = gone.Since
			}
		}
	}
}

func (g *group) kill(p *process) {
	p.client.SetDown(true)
	p.dead = true
	p.stop()
	g.note("%s is killed", p.identity)
	p.crashed = true
}

// end stops all processes in any state.
func (g *group) end() {
	g.mu.Lock()
	g.over = true
	g.mu.Unlock()
	for _, p := range g.processes {
		p.stop()
		p.client.SetDown(true)
	}
	for _, p := range g.processes {
		if err := <-p.ended; err != nil && !p.dead {
			g.t.Errorf("Run() of %s: %v", p.identity, err)
		}
	}
}

func (g *group) newMember() *member {
	g.join()
	return g.members[len(g.members)-1]
}

func TestMembersOverLeases(t *testing.T) {
	for _, crashes := range []bool{false, true} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("Crashes=%t/%d", crashes, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { history(t, seed, crashes) })
			})
		}
	}
}

func history(t *testing.T, seed uint64, crashes bool) {
	t.Helper()
	g := newGroup(t, seed)
	defer g.end()
	g.start(g.newMember())
	for range 12 {
		g.mu.Lock()
		var alive []*process
		for _, p := range g.processes {
			if !p.dead && !p.member.leaving {
				alive = append(alive, p)
			}
		}
		p := alive[g.r.IntN(len(alive))]
		switch n := g.r.IntN(10); {
		case n < 3 && len(alive) < 5:
			g.start(g.newMember())
		case n < 5 && len(alive) > 1:
			g.note("%s is asked to leave", p.identity)
			p.stop()
			p.member.leaving = true // for the model
		case n < 6 && crashes && len(alive) > 1:
			g.kill(p)
		case n < 8 && crashes && p.downed == 0:
			p.client.SetDown(true)
			p.downed = 1 + g.r.IntN(200)
			p.crashed = true // others may consider it crashed
			g.note("%s is cut off", p.identity)
		}
		g.mu.Unlock()
		g.pass(time.Duration(5+g.r.IntN(25))*time.Second, true)
	}
	g.mu.Lock()
	for _, p := range g.parts {
		if !p.ended {
			g.rv++
			p.writes, p.ended = append(p.writes, g.rv), true
		}
	}
	g.mu.Unlock()
	g.pass(5*time.Minute, false)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.parts {
		if g.sent[p.id] == 0 && g.due(p) {
			g.fail("no member has sent %s of %q, which began at %d", p.id, p.namespace, p.first)
		}
		if g.sent[p.id] > 1 && !crashes {
			g.fail("%s was sent %d times", p.id, g.sent[p.id])
		}
	}
	if n := len(g.table.Epochs); n != 1 || g.table.Pending != nil {
		g.fail("%d epochs are left, though nothing is open, and pending is %+v", n, g.table.Pending)
	}
	for _, p := range g.processes {
		if p.member.leaving && !p.dead {
			select {
			case err := <-p.ended:
				p.ended <- err
			default:
				g.fail("%s has nothing left to do and did not leave", p.identity)
			}
		}
	}
}

func TestCutOffMemberHandsOutNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 1)
		defer g.end()
		p := g.start(g.newMember())
		g.pass(time.Minute, false)
		if !p.Member.View().Valid() {
			t.Fatal("a member that renews its Lease may not act")
		}
		p.client.SetDown(true)
		g.pass(10*time.Second+step, false)
		v := p.Member.View()
		tr := traceOf("a", Firsts{"x": {RV: 12}})
		if v.Valid() || v.Mine(tr) != nil || !v.Undecided(tr) {
			t.Errorf("cut off for longer than its deadline, it still acts: valid %t", v.Valid())
		}
		p.client.SetDown(false)
		g.pass(5*time.Second, false)
		if v := p.Member.View(); v.Undecided(tr) || v.Mine(tr) != tr {
			t.Error("it does not act after a short loss of contact")
		}
	})
}

func TestIdentityIsOneProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 1)
		first := g.start(g.newMember())
		g.pass(time.Minute, false)
		g.observe(first.member)
		second := g.start(first.member)
		g.pass(10*time.Second, false)
		first.dead = true
		select {
		case err := <-first.ended:
			if !errors.Is(err, ErrIdentity) {
				t.Errorf("the first process ends with %v, want %v", err, ErrIdentity)
			}
			first.ended <- nil
		default:
			t.Error("two processes have one identity")
		}
		if !second.View().Valid() || len(second.View().Table().Epochs) != 1 {
			t.Error("the returned process has lost its role")
		}
		g.end()
	})
}

func TestComingBackWithoutStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 1)
		defer g.end()
		p := g.start(g.newMember())
		g.pass(time.Minute, false)
		log := p.sent
		g.kill(p)
		m := &member{identity: p.identity, from: map[string]uint64{}, done: map[string]bool{}, at: g.rv + 1000}
		again := g.start(m)
		g.pass(10*time.Second, false)
		since, ok := again.View().Observe("ns-1")
		if diff := cmp.Diff(log.Done, since); diff != "" || !ok {
			t.Errorf("the start of a process that returns without its store (%t): -want +got:\n%s", ok, diff)
		}
	})
}

func TestTableIsRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 1)
		defer g.end()
		p := g.start(g.newMember())
		g.start(g.newMember())
		g.pass(time.Minute, false)
		before := p.Member.View().Table()
		leases := g.server.Client().Leases("lifeline")
		if err := leases.Delete(t.Context(), tableName("lifeline"), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		g.pass(10*time.Second, false)
		lease, err := leases.Get(t.Context(), tableName("lifeline"), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		after, err := readTable(lease)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("the deleted Table returns: -want +got:\n%s", diff)
		}
	})
}

// keeping is a client that cannot delete Leases.
type keeping struct {
	coordinationclient.LeasesGetter
}

func (k keeping) Leases(namespace string) coordinationclient.LeaseInterface {
	return keptLeases{k.LeasesGetter.Leases(namespace)}
}

type keptLeases struct {
	coordinationclient.LeaseInterface
}

func (keptLeases) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	return apierrors.NewForbidden(coordinationv1.Resource("leases"), name, errors.New("no right to"))
}

// A Lease that cannot be deleted is logged once, and does not keep members from taking part.
func TestLeaseCannotBeDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		server := leasetest.New()
		number := func() uint64 { return 1 }
		o := options(
			server.Client(),
			"a",
			Hooks{
				OnView:   func(View) {},
				Ready:    func(View) bool { return true },
				Seen:     number,
				Open:     number,
				Complete: number,
			},
		)
		o.Client, o.Grace, o.Recall, o.Log = keeping{o.Client}, 0, 0, slog.New(slog.NewTextHandler(&log, nil))
		gone := newLease(&o, memberName(o.Name, "b"))
		if err := put(gone, AnnotationState, State{Left: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Client.Leases(o.Namespace).Create(t.Context(), gone, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		m, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := m.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "cannot delete Lease lifeline/lifeline-member-b"); n != 1 {
			t.Errorf("%d log lines about the Lease that stays, want one:\n%s", n, log.String())
		}
		if m.sent.Version == 0 {
			t.Errorf("it takes no part: %+v", m.sent)
		}
	})
}
