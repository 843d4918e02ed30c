// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"encoding/csv"
	"slices"
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

func TestFindGolden(t *testing.T) {
	server := serve(t, "cluster-1")
	for name, tc := range map[string]struct {
		reason string
		output string
		find   Find
		code   int
	}{
		"find": {"the phases of the question have columns", cli.OutputTable, Find{
			Where: `kind == "Pod" && (phase.pull > duration("1s") || has(phase.readiness))`,
		}, 0},
		"find-wide": {"whole IDs and more fields", OutputWide, Find{Where: `kind == "Pod"`, Limit: 3}, 0},
		"find-name": {"each object once", cli.OutputName, Find{Where: `kind == "Pod"`}, 0},
		"find-yaml": {"as JSON", cli.OutputYAML, Find{Where: `kind == "Pod"`, Limit: 1}, 0},
		"find-label-lacking": {"a label that the server does not keep", cli.OutputTable, Find{
			Where: `labels["team"] == "shop"`,
		}, 0},
		"find-open": {"what is open", cli.OutputTable, Find{Where: `outcome == ""`}, 0},
		"find-since": {"the range was given", cli.OutputTable, Find{
			Where: `kind == "Pod"`, Since: "35m", Whole: true,
		}, 0},
		"find-namespace": {"objects of one namespace", cli.OutputTable, Find{
			Where: `kind != ""`, Namespace: "default", Limit: 5,
		}, 0},
		"find-namespace-groups": {"statistics of one namespace", cli.OutputTable, Find{
			Where: `kind != ""`, Namespace: "default", By: []string{"namespace"},
		}, 0},
		"find-namespaces": {"the same of all", cli.OutputTable, Find{
			Where: `kind != ""`, By: []string{"namespace"},
		}, 0},
		"find-limit": {"there are more", cli.OutputTable, Find{Where: `name != ""`, Limit: 2, Zone: "Asia/Tokyo"}, 0},
		"find-none":  {"no match is no error", cli.OutputTable, Find{Where: `kind == "Node"`}, 0},
		"find-json": {"as the API has it", cli.OutputJSON, Find{
			Where: `volumes > 0 || kind == "ReplicaSet"`, Limit: 1,
		}, 0},
		"find-csv": {"for spreadsheets", OutputCSV, Find{
			Where: `has(phase.pull) || kind.contains("evil")`, Zone: "UTC",
		}, 0},
		"find-groups": {"counts and quantiles", cli.OutputTable, Find{
			Where: `kind == "Pod"`, By: []string{"outcome"}, Of: "phase.pull",
		}, 0},
		"find-groups-limit": {"the largest groups", cli.OutputTable, Find{
			Where: `kind == "Pod"`, By: []string{"outcome"}, Limit: 2,
		}, 0},
		"find-groups-json": {"the same as the API has it", cli.OutputJSON, Find{
			Where: `kind == "Pod"`, By: []string{"outcome"}, Limit: 2,
		}, 0},
		"find-steps": {"the time between two steps", cli.OutputTable, Find{
			Where: `kind == "Pod" && ended.readiness - began.pull > duration("2s")`,
		}, 0},
		"find-steps-groups": {"statistics of it", cli.OutputTable, Find{
			Where: `kind == "Pod"`, By: []string{"workload"}, Of: "ended.readiness\n - began.pull",
			Quantiles: []string{"0.5"},
		}, 0},
		"find-long-of": {"a bounded heading", cli.OutputTable, Find{
			Where: `kind == "Pod"`, Of: "end - ended.pull" + strings.Repeat(" + phase.pull", 10),
		}, 0},
		"find-typo-of": {"an error in the duration", cli.OutputTable, Find{
			Where: `kind == "Pod"`, Of: "ended.readiness - began.pul",
		}, 1},
		"find-typo-group": {"an error in the question of statistics", cli.OutputTable, Find{
			Where: `knd == "Pod"`, Of: "ended.readiness - began.pull",
		}, 1},
		"find-labels": {"groups of a label", cli.OutputTable, Find{
			Where: `kind == "Pod"`, By: []string{`labels["app"]`}, Quantiles: []string{"0.5"},
		}, 0},
		"find-typo-by": {"an error in the value of groups", cli.OutputTable, Find{
			Where: `kind == "Pod"`, By: []string{"nod"},
		}, 1},
		"find-typo-days": {"days are no field", cli.OutputTable, Find{Where: `kind == "Pod"`, By: []string{"days"}}, 1},
		"find-keys": {"two keys at once", cli.OutputTable, Find{
			Where: `kind == "Pod"`, By: []string{"image, node"}, Of: "phase.pull", Sort: "p99",
		}, 0},
		"find-keys-json": {"the same as the API has it", cli.OutputJSON, Find{
			Where: `kind == "Pod"`, By: []string{"image", `labels["a,b"]`}, Limit: 2,
		}, 0},
		"find-keys-csv": {"one column a key", OutputCSV, Find{
			Where: `kind == "Pod"`, By: []string{"author,hour"}, Zone: "Asia/Kathmandu",
		}, 0},
		"find-typo-second": {"an error in the second key", cli.OutputTable, Find{
			Where: `kind == "Pod"`, By: []string{"node", "imag"},
		}, 1},
		"find-sorted": {"the slowest pulls of all", cli.OutputTable, Find{
			Where: `kind != ""`, Sort: "phase.pull", Limit: 3,
		}, 0},
		"find-sorted-reverse": {"a value that no other column has", cli.OutputTable, Find{
			Where: `kind == "Pod"`, Sort: "ended.readiness - began.pull", Reverse: true, Limit: 3,
		}, 0},
		"find-sorted-csv": {"a count", OutputCSV, Find{Where: `kind == "Pod"`, Sort: "size(images)", Limit: 3}, 0},
		"find-typo-sort": {"an error in the value to sort by", cli.OutputTable, Find{
			Where: `kind == "Pod"`, Sort: "phase.pul",
		}, 1},
		"find-quantiles": {"one group of all", cli.OutputTable, Find{
			Where: `kind == "Pod"`, Quantiles: []string{"0", "0.5", "0.999", "1"},
		}, 0},
		"find-days": {"days of a time zone", OutputCSV, Find{
			Where: `kind == "Pod"`, By: []string{"day"}, Zone: "Pacific/Kiritimati",
		}, 0},
		"find-typo-field": {"a newcomer's first typo", cli.OutputTable, Find{
			Where: `kind == "Pod" && phase.startpu > duration("30s")`,
		}, 1},
		"find-typo-duration": {"the second", cli.OutputTable, Find{Where: `kind == "Pod" && phase.startup > 30`}, 1},
		"find-typo-equals":   {"the third", cli.OutputTable, Find{Where: `kind = "Pod" and volumes > 2`}, 1},
		"find-typo-line": {"the line of a long question", cli.OutputTable, Find{
			Where: "kind == \"Pod\" &&\n\t" + strings.Repeat(`name != "x" && `, 6) + `status == "Failed"` +
				strings.Repeat(` && name != "日本"`, 6),
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := tc.find
			var out, log *outputText
			f.Options, out, log = asking(tc.output)
			f.Server = cli.Server{URL: server.URL, Named: true}
			if err := f.Validate(); err != nil {
				t.Fatal(err)
			}
			code, err := f.Run(context.Background())
			if code != tc.code {
				t.Fatalf("%s: code %d, %v", tc.reason, code, err)
			}
			if err != nil {
				f.Say("%s", cli.OneLine(err))
			}
			golden(t, name, tc.reason, server.URL, out, log)
			if strings.ContainsAny(out.String()+log.String(), "\x1b\t\x07\u202e\u2066\u200b\u009b") {
				t.Errorf("%s: what a terminal would act upon is printed:\n%q", tc.reason, out)
			}
		})
	}
}

func TestListWhere(t *testing.T) {
	server := serve(t, "cluster-1")
	for name, tc := range map[string]struct {
		list List
		code int
	}{
		"ls-where":      {List{Where: `kind == "Pod" && phase.pull > duration("1s")`}, 0},
		"ls-where-typo": {List{Where: `phase.pul > duration("1s")`}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := tc.list
			var out, log *outputText
			l.Options, out, log = asking(cli.OutputTable)
			l.Server = cli.Server{URL: server.URL, Named: true}
			if code, err := l.Run(context.Background()); code != tc.code || err != nil {
				t.Fatalf("code %d, %v", code, err)
			}
			golden(t, name, "traces by a question", server.URL, out, log)
		})
	}
}

// TestFindFollowsPages reads more lifecycles than one page has.
func TestFindFollowsPages(t *testing.T) {
	server := serve(t, "cluster-1")
	var b viewtest.Traces
	const many = pageLength + 10
	for i := range many {
		change := spantest.New("page" + time.Duration(i).String())
		change.Deployment(nil, i, i+10).Object.Name = "=paged"
		b.Finished = append(b.Finished, change.Trace)
	}
	server.view.Put(t, asked, b)
	for limit, want := range map[int]int{0: many, pageLength + 1: pageLength + 1} {
		f := Find{Where: `name == "=paged"`, Limit: limit, Server: cli.Server{URL: server.URL, Named: true}}
		var out, log *outputText
		f.Options, out, log = asking(OutputCSV)
		if code, err := f.Run(context.Background()); code != cli.CodeOK || err != nil {
			t.Fatal(code, err)
		}
		rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
		if err != nil || len(rows) != want+1 || rows[1][3] != "'=paged" {
			t.Errorf("limit %d: %d rows, not %d: %v %q", limit, len(rows), want+1, err, rows[1])
		}
		if more := strings.Contains(log.String(), "--limit shows more"); more != (limit > 0) {
			t.Errorf("limit %d: %s", limit, log)
		}
	}
}

func TestFindValidate(t *testing.T) {
	for want, f := range map[string]Find{
		`unknown output "xml": known are table, wide, json, yaml, name, csv`: {Where: "x"},
		"the question is empty: write a condition":                           {Where: " "},
		"--limit -1: it must be 0, for all, or more":                         {Where: "x", Limit: -1},
		`--quantiles "2": it must be a number from 0 to 1`:                   {Where: "x", Quantiles: []string{"2"}},
		`--tz "Mars": it must be a time zone, such as Europe/Berlin or UTC`:  {Where: "x", Zone: "Mars"},
		"--since 1m --until 5m: the range is empty":                          {Where: "x", Since: "1m", Until: "5m"},
		"--since 1h --until 2020-01-01T00:00:00Z: the range is empty": {
			Where: "x", Since: "1h", Until: "2020-01-01T00:00:00Z",
		},
		`--since "yesterday": it must be a duration back from now`: {Where: "x", Since: "yesterday"},
	} {
		f.Output = cli.OutputTable
		if strings.HasPrefix(want, "unknown output") {
			f.Output = "xml"
		}
		if err := f.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestQuestionWords(t *testing.T) {
	words := func(begun string) (out []string) {
		for _, w := range QuestionWords(begun) {
			word, _, _ := strings.Cut(w, "\t")
			out = append(out, word)
		}
		return out
	}
	for begun, want := range map[string][]string{
		"ki":                           {"kind"},
		`kind == "Pod" && phase.st`:    {`kind == "Pod" && phase.startup`, `kind == "Pod" && phase.start`},
		`kind == "Po`:                  {`kind == "Pod"`, `kind == "PodDisruptionBudget"`},
		"outcome != f":                 {`outcome != "failed"`},
		`(!has(phase.ba`:               {`(!has(phase.backoff`},
		`ended.readiness -began.pul`:   {`ended.readiness -began.pull`},
		`ended.re`:                     {`ended.readiness`, `ended.retry`},
		`en`:                           {`end`, `ended.schedule`},
		`name == "x`:                   nil,
		`kind == "Pod" && start > now`: nil,
		"\x1b":                         nil,
	} {
		got := words(begun)
		if begun == `kind == "Po` || begun == "en" {
			got = got[:min(2, len(got))]
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: -want +got:\n%s", begun, d)
		}
	}
	of := LengthWords("ended.readiness - be")
	if n := len(span.Phases()); len(of) != n || !strings.HasPrefix(of[0], "ended.readiness - began.schedule\t") ||
		len(LengthWords("ki")) > 0 {
		t.Errorf("lengths: %q, want one for each of %d phases", of, n)
	}
	if of := LengthFields(); of[0] != "duration" {
		t.Errorf("%q", of)
	}
	for begun, want := range map[string][]string{
		"wee": {"week"}, "image,hou": {"image,hour"}, "node, nod": nil, `labels["a,b"],reg`: {`labels["a,b"],region`},
	} {
		if d := cmp.Diff(want, KeyWords(begun)); d != "" {
			t.Errorf("keys %q: -want +got:\n%s", begun, d)
		}
	}
	sorts := SortWords("")
	for _, name := range []string{"duration\t", "phase.pull\t", "restarts\t"} {
		if !slices.ContainsFunc(sorts, func(w string) bool { return strings.HasPrefix(w, name) }) {
			t.Errorf("--sort has no %s: %q", name, sorts)
		}
	}
}

// TestFindHostile: a server cannot make a terminal act, nor a spreadsheet compute.
func TestFindHostile(t *testing.T) {
	server := serve(t, "cluster-1")
	b := spantest.New("hostile")
	b.Deployment(nil, 0, 10).Object.Name = "=cmd|' /C calc'!A0\x1b[31m\n"
	server.view.Put(t, asked, viewtest.Traces{Finished: []*span.Trace{b.Trace}})
	for _, output := range FindOutputs() {
		f := Find{Where: `name.startsWith("=")`, Server: cli.Server{URL: server.URL, Named: true}}
		var out, log *outputText
		f.Options, out, log = asking(output)
		if code, err := f.Run(context.Background()); code != cli.CodeOK || err != nil {
			t.Fatal(code, err)
		}
		text := out.String() + log.String()
		if !strings.Contains(text, "calc") || strings.Contains(text, "\x1b") ||
			output == OutputCSV && !strings.Contains(text, ",'=cmd") {
			t.Errorf("%s: %q", output, text)
		}
	}
	long := &api.Error{Line: 1, Column: 4000, Message: "x\x1b[31m"}
	var log *outputText
	var o cli.Options
	o, _, log = asking("")
	if !pointOut(&o, expressions{where: "kind"}, long) || strings.Contains(log.String(), "\x1b") ||
		len(log.String()) > 200 {
		t.Errorf("a position outside: %q", log)
	}
}
