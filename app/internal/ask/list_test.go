// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

func TestListGolden(t *testing.T) {
	server := serve(t, "cluster-1")
	cases := map[string]struct {
		reason string
		output string
		list   List
	}{
		"ls":          {"all, newest first", cli.OutputTable, List{}},
		"ls-wide":     {"times, IDs and reasons whole", OutputWide, List{}},
		"ls-no-trunc": {"whole IDs", cli.OutputTable, List{Whole: true, Limit: 2}},
		"ls-json":     {"as the API has it, nothing a terminal would act upon", cli.OutputJSON, List{Since: "31m"}},
		"ls-limit":    {"that there is more is said", cli.OutputTable, List{Limit: 2}},
		"ls-failed":   {"only what failed", cli.OutputTable, List{Failed: true}},
		"ls-open":     {"only what is open", cli.OutputTable, List{Open: true}},
		"ls-slow":     {"only what took long", cli.OutputTable, List{Slow: 12300 * time.Millisecond}},
		"ls-time":     {"between two times", cli.OutputTable, List{Since: "2026-03-01T12:15:00Z", Until: "29m"}},
		"ls-object": {
			"only what touches it", cli.OutputTable, List{Name: "po/web-6cf-k2", Namespaces: []string{"default"}},
		},
		"ls-namespace": {"nothing is no error", cli.OutputTable, List{Namespaces: []string{"shop"}}},
		"ls-nothing": {
			"nothing of an object", cli.OutputTable, List{Name: "Certificate.cert-manager.io/none", Since: "10m"},
		},
		"ls-kind":      {"only what touches one of the kind", cli.OutputTable, List{Name: "deploy"}},
		"ls-sort":      {"the largest last", cli.OutputTable, List{SortBy: "duration"}},
		"ls-name":      {"trace IDs for other commands", cli.OutputName, List{Failed: true}},
		"ls-yaml":      {"the JSON as YAML", cli.OutputYAML, List{Since: "31m"}},
		"ls-days":      {"days, as in kubectl", cli.OutputTable, List{Since: "1d", Limit: 1}},
		"ls-csv":       {"for spreadsheets", OutputCSV, List{}},
		"ls-json-none": {"an empty list, not null", cli.OutputJSON, List{Name: "cm/none"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := tc.list
			var out, log *outputText
			l.Options, out, log = asking(tc.output)
			l.Server = cli.Server{URL: server.URL, Named: true}
			if err := l.Validate(); err != nil {
				t.Fatal(err)
			}
			if code, err := l.Run(context.Background()); code != cli.CodeOK || err != nil {
				t.Fatalf("%s: code %d, %v", tc.reason, code, err)
			}
			golden(t, name, tc.reason, server.URL, out, log)
			lines := strings.ReplaceAll(out.String(), "\r\n", "\n") // of CSV
			if strings.ContainsAny(lines+log.String(), "\x1b\r\t\x07\u202e\u2066\u200b\u009b") {
				t.Errorf("%s: what a terminal would act upon is printed:\n%q", tc.reason, out)
			}
		})
	}
}

func TestListFollowsPages(t *testing.T) {
	server := serve(t, "cluster-1")
	var b viewtest.Traces
	const many = 2*pageLength + 10
	for i := range many {
		change := spantest.New("page" + time.Duration(i).String())
		change.Deployment(nil, i, i+10)
		b.Finished = append(b.Finished, change.Trace)
	}
	server.view.Put(t, asked, b)
	for _, tc := range []struct {
		limit, want int
		more        bool
	}{{
		0, many + len(finished()) + 1, false,
	}, {pageLength, pageLength, true}, {pageLength + 1, pageLength + 1, true}, {many + 7, many + 7, false}} {
		o, out, log := asking(cli.OutputJSON)
		l := List{Options: o, Server: cli.Server{URL: server.URL, Named: true}, Limit: tc.limit}
		if code, err := l.Run(context.Background()); code != cli.CodeOK || err != nil {
			t.Fatalf("limit %d: code %d, %v", tc.limit, code, err)
		}
		var page api.Page
		if err := json.Unmarshal([]byte(out.String()), &page); err != nil {
			t.Fatal(err)
		}
		if len(page.Traces) != tc.want {
			t.Errorf("limit %d: %d traces, want %d", tc.limit, len(page.Traces), tc.want)
		}
		if said := strings.Contains(log.String(), "--limit shows more"); said != tc.more {
			t.Errorf("limit %d: said that there are more: %t, want %t", tc.limit, said, tc.more)
		}
	}
}

func TestListRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		list   List
		want   string
	}{
		"Output": {
			"",
			List{Options: cli.Options{Output: cli.OutputTree}},
			`unknown output "tree": known are table, wide, json`,
		},
		"Since":    {"", List{Since: "yesterday"}, `--since "yesterday": it must be a duration`},
		"Until":    {"in the future", List{Until: "-1h"}, `--until "-1h": it must be a duration`},
		"Range":    {"", List{Since: "1m", Until: "5m"}, "--since 1m --until 5m: the range is empty"},
		"Question": {"--where ''", List{Asked: true}, "--where: the question is empty"},
		"Limit":    {"", List{Limit: -1}, "--limit -1"},
		"Slow":     {"", List{Slow: -1}, "--slow -1ns"},
		"Name":     {"", List{Name: "deploy/"}, `"deploy/" is not KIND/NAME`},
		"Order":    {"", List{SortBy: "age"}, `--sort-by "age": known are duration, outcome, spans`},
		"Ordered":  {"", List{SortBy: "start", Watch: true}, "--sort-by does not go with --watch"},
		"Selector": {"", List{Selector: "a=b=c"}, `--selector "a=b=c": `},
		"Split":    {"--slow 30s is two arguments", List{Name: "30s"}, "--slow=30s"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.list.Output == "" {
				tc.list.Output = cli.OutputTable
			}
			if err := tc.list.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: error %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestListNeedsAServer(t *testing.T) {
	cases := map[string]struct {
		reason string
		list   List
		want   string
	}{
		"None": {"how to start one", List{Server: cli.Server{Named: true}}, `start one with "lifeline ui"`},
		"Down": {"one that was named is tried", List{
			Server: cli.Server{URL: "http://127.0.0.1:1", Named: true},
		}, "cannot ask the server that --server names"},
		"Unknown": {"a kind that cannot be found out", List{Name: "frob/x"}, "cannot list traces of frob/x"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, out, _ := asking(cli.OutputTable)
			tc.list.Options = o
			if !tc.list.Server.Named {
				tc.list.Server = cli.Server{URL: serve(t, "cluster-1").URL, Named: true}
			}
			code, err := tc.list.Run(context.Background())
			if code != cli.CodeError || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: code %d, %v, want %q", tc.reason, code, err, tc.want)
			}
			if out.Len() > 0 {
				t.Errorf("%s: printed %s", tc.reason, out)
			}
		})
	}
}

// TestListSheet: a spreadsheet computes nothing, and --watch has one header.
func TestListSheet(t *testing.T) {
	var l List
	var out *outputText
	l.Options, out, _ = asking(OutputCSV)
	page := api.Page{Traces: []api.Summary{{Actor: "=cmd|x", User: "@\x1b", Command: "+1+1", Outcome: span.Converged}}}
	for range 2 {
		if err := l.print(page, asked); err != nil {
			t.Fatal(err)
		}
	}
	text := out.String()
	if strings.Count(text, ",'=cmd|x,'@\\x1b,") != 2 || strings.Count(text, ",'+1+1,") != 2 ||
		strings.Count(text, "start,trace,actor") != 1 {
		t.Errorf("%q", text)
	}
}

func TestSummariesOfABadServer(t *testing.T) {
	got := summaries([]api.Summary{{TraceID: "no\x1bhex", Outcome: span.Converged}}, asked)
	if len(got) != 1 || got[0].ID.IsValid() {
		t.Errorf("got %v", got)
	}
}

// TestSheetNow: a row for spreadsheets has the present state of the object of its change.
func TestSheetNow(t *testing.T) {
	var l List
	l.Options, _, _ = asking(OutputCSV)
	rows := []api.Summary{
		{Outcome: span.Failed, Now: &api.Now{State: api.Still, Reason: "Deployment web fails", Since: asked}},
		{Outcome: span.Converged, Now: &api.Now{State: api.Since, Reason: "Deployment api fails", Since: asked}},
		{Outcome: span.Converged},
	}
	at := asked.Format(time.RFC3339Nano)
	want := [][]string{
		{"now", "now_since", "now_reason"}, {"still broken", at, "Deployment web fails"},
		{"broken since", at, "Deployment api fails"}, {"", "", ""},
	}
	for i, row := range l.sheet(summaries(rows, asked), rows) {
		if diff := cmp.Diff(want[i], row[len(row)-3:]); diff != "" {
			t.Errorf("row %d: -want +got:\n%s", i, diff)
		}
	}
}
