// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/imagelocality"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	schedprofile "k8s.io/kubernetes/pkg/scheduler/profile"
)

// newScheduler returns a scheduler that does not run.
func newScheduler(t testing.TB, options ...scheduler.Option) (*scheduler.Scheduler, error) {
	t.Helper()
	client := fake.NewClientset()
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	t.Cleanup(broadcaster.Shutdown)
	return scheduler.New(t.Context(), client, informers.NewSharedInformerFactory(client, 0), nil,
		schedprofile.NewRecorderFactory(broadcaster), options...)
}

// discard is an OTLP client without a receiver.
type discard struct{}

func (discard) Start(context.Context) error { return nil }

func (discard) Stop(context.Context) error { return nil }

func (discard) UploadTraces(context.Context, []*tracepb.ResourceSpans) error { return nil }

// newExporter returns an exporter that discards the spans, until the test's end.
func newExporter(tb testing.TB) *Exporter {
	tb.Helper()
	e, err := NewExporter(tb.Context(), discard{}, nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Shutdown(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return e
}

// unwrapped are the lists of plugins without spans: they decide about the queue, before an attempt,
// or about groups of Pods.
var unwrapped = []string{
	"preEnqueuePlugins", "queueSortPlugins", "batchablePlugins", "podGroupPostFilterPlugins",
	"placementGeneratePlugins", "placementFeasiblePlugins", "placementScorePlugins",
}

// TestEveryListOfPlugins fails for a Kubernetes version with another extension point.
func TestEveryListOfPlugins(t *testing.T) {
	sched, err := newScheduler(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, original := range sched.Profiles {
		first, err := newTwin(original, nil)
		if err != nil {
			t.Fatal(err)
		}
		twin, err := newTwin(original, first)
		if err != nil {
			t.Fatal(err)
		}
		was, now := reflect.ValueOf(original).Elem(), reflect.ValueOf(twin.Framework).Elem()
		for i := range was.NumField() {
			field := was.Type().Field(i)
			plugin := field.Type.Kind() == reflect.Slice && field.Type.Elem().Implements(reflect.TypeFor[fwk.Plugin]())
			if !plugin || field.Name == "enqueueExtensions" || slices.Contains(unwrapped, field.Name) {
				continue
			}
			if was.Field(i).Len() == 0 {
				continue
			}
			if got := now.Field(i).Index(0).Elem().Type().PkgPath(); got != reflect.TypeFor[filter]().PkgPath() {
				t.Errorf("profile %s: %s has a plugin of %s, which is not wrapped", name, field.Name, got)
			}
			if was.Field(i).Pointer() == now.Field(i).Pointer() || was.Field(i).Len() != now.Field(i).Len() {
				t.Errorf("profile %s: %s of the copy is that of the original", name, field.Name)
			}
		}
		if got, want := twin.ListPlugins(), original.ListPlugins(); !reflect.DeepEqual(got, want) {
			t.Errorf("the copy lists %v, want %v", got, want)
		}
	}
}

// strange is a framework of another kind.
type strange struct{ framework.Framework }

func (strange) ProfileName() string { return "default-scheduler" }

func TestAnotherFramework(t *testing.T) {
	sched, err := newScheduler(t)
	if err != nil {
		t.Fatal(err)
	}
	original := sched.Profiles["default-scheduler"]
	for name, test := range map[string]struct{ framework framework.Framework }{
		"a struct":                    {strange{original}},
		"a pointer without the lists": {&strange{original}},
	} {
		sched.Profiles["default-scheduler"] = test.framework
		_, err := Trace(sched, newExporter(t))
		if err == nil || !strings.Contains(err.Error(), "profile default-scheduler") {
			t.Errorf("%s: error %v, want one that names the profile", name, err)
		}
		if sched.Profiles["default-scheduler"] != test.framework {
			t.Errorf("%s: the profile was replaced", name)
		}
	}
}

// renamed is an in-tree plugin that is registered under another name.
type renamed struct{ fwk.ScorePlugin }

// TestRewrittenNames states why the wrapped plugins are not plugins of the configuration
// (docs/adr/0006-scheduler-plugins.md). If it fails, Kubernetes has changed.
func TestRewrittenNames(t *testing.T) {
	registry := frameworkruntime.Registry{imagelocality.Name: nil}
	if _, err := newScheduler(t, scheduler.WithFrameworkOutOfTreeRegistry(registry)); err == nil {
		t.Error("the registry takes a second plugin of an in-tree name")
	}
	registry = frameworkruntime.Registry{
		"Traced" + imagelocality.Name: func(c context.Context, args runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
			p, err := imagelocality.New(c, args, h)
			if err != nil {
				return nil, err
			}
			score, _ := p.(fwk.ScorePlugin)
			return renamed{score}, nil
		},
	}
	one := config.PluginSet{Enabled: []config.Plugin{{Name: "Traced" + imagelocality.Name, Weight: 2}}}
	_, err := newScheduler(t, scheduler.WithFrameworkOutOfTreeRegistry(registry),
		scheduler.WithProfiles(config.KubeSchedulerProfile{SchedulerName: "default-scheduler", Plugins: &config.Plugins{
			QueueSort: config.PluginSet{Enabled: []config.Plugin{{Name: "PrioritySort"}}},
			Bind:      config.PluginSet{Enabled: []config.Plugin{{Name: "DefaultBinder"}}},
			Score:     one,
		}}))
	if err == nil || !strings.Contains(err.Error(), "is not configured with weight") {
		t.Errorf("error %v: want that a plugin with its original name has no weight", err)
	}
}

// TestTimedScores counts the nodes whose calls of Score have times.
func TestTimedScores(t *testing.T) {
	for nodes, want := range map[int]int{0: 0, 1: 1, 8: 8, 9: timedScores, 100: timedScores, 5000: timedScores} {
		all := make([]fwk.NodeInfo, nodes)
		for i := range all {
			all[i] = framework.NewNodeInfo()
		}
		a := &attempt{}
		a.chooseTimed(all)
		got := 0
		for _, n := range all {
			if a.timesScore(n) {
				got++
			}
		}
		if got != want || a.scored != nodes {
			t.Errorf("%d of %d nodes have times, want %d", got, a.scored, want)
		}
	}
}

// TestUntimedFailure records a failed call of Score without a time.
func TestUntimedFailure(t *testing.T) {
	nodes := make([]fwk.NodeInfo, 100)
	for i := range nodes {
		nodes[i] = framework.NewNodeInfo()
	}
	a := &attempt{}
	a.chooseTimed(nodes)
	at := slices.IndexFunc(nodes, func(n fwk.NodeInfo) bool { return !a.timesScore(n) })
	c := &call{point: pointScore, plugin: "Broken", twin: &twin{attempt: a}}
	if _, status := (score{&scoring{scores{}, c}}).Score(t.Context(), nil, nil, nodes[at]); !status.IsSuccess() {
		t.Fatal(status)
	}
	if c.timed.Load() != 1 {
		t.Errorf("the first call: %d calls with a time, want 1", c.timed.Load())
	}
	if _, status := (score{&scoring{broken{}, c}}).Score(t.Context(), nil, nil, nodes[at]); status.Code() != fwk.Error {
		t.Errorf("status %v, want that of the plugin", status)
	}
	if !c.ran() || c.status.Code() != fwk.Error || c.timed.Load() != 1 {
		t.Errorf("recorded: ran %v, status %v, %d calls with a time", c.ran(), c.status, c.timed.Load())
	}
}

// scores is a Score plugin without work.
type scores struct{ fwk.ScorePlugin }

func (scores) Score(context.Context, fwk.CycleState, *corev1.Pod, fwk.NodeInfo) (int64, *fwk.Status) {
	return 0, nil
}

// broken is a Score plugin that fails.
type broken struct{ fwk.ScorePlugin }

func (broken) Score(context.Context, fwk.CycleState, *corev1.Pod, fwk.NodeInfo) (int64, *fwk.Status) {
	return 0, fwk.NewStatus(fwk.Error, "broken")
}
