// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace/noop"
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

// unwrapped are the lists of plugins without spans: they decide about the queue, before an attempt,
// or about groups of Pods.
var unwrapped = []string{
	"preEnqueuePlugins", "queueSortPlugins", "batchablePlugins", "podGroupPostFilterPlugins",
	"placementGeneratePlugins", "placementScorePlugins",
}

// TestEveryListOfPlugins fails for a Kubernetes version with another extension point.
func TestEveryListOfPlugins(t *testing.T) {
	sched, err := newScheduler(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, original := range sched.Profiles {
		twin, err := newTwin(original)
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
		_, err := Trace(sched, noop.NewTracerProvider())
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
