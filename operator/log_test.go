// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestLoggerCarriesTheTrace(t *testing.T) {
	cases := map[string]struct {
		reason string
		parent *policyv1.PodDisruptionBudget
		log    func(logr.Logger)
		want   bool
	}{
		"info": {
			reason: "the line belongs to the object's trace",
			parent: parent(carrying(given(1))),
			log:    func(l logr.Logger) { l.Info("x") },
			want:   true,
		},
		"error": {
			reason: "an error has the same fields",
			parent: parent(carrying(given(1))),
			log:    func(l logr.Logger) { l.Error(errTest, "x") },
			want:   true,
		},
		"with more values": {
			reason: "the values stay",
			parent: parent(carrying(given(1))),
			log:    func(l logr.Logger) { l.WithValues("a", 1).WithName("b").Info("x", "c", 2) },
			want:   true,
		},
		"of no trace": {
			reason: "there is no trace",
			parent: parent(),
			log:    func(l logr.Logger) { l.Info("x") },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var lines []string
			logger := funcr.New(
				func(prefix, args string) { lines = append(lines, prefix+" "+args) },
				funcr.Options{LogCaller: funcr.All},
			)
			r := newRig(t, interceptor.Funcs{})
			r.have(t, tc.parent)
			line := 0
			_, err := r.kit.Reconciler(
				"head",
				parentKind,
				reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
					log.FromContext(ctx).Info("here")
					_, _, line, _ = runtime.Caller(0)
					tc.log(log.FromContext(ctx))
					_, err := creates(ctx, r.client)
					log.FromContext(ctx).Info("after a write")
					return reconcile.Result{}, err
				}),
				nil,
			).Reconcile(log.IntoContext(t.Context(), logger), request)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(lines[0], `"file"="log_test.go" "line"=`+strconv.Itoa(line-1)) {
				t.Errorf("wrong caller position: %s, want %s:%d", lines[0], filepath.Base("log_test.go"), line-1)
			}
			if got := strings.Contains(
				lines[1],
				`"trace_id"="`+traceOf(1)+`" "span_id"="`+given(1).SpanID().String(),
			); got != tc.want {
				t.Errorf("%s: got %s", tc.reason, lines[1])
			}
			work := only(t, r.rec, "head reconcile").SpanContext()
			if !strings.Contains(
				lines[2],
				`"trace_id"="`+work.TraceID().String()+`" "span_id"="`+work.SpanID().String(),
			) {
				t.Errorf("%s: after a write, the line must have the reconcile's span: %s", tc.reason, lines[2])
			}
		})
	}
}

func TestNoLogger(t *testing.T) {
	r := newRig(t, interceptor.Funcs{})
	r.have(t, parent())
	for name, ctx := range map[string]context.Context{
		"none": t.Context(), "zero": logr.NewContext(t.Context(), logr.Logger{}),
	} {
		_, err := r.kit.Reconciler(
			"head",
			parentKind,
			reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
				log.FromContext(ctx).Info("x")
				return reconcile.Result{}, nil
			}),
			nil,
		).Reconcile(ctx, request)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
