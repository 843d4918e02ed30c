// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

func TestTraceGolden(t *testing.T) {
	server := serve(t, "cluster-1")
	cases := map[string]struct {
		reason string
		output string
		trace  Trace
	}{
		"trace-id": {"the beginning of an ID", cli.OutputTree, Trace{Name: "4BF92F35"}},
		"trace-object": {"the newest whose command wrote it", cli.OutputTree, Trace{
			Name: "deploy/web", Namespace: "default",
		}},
		"trace-all":     {"the others are listed", cli.OutputTree, Trace{Name: "deployment.apps/web", All: true}},
		"trace-touched": {"none began with it", cli.OutputTree, Trace{Name: "rs/web-6cf"}},
		"trace-only":    {"there are no others", cli.OutputTree, Trace{Name: "pod/web-6cf-p2"}},
		"trace-table":   {"", cli.OutputTable, Trace{Name: "pod/web-6cf-k2"}},
		"trace-mermaid": {"a graph, with a link to another trace", cli.OutputMermaid, Trace{Name: "pod/web-6cf-k2"}},
		"trace-dot":     {"the others are counted on standard error", cli.OutputDOT, Trace{Name: "rs/web-6cf"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := tc.trace
			var out, log *outputText
			c.Options, out, log = asking(tc.output)
			c.Server = cli.Server{URL: server.URL, Named: true}
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			if code, err := c.Run(context.Background()); code != cli.CodeOK || err != nil {
				t.Fatalf("%s: code %d, %v", tc.reason, code, err)
			}
			golden(t, name, tc.reason, server.URL, out, log)
		})
	}
}

// A stored and served trace prints like the original.
func TestTraceJSONIsThatOfTheTrace(t *testing.T) {
	server := serve(t, "cluster-1")
	for _, want := range []*span.Trace{spantest.Apply(), shift(spantest.Unschedulable(), 40)} {
		o, out, _ := asking(cli.OutputJSON)
		c := Trace{Options: o, Server: cli.Server{URL: server.URL, Named: true}, Name: want.ID.String()}
		if code, err := c.Run(context.Background()); code != cli.CodeOK || err != nil {
			t.Fatalf("code %d, %v", code, err)
		}
		insight.Mark(want, asked)
		var direct bytes.Buffer
		if err := render.JSON(
			&direct, []*span.Trace{want}, render.Options{Now: asked, Cluster: "cluster-1"},
		); err != nil {
			t.Fatal(err)
		}
		if out.String() != direct.String() {
			t.Errorf("got\n%s\nwant\n%s", out, &direct)
		}
	}
}

func TestTraceOfHostileTexts(t *testing.T) {
	server := serve(t, "cluster-1")
	for _, output := range []string{cli.OutputTree, cli.OutputTable, cli.OutputMermaid, cli.OutputDOT} {
		o, out, log := asking(output)
		c := Trace{Options: o, Server: cli.Server{URL: server.URL, Named: true}, Name: spantest.Hostile().ID.String()}
		if code, err := c.Run(context.Background()); code != cli.CodeOK || err != nil {
			t.Fatalf("code %d, %v", code, err)
		}
		if out.Len() == 0 || strings.ContainsAny(out.String()+log.String(), "\x1b\r\t\x07\u202e\u2066\u200b\u009b") {
			t.Errorf("%s: not escaped: %q", output, out)
		}
	}
}

func TestTraceFails(t *testing.T) {
	server := serve(t, "cluster-1")
	asks := cli.Server{URL: server.URL, Named: true}
	cases := map[string]struct {
		reason string
		trace  Trace
		want   string
	}{
		"NoID": {"a server that has no such trace", Trace{
			Name: "00000000ffff", Server: asks,
		}, "cannot get trace 00000000ffff"},
		"NoServer": {"IDs are known to servers only", Trace{
			Name: "4bf92f35", Server: cli.Server{Named: true},
		}, "cannot look up a trace ID, and KIND/NAME needs no server: there is no server"},
		"NoTrace": {"no cluster to rebuild it from", Trace{
			Name: "cm/none", Namespace: "default", Server: asks,
		}, "has no trace of ConfigMap none in namespace default"},
		"NoKind": {"", Trace{Name: "frob/x", Server: asks}, "cannot trace frob/x"},
		"NoKubeconfig": {
			"neither server nor cluster",
			Trace{Name: "pod/x", Server: cli.Server{Named: true}},
			"there is no kubeconfig",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out *outputText
			tc.trace.Options, out, _ = asking(cli.OutputTree)
			if err := tc.trace.Validate(); err != nil {
				t.Fatal(err)
			}
			code, err := tc.trace.Run(context.Background())
			if code != cli.CodeError || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: code %d, %v, want %q", tc.reason, code, err, tc.want)
			}
			if out.Len() > 0 {
				t.Errorf("%s: printed %s", tc.reason, out)
			}
		})
	}
}

func TestTraceNames(t *testing.T) {
	cases := map[string]struct{ name, want string }{
		"ID":       {"4bf92f3577b34da6a3ce929d0e0e4736", ""},
		"Prefix":   {"4BF92F35", ""},
		"Object":   {"deployment/web", ""},
		"Short":    {"4bf92f3", "neither KIND/NAME nor a trace ID"},
		"Long":     {"4bf92f3577b34da6a3ce929d0e0e47360", "neither KIND/NAME nor a trace ID"},
		"Word":     {"deployment", "neither KIND/NAME nor a trace ID"},
		"NoName":   {"deployment/", "is not KIND/NAME"},
		"Path":     {"shop/deployment/web", "is not KIND/NAME"},
		"NoObject": {"/web", "is not KIND/NAME"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := (&Trace{Name: tc.name}).Validate()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%q: %v, want %q", tc.name, err, tc.want)
			}
		})
	}
}
