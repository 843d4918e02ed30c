// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
)

// gatekeeper is a plugin that is not in Kubernetes. It rejects node a, lets Pods wait for its
// permission, and fails the first PreBind.
type gatekeeper struct {
	handle fwk.Handle
	failed atomic.Bool
}

func (*gatekeeper) Name() string { return "Gatekeeper" }

func (*gatekeeper) Filter(_ context.Context, _ fwk.CycleState, _ *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	if node.Node().Name == "a" {
		return fwk.NewStatus(fwk.Unschedulable, "Insufficient example.com/keys")
	}
	return nil
}

func (g *gatekeeper) Permit(
	_ context.Context, _ fwk.CycleState, pod *corev1.Pod, _ string,
) (*fwk.Status, time.Duration) {
	go func() { // as an informer's handler would
		for {
			if waiting := g.handle.GetWaitingPod(pod.UID); waiting != nil {
				waiting.Allow("Gatekeeper")
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return fwk.NewStatus(fwk.Wait), time.Minute
}

func (*gatekeeper) PreBindPreFlight(
	context.Context, fwk.CycleState, *corev1.Pod, string,
) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	return nil, nil
}

func (g *gatekeeper) PreBind(context.Context, fwk.CycleState, *corev1.Pod, string) *fwk.Status {
	if g.failed.CompareAndSwap(false, true) {
		return fwk.NewStatus(fwk.Error, "connection refused")
	}
	return nil
}

// TestAPluginOfYourOwn: a plugin that is not in Kubernetes has spans; a Pod that waits for its
// permission has a span for the wait; a failed PreBind is an error, is undone and is tried again.
func TestAPluginOfYourOwn(t *testing.T) {
	var versioned configv1.KubeSchedulerConfiguration
	scheme.Scheme.Default(&versioned)
	var cfg config.KubeSchedulerConfiguration
	if err := scheme.Scheme.Convert(&versioned, &cfg, nil); err != nil {
		t.Fatal(err)
	}
	cfg.Profiles[0].Plugins.MultiPoint.Enabled = append(cfg.Profiles[0].Plugins.MultiPoint.Enabled,
		config.Plugin{Name: "Gatekeeper"})
	c := start(t, settings{
		traced: true,
		objects: []runtime.Object{
			node("a", "8", "8Gi"), node("b", "4", "8Gi"), pod("one", "1", "1Gi"),
		},
		options: []scheduler.Option{
			scheduler.WithProfiles(cfg.Profiles...),
			scheduler.WithFrameworkOutOfTreeRegistry(frameworkruntime.Registry{
				"Gatekeeper": func(_ context.Context, _ runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
					return &gatekeeper{handle: h}, nil
				},
			}),
		},
	})
	if got := c.waitBound(1)["uid-one"]; got != "b" {
		t.Errorf("bound to %q, want b: the plugin rejects a", got)
	}
	all := c.spans(2)
	want(t, named(t, all, "Filter Gatekeeper"), map[string]string{
		"k8s.scheduler.nodes.rejected": "1", "k8s.scheduler.reject.reasons": `["Insufficient example.com/keys"]`,
	})
	want(t, named(t, all, "Permit Gatekeeper"), map[string]string{"k8s.scheduler.status": "Wait"})
	named(t, all, "WaitOnPermit")
	want(t, named(t, all, "PreBind Gatekeeper"), map[string]string{"k8s.scheduler.status": "Error"})
	want(t, named(t, all, "scheduling attempt"), map[string]string{"k8s.scheduler.outcome": "error"})
	named(t, all, "Unreserve VolumeBinding")
}
