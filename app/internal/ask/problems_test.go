// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/answer"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/cli/clitest"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// bad are the problems of a bad day: a shared image, one with earlier reasons, and a hostile one. All have a beginning
// before asked, the time of the question.
func bad() []problem.Problem {
	ref := func(group, kind, namespace, name string) object.Ref {
		o := spantest.Ref(group, kind, name)
		o.Namespace = namespace
		return o
	}
	ago := func(d time.Duration) time.Time { return asked.Add(-d) }
	web, claim := ref("apps", "Deployment", "shop", "web"), ref("", "PersistentVolumeClaim", "mail", "data")
	db := ref("apps", "StatefulSet", "mail", "db")
	sample := ref("apps", "Deployment", "default", "web") // with traces
	hostile := ref("apps", "Deployment", "shop", "x\x1b[31m\u202e")
	shared := problem.Problem{
		ID: "1f2e", Category: "image_not_found", Object: web, Since: ago(192 * time.Minute), Count: 43,
		Reason:     "Deployment web cannot pull image registry.example/web:9 of container web: not found",
		Namespaces: []string{"mail", "shop"}, Image: "registry.example/web:9",
		Next: "kubectl -n shop describe pod/web-7dc4566ddd-hrz56",
		Cause: &problem.Cause{
			TraceID: "3c75a77f000000000000000000000000", Start: ago(193 * time.Minute), Who: "alice", Object: &web,
			Verb: "update", Edits: []string{"image web:8 → web:9"},
		},
	}
	for i := range 20 {
		o := web
		if i > 0 {
			o.Name = fmt.Sprintf("web-%d", i)
		}
		if i > 1 {
			o.Namespace = "mail"
		}
		shared.Objects = append(shared.Objects, o)
	}
	return []problem.Problem{shared, {
		ID: "2a", Category: "claim_without_class", Object: db, Since: ago(90 * time.Second), Before: true, Count: 1,
		Reason:  `StatefulSet db cannot be scheduled: storageclass.storage.k8s.io "fast" not found`,
		Objects: []object.Ref{db}, Namespaces: []string{"mail"}, Blamed: &claim, Next: "kubectl get storageclass",
		Earlier: []problem.Earlier{
			{Category: "image_pull", Reason: "StatefulSet db cannot pull image db:1", Since: ago(26 * time.Hour)},
			{Category: "crash_loop", Reason: "StatefulSet db is in a crash loop", Since: ago(5 * time.Minute)},
		},
		Cause: &problem.Cause{TraceID: "65e16b67000000000000000000000000"},
	}, {
		ID: "3b", Object: hostile, Since: ago(20 * time.Second), Before: true, Count: 1, Objects: []object.Ref{hostile},
		Namespaces: []string{"shop"}, Reason: "Deployment x\x1b[31m\u202e is \x1b]0;bad\a",
	}, {
		ID: "4c", Category: "crash_loop", Object: sample, Since: ago(18 * time.Minute), Count: 1,
		Objects: []object.Ref{sample}, Namespaces: []string{"default"}, Reason: "Deployment web is in a crash loop",
	}}
}

// serveProblems starts a server with the samples and these problems.
func serveProblems(t *testing.T, problems []problem.Problem) *httptest.Server {
	t.Helper()
	of := serve(t, "cluster-1")
	mux := http.NewServeMux()
	mux.Handle("/", of.Config.Handler)
	mux.HandleFunc("GET /api/v1/problems", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		out := problem.List{AsOf: asked, Problems: []problem.Problem{}}
		limit, _ := strconv.Atoi(q.Get("limit"))
		for _, p := range problems {
			in, is := q.Get("namespace") == "", q.Get("uid") == ""
			for _, o := range p.Objects {
				in, is = in || o.Namespace == q.Get("namespace"), is || string(o.UID) == q.Get("uid")
			}
			switch {
			case !in, !is:
			case limit > 0 && len(out.Problems) == limit:
				out.More++
			default:
				out.Problems = append(out.Problems, p)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// TestProblemsGolden: what is broken now, in each format, and the exit codes.
func TestProblemsGolden(t *testing.T) {
	server := serveProblems(t, bad())
	for name, tc := range map[string]struct {
		reason    string
		namespace string
		output    string
		code      int
	}{
		"problems":           {"all namespaces", "", textOutput, cli.CodeUnsettled},
		"problems-namespace": {"names without it; the others are counted", "mail", textOutput, cli.CodeUnsettled},
		"problems-last":      {"the last change, without a cause", "default", textOutput, cli.CodeUnsettled},
		"problems-none":      {"the others are counted", "quiet", textOutput, cli.CodeOK},
		"problems-wide":      {"", "shop", OutputWide, cli.CodeUnsettled},
		"problems-name":      {"", "", cli.OutputName, cli.CodeUnsettled},
		"problems-json":      {"", "mail", cli.OutputJSON, cli.CodeUnsettled},
		"problems-last-json": {"the last change, without a cause", "default", cli.OutputJSON, cli.CodeUnsettled},
		"problems-yaml":      {"escaped", "shop", cli.OutputYAML, cli.CodeUnsettled},
	} {
		t.Run(name, func(t *testing.T) {
			p := Problems{Namespace: tc.namespace, Server: cli.Server{URL: server.URL, Named: true}}
			var out, log *outputText
			p.Options, out, log = asking(tc.output)
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
			code, err := p.Run(t.Context())
			if err != nil || code != tc.code {
				t.Fatalf("%s: code %d, %v, want %d", tc.reason, code, err, tc.code)
			}
			if strings.ContainsAny(out.String()+log.String(), "\x1b\u202e\a") {
				t.Error("a control character is not escaped")
			}
			golden(t, name, tc.reason, server.URL, out, log)
		})
	}
}

// TestProblemsFail: the errors name what to do.
func TestProblemsFail(t *testing.T) {
	server := serveProblems(t, nil)
	cluster := clitest.New(t)
	named := cli.Server{URL: server.URL, Named: true}
	for name, tc := range map[string]struct {
		p    Problems
		kube bool
		want string
	}{
		"Selector":  {Problems{Selector: "a=b=c"}, false, `--selector "a=b=c": `},
		"Output":    {Problems{Options: cli.Options{Output: "tree"}}, false, `unknown output "tree": known are text`},
		"Labels":    {Problems{Selector: "a=b", Server: named}, false, "there is no kubeconfig"},
		"Nothing":   {Problems{Server: cli.Server{Direct: true}}, false, "there is no server that could list problems"},
		"Namespace": {Problems{Server: named, Namespace: "none"}, true, "there is no namespace none: give another"},
	} {
		t.Run(name, func(t *testing.T) {
			o, _, _ := asking(cli.First(tc.p.Output, textOutput))
			tc.p.Options = o
			if name == "Output" {
				tc.p.Output = "tree"
			}
			if tc.kube {
				tc.p.Kubeconfig = cluster.Kubeconfig(t)
			}
			err := tc.p.Validate()
			if err == nil {
				_, err = tc.p.Run(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
}

// TestProblemsPresent: without a server, the objects of the namespace are read.
func TestProblemsPresent(t *testing.T) {
	cluster := clitest.New(t)
	cluster.Store("fine", "Pod", `{"metadata":{},"spec":{"containers":[{"name":"c","image":"i"}]},"status":{
		"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
	cluster.Store("bad", "Pod", `{"metadata":{},"spec":{"containers":[{"name":"c","image":"i"}]},"status":{
		"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",
		"lastTransitionTime":"2026-03-01T12:50:00Z","message":"0/3 nodes are available: 3 Insufficient memory."}]}}`)
	p := Problems{Namespace: "shop", Server: cli.Server{Direct: true}}
	var out, log *outputText
	p.Options, out, log = asking(textOutput)
	p.Kubeconfig = cluster.Kubeconfig(t)
	if code, err := p.Run(t.Context()); err != nil || code != cli.CodeUnsettled {
		t.Fatalf("code %d, %v: %s%s", code, err, out, log)
	}
	golden(t, "problems-present", "", cluster.URL, out, log)
}

// TestWhySome: the answers about a kind and about several objects. Those with something wrong come first, and an
// object without an answer is an error.
func TestWhySome(t *testing.T) {
	server := serve(t, "cluster-1")
	cluster := clitest.New(t)
	for _, name := range []string{"web-6cf-k2", "web-6cf-p2", "web-6cf-x7"} {
		cluster.Create(t, "default", "Pod", name)
	}
	for name, tc := range map[string]struct {
		reason       string
		names, kinds []string
		output       string
		code         int
	}{
		"why-kind":      {"", nil, []string{"pod"}, textOutput, cli.CodeUnsettled},
		"why-kind-name": {"only objects with something wrong", nil, []string{"pod"}, cli.OutputName, cli.CodeUnsettled},
		"why-kind-none": {"", nil, []string{"cm"}, textOutput, cli.CodeOK},
		"why-objects": {
			"the last one has no answer", []string{"pod/web-6cf-p2", "deploy/web", "cm/none"}, nil, textOutput,
			cli.CodeError,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := WhySome{
				Why:   Why{Trace: Trace{Namespace: "default", Server: cli.Server{URL: server.URL, Named: true}}},
				Names: tc.names, Kinds: tc.kinds,
			}
			var out, log *outputText
			w.Why.Options, out, log = asking(tc.output)
			if tc.names == nil {
				w.Why.Kubeconfig = cluster.Kubeconfig(t)
			}
			if err := w.Validate(); err != nil {
				t.Fatal(err)
			}
			code, err := w.Run(t.Context())
			if err != nil || code != tc.code {
				t.Fatalf("%s: code %d, %v, want %d", tc.reason, code, err, tc.code)
			}
			golden(t, name, tc.reason, server.URL, out, log)
		})
	}
}

// TestWhyLasting: an answer has the age of the problem of its object, if both are about one reason.
func TestWhyLasting(t *testing.T) {
	problems := bad()
	server := serveProblems(t, problems)
	w := Why{Trace: Trace{Server: cli.Server{URL: server.URL, Named: true}}}
	w.Options, _, _ = asking(textOutput)
	session, err := w.Connect(t.Context(), w.Server)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	web, db := &problems[0], &problems[1]
	for name, tc := range map[string]struct {
		of    *problem.Problem
		state answer.State
		kind  string
		since time.Time
		want  time.Time
	}{
		"Retried":  {web, answer.Stuck, web.Category, asked, web.Since},
		"Unknown":  {web, answer.State(span.Failed), web.Category, time.Time{}, web.Since},
		"Older":    {web, answer.Stuck, web.Category, web.Since.Add(-time.Hour), web.Since.Add(-time.Hour)},
		"Other":    {web, answer.Stuck, "crash_loop", asked, asked},
		"Waiting":  {web, answer.Running, web.Category, asked, asked},
		"Before":   {db, answer.Stuck, db.Category, time.Time{}, time.Time{}},
		"Observed": {db, answer.Stuck, db.Category, asked, db.Since},
	} {
		got := answer.Answer{Object: tc.of.Object, State: tc.state, Category: tc.kind, Since: tc.since}
		lasting(&got, problemOf(t.Context(), session, got.Object, time.Minute))
		if !got.Since.Equal(tc.want) {
			t.Errorf("%s: got since %s, want %s", name, got.Since, tc.want)
		}
	}
}

// TestWhyRecounts: an ended change has the counts of today, if the problem is that of its object.
func TestWhyRecounts(t *testing.T) {
	loop := &problem.Problem{Category: "crash_loop", Reason: "restarted 33 times", Object: object.Ref{UID: "web"}}
	for name, tc := range map[string]struct {
		of   answer.Answer
		want string
	}{
		"Ended": {answer.Answer{State: answer.State(span.Failed), End: asked}, loop.Reason},
		"Open":  {answer.Answer{State: answer.Stuck}, "restarted once"},
		"Fine":  {answer.Answer{State: answer.State(span.Converged), End: asked}, "restarted once"},
		"Shared": {
			answer.Answer{State: answer.State(span.Failed), End: asked, Object: object.Ref{UID: "db"}},
			"restarted once",
		},
	} {
		got := tc.of
		got.Category, got.Reason = loop.Category, "restarted once"
		got.Object.UID = cmp.Or(got.Object.UID, loop.Object.UID)
		if recount(&got, loop); got.Reason != tc.want {
			t.Errorf("%s: got %q, want %q", name, got.Reason, tc.want)
		}
	}
}

// TestProblemsSelected: the problems of selected objects, each once, with those objects only.
func TestProblemsSelected(t *testing.T) {
	problems := bad()
	server := serveProblems(t, problems)
	c, err := client.New(server.URL, client.Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := problemsOf(t.Context(), c, "", []types.UID{problems[1].Object.UID, "none"})
	if err != nil || len(got.Problems) != 1 || got.Problems[0].ID != "2a" {
		t.Errorf("got %+v, %v", got, err)
	}
	old := map[string]*problem.Problem{}
	at := func(name string, age time.Duration) *problem.Problem {
		o := spantest.Ref("apps", "Deployment", name)
		return &problem.Problem{
			ID: "5", Object: o, Objects: []object.Ref{o}, Count: 1, Since: asked.Add(-age), Namespaces: []string{name},
		}
	}
	add(old, at("b", time.Minute), nil)
	add(old, at("a", time.Hour), nil)
	add(old, at("b", time.Second), nil)
	one := old["5"]
	if one.Object.Name != "a" || one.Count != 3 || len(one.Objects) != 3 || len(one.Namespaces) != 2 {
		t.Errorf("got %+v", one)
	}
	// An older Service fails because of the Deployment.
	first := map[string]*problem.Problem{}
	web, svc := at("web", time.Minute), at("svc", time.Hour)
	add(first, svc, []object.Ref{web.Object, svc.Object})
	add(first, web, []object.Ref{web.Object, svc.Object})
	if one := first["5"]; one.Object.Name != "web" || one.Count != 2 {
		t.Errorf("with a first object: got %+v", one)
	}
}
