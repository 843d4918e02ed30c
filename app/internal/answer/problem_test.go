// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestOfProblem: the sentences about a problem.
func TestOfProblem(t *testing.T) {
	web := spantest.Ref("apps", "Deployment", "web")
	last := &problem.Cause{
		TraceID: "3c75a77f00", Start: spantest.Epoch, Who: "jane", Object: &web, Verb: "update",
		Edits: []string{"image web:1 → web:2"},
	}
	at := func(d time.Duration) string { return clock(spantest.Epoch.Add(d), now) }
	one := func(change func(p *problem.Problem)) problem.Problem {
		p := problem.Problem{
			Object: web, Objects: []object.Ref{web}, Count: 1, Since: spantest.Epoch, Namespaces: []string{"default"},
			Category: "image_pull", Reason: "Deployment web cannot pull image web:2.",
		}
		change(&p)
		return p
	}
	earlier := func(n int) (out []problem.Earlier) {
		for i := range n {
			out = append(out, problem.Earlier{
				Category: "crash_loop", Reason: fmt.Sprintf("Deployment web crashes %d", i), Since: spantest.Epoch,
			})
		}
		return out
	}
	const sentence = "Deployment web cannot pull image web:2."
	unknown := "Since " + at(0) + ". Cause: not known."
	for name, tc := range map[string]struct {
		of        problem.Problem
		last      *problem.Cause
		namespace string
		want      Problem
	}{
		"Plain": {one(func(*problem.Problem) {}), nil, "default", Problem{
			Age: "60s", Sentence: sentence, Cause: unknown,
		}},
		"Another namespace": {one(func(*problem.Problem) {}), nil, "shop", Problem{
			Age: "60s", Sentence: "Deployment default/web cannot pull image web:2.", Cause: unknown,
		}},
		"Last change": {one(func(*problem.Problem) {}), last, "default", Problem{
			Age: "60s", Sentence: sentence, Cause: "Since " + at(0) + ". Last change: jane changed Deployment web " +
				"(image web:1 → web:2) at " + at(0) + ", trace 3c75a77f.",
		}},
		"Cause": {one(func(p *problem.Problem) { p.Cause, p.Next = last, "kubectl\nget" }), nil, "default", Problem{
			Age: "60s", Sentence: sentence, Next: `kubectl\nget`, Cause: "Since " + at(0) + ". Cause: jane changed " +
				"Deployment web (image web:1 → web:2) at " + at(0) + ", trace 3c75a77f.",
		}},
		"Only a trace": {one(func(p *problem.Problem) {
			p.Cause = &problem.Cause{TraceID: "3c75a77f00"}
		}), last, "default", Problem{
			Age: "60s", Sentence: sentence, Cause: "Since " + at(0) + ". Cause: trace 3c75a77f.",
		}},
		"Older": {one(func(p *problem.Problem) { p.Before = true }), nil, "default", Problem{
			Age: ">60s", Sentence: sentence, Cause: "Since before " + at(0) + ". Cause: not known.",
		}},
		"First look": {one(func(p *problem.Problem) { p.Before, p.Since = true, now }), nil, "default", Problem{
			Age: "?", Sentence: sentence, Cause: "Since before " + at(time.Minute) + ". Cause: not known.",
		}},
		"One reason before": {one(func(p *problem.Problem) { p.Earlier = earlier(1) }), nil, "default", Problem{
			Age: "60s", Sentence: sentence, Cause: unknown, Before: "Earlier reason, at " + at(0) + ": it crashes 0.",
		}},
		"Many reasons before": {one(func(p *problem.Problem) {
			p.Earlier = earlier(problem.MaxEarlier)
		}), nil, "default", Problem{
			Age: "60s", Sentence: sentence, Cause: unknown,
			Before: "Earlier reason, at " + at(0) + ": it crashes 7 (and at least 7 more).",
		}},
		"Others": {one(func(p *problem.Problem) {
			p.Count, p.Namespaces = 43, []string{"default", "shop"}
			for i, kind := range []string{"Deployment", "StatefulSet", "Deployment"} {
				p.Objects = append(p.Objects, spantest.Ref("apps", kind, fmt.Sprint("w", i)))
			}
		}), nil, "default", Problem{
			Age: "60s", Sentence: sentence, Cause: unknown,
			Others: "+42 more in 2 namespaces: Deployment w0, StatefulSet w1, …",
		}},
		"Many namespaces": {one(func(p *problem.Problem) {
			p.Count, p.Namespaces = 43, make([]string, problem.MaxObjects)
		}), nil, "default", Problem{
			Age: "60s", Sentence: sentence, Cause: unknown, Others: "+42 more in at least 20 namespaces.",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, OfProblem(&tc.of, tc.last, now, tc.namespace, 2)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
