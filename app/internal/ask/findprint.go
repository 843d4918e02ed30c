// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
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
	sorted := sortedBy{page.Sort, page.SortType}
	if phase, is := strings.CutPrefix(page.Sort, phasePrefix); is && slices.Contains(LengthFields(), page.Sort) {
		if !slices.Contains(phases, phase) {
			phases = append(phases, phase)
		}
		sorted = sortedBy{}
	}
	if page.Sort == "duration" {
		sorted = sortedBy{}
	}
	switch {
	case f.Output == cli.OutputJSON:
		return cli.WriteJSON(f.Streams.Out, page)
	case f.Output == cli.OutputYAML:
		return cli.WriteYAML(f.Streams.Out, page)
	case f.Output == cli.OutputName:
		return f.names(page.Lifecycles)
	case f.Output == OutputCSV:
		return render.CSV(f.Streams.Out, f.sheet(page.Lifecycles, phases, sorted))
	case len(page.Lifecycles) == 0:
		return nil
	}
	return render.Grid(f.Streams.Out, f.table(page.Lifecycles, phases, sorted))
}

// sortedBy is the column of the value that orders lifecycles: its expression and type. It is empty if another column
// has the value.
type sortedBy struct{ of, kind string }

// value returns the text of a value, in seconds or as people read it.
func (s sortedBy) value(l *api.Lifecycle, length func(api.Seconds) string) string {
	switch {
	case l.SortValue == nil:
		return ""
	case s.kind == "duration":
		return length(api.Seconds(math.Round(*l.SortValue * float64(time.Second))))
	}
	return strconv.FormatFloat(*l.SortValue, 'f', -1, 64)
}

// names writes the kind, the namespace and the name of each object once.
func (f *Find) names(found []api.Lifecycle) error {
	objects := make([]object.Ref, len(found))
	for i := range found {
		objects[i] = found[i].Object
	}
	return printNames(f.Streams.Out, objects)
}

// nameOf returns the namespace and the name of the object.
func nameOf(l *api.Lifecycle) string {
	if l.Object.Namespace == "" {
		return cli.Shown(l.Object.Name)
	}
	return cli.Shown(l.Object.Namespace) + "/" + cli.Shown(l.Object.Name)
}

// wideFields are the fields with a column in a wide table, where a lifecycle has them.
var wideFields = []string{"workload", "verb", "user", "actor", "node"}

// table returns the rows for people. A column of reasons is there if one of the lifecycles has a reason.
func (f *Find) table(found []api.Lifecycle, phases []string, sorted sortedBy) [][]string {
	header := []string{"START", "KIND", "NAMESPACE/NAME", "OUTCOME", "DURATION"}
	for _, phase := range phases {
		header = append(header, strings.ToUpper(phase))
	}
	if sorted.of != "" {
		header = append(header, headingOf(sorted.of, numberFields()))
	}
	wide := f.Output == OutputWide
	var fields []string
	if wide {
		fields = append(fields, wideFields...)
	}
	if wide || slices.ContainsFunc(found, func(l api.Lifecycle) bool { return valueOf(&l, "reason") != "" }) {
		fields = append(fields, "reason")
	}
	for _, name := range fields {
		header = append(header, strings.ToUpper(name))
	}
	rows := [][]string{append(header, "TRACE")}
	for i := range found {
		l := &found[i]
		name := nameOf(l)
		duration := render.Duration(time.Duration(l.Duration))
		if !stateOf(l).Ended() {
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
		if sorted.of != "" {
			row = append(row, sorted.value(l, readable))
		}
		for _, name := range fields {
			row = append(row, valueOf(l, name))
		}
		id := cli.Shown(l.TraceID)
		if !f.Whole && !wide {
			id = id[:min(8, len(id))]
		}
		rows = append(rows, append(row, id))
	}
	return rows
}

// sheet returns the rows for spreadsheets. Lengths are in seconds.
func (f *Find) sheet(found []api.Lifecycle, phases []string, sorted sortedBy) [][]string {
	header := []string{"start", "kind", "namespace", "name", "outcome", "duration"}
	for _, phase := range phases {
		header = append(header, phasePrefix+phase)
	}
	if sorted.of != "" {
		header = append(header, sorted.of)
	}
	rows := [][]string{append(header, "trace", "span", "reason")}
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
		if sorted.of != "" {
			row = append(row, sorted.value(l, seconds))
		}
		rows = append(rows, append(row, l.TraceID, l.SpanID, valueOf(l, "reason")))
	}
	return rows
}

// valueOf returns the text of a field of data, or "".
func valueOf(l *api.Lifecycle, name string) string {
	switch v := l.Values[name].(type) {
	case string:
		return cli.Shown(v)
	case json.RawMessage:
		var text string
		if json.Unmarshal(v, &text) == nil {
			return cli.Shown(text)
		}
	}
	return ""
}

func outcomeOf(l *api.Lifecycle) string { return cli.Shown(string(stateOf(l))) }

// stateOf returns the word for a lifecycle.
func stateOf(l *api.Lifecycle) span.State {
	why := valueOf(l, "reason")
	return span.StateOf(l.Open, reason.Category(why).Held(), why != "", span.Outcome(l.Outcome))
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

// readable formats a length for people.
func readable(d api.Seconds) string { return render.Duration(time.Duration(d)) }

// printGroups writes statistics in the selected format.
func (f *Find) printGroups(page *api.GroupPage) error {
	switch {
	case f.Output == cli.OutputJSON:
		return cli.WriteJSON(f.Streams.Out, page)
	case f.Output == cli.OutputYAML:
		return cli.WriteYAML(f.Streams.Out, page)
	case f.Output == OutputCSV:
		return render.CSV(f.Streams.Out, groupRows(page, keysOf(page), []string{"count", "with"}, "q", seconds,
			func(text string) string { return text }))
	case len(page.Groups) == 0:
		return nil
	}
	var by []string
	for _, key := range keysOf(page) {
		heading := headingOf(key, GroupFields())
		if isPeriod(key) {
			heading += " (" + cmp.Or(f.Zone, "UTC") + ")"
		}
		by = append(by, heading)
	}
	return render.Grid(
		f.Streams.Out,
		groupRows(page, by, []string{"COUNT", "WITH " + headingOf(page.Of, LengthFields())}, "P", readable, cli.Shown),
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
	page *api.GroupPage, by, counts []string, prefix string, length func(api.Seconds) string,
	shown func(string) string,
) [][]string {
	header := append(slices.Clone(by), counts[0])
	if page.Of != "" {
		header = append(header, counts[1])
	}
	for _, q := range page.Quantiles {
		header = append(header, prefix+strconv.FormatFloat(100*q, 'g', 6, 64))
	}
	rows := [][]string{header}
	for _, g := range page.Groups {
		var row []string
		switch {
		case len(by) == 1:
			row = append(row, shown(g.Value))
		case len(by) > 1:
			for _, v := range g.Values {
				row = append(row, shown(v))
			}
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
