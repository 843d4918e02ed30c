// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// print writes the list in the selected format, as of asOf.
func (l *List) print(page api.Page, asOf time.Time) error {
	out := l.Streams.Out
	if page.Traces == nil {
		page.Traces = []api.Summary{}
	}
	switch l.Output {
	case cli.OutputJSON:
		return cli.WriteJSON(out, page)
	case cli.OutputYAML:
		return cli.WriteYAML(out, page)
	case cli.OutputName:
		for i := range page.Traces {
			if _, err := fmt.Fprintln(out, cli.Shown(page.Traces[i].TraceID)); err != nil {
				return err
			}
		}
		return nil
	case OutputCSV:
		return render.CSV(out, l.sheet(summaries(page.Traces, asOf), page.Traces))
	}
	if l.table == nil {
		l.table = render.NewGrowingList(out)
	}
	o := l.listOptions(cli.NewScreen(out, l.Environment()))
	o.Present = presentOf(page.Traces)
	return l.table.Add(summaries(page.Traces, asOf), o)
}

// presentOf returns the present states, by the trace.
func presentOf(found []api.Summary) map[trace.TraceID]render.Present {
	out := map[trace.TraceID]render.Present{}
	for i := range found {
		now := found[i].Now
		id, err := trace.TraceIDFromHex(found[i].TraceID)
		if now == nil || err != nil {
			continue
		}
		out[id] = render.Present{
			Still: now.State == api.Still, Since: now.Since, Before: now.Before, Reason: now.Reason,
		}
	}
	return out
}

// sheet returns the rows for spreadsheets, after a header in the first call. Lengths are in seconds. of are the same
// traces, as the server sent them.
func (l *List) sheet(found []store.Summary, of []api.Summary) [][]string {
	var rows [][]string
	if !l.headed {
		l.headed = true
		rows = append(rows, []string{
			"start", "trace", "actor", "user", "verb", "kind", "namespace", "name", "command", "outcome", "duration",
			"slowest", "category", "reason", "now", "now_since", "now_reason",
		})
	}
	for i := range found {
		s := &found[i]
		row := []string{
			s.Start.In(l.Time().Location()).Format(time.RFC3339Nano), s.ID.String(), s.Actor, s.User, s.Verb,
			s.Object.Kind.Kind, s.Object.Namespace, s.Object.Name, s.Command,
			string(s.State()), seconds(api.Seconds(s.Duration)), s.Slowest, s.Category, s.Reason, "", "", "",
		}
		if now := of[i].Now; now != nil {
			since := now.Since.In(l.Time().Location()).Format(time.RFC3339Nano)
			copy(row[len(row)-3:], []string{render.Broken(now.State == api.Still), since, now.Reason})
		}
		rows = append(rows, row)
	}
	return rows
}

func (l *List) listOptions(s cli.Screen) render.ListOptions {
	o := render.ListOptions{Wide: l.Output == OutputWide, Whole: l.Whole}
	if len(l.Namespaces) == 1 {
		o.Namespace = l.Namespaces[0]
	}
	o.Now, o.Color = l.Time(), s.Color
	if s.Terminal {
		o.Width, _ = s.Size()
	}
	return o
}

// nothing returns the message for an empty list of that server.
func (l *List) nothing(server api.Info) string {
	text := "no traces"
	if l.Name != "" {
		text += " that touch " + cli.Shown(l.Name)
	}
	if l.Selector != "" {
		text += " that touch an object with labels " + cli.Shown(l.Selector)
	}
	if len(l.Namespaces) > 0 {
		text += " in namespace " + cli.Shown(strings.Join(l.Namespaces, ","))
	}
	if l.Since != "" || l.Until != "" || l.Failed || l.Open || l.Worse || l.Slow > 0 || len(l.Categories) > 0 ||
		l.Where != "" {
		text += " match"
	}
	if since := seenSince(server); !since.IsZero() {
		text += fmt.Sprintf("; the server has traces since %s (%s ago)",
			since.In(l.Time().Location()).Format("2006-01-02 15:04:05 MST"),
			duration.HumanDuration(max(0, l.Time().Sub(since))))
	}
	if len(l.Namespaces) > 0 {
		text += "; -A looks at every namespace"
	}
	return text
}

// seenSince returns the time since which a server has traces: the start of its watches, or its
// oldest trace.
func seenSince(server api.Info) time.Time {
	var since time.Time
	for _, at := range []*time.Time{server.WatchingSince, server.Stats.Oldest} {
		if at != nil && (since.IsZero() || at.Before(since)) {
			since = *at
		}
	}
	return since
}

// summaries converts a server's summaries for package render, as they stand at asOf.
func summaries(found []api.Summary, asOf time.Time) []store.Summary {
	out := make([]store.Summary, 0, len(found))
	for i := range found {
		t := found[i].Stored()
		out = append(out, t.At(asOf))
	}
	return out
}
