// SPDX-License-Identifier: Apache-2.0

// Package ask prints traces and their reasons: from a server (ls, find, trace, why, watch), from the
// cluster itself (watch), or rebuilt from the present state of an object (trace, why).
package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/docs"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

// OutputWide is a table with more columns.
const OutputWide = "wide"

// pageLength is the maximum number of traces in one request.
const pageLength = 500

// ListOutputs returns the output formats of a list, the default first.
func ListOutputs() []string {
	return []string{cli.OutputTable, OutputWide, cli.OutputJSON, cli.OutputYAML, cli.OutputName, OutputCSV}
}

// Categories returns the categories of reasons.
func Categories() []string {
	var out []string
	for _, c := range reason.Names() {
		out = append(out, string(c))
	}
	return out
}

// List prints the traces of a server, newest first: `lifeline ls`.
type List struct {
	cli.Options
	Server cli.Server
	// Namespaces limits the list to traces that touch an object in this namespace; nil means every
	// namespace. More than one is an error.
	Namespaces []string
	// Name, KIND/NAME or KIND, limits the list to traces that touch that object, or one of that
	// kind. It may be empty.
	Name string
	// Selector limits the list to traces that touch an object of the cluster with these labels.
	Selector string
	// Since and Until bound the start: RFC 3339, or a duration back from now.
	Since, Until string
	Failed, Open bool
	// Worse limits the list to converged traces with an aftermath.
	Worse bool
	// Categories limits the list to traces with a reason of one of them.
	Categories []string
	// Slow is the minimum duration; 0 means any.
	Slow time.Duration
	// Where limits the list to traces with a lifecycle that matches this question. Since and Until
	// are then about the lifecycle. Asked is true if it was given: it is then an error if it is empty.
	Where string
	Asked bool
	// Limit is the maximum number of traces; 0 means all.
	Limit int
	// Whole prints trace IDs and names at full length.
	Whole bool
	// SortBy is one of SortOrders; empty means newest first.
	SortBy string
	// Watch prints changes after the list, until Signals.
	Watch bool
	// Signals receives the user's interrupts; nil means those of the process.
	Signals <-chan os.Signal

	table *render.GrowingList
	// headed is true after the header of OutputCSV.
	headed bool
}

// Validate returns an error for invalid options. It sends no request.
func (l *List) Validate() error {
	if !slices.Contains(ListOutputs(), l.Output) {
		return fmt.Errorf("unknown output %q: known are %s", l.Output, strings.Join(ListOutputs(), ", "))
	}
	if l.Name != "" {
		if _, err := time.ParseDuration(l.Name); err == nil {
			return fmt.Errorf("%q is not KIND/NAME; the minimum duration is --slow=%s", l.Name, l.Name)
		}
		if err := cli.CheckTarget(l.Name); err != nil && strings.Contains(l.Name, "/") {
			return err
		}
	}
	if l.Limit < 0 {
		return fmt.Errorf("--limit %d: it must be 0, for all, or more", l.Limit)
	}
	if l.Slow < 0 {
		return fmt.Errorf("--slow %s: it must be more than 0", l.Slow)
	}
	if l.SortBy != "" && orders[l.SortBy] == nil {
		return fmt.Errorf("--sort-by %q: known are %s", l.SortBy, strings.Join(SortOrders(), ", "))
	}
	if l.SortBy != "" && l.Watch {
		return errors.New("--sort-by does not go with --watch: changes come in the order of time")
	}
	if l.Asked || l.Where != "" {
		if err := checkQuestion(l.Where); err != nil {
			return fmt.Errorf("--where: %w", err)
		}
	}
	if l.Where != "" && l.Watch {
		return errors.New("--where does not go with --watch: questions are asked once")
	}
	if err := checkSelector(l.Selector); err != nil {
		return err
	}
	known := Categories()
	for _, c := range l.Categories {
		if !slices.Contains(known, c) {
			return fmt.Errorf("--category %q: it must be a category, such as %s; all of them: %s",
				c, reason.ImageNotFound, docs.Reasons)
		}
	}
	return checkRange(l.Since, l.Until, l.Time())
}

// checkRange returns an error for invalid values of --since and --until, and for a range without any time.
func checkRange(since, until string, now time.Time) error {
	from, err := moment("--since", since, now)
	to, wrong := moment("--until", until, now)
	if err := errors.Join(err, wrong); err != nil || since == "" || until == "" || from.Before(to) {
		return err
	}
	return fmt.Errorf("--since %s --until %s: the range is empty: --since must be earlier than --until", since, until)
}

// moment reads a time; it is zero for an empty text.
func moment(flag, text string, now time.Time) (at time.Time, err error) {
	if text == "" {
		return at, nil
	}
	if at, err = timestamp.ParseMoment(text, now); err != nil {
		err = fmt.Errorf("%s %w", flag, err)
	}
	return at, err
}

// Run prints the list. It returns an error without a server.
func (l *List) Run(ctx context.Context) (code int, err error) {
	server, err := l.Need(ctx, l.Server)
	if err != nil {
		return cli.CodeError, err
	}
	defer server.Close()
	q, err := l.query()
	if err != nil {
		return cli.CodeError, err
	}
	var of []types.UID
	var found listing
	if l.Selector != "" {
		if of, err = l.selected(ctx, q.Object); err != nil {
			return cli.CodeError, err
		}
		found, err = collectSelected(ctx, server.Client, q, of, l.Limit)
	} else {
		found, err = collect(ctx, server.Client, q, l.Limit)
	}
	switch {
	case pointOut(&l.Options, expressions{where: l.Where}, err):
		return cli.CodeError, nil
	case err != nil:
		return cli.CodeError, fmt.Errorf("cannot list traces: %w", err)
	}
	l.sort(found.Traces)
	if len(found.Traces) == 0 {
		l.Say("%s", l.nothing(server.About))
	}
	if err := l.print(found.Page, server.About.AsOf); err != nil {
		return cli.CodeError, fmt.Errorf("cannot print the list: %w", err)
	}
	found.note(&l.Options)
	noteRange(&l.Options, l.Since+l.Until, found.Since)
	if found.more {
		l.Say("these are the newest %d; --limit shows more", len(found.Traces))
	}
	if l.Watch {
		return l.follow(ctx, server, q, of, found.Traces)
	}
	return cli.CodeOK, nil
}

func (l *List) query() (client.Query, error) {
	q := client.Query{
		Since: l.Since, Until: l.Until, Open: l.Open, Worse: l.Worse, SlowerThan: l.Slow, Categories: l.Categories,
		Where: l.Where,
	}
	if l.Failed {
		q.Outcomes = []span.Outcome{span.Failed, span.Refused}
	}
	namespace := strings.Join(l.Namespaces, ",")
	q.Object.Namespace = namespace
	if l.Name == "" {
		return q, nil
	}
	named := l.Name
	if !strings.Contains(named, "/") {
		named += "/*" // only its kind counts
	}
	target, err := l.Target(named, false)
	if err != nil {
		return q, fmt.Errorf("cannot list traces of %s: %w", l.Name, err)
	}
	if named != l.Name {
		target.Name = ""
	}
	q.Object = target.Ref(namespace)
	return q, nil
}

// listing is a list of a server, from one page or several.
type listing struct {
	api.Page
	// more means that the server has more traces.
	more bool
}

// note says why the listing may lack traces.
func (l *listing) note(o *cli.Options) {
	if l.Incomplete != "" {
		o.Say("incomplete: %s", cli.Shown(l.Incomplete))
	}
}

// addPage adds a page, up to limit entries; 0 means all. It reports whether more fit.
func (l *listing) addPage(page *api.Page, limit int) bool {
	l.Traces = append(l.Traces, page.Traces...)
	l.Incomplete, l.Since = cmp.Or(l.Incomplete, page.Incomplete), cmp.Or(l.Since, page.Since)
	if limit > 0 && len(l.Traces) > limit {
		l.Traces, l.more = l.Traces[:limit], true
	}
	return !l.more
}

// collect reads at most limit entries, newest first.
func collect(ctx context.Context, c *client.Client, q client.Query, limit int) (out listing, err error) {
	q.Limit = pageLength
	if limit > 0 {
		q.Limit = min(limit+1, pageLength)
	}
	for page, err := range c.Pages(ctx, q) {
		if err != nil {
			return listing{}, err
		}
		if !out.addPage(page, limit) {
			break
		}
	}
	return out, nil
}
