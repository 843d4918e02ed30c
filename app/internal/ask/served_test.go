// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// asked is the time on the clocks of the server and its client, and stored that of the samples.
var (
	asked  = spantest.Epoch.Add(time.Hour)
	stored = spantest.Epoch.Add(50 * time.Minute)
)

// served is a server over a view.
type served struct {
	*httptest.Server
	hub  *api.Hub
	view *viewtest.View
}

// serve starts a server that watches a cluster and has the samples.
func serve(t *testing.T, cluster string) *served {
	t.Helper()
	out := &served{hub: &api.Hub{}, view: viewtest.New(t)}
	out.view.Put(t, stored, viewtest.Traces{
		Finished: finished(), Open: []*span.Trace{shift(spantest.Unschedulable(), 40)},
	})
	problems := &api.ProblemHub{}
	problems.Publish(problem.NewTracker(cluster).Snapshot(asked))
	handler, err := api.New(api.Options{
		Problems: problems,
		Access:   out.view.Access, Hub: out.hub, Cluster: cluster, Clock: func() time.Time { return asked },
		Info: func() api.Info { return api.Info{Version: "1", Cluster: cluster, AsOf: asked, Leading: true} },
	})
	if err != nil {
		t.Fatal(err)
	}
	out.Server = httptest.NewServer(handler)
	t.Cleanup(func() {
		handler.Close()
		out.Close()
	})
	return out
}

// finished are traces of Deployment web and others, minutes apart.
func finished() []*span.Trace {
	scale := spantest.New("scale")
	d := scale.Deployment(nil, 0, 20_000)
	d.Attributes = append(d.Attributes, span.KeyActor.String("kubectl"), span.KeyActorUser.String("alice"))
	scale.Pod(scale.ReplicaSet(d, 20, 19_000), "web-6cf-p2", 50, 18_000)
	out := []*span.Trace{shift(spantest.Apply(), 0), shift(scale.Trace, 10)}
	for _, t := range spantest.Healing() {
		out = append(out, shift(t, 20))
	}
	crash := spantest.CrashLoop()
	for _, s := range crash.Spans { // as one that has ended
		if s.Open() {
			s.End, s.Outcome = spantest.At(12300), span.Failed
		}
	}
	return append(out, shift(crash, 30), shift(spantest.Hostile(), 35))
}

// shift returns t moved by the given minutes. A Deployment is the workload of the objects after it.
func shift(t *span.Trace, minutes int) *span.Trace {
	by := time.Duration(minutes) * time.Minute
	facts := &span.Facts{}
	for _, s := range t.Spans {
		if s.IsReconciliation() {
			if s.Object.Kind.Kind == "Deployment" {
				facts = &span.Facts{Workload: "Deployment/" + s.Object.Name}
			}
			if s.Facts == nil {
				s.Facts = facts
			}
		}
		for i, kv := range s.Attributes {
			if since, err := time.Parse(time.RFC3339Nano, kv.Value.AsString()); kv.Key == span.KeyReasonSince &&
				err == nil {
				s.Attributes[i] = kv.Key.String(since.Add(by).Format(time.RFC3339Nano))
			}
		}
		s.Start.Time = s.Start.Add(by)
		if !s.Open() {
			s.End.Time = s.End.Add(by)
		}
		for i := range s.Events {
			s.Events[i].Time = s.Events[i].Time.Add(by)
		}
	}
	return t
}

// asking returns a client's options and its output buffers.
func asking(output string) (o cli.Options, out, log *outputText) {
	out, log = &outputText{}, &outputText{}
	return cli.Options{
		Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: log},
		Output:  output,
		Now:     func() time.Time { return asked },
		// A busy machine answers late, and the answers and messages would be others.
		Patience: time.Minute,
		Environ:  []string{"PATH=" + os.Getenv("PATH")},
	}, out, log
}

type outputText = strings.Builder

// golden compares what was printed with a file; the server's address differs
// each time.
func golden(t *testing.T, name, reason, url string, out, log *outputText) {
	t.Helper()
	got := strings.ReplaceAll(out.String()+"--- standard error\n"+log.String(), url, "http://SERVER")
	file := filepath.Join("testdata", name+".out")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%s: %v (run with -update to write it)", reason, err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want +got:\n%s", reason, diff)
	}
}
