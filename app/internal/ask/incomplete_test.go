// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestIncompleteGolden: without its archive a server has the open traces only. The commands say so
// and go on, with the same exit code.
func TestIncompleteGolden(t *testing.T) {
	server := serve(t, "cluster-1")
	server.view.Fail(errors.New("cannot read \x1b[31m/data/lifeline.db: no such device"))
	at := cli.Server{URL: server.URL, Named: true}
	list := func(l List) func(cli.Options) (int, error) {
		return func(o cli.Options) (int, error) {
			l.Options, l.Server = o, at
			return l.Run(context.Background())
		}
	}
	none := List{Name: "cm/none"}
	for name, tc := range map[string]struct {
		reason string
		output string
		run    func(cli.Options) (int, error)
		code   int
	}{
		"incomplete-ls":      {"the open traces, and a line for people", cli.OutputTable, list(List{}), cli.CodeOK},
		"incomplete-ls-json": {"the document has the reason, too", cli.OutputJSON, list(List{}), cli.CodeOK},
		"incomplete-ls-yaml": {"the document has the reason, too", cli.OutputYAML, list(List{}), cli.CodeOK},
		"incomplete-ls-name": {"only IDs on standard output", cli.OutputName, list(List{}), cli.CodeOK},
		"incomplete-ls-none": {"an empty list has a reason", cli.OutputTable, list(none), cli.CodeOK},
		"incomplete-trace": {"the open trace", cli.OutputTree, func(o cli.Options) (int, error) {
			c := Trace{Options: o, Server: at, Name: "deploy/web", Namespace: "default"}
			return c.Run(context.Background())
		}, cli.CodeOK},
		"incomplete-why": {"the open change", textOutput, func(o cli.Options) (int, error) {
			w := Why{Trace: Trace{Options: o, Server: at, Name: "deploy/web", Namespace: "default"}}
			return w.Run(context.Background())
		}, cli.CodeUnsettled},
		"incomplete-why-json": {"the document has the reason, too", cli.OutputJSON, func(o cli.Options) (int, error) {
			w := Why{Trace: Trace{Options: o, Server: at, Name: "deploy/web", Namespace: "default"}}
			return w.Run(context.Background())
		}, cli.CodeUnsettled},
	} {
		t.Run(name, func(t *testing.T) {
			o, out, log := asking(tc.output)
			if code, err := tc.run(o); code != tc.code || err != nil {
				t.Fatalf("%s: code %d, %v, want %d", tc.reason, code, err, tc.code)
			}
			if !strings.Contains(log.String(), "lifeline: incomplete: the archive is unavailable: ") {
				t.Errorf("%s: said %q", tc.reason, log)
			}
			golden(t, name, tc.reason, server.URL, out, log)
		})
	}
}

// TestIncompletePage: each page may be incomplete, and only the entries up to the limit count.
func TestIncompletePage(t *testing.T) {
	entry := func(id string) api.Summary { return api.Summary{TraceID: id} }
	var l listing
	if !l.addPage(&api.Page{Traces: []api.Summary{entry("a")}}, 2) || l.Incomplete != "" {
		t.Errorf("after one page: %+v", l)
	}
	if l.addPage(&api.Page{Traces: []api.Summary{entry("b"), entry("c")}, Incomplete: "x"}, 2) {
		t.Error("a third entry fits")
	}
	if !l.more || len(l.Traces) != 2 || l.Incomplete != "x" {
		t.Errorf("after two pages: %+v", l)
	}
}

// TestIncompleteEnds: a list without a missing trace has no such line.
func TestIncompleteEnds(t *testing.T) {
	server := serve(t, "cluster-1")
	o, out, log := asking(cli.OutputJSON)
	l := List{Options: o, Server: cli.Server{URL: server.URL, Named: true}}
	if code, err := l.Run(context.Background()); code != cli.CodeOK || err != nil {
		t.Fatalf("code %d, %v", code, err)
	}
	var page map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out.String()), &page); err != nil {
		t.Fatal(err)
	}
	if page["incomplete"] != nil || strings.Contains(log.String(), "incomplete") {
		t.Errorf("got %s, and %q on standard error", page["incomplete"], log)
	}
}

// TestUnavailableTrace: a trace in the archive is not reported as missing.
func TestUnavailableTrace(t *testing.T) {
	server := serve(t, "cluster-1")
	server.view.Fail(errors.New("it is being opened"))
	o, _, _ := asking(cli.OutputTree)
	c := Trace{
		Options: o, Server: cli.Server{URL: server.URL, Named: true}, Name: spantest.Apply().ID.String(),
	}
	ctx, cancel := context.WithTimeout(t.Context(), brief)
	defer cancel()
	code, err := c.Run(ctx)
	if code != cli.CodeError || err == nil || !strings.Contains(err.Error(), "the archive is unavailable") {
		t.Errorf("code %d, %v", code, err)
	}
}

// brief is a deadline that leaves no time for another attempt.
const brief = 1500 * time.Millisecond
