// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kube-lifeline/lifeline/examples/scheduler-operator/api/v1alpha1"
	"github.com/kube-lifeline/lifeline/examples/scheduler-operator/internal/controller"
	"github.com/kube-lifeline/lifeline/examples/scheduler-operator/internal/process"
	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/tracing"
)

// restart is the least time between two starts of a scheduler that ends by itself.
const restart = 10 * time.Second

// manager returns a manager with the controller and the scheduler. dir is the scheduler's, and talk
// gets its log.
func (o *options) manager(tracer *tracing.Tracing, dir string, talk io.Writer) (ctrl.Manager, error) {
	program, err := exec.LookPath(o.scheduler)
	if err != nil {
		return nil, fmt.Errorf("cannot find the scheduler, see --scheduler: %w", err)
	}
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot load the cluster configuration: %w", err)
	}
	kubeconfig, err := o.schedulerKubeconfig(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot find the kubeconfig of the scheduler: %w", err)
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	// The kit's first line: the client, the cache and the requests are traced.
	mgr, err := operator.NewManager(cfg, ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: o.health,
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {
				Namespaces: map[string]cache.Config{o.namespace: {}},
				// With this selector, RBAC needs the right to this one ConfigMap only.
				Field: fields.OneTermEqualSelector("metadata.name", controller.ConfigMapName),
			},
		}},
	}, operator.WithTracerProvider(tracer))
	if err != nil {
		return nil, fmt.Errorf("cannot make the manager: %w", err)
	}
	exits := make(chan event.GenericEvent, 1)
	scheduler := &process.Scheduler{Program: program, Dir: dir, Log: talk, Interval: restart, Exited: func() {
		select {
		case exits <- event.GenericEvent{Object: &v1alpha1.SchedulingPolicy{}}:
		default: // one is waiting
		}
	}}
	if err := mgr.Add(scheduler); err != nil {
		return nil, fmt.Errorf("cannot add the scheduler to the manager: %w", err)
	}
	reconciler := &controller.PolicyReconciler{
		Scheduler:  scheduler,
		Exits:      exits,
		Tracer:     tracer.Tracer("scheduler-operator"),
		Namespace:  o.namespace,
		Kubeconfig: kubeconfig,
		Now:        time.Now,
	}
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return nil, fmt.Errorf("cannot set up the controller: %w", err)
	}
	if err := errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return nil, fmt.Errorf("cannot add the probes: %w", err)
	}
	return mgr, nil
}
