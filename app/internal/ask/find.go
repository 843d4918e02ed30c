// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// OutputCSV is a table for spreadsheets.
const OutputCSV = "csv"

// FindOutputs returns the output formats of Find, the default first.
func FindOutputs() []string {
	return []string{cli.OutputTable, OutputWide, cli.OutputJSON, cli.OutputYAML, cli.OutputName, OutputCSV}
}

// Find prints the lifecycles that match a question, or statistics of them: `lifeline find`.
type Find struct {
	cli.Options
	Server cli.Server
	// Where is the question, in CEL.
	Where string
	// Namespace limits the answer to objects in it; empty means all.
	Namespace string
	// Since and Until bound the start: RFC 3339, or a duration back from now.
	Since, Until string
	// Limit is the maximum number of lifecycles, or of groups; 0 means all.
	Limit int
	// Whole prints trace IDs at full length.
	Whole bool

	// By are the keys of statistics: see store.ParseBy. Each may have several, separated by commas. Quantiles are numbers
	// from 0 to 1, of the duration Of: a field, or an expression of fields. If all three are empty, lifecycles are printed.
	By        []string
	Of        string
	Quantiles []string
	// Sort orders lifecycles by a duration or a count, the highest first, or with Reverse the lowest. It orders groups by
	// "count", or by a quantile as in "p95".
	Sort    string
	Reverse bool
	// Zone is the time zone of times and periods; empty means that of the clock for times, and UTC for
	// periods.
	Zone string
}

// Grouped reports whether statistics are wanted.
func (f *Find) Grouped() bool { return len(f.By) > 0 || f.Of != "" || len(f.Quantiles) > 0 }

// keys returns the keys of the groups, each alone.
func (f *Find) keys() []string {
	var out []string
	for _, text := range f.By {
		out = append(out, splitKeys(text)...)
	}
	return out
}

// usualQuantiles are those of Of without any.
var usualQuantiles = []string{"0.5", "0.9", "0.99"}

// Validate returns an error for invalid options. It sends no request.
func (f *Find) Validate() error {
	if !slices.Contains(FindOutputs(), f.Output) {
		return fmt.Errorf("unknown output %q: known are %s", f.Output, strings.Join(FindOutputs(), ", "))
	}
	if err := checkQuestion(f.Where); err != nil {
		return err
	}
	if f.Limit < 0 {
		return fmt.Errorf("--limit %d: it must be 0, for all, or more", f.Limit)
	}
	for _, q := range f.Quantiles {
		if n, err := strconv.ParseFloat(q, 64); err != nil || !(n >= 0 && n <= 1) {
			return fmt.Errorf("--quantiles %q: it must be a number from 0 to 1, such as 0.9", q)
		}
	}
	if _, err := f.zone(); err != nil {
		return err
	}
	keys := f.keys()
	switch {
	case slices.ContainsFunc(keys, func(key string) bool { return strings.TrimSpace(key) == "" }):
		return errors.New("--by: a key is empty: write a field, as in --by image,node")
	case len(keys) > store.MaxKeys:
		return fmt.Errorf("--by: there are %d keys, more than %d", len(keys), store.MaxKeys)
	case f.Reverse && (f.Sort == "" || f.Grouped()):
		return errors.New("--reverse goes with --sort, and not with statistics")
	}
	if f.Grouped() && (f.Output == OutputWide || f.Output == cli.OutputName) {
		return fmt.Errorf("--output=%s does not go with statistics: it is for lifecycles", f.Output)
	}
	return checkRange(f.Since, f.Until, f.Time())
}

// checkQuestion returns an error for a question without a condition.
func checkQuestion(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New(`the question is empty: write a condition, such as 'kind == "Pod"'`)
	}
	return nil
}

// zone returns the time zone of times.
func (f *Find) zone() (*time.Location, error) {
	if f.Zone == "" {
		return f.Time().Location(), nil
	}
	zone, err := time.LoadLocation(f.Zone)
	if err != nil {
		return nil, fmt.Errorf("--tz %q: it must be a time zone, such as Europe/Berlin or UTC", f.Zone)
	}
	return zone, nil
}

// Run prints the answer. It returns an error without a server.
func (f *Find) Run(ctx context.Context) (code int, err error) {
	server, err := f.Need(ctx, f.Server)
	if err != nil {
		return cli.CodeError, err
	}
	defer server.Close()
	if f.Grouped() {
		err = f.group(ctx, server.Client)
	} else {
		err = f.list(ctx, server.Client)
	}
	switch {
	case pointOut(&f.Options, expressions{f.Where, f.Of, f.Sort, f.keys()}, err):
		return cli.CodeError, nil
	case err != nil:
		return cli.CodeError, fmt.Errorf("cannot answer the question: %w", err)
	}
	return cli.CodeOK, nil
}

func (f *Find) question() client.Question {
	return client.Question{Where: f.Where, Namespace: f.Namespace, Since: f.Since, Until: f.Until}
}

// list prints lifecycles.
func (f *Find) list(ctx context.Context, server *client.Client) error {
	q := f.question()
	q.Sort, q.Reverse, q.Limit = f.Sort, f.Reverse, pageLength
	if f.Limit > 0 {
		q.Limit = min(f.Limit+1, pageLength)
	}
	out := api.LifecyclePage{Lifecycles: []api.Lifecycle{}}
	more := false
	for page, err := range server.FindPages(ctx, q) {
		if err != nil {
			return err
		}
		out.Lifecycles = append(out.Lifecycles, page.Lifecycles...)
		out.Incomplete = cmp.Or(out.Incomplete, page.Incomplete)
		out.Since, out.Uses = cmp.Or(out.Since, page.Since), page.Uses
		out.Sort, out.SortType = page.Sort, page.SortType
		if more = f.Limit > 0 && len(out.Lifecycles) > f.Limit; more {
			out.Lifecycles = out.Lifecycles[:f.Limit]
			break
		}
	}
	if err := f.print(&out); err != nil {
		return fmt.Errorf("cannot print the lifecycles: %w", err)
	}
	if len(out.Lifecycles) == 0 {
		f.Say("no lifecycles match")
		f.noteLabels(ctx, server)
	}
	if more {
		which := "newest"
		switch {
		case f.Reverse:
			which = "lowest"
		case f.Sort != "":
			which = "highest"
		}
		f.Say("these are the %s %d; --limit shows more", which, f.Limit)
	}
	f.note(out.Since, out.Incomplete)
	return nil
}

// group prints statistics.
func (f *Find) group(ctx context.Context, server *client.Client) error {
	quantiles := f.Quantiles
	if f.Of != "" && len(quantiles) == 0 {
		quantiles = usualQuantiles
	}
	page, err := server.Groups(ctx, client.Grouping{
		Question: f.sorted(), By: f.keys(), Of: f.Of, Quantiles: quantiles, Zone: f.Zone,
	})
	if err != nil {
		return err
	}
	if f.Limit > 0 && len(page.Groups) > f.Limit {
		page.More += len(page.Groups) - f.Limit
		page.Groups = page.Groups[:f.Limit]
	}
	if err := f.printGroups(page); err != nil {
		return fmt.Errorf("cannot print the groups: %w", err)
	}
	if len(page.Groups) == 0 {
		f.Say("no finished lifecycles match")
		f.noteLabels(ctx, server)
	}
	if page.More > 0 {
		f.Say("these are the "+f.which(page)+"; there are %d more", len(page.Groups), page.More)
	}
	for _, list := range page.Lists {
		f.Say("by %s: a lifecycle with several counts in the group of each", cli.Shown(list))
	}
	if page.Open > 0 && f.Output != cli.OutputJSON && f.Output != cli.OutputYAML {
		f.Say("open lifecycles that match, in no group: %d", page.Open)
	}
	f.note(page.Since, page.Incomplete)
	return nil
}

// sorted returns the question with the order.
func (f *Find) sorted() client.Question {
	q := f.question()
	q.Sort = f.Sort
	return q
}

// which names the first groups, with a place for their number.
func (f *Find) which(page *api.GroupPage) string {
	switch keys := keysOf(page); {
	case f.Sort != "" && f.Sort != api.Count, len(keys) > 1 && slices.ContainsFunc(keys, isPeriod) && f.Sort == "":
		return "first %d groups"
	case f.Sort == "" && isPeriod(page.By):
		return "newest %d " + page.By + "s"
	}
	return "largest %d groups"
}

// isPeriod reports whether a key is an hour, a day or a week.
func isPeriod(key string) bool { return slices.Contains(store.Periods(), store.Period(key)) }

// keysOf returns the keys of groups; none for one group of all.
func keysOf(page *api.GroupPage) []string {
	if page.By != "" && len(page.Keys) == 0 {
		return []string{page.By}
	}
	return page.Keys
}

// note says which time the answer is about if that was not given, and why it may lack data.
func (f *Find) note(since *time.Time, incomplete string) {
	noteRange(&f.Options, f.Since+f.Until, since)
	if incomplete != "" {
		f.Say("incomplete: %s", cli.Shown(incomplete))
	}
}

// noteLabels says which labels a server keeps, after a question about labels without an answer.
func (f *Find) noteLabels(ctx context.Context, server *client.Client) {
	if !strings.Contains(f.Where, "labels") {
		return
	}
	var configured struct {
		Labels []string `json:"labels"`
	}
	sources, err := server.Sources(ctx)
	if err != nil || json.Unmarshal(sources.Configuration, &configured) != nil {
		f.Say("a server keeps only the labels of its setting labels")
		return
	}
	kept := "none"
	if len(configured.Labels) > 0 {
		kept = strings.Join(configured.Labels, ", ")
	}
	f.Say("the server keeps only the labels of its setting labels: %s", cli.Shown(kept))
}

// noteRange says since when a question was answered, if the user has given no time.
func noteRange(o *cli.Options, given string, since *time.Time) {
	if given == "" && since != nil {
		o.Say("only what began since %s (7 days): --since looks back further",
			since.In(o.Time().Location()).Format("2006-01-02 15:04 MST"))
	}
}
