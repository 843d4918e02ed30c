// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/cli/clitest"
	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

func TestWatchByServer(t *testing.T) {
	change := spantest.New("change")
	change.Deployment(nil, 0, 100)
	rollout, open, gone := change.Trace, spantest.Unschedulable(), spantest.Apply()
	cases := map[string]struct {
		reason string
		watch  Watch
		// begin is published before, then what comes when watching has begun.
		begin, then []api.Update
		// out is waited for on standard output before the interrupt.
		out, left []string
		not       []string
	}{
		"Ends": {
			"what was open is printed when it has ended", Watch{},
			[]api.Update{{Trace: rollout, Open: true, AsOf: asked}}, []api.Update{{Trace: rollout, AsOf: asked}},
			[]string{"create Deployment"}, nil, []string{"waiting"},
		},
		"Amended": {
			"once", Watch{},
			nil, []api.Update{{Trace: rollout, AsOf: asked}, {Trace: rollout, AsOf: asked}, {Trace: gone, AsOf: asked}},
			[]string{"kubectl apply"}, nil, nil,
		},
		"Open": {
			"what is open in the end is printed, too", Watch{Namespaces: []string{"default"}},
			[]api.Update{{Trace: open, Open: true, AsOf: asked}}, []api.Update{{Trace: rollout, AsOf: asked}},
			[]string{"create Deployment"}, []string{"Insufficient memory"}, nil,
		},
		"Withdrawn": {
			"it was no trace", Watch{},
			[]api.Update{{Trace: open, Open: true, AsOf: asked}}, []api.Update{
				{Trace: open, Withdrawn: true, AsOf: asked}, {Trace: rollout, AsOf: asked},
			},
			[]string{"create Deployment"}, nil, []string{"Insufficient memory"},
		},
		"Named": {
			"only what the object is part of", Watch{Names: []string{"rs/web-6cf"}},
			nil, []api.Update{{Trace: rollout, AsOf: asked}, {Trace: gone, AsOf: asked}},
			[]string{"kubectl apply"}, nil, []string{"converged in 0.10s", "converged in 100ms"},
		},
		"Several": {
			"any of several", Watch{Names: []string{"rs/web-6cf", "node/n"}},
			nil, []api.Update{{Trace: rollout, AsOf: asked}, {Trace: gone, AsOf: asked}},
			[]string{"kubectl apply"}, nil, []string{"converged in 100ms"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := serve(t, "cluster-1")
			server.hub.Publish(tc.begin)
			out, log := clitest.WaitFor(tc.out[0]), clitest.WaitFor("Ctrl-C ends it")
			signals := make(chan os.Signal, 1)
			w := tc.watch
			w.Options, _, _ = asking(cli.OutputTree)
			w.Streams = genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: log}
			w.Server, w.Signals = cli.Server{URL: server.URL, Named: true}, signals
			go func() {
				<-log.Seen
				server.hub.Publish(tc.then)
				<-out.Seen
				signals <- syscall.SIGINT
			}()
			code, err := w.Run(context.Background())
			if code != cli.CodeInterrupted || err != nil {
				t.Fatalf("%s: code %d, %v\n%s", tc.reason, code, err, log)
			}
			for _, want := range append(tc.out, tc.left...) {
				if strings.Count(out.String(), want) == 0 {
					t.Errorf("%s: standard output lacks %q:\n%s", tc.reason, want, out)
				}
			}
			for _, id := range []string{rollout.ID.String(), gone.ID.String()} {
				if strings.Count(out.String(), "trace "+id) > 1 {
					t.Errorf("%s: trace %s is printed twice:\n%s", tc.reason, id, out)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(out.String(), not) {
					t.Errorf("%s: standard output has %q:\n%s", tc.reason, not, out)
				}
			}
		})
	}
}

func TestWatchByServerThatEnds(t *testing.T) {
	server := serve(t, "cluster-1")
	log := clitest.WaitFor("Ctrl-C ends it")
	w := Watch{Server: cli.Server{URL: server.URL, Named: true}, Names: []string{"frob/x"}}
	w.Options, _, _ = asking(cli.OutputTree)
	w.Streams.ErrOut = log
	if code, err := w.Run(context.Background()); code != cli.CodeError || err == nil || !strings.Contains(
		err.Error(), "cannot watch frob/x",
	) {
		t.Errorf("code %d, %v", code, err)
	}
}

func TestWatchRemembersFewOfThePrinted(t *testing.T) {
	o, out, _ := asking(cli.OutputTable)
	x := &stream{Watch: &Watch{
		Options: o,
	}, p: pipeline.NewDisplay(o, ""), open: map[trace.TraceID]*span.Trace{}, printed: map[trace.TraceID]bool{}}
	for i := range 3 * maxPrinted {
		b := spantest.New(strings.Repeat("x", i%7) + string(rune(i)))
		b.Deployment(nil, 0, 1)
		if err := x.take(ended(b.Trace)); err != nil {
			t.Fatal(err)
		}
		out.Reset()
	}
	if n := len(x.printed) + len(x.before); n > maxPrinted {
		t.Errorf("%d traces are remembered, more than %d", n, maxPrinted)
	}
}

func TestWatchRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		watch  Watch
		want   string
	}{
		"Name": {"", Watch{Names: []string{"web"}}, `"web" is not KIND/NAME`},
		"Record": {
			"",
			Watch{Record: "f", Server: cli.Server{URL: "http://x", Named: true}},
			"--record sees the cluster itself",
		},
		"OTLP": {"", Watch{
			OTLP: "http://o", Server: cli.Server{URL: "http://x", Named: true},
		}, "--otlp does not go with --server"},
		"Direct": {"a server that is not asked does not matter", Watch{
			Record: "f", Server: cli.Server{URL: "http://x", Named: true, Direct: true},
		}, ""},
		"Empty": {"", Watch{Record: "f", Server: cli.Server{Named: true}}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.watch.Validate()
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// ended is a server's event for an ended trace.
func ended(t *span.Trace) client.Event { return client.Event{Trace: &client.Trace{Trace: t}} }
