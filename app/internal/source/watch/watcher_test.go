// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

const (
	deploymentsPath = "/apis/apps/v1/deployments"
	replicaSetsPath = "/apis/apps/v1/replicasets"
	podsPath        = "/api/v1/pods"
	nodesPath       = "/api/v1/nodes"
	secretsPath     = "/api/v1/secrets"
	eventsPath      = "/apis/events.k8s.io/v1/events"
	coreEventsPath  = "/api/v1/events"
	crdsPath        = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

// patience bounds every wait.
const patience = 2 * time.Minute

// watched is a Watcher under test, with its observations and warnings.
type watched struct {
	*Watcher
	t  *testing.T
	mu sync.Mutex
	// news is closed and replaced after each observation or warning.
	news  chan struct{}
	lines []string
	warns []string
	// reached are the last positions of the streams.
	reached map[string]Position
}

func watching(t *testing.T, f *fakeAPI, exclude ...schema.GroupResource) *watched {
	t.Helper()
	return watchingAs(t, f, func(c *Config) { c.Exclude = exclude })
}

// watchingAs is watching with a changed configuration.
func watchingAs(t *testing.T, f *fakeAPI, change func(*Config)) *watched {
	t.Helper()
	wd := &watched{t: t, news: make(chan struct{}), reached: map[string]Position{}}
	cfg := Config{
		REST: f.config(),
		Emit: func(o *observation.Observation) { wd.add(&wd.lines, brief(o)) },
		Warn: func(format string, args ...any) { wd.add(&wd.warns, fmt.Sprintf(format, args...)) },
		Reached: func(p Position) {
			wd.mu.Lock()
			defer wd.mu.Unlock()
			wd.reached[p.Key()] = p
			close(wd.news)
			wd.news = make(chan struct{})
		},
	}
	change(&cfg)
	w, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.pace.late = time.Minute // however long the machine pauses
	w.pace.renew = time.Millisecond
	wd.Watcher = w
	t.Cleanup(w.Close)
	return wd
}

func (wd *watched) add(to *[]string, line string) {
	wd.mu.Lock()
	defer wd.mu.Unlock()
	*to = append(*to, line)
	close(wd.news)
	wd.news = make(chan struct{})
}

// ping makes await check again after a change without an observation.
func (wd *watched) ping() {
	time.AfterFunc(5*time.Millisecond, func() {
		wd.mu.Lock()
		defer wd.mu.Unlock()
		close(wd.news)
		wd.news = make(chan struct{})
	})
}

// present waits until all streams show the present.
func (wd *watched) present() {
	wd.t.Helper()
	wd.sync()
	wd.await("the present", func() bool { defer wd.ping(); return wd.Stats().Lag == 0 })
}

// brief writes an observation as "baseline Pod/a 101", "gone Pod/a 102", "Thing/t 6 order 102".
func brief(o *observation.Observation) string {
	how := ""
	switch {
	case o.Baseline && o.Listed:
		how = "baseline "
	case o.Listed:
		how = "listed "
	}
	order := func(place uint64) string {
		if place == 0 {
			return ""
		}
		return fmt.Sprintf(" order %d", place)
	}
	switch {
	case o.State != nil:
		return fmt.Sprintf("%s%s/%s %d", how, o.State.Kind.Kind, o.State.Name, o.State.ResourceVersion) + order(
			o.State.Order,
		)
	case o.Gone != nil:
		return fmt.Sprintf("%sgone %s/%s %d", how, o.Gone.Kind.Kind, o.Gone.Name, o.Gone.ResourceVersion) + order(
			o.Gone.Order,
		)
	default:
		return fmt.Sprintf("%sevent %s %d", how, o.Event.Reason, o.Event.ResourceVersion) + order(o.Event.Order)
	}
}

// await waits for a condition.
func (wd *watched) await(what string, is func() bool) {
	wd.t.Helper()
	deadline := time.After(patience)
	for {
		wd.mu.Lock()
		news, ok := wd.news, is()
		wd.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-news:
		case <-deadline:
			wd.mu.Lock()
			defer wd.mu.Unlock()
			wd.t.Fatalf("%s did not happen; seen:\n%s\nwarned:\n%s", what, strings.Join(
				wd.lines, "\n",
			), strings.Join(wd.warns, "\n"))
		}
	}
}

func (wd *watched) awaitLine(line string) {
	wd.t.Helper()
	wd.await(line, func() bool { return slices.Contains(wd.lines, line) })
}

func (wd *watched) sync() {
	wd.t.Helper()
	ctx, cancel := context.WithTimeout(wd.t.Context(), patience)
	defer cancel()
	if err := wd.Synced(ctx); err != nil {
		wd.t.Fatal(err)
	}
}

// want compares all observations, in any order.
func (wd *watched) want(reason string, lines ...string) {
	wd.t.Helper()
	wd.mu.Lock()
	got := slices.Clone(wd.lines)
	wd.mu.Unlock()
	slices.Sort(got)
	slices.Sort(lines)
	if diff := cmp.Diff(lines, got); diff != "" {
		wd.t.Errorf("%s: -want +got:\n%s", reason, diff)
	}
}

func (wd *watched) wantWarnings(lines ...string) {
	wd.t.Helper()
	wd.mu.Lock()
	defer wd.mu.Unlock()
	if diff := cmp.Diff(lines, wd.warns); diff != "" {
		wd.t.Errorf("warnings: -want +got:\n%s", diff)
	}
}

func TestFollowShowsExactlyWhatCameAfter(t *testing.T) {
	f := newFakeAPI(t)
	f.put(deploymentsPath, "default", "old")
	f.put(deploymentsPath, "other", "elsewhere")
	written := f.put(deploymentsPath, "default", "web")
	f.put(replicaSetsPath, "default", "web-1")
	f.put(podsPath, "default", "web-1-a")
	f.put(eventsPath, "default", "e", "reason", "Scheduled")
	f.remove(deploymentsPath, "default", "old")
	wd := watching(t, f)
	wd.Follow(t.Context(), kind.Deployment.GroupVersionResource(), "default", uint64(written-1))
	wd.sync()
	wd.awaitLine("gone Deployment/old 107")
	wd.awaitLine("ReplicaSet/web-1 104")
	wd.awaitLine("Pod/web-1-a 105")
	wd.awaitLine("event Scheduled 106")
	wd.want("the state before the write is the baseline, all later changes are live",
		"baseline Deployment/old 101", "Deployment/web 103", "ReplicaSet/web-1 104", "Pod/web-1-a 105",
		"event Scheduled 106", "gone Deployment/old 107")
	wd.wantWarnings()
}

func TestFollowAgain(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "default", "a")
	f.put(podsPath, "default", "b")
	wd := watching(t, f)
	wd.Follow(t.Context(), pods, "default", 101)
	wd.awaitLine("Pod/b 102")
	wd.Follow(t.Context(), pods, "default", 102)
	wd.Follow(t.Context(), pods, "default", 0)
	wd.sync()
	if n := len(f.asked("/pods", "limit=")); n != 1 {
		t.Errorf("a covered later write caused %d lists", n)
	}
	wd.Follow(t.Context(), pods, "default", 100)
	wd.await("all four", func() bool { return len(wd.lines) == 4 })
	wd.want("an older write restarts from its version", "baseline Pod/a 101", "Pod/b 102", "Pod/a 101", "Pod/b 102")
}

func TestFollowWhenThePastIsGone(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "default", "a")
	f.put(podsPath, "default", "b")
	f.expire()
	wd := watching(t, f)
	wd.Follow(t.Context(), pods, "default", 100)
	wd.sync()
	f.put(podsPath, "default", "c")
	wd.awaitLine("Pod/c 103")
	wd.want(
		"the present is the baseline if the past was discarded", "baseline Pod/a 101", "baseline Pod/b 102",
		"Pod/c 103",
	)
	wd.wantWarnings()
}

func TestFollowAcrossStorages(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "default", "a")
	f.put(eventsPath, "default", "e", "reason", "Pulled")
	wd := watching(t, f)
	wd.Follow(t.Context(), pods, "default", 5000)
	wd.sync()
	wd.want(
		"a version of another storage is useless, so the present is the baseline", "baseline Pod/a 101",
		"baseline event Pulled 102",
	)
	wd.wantWarnings()
	if asked := f.asked("/events", "Exact"); asked != nil {
		t.Errorf("want no list of Events at a version that their storage may never reach, got %v", asked)
	}
}

func TestFollowWhenOnlyTheWatchIsTooOld(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "default", "a")
	f.put(podsPath, "default", "b")
	f.with(func() { f.gone = 102 })
	wd := watching(t, f)
	wd.Follow(t.Context(), pods, "default", 101)
	wd.awaitLine("listed Pod/b 102")
	wd.want("the list of the past shows which objects are new", "baseline Pod/a 101", "listed Pod/b 102")
}

func TestRelistInventsNothingAndLosesNothing(t *testing.T) {
	for name, atOnce := range map[string]bool{"InTheStream": false, "AtOnce": true} {
		t.Run(name, func(t *testing.T) {
			f := newFakeAPI(t)
			f.goneAtOnce = atOnce
			f.put(podsPath, "default", "same")
			f.put(podsPath, "default", "changed")
			f.put(podsPath, "default", "removed")
			wd := watching(t, f)
			wd.Follow(t.Context(), pods, "default", 0)
			wd.sync()
			f.with(func() { f.refuse[podsPath] = http.StatusServiceUnavailable })
			f.endWatches()
			f.put(podsPath, "default", "changed")
			f.remove(podsPath, "default", "removed")
			f.put(podsPath, "default", "new")
			f.expire()
			f.with(func() { delete(f.refuse, podsPath) })
			wd.awaitLine("listed gone Pod/removed 106")
			wd.want("only differences are emitted",
				"baseline Pod/same 101", "baseline Pod/changed 102", "baseline Pod/removed 103",
				"listed Pod/changed 104", "listed Pod/new 106", "listed gone Pod/removed 106")
		})
	}
}

// TestRelistOfEvents: the position alone shows which Events of a list are new. A stream of Events
// needs no memory for each of them.
func TestRelistOfEvents(t *testing.T) {
	f := newFakeAPI(t)
	f.put(eventsPath, "default", "old", "reason", "Scheduled")
	f.put(eventsPath, "default", "again", "reason", "Pulling")
	wd := watching(t, f)
	wd.Follow(t.Context(), pods, "default", 0)
	wd.sync()
	f.put(eventsPath, "default", "live", "reason", "Pulled")
	wd.awaitLine("event Pulled 103")
	f.with(func() { f.refuse[eventsPath] = http.StatusServiceUnavailable })
	f.endWatches()
	f.put(eventsPath, "default", "again", "reason", "Pulling")
	f.put(eventsPath, "default", "new", "reason", "Started")
	f.expire()
	f.with(func() { delete(f.refuse, eventsPath) })
	wd.awaitLine("listed event Started 105")
	wd.want("only new versions are emitted", "baseline event Scheduled 101", "baseline event Pulling 102",
		"event Pulled 103", "listed event Pulling 104", "listed event Started 105")
	wd.roster.mu.Lock()
	streams := slices.Collect(maps.Values(wd.roster.streams))
	wd.roster.mu.Unlock()
	wd.Close()
	for _, s := range streams {
		if n := len(s.objects.held); isEvents(s.resource) && n > 0 {
			t.Errorf("the stream of Events keeps %d of them", n)
		}
	}
}

func TestWatchGoesOnWhereItEnded(t *testing.T) {
	f := newFakeAPI(t)
	f.with(func() { f.bookmarks = true })
	f.put(podsPath, "default", "a")
	wd := watching(t, f)
	wd.Follow(t.Context(), pods, "default", 0)
	wd.sync()
	f.put(podsPath, "default", "b")
	wd.awaitLine("Pod/b 102")
	f.put(podsPath, "other", "unseen") // a bookmark for the watch of default
	f.put(podsPath, "default", "c")
	wd.awaitLine("Pod/c 104")
	f.endWatches()
	f.put(podsPath, "default", "d")
	wd.awaitLine("Pod/d 105")
	wd.want("a reopened watch repeats nothing", "baseline Pod/a 101", "Pod/b 102", "Pod/c 104", "Pod/d 105")
	if len(f.asked("/pods", "limit=")) != 1 {
		t.Errorf("want no second list, got %v", f.asked("/pods"))
	}
}

func TestLongListsComeInPages(t *testing.T) {
	f := newFakeAPI(t)
	for i := range 600 {
		f.put(podsPath, "default", fmt.Sprintf("p%03d", i))
	}
	wd := watching(t, f)
	wd.Follow(t.Context(), pods, "default", 0)
	wd.sync()
	if len(wd.lines) != 600 {
		t.Errorf("want 600 Pods, got %d", len(wd.lines))
	}
	if n := len(f.asked("/pods", "limit=250")); n != 3 {
		t.Errorf("want 3 pages, got %d", n)
	}
}

func TestForbiddenIsSaidOnceAndTheRestGoesOn(t *testing.T) {
	f := newFakeAPI(t)
	f.with(func() {
		for _, path := range []string{podsPath, secretsPath, replicaSetsPath} {
			f.refuse[path] = http.StatusForbidden
		}
	})
	f.put(deploymentsPath, "default", "web")
	wd := watching(t, f)
	if err := wd.Watch(t.Context(), Scope{Namespaces: []string{"default"}}); err != nil {
		t.Fatal(err)
	}
	wd.sync()
	const warning = "not permitted to watch in namespace default: pods, replicasets.apps, secrets; " +
		"continuing without them"
	wd.wantWarnings(warning)
	wd.Follow(t.Context(), kind.Deployment.GroupVersionResource(), "default", 0)
	wd.sync()
	wd.want("readable resources are observed", "baseline Deployment/web 101")
	wd.wantWarnings(warning)
}

// TestSyncedAfterWarnings: Synced returns after the warnings of the lists, also if the goroutine of
// the last list has not come to them.
func TestSyncedAfterWarnings(t *testing.T) {
	wd := watching(t, newFakeAPI(t))
	wd.Watcher.warnings.forbidden(pods.GroupResource(), "default")
	wd.sync()
	wd.wantWarnings("not permitted to watch in namespace default: pods; continuing without them")
}

// TestForbiddenTogether: resources that are started together are named in one warning, also if the
// first was refused before the last one starts.
func TestForbiddenTogether(t *testing.T) {
	f := newFakeAPI(t)
	f.with(func() { f.refuse[podsPath], f.refuse[replicaSetsPath] = http.StatusForbidden, http.StatusForbidden })
	wd := watching(t, f)
	started := wd.pending.together()
	wd.roster.start(t.Context(), plan{resource: pods, namespace: "default"})
	wd.await("a refusal", func() bool { defer wd.ping(); return wd.Stats().Resources[0].Unreadable == 1 })
	replicas := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	wd.roster.start(t.Context(), plan{resource: replicas, namespace: "default"})
	started()
	wd.sync()
	wd.wantWarnings("not permitted to watch in namespace default: pods, replicasets.apps; continuing without them")
}

func TestEventsOfTheOldAPI(t *testing.T) {
	f := newFakeAPI(t)
	f.with(func() { f.refuse[eventsPath] = http.StatusForbidden })
	f.put(coreEventsPath, "default", "e", "reason", "Pulled")
	wd := watching(t, f)
	wd.Follow(t.Context(), pods, "default", 0)
	wd.sync()
	wd.want("core Events replace unreadable events.k8s.io", "baseline event Pulled 101")
	wd.wantWarnings()
}

func TestExpiredEventsAreNoNews(t *testing.T) {
	f := newFakeAPI(t)
	f.put(eventsPath, "default", "e", "reason", "Pulled")
	wd := watching(t, f)
	wd.Follow(t.Context(), pods, "default", 0)
	wd.sync()
	f.remove(eventsPath, "default", "e")
	f.put(eventsPath, "default", "f", "reason", "Started")
	wd.awaitLine("event Started 103")
	wd.want("the removal of an Event is not observed", "baseline event Pulled 101", "event Started 103")
}

func TestSecretsAreReadAsMetadata(t *testing.T) {
	f := newFakeAPI(t)
	f.put(secretsPath, "default", "s", "data", map[string]any{"password": "x"})
	wd := watching(t, f)
	wd.Follow(t.Context(), schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "default", 0)
	wd.sync()
	f.put(secretsPath, "default", "s")
	wd.awaitLine("Secret/s 102")
	wd.want("", "baseline Secret/s 101", "Secret/s 102")
}

func TestEverythingOfTheCluster(t *testing.T) {
	f := newFakeAPI(t)
	f.with(func() {
		f.kinds["broken.example.com/v1"] = []kindOffered{{"things", "Thing", true}}
		f.broken = []string{"broken.example.com/v1"}
	})
	f.put(podsPath, "a", "p")
	f.put(nodesPath, "", "n")
	f.put("/api/v1/endpoints", "a", "churn")
	f.put(deploymentsPath, "b", "d")
	f.put(replicaSetsPath, "b", "r")
	wd := watching(t, f, schema.GroupResource{Group: "apps", Resource: "replicasets"})
	if err := wd.Watch(t.Context(), Scope{}); err != nil {
		t.Fatal(err)
	}
	wd.sync()
	wd.want(
		"all resources but the excluded ones", "baseline Pod/p 101", "baseline Node/n 102",
		"baseline Deployment/d 104",
	)
	if len(wd.warns) != 1 || !strings.HasPrefix(wd.warns[0], "cannot watch the API broken.example.com/v1: ") {
		t.Errorf("want one warning about the unavailable API, got %q", wd.warns)
	}
	if asked := f.asked("/events", "watch"); slices.ContainsFunc(
		asked, func(s string) bool { return strings.HasPrefix(s, "/api/v1") },
	) {
		t.Errorf("Events are watched twice: %v", asked)
	}
}

// TestBrokenAPIOfOthers: an API that cannot be read is no warning for a caller who needs others.
func TestBrokenAPIOfOthers(t *testing.T) {
	f := newFakeAPI(t)
	f.with(func() {
		f.kinds["broken.example.com/v1"] = []kindOffered{{"things", "Thing", true}}
		f.broken = []string{"broken.example.com/v1"}
	})
	wd := watching(t, f)
	if err := wd.Watch(t.Context(), Scope{Resources: []schema.GroupResource{{Resource: "pods"}}}); err != nil {
		t.Fatal(err)
	}
	wd.sync()
	if len(wd.warns) > 0 {
		t.Errorf("a Pod is not of the broken API, got %q", wd.warns)
	}
	things := schema.GroupResource{Group: "broken.example.com", Resource: "things"}
	if err := wd.Watch(t.Context(), Scope{Resources: []schema.GroupResource{things}}); err == nil {
		t.Error("a resource of the broken API was watched")
	}
	if len(wd.warns) != 1 || !strings.HasPrefix(wd.warns[0], "cannot watch the API broken.example.com/v1: ") {
		t.Errorf("want one warning about the wanted API, got %q", wd.warns)
	}
}

func TestKindsThatAppearAndVanish(t *testing.T) {
	f := newFakeAPI(t)
	const heads = "/apis/example.com/v1/heads"
	wd := watching(t, f)
	if err := wd.Watch(t.Context(), Scope{}); err != nil {
		t.Fatal(err)
	}
	wd.sync()
	f.put(crdsPath, "", "heads.example.com")
	wd.awaitLine("CustomResourceDefinition/heads.example.com 101")
	// Discovery and the watch start late; objects created in between still count as live.
	f.with(func() { f.kinds["example.com/v1"] = []kindOffered{{"heads", "Head", true}} })
	f.put(heads, "default", "first")
	wd.awaitLine("Head/first 102")
	f.put(heads, "default", "other")
	wd.awaitLine("Head/other 103")
	f.remove(heads, "default", "first")
	wd.awaitLine("gone Head/first 104")
	f.with(func() { delete(f.kinds, "example.com/v1") })
	f.remove(crdsPath, "", "heads.example.com")
	// The server may not have sent every removal by now.
	wd.awaitLine("gone CustomResourceDefinition/heads.example.com 105")
	wd.awaitLine("listed gone Head/other 105")
	wd.awaitPosition("heads.example.com//", "") // there is no position to resume from
	f.remove(heads, "default", "other")
	f.put(crdsPath, "", "heads.example.com")
	f.with(func() { f.kinds["example.com/v1"] = []kindOffered{{"heads", "Head", true}} })
	f.put(heads, "default", "second")
	wd.awaitLine("Head/second 108")
	wd.want("a new kind's first objects are not a baseline",
		"CustomResourceDefinition/heads.example.com 101", "Head/first 102", "Head/other 103", "gone Head/first 104",
		"gone CustomResourceDefinition/heads.example.com 105", "listed gone Head/other 105",
		"CustomResourceDefinition/heads.example.com 107", "Head/second 108")
	wd.wantWarnings()
}

func TestUnknownResource(t *testing.T) {
	wd := watching(t, newFakeAPI(t))
	err := wd.Watch(t.Context(), Scope{Resources: []schema.GroupResource{{Resource: "ponds"}}})
	if err == nil || err.Error() != "cannot watch ponds: the API server does not offer it" {
		t.Errorf("got %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	f := newFakeAPI(t)
	f.server.Close()
	wd := watching(t, f)
	if err := wd.Watch(t.Context(), Scope{}); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
	if _, err := Identity(t.Context(), f.config()); err == nil {
		t.Error("Identity of an unreachable cluster: want an error")
	}
	wd.Follow(t.Context(), kind.Deployment.GroupVersionResource(), "default", 0)
	wd.await("a warning", func() bool { return len(wd.warns) > 0 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if wd.Synced(ctx) == nil {
		t.Error("Sync succeeded although nothing was listed")
	}
	wd.Close()
	if len(wd.warns) != 1 || !strings.HasPrefix(wd.warns[0], "cannot reach the API server: dial tcp ") {
		t.Errorf("want one warning for all streams, got %q", wd.warns)
	}
}

func TestNothingAfterClose(t *testing.T) {
	f := newFakeAPI(t)
	wd := watching(t, f)
	wd.Follow(t.Context(), pods, "default", 0)
	wd.sync()
	wd.Close()
	f.put(podsPath, "default", "late")
	wd.Follow(t.Context(), kind.Deployment.GroupVersionResource(), "default", 0)
	wd.Close()
	wd.want("nothing is emitted after Close")
}

func TestEndsWithItsContext(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "default", "a")
	wd := watching(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	wd.Follow(ctx, pods, "default", 0)
	wd.sync()
	cancel()
	wd.roster.running.Wait()
	wd.Follow(t.Context(), pods, "default", 0)
	wd.sync()
	wd.want("an ended stream can be restarted", "baseline Pod/a 101", "baseline Pod/a 101")
}
