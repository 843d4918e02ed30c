// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/render"
)

// phasePrefix begins the names of the fields with phases.
const phasePrefix = "phase."

// print writes the lifecycles in the selected format.
func (f *Find) print(page *api.LifecyclePage) error {
	var phases []string
	for _, name := range page.Uses {
		if phase, is := strings.CutPrefix(name, phasePrefix); is {
			phases = append(phases, phase)
		}
	}
	switch {
	case f.Output == cli.OutputJSON:
		return cli.WriteJSON(f.Streams.Out, page)
	case f.Output == OutputCSV:
		return render.CSV(f.Streams.Out, f.sheet(page.Lifecycles, phases))
	case len(page.Lifecycles) == 0:
		return nil
	}
	return render.Grid(f.Streams.Out, f.table(page.Lifecycles, phases))
}

// table returns the rows for people.
func (f *Find) table(found []api.Lifecycle, phases []string) [][]string {
	header := []string{"START", "KIND", "NAMESPACE/NAME", "OUTCOME", "DURATION"}
	for _, phase := range phases {
		header = append(header, strings.ToUpper(phase))
	}
	rows := [][]string{append(header, "TRACE")}
	for i := range found {
		l := &found[i]
		name := cli.Shown(l.Object.Name)
		if l.Object.Namespace != "" {
			name = cli.Shown(l.Object.Namespace) + "/" + name
		}
		duration := render.Duration(time.Duration(l.Duration))
		if l.Open {
			duration += "…"
		}
		row := []string{
			l.Start.In(f.location()).Format(time.DateTime), cli.Shown(l.Object.Kind.Kind), name, outcomeOf(l), duration,
		}
		for _, phase := range phases {
			length := ""
			if d, known := l.Phases[phase]; known {
				length = render.Duration(time.Duration(d))
			}
			row = append(row, length)
		}
		id := cli.Shown(l.TraceID)
		if !f.Whole {
			id = id[:min(8, len(id))]
		}
		rows = append(rows, append(row, id))
	}
	return rows
}

// sheet returns the rows for spreadsheets. Lengths are in seconds.
func (f *Find) sheet(found []api.Lifecycle, phases []string) [][]string {
	header := []string{"start", "kind", "namespace", "name", "outcome", "duration"}
	for _, phase := range phases {
		header = append(header, phasePrefix+phase)
	}
	rows := [][]string{append(header, "trace", "span")}
	for i := range found {
		l := &found[i]
		row := []string{
			l.Start.In(f.location()).Format(time.RFC3339Nano), l.Object.Kind.Kind, l.Object.Namespace, l.Object.Name,
			outcomeOf(l), seconds(l.Duration),
		}
		for _, phase := range phases {
			length := ""
			if d, known := l.Phases[phase]; known {
				length = seconds(d)
			}
			row = append(row, length)
		}
		rows = append(rows, append(row, l.TraceID, l.SpanID))
	}
	return rows
}

func outcomeOf(l *api.Lifecycle) string {
	if l.Open {
		return "open"
	}
	return cli.Shown(l.Outcome)
}

// location is zone for valid options.
func (f *Find) location() *time.Location {
	zone, err := f.zone()
	if err != nil {
		return time.UTC
	}
	return zone
}

// seconds formats a length for programs.
func seconds(d api.Seconds) string {
	return strconv.FormatFloat(float64(d)/float64(time.Second), 'f', -1, 64) // Duration.Seconds rounds twice
}

// printGroups writes statistics in the selected format.
func (f *Find) printGroups(page *api.GroupPage) error {
	switch {
	case f.Output == cli.OutputJSON:
		return cli.WriteJSON(f.Streams.Out, page)
	case f.Output == OutputCSV:
		return render.CSV(f.Streams.Out, groupRows(page, page.By, []string{"count", "with"}, "q", seconds,
			func(text string) string { return text }))
	case len(page.Groups) == 0:
		return nil
	}
	by := headingOf(page.By, GroupFields())
	if page.By == "day" {
		by += " (" + cmp.Or(f.Zone, "UTC") + ")"
	}
	return render.Grid(
		f.Streams.Out,
		groupRows(page, by, []string{"COUNT", "WITH " + headingOf(page.Of, LengthFields())}, "P",
			func(d api.Seconds) string { return render.Duration(time.Duration(d)) }, cli.Shown),
	)
}

// maxHeading bounds the expression in a heading, in characters.
const maxHeading = 60

// headingOf returns the heading for an expression: the name of one of fields, or the bounded expression.
func headingOf(of string, fields []string) string {
	if slices.Contains(fields, of) {
		return strings.ToUpper(strings.TrimPrefix(of, phasePrefix))
	}
	text := []rune(strings.Join(strings.Fields(of), " "))
	if len(text) > maxHeading {
		text = append(text[:maxHeading-1], '…')
	}
	return cli.Shown(string(text))
}

// groupRows returns the rows of statistics, with the values of the groups if there are several. Each
// quantile has a column, with a prefix and the percentage.
func groupRows(
	page *api.GroupPage, by string, counts []string, prefix string, length func(api.Seconds) string,
	shown func(string) string,
) [][]string {
	var header []string
	if page.By != "" {
		header = append(header, by)
	}
	header = append(header, counts[0])
	if page.Of != "" {
		header = append(header, counts[1])
	}
	for _, q := range page.Quantiles {
		header = append(header, prefix+strconv.FormatFloat(100*q, 'g', 6, 64))
	}
	rows := [][]string{header}
	for _, g := range page.Groups {
		var row []string
		if page.By != "" {
			row = append(row, shown(g.Value))
		}
		row = append(row, strconv.FormatInt(g.Count, 10))
		if page.Of != "" {
			row = append(row, strconv.FormatInt(g.With, 10))
		}
		for i := range page.Quantiles {
			value := ""
			if i < len(g.Quantiles) {
				value = length(g.Quantiles[i])
			}
			row = append(row, value)
		}
		rows = append(rows, row)
	}
	return rows
}
