// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(d time.Duration) time.Time { return epoch.Add(d) }

// deployment is a Deployment of the namespace shop.
func deployment(name string) object.Ref {
	return object.Ref{
		Kind: object.Kind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: name,
		UID: types.UID("uid-" + name),
	}
}

// failing is a Deployment that lacks its desired state since a time, for a reason with a key.
func failing(name, category, of string, since time.Duration) *Failing {
	return &Failing{
		Object: deployment(name), Category: category, Text: "fails by " + category,
		Key: Grouping{Category: category, Of: of}, Onset: Onset{At: at(since)}, At: at(since), Rank: 2,
	}
}

// note passes some objects to the Tracker at a time.
func note(t *Tracker, now time.Duration, all ...*Failing) {
	for _, f := range all {
		one := *f
		t.Lacks(&one, at(now))
	}
}

// lines returns a line for each problem: number, sentence, age, and the objects after the first.
func lines(l List) []string {
	var out []string
	for _, p := range l.Problems {
		line := fmt.Sprintf("%d %s since %s", p.Count, p.Reason, p.Since.Sub(epoch))
		for _, o := range p.Objects[1:] {
			line += " +" + o.Name
		}
		out = append(out, line)
	}
	return out
}

func wantLines(t *testing.T, tracker *Tracker, now time.Duration, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, lines(tracker.List(at(now)))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestOverlappingKeys: 40 Deployments with two causes are two problems, in any order.
func TestOverlappingKeys(t *testing.T) {
	var all []*Failing
	for i := range 40 {
		cause := []string{"webhook", "quota"}[i%2]
		f := failing(fmt.Sprintf("web-%02d", i), cause, cause, time.Duration(i/4)*time.Second)
		f.Cause = &Cause{TraceID: fmt.Sprint("trace-", i)}
		all = append(all, f)
	}
	tracker := NewTracker("c")
	note(tracker, time.Minute, all...)
	want := tracker.List(at(time.Hour))
	if len(want.Problems) != 2 || want.Problems[0].Count != 20 || want.Problems[0].Object.Name != "web-00" {
		t.Fatalf("got %v", lines(want))
	}
	for seed := range uint64(10) {
		some := slices.Clone(all)
		r := rand.New(rand.NewPCG(seed, 1))
		r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		tracker := NewTracker("c")
		note(tracker, time.Minute, some...)
		note(tracker, 2*time.Minute, some[:20]...)
		if diff := cmp.Diff(want, tracker.List(at(time.Hour))); diff != "" {
			t.Fatalf("order %d: -first +this:\n%s", seed, diff)
		}
	}
}

// TestObjectsOfOneImage: a problem names some objects, and counts all.
func TestObjectsOfOneImage(t *testing.T) {
	tracker := NewTracker("c")
	for i := range 500 {
		f := failing(fmt.Sprintf("web-%03d", i), "image_not_found", "image web:2", 0)
		f.Image, f.Object.Namespace = "web:2", fmt.Sprintf("team-%02d", i%30)
		note(tracker, 0, f)
	}
	l := tracker.List(at(0))
	if len(l.Problems) != 1 {
		t.Fatalf("got %d problems", len(l.Problems))
	}
	p := l.Problems[0]
	if p.Count != 500 || len(p.Objects) != MaxObjects || len(p.Namespaces) != MaxObjects || p.Image != "web:2" ||
		p.Object.Namespace != "team-00" {
		t.Errorf("got %+v", p)
	}
	s := tracker.Snapshot(at(0))
	for namespace, want := range map[string]bool{"team-00": true, "team-29": true, "team-30": false} {
		if got := s.Touches(0, []string{namespace}); got != want {
			t.Errorf("Touches(%s): got %t", namespace, got)
		}
	}
}

// TestLasting: an object that has its desired state for less than a minute has the same problem afterwards.
func TestLasting(t *testing.T) {
	tracker := NewTracker("c")
	note(tracker, 0, failing("web", "crash_loop", "web", 0))
	id := tracker.List(at(0)).Problems[0].ID
	uid := deployment("web").UID
	if got := tracker.Arrives(uid, at(10*time.Second), at(12*time.Second)); !got.Equal(at(70 * time.Second)) {
		t.Errorf("it ends at %s", got.Sub(epoch))
	}
	tracker.Arrives(uid, at(10*time.Second), at(70*time.Second))
	note(tracker, 70*time.Second, failing("web", "crash_loop", "web", 70*time.Second))
	if p := tracker.List(at(70 * time.Second)).Problems[0]; p.ID != id || !p.Since.Equal(at(0)) {
		t.Errorf("after 60 s: got ID %s since %s", p.ID, p.Since.Sub(epoch))
	}
	tracker.Arrives(uid, at(80*time.Second), at(80*time.Second))
	tracker.Arrives(uid, at(80*time.Second), at(141*time.Second))
	wantLines(t, tracker, 141*time.Second)
	note(tracker, 150*time.Second, failing("web", "crash_loop", "web", 150*time.Second))
	if p := tracker.List(at(150 * time.Second)).Problems[0]; p.ID == id || !p.Since.Equal(at(150*time.Second)) {
		t.Errorf("after its end: got ID %s since %s", p.ID, p.Since.Sub(epoch))
	}
	// The end was between two looks.
	again := failing("web", "crash_loop", "web", time.Hour)
	again.Onset.Exact = true
	note(tracker, time.Hour, again)
	wantLines(t, tracker, time.Hour, "1 Deployment web fails by crash_loop since 1h0m0s")
}

// TestEarlierReasons: the last ones stay, the oldest first. A vague reason does not replace a specific one at once.
func TestEarlierReasons(t *testing.T) {
	tracker := NewTracker("c")
	for i := range MaxEarlier + 3 {
		now := time.Duration(i) * time.Minute
		note(tracker, now, failing("web", fmt.Sprint("reason-", i), "web", now))
	}
	p := tracker.List(at(time.Hour)).Problems[0]
	if len(p.Earlier) != MaxEarlier || p.Earlier[0].Category != "reason-2" ||
		!p.Earlier[0].Since.Equal(at(2*time.Minute)) {
		t.Errorf("got %+v", p.Earlier)
	}
	for _, again := range []string{"reason-9", "reason-10"} {
		note(tracker, 20*time.Minute, failing("web", again, "web", 20*time.Minute))
	}
	if got := len(tracker.List(at(time.Hour)).Problems[0].Earlier); got != MaxEarlier {
		t.Errorf("after a repetition: got %d earlier reasons", got)
	}
	faint := failing("web", "progress_deadline", "web", time.Hour)
	faint.Vague = true
	one := *faint
	if again := tracker.Lacks(&one, at(time.Hour)); !again.Equal(at(time.Hour + time.Minute)) {
		t.Errorf("a vague reason counts after %s", again.Sub(epoch))
	}
	if got := tracker.List(at(time.Hour)).Problems[0].Category; got != "reason-10" {
		t.Errorf("at once: got %s", got)
	}
	note(tracker, time.Hour+61*time.Second, faint)
	if got := tracker.List(at(time.Hour)).Problems[0]; got.Category != "progress_deadline" || got.ID != p.ID {
		t.Errorf("after a minute: got %s", got.Category)
	}
}

// TestFailedPullLasts: the kubelet says less between two pulls, for minutes.
func TestFailedPullLasts(t *testing.T) {
	tracker := NewTracker("c")
	pull := failing("web", "image_not_found", "image web:2", 0)
	pull.Image = "web:2"
	back := failing("web", "image_pull", "image web:2", 0)
	back.Image, back.Vague = "web:2", true
	note(tracker, 0, pull)
	note(tracker, time.Minute, back)
	note(tracker, 5*time.Minute, back)
	wantLines(t, tracker, 5*time.Minute, "1 Deployment web fails by image_not_found since 0s")
}

// TestRepairOfSome: an object with only a vague reason left stays in its problem, but does not give it its sentence.
func TestRepairOfSome(t *testing.T) {
	tracker := NewTracker("c")
	note(tracker, 0, failing("a", "webhook", "hook", 0), failing("b", "webhook", "hook", time.Second))
	id := tracker.List(at(0)).Problems[0].ID
	waits := failing("a", "", "a", 0)
	waits.Vague = true
	note(tracker, time.Minute, waits)
	note(tracker, 3*time.Minute, waits)
	wantLines(t, tracker, 3*time.Minute, "2 Deployment b fails by webhook since 1s +a")
	if got := tracker.List(at(0)).Problems[0].ID; got != id {
		t.Errorf("the ID is %s, and was %s", got, id)
	}
	tracker.Ends(deployment("b").UID)
	wantLines(t, tracker, 3*time.Minute, "1 Deployment a fails by  since 0s")
}

// TestFollower: an object that fails because of another one is not the first, also if it is the oldest.
func TestFollower(t *testing.T) {
	tracker := NewTracker("c")
	service := failing("svc", "endpoints_unready", "image web:2", 0)
	service.Key.Category, service.Follows = "image_not_found", true
	web := failing("web", "image_not_found", "image web:2", time.Minute)
	web.Image = "web:2"
	note(tracker, 0, service, web)
	wantLines(t, tracker, 0, "2 Deployment web fails by image_not_found since 1m0s +svc")
	if p := tracker.List(at(0)).Problems[0]; p.Image != "web:2" {
		t.Errorf("the image is %q", p.Image)
	}
}

// TestOrigin: the object that explains the others is the first one, and gives the age.
func TestOrigin(t *testing.T) {
	tracker := NewTracker("c")
	node := failing("node-1", "node_not_ready", "node-1", time.Hour)
	node.Origin = true
	note(tracker, time.Hour, failing("web", "node_not_ready", "node-1", 0), node)
	wantLines(t, tracker, time.Hour, "2 Deployment node-1 fails by node_not_ready since 1h0m0s +web")
}

// TestCauseOfMany: objects that meet a broken webhook by several changes have no common cause; by one change they have.
func TestCauseOfMany(t *testing.T) {
	for _, tc := range []struct {
		outside bool
		traces  [2]string
		want    string
	}{
		{true, [2]string{"t1", "t2"}, ""}, {true, [2]string{"t1", "t1"}, "t1"}, {false, [2]string{"t1", "t2"}, "t1"},
	} {
		tracker := NewTracker("c")
		for i, name := range []string{"a", "b"} {
			f := failing(name, "webhook", "hook", 0)
			f.Outside, f.Cause = tc.outside, &Cause{TraceID: tc.traces[i]}
			note(tracker, 0, f)
		}
		got := ""
		if c := tracker.List(at(0)).Problems[0].Cause; c != nil {
			got = c.TraceID
		}
		if got != tc.want {
			t.Errorf("%+v: got %q", tc, got)
		}
	}
}

// TestCauseStays: a later change of an object with the same reason is not the cause, and a forgotten one stays.
func TestCauseStays(t *testing.T) {
	tracker := NewTracker("c")
	cause := func() *Cause { return tracker.List(at(0)).Problems[0].Cause }
	by := func(category, trace, who string) {
		f := failing("web", category, "web", 0)
		if trace != "" {
			f.Cause = &Cause{TraceID: trace, Who: who}
		}
		if who != "" {
			f.Cause.Object = &f.Object
		}
		note(tracker, 0, f)
	}
	for _, step := range []struct{ category, trace, who, want string }{
		{"crash_loop", "", "", ""}, {"crash_loop", "t1", "kubectl", "t1 kubectl"},
		{"crash_loop", "t1", "jane", "t1 jane"}, {"crash_loop", "t2", "joe", "t1 jane"},
		{"image_pull", "t1", "", "t1 jane"}, {"crash_loop", "", "", "t1 jane"}, {"image_pull", "t2", "joe", "t2 joe"},
	} {
		by(step.category, step.trace, step.who)
		got := ""
		if c := cause(); c != nil {
			got = c.TraceID + " " + c.Who
		}
		if got != step.want {
			t.Errorf("%+v: got %q", step, got)
		}
	}
}

// TestIDs: problems that part or meet have different IDs, and the oldest object keeps one. A restored Tracker has the
// same ones.
func TestIDs(t *testing.T) {
	tracker := NewTracker("c")
	note(tracker, 0, failing("a", "webhook", "hook", 0), failing("b", "webhook", "hook", time.Second))
	ids := func(t *Tracker) string {
		var out []string
		for _, p := range t.List(at(0)).Problems {
			out = append(out, p.Object.Name+" "+p.ID)
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	one := tracker.List(at(0)).Problems[0].ID
	note(tracker, time.Minute, failing("b", "quota", "small", time.Second))
	parted := tracker.List(at(0)).Problems
	if len(parted) != 2 || parted[0].ID != one || parted[1].ID == one {
		t.Fatalf("parted: got %s, was %s", ids(tracker), one)
	}
	restored := NewTracker("c")
	for uid, e := range tracker.Entries() {
		again := *e
		restored.Entries()[uid] = &again
	}
	if got, want := ids(restored), ids(tracker); got != want {
		t.Errorf("restored: got %s, want %s", got, want)
	}
	note(tracker, 2*time.Minute, failing("b", "webhook", "hook", time.Second))
	if got := tracker.List(at(0)).Problems; len(got) != 1 || got[0].ID != one {
		t.Errorf("met: got %s, was %s", ids(tracker), one)
	}
	if other := NewTracker("other"); true {
		note(other, 0, failing("a", "webhook", "hook", 0))
		if got := other.List(at(0)).Problems[0].ID; got == one {
			t.Error("two clusters share an ID")
		}
	}
}

// TestIDsOfServers: a version arrives at two servers at different times; the problem has one ID.
func TestIDsOfServers(t *testing.T) {
	ids := map[string]bool{}
	for _, late := range []time.Duration{0, 3 * time.Second} {
		tracker := NewTracker("c")
		one := failing("a", "webhook", "hook", late)
		one.Onset.Version, one.Onset.Exact = 4711, true
		note(tracker, late, one)
		ids[tracker.List(at(late)).Problems[0].ID] = true
	}
	if len(ids) != 1 {
		t.Errorf("got the IDs %v, want one", ids)
	}
}

// TestMove: the problem of an object goes on as that of its owner.
func TestMove(t *testing.T) {
	tracker := NewTracker("c")
	note(tracker, 0, failing("pod", "crash_loop", "pod", 0))
	id := tracker.List(at(0)).Problems[0].ID
	tracker.Move(deployment("pod").UID, deployment("web"))
	late := failing("web", "crash_loop", "web", time.Hour)
	late.Onset.Exact = true
	note(tracker, time.Hour, late)
	wantLines(t, tracker, time.Hour, "1 Deployment web fails by crash_loop since 0s")
	if got := tracker.List(at(0)).Problems[0].ID; got != id {
		t.Errorf("the ID is %s, and was %s", got, id)
	}
	// The first object has a problem of its own again.
	note(tracker, time.Hour, failing("pod", "crash_loop", "pod", 0))
	if l := tracker.List(at(0)); len(l.Problems) != 2 || l.Problems[0].ID == l.Problems[1].ID {
		t.Errorf("got %+v", l.Problems)
	}
}

// TestBounds: the worst problems are in the list, and the others are counted.
func TestBounds(t *testing.T) {
	tracker := NewTracker("c")
	for i := range MaxProblems + 7 {
		f := failing(fmt.Sprintf("web-%04d", i), "crash_loop", fmt.Sprint(i), time.Duration(i)*time.Second)
		f.Text = strings.Repeat("x", 1<<20)
		if i == MaxProblems+6 {
			f.Rank = 3
		}
		note(tracker, 0, f)
	}
	l := tracker.List(at(0))
	if len(l.Problems) != MaxProblems || l.More != 7 || l.Problems[0].Object.Name != "web-1006" {
		t.Errorf("got %d problems and %d more, the first %s", len(l.Problems), l.More, l.Problems[0].Object.Name)
	}
	if n := len(l.Problems[0].Reason); n > 5000 {
		t.Errorf("a reason has %d bytes", n)
	}
}
