// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	shifts "github.com/kube-lifeline/lifeline/app/internal/shift"
)

// maxDifferences and maxValues bound the differences of a table, and the values of one, unless it is wide.
const maxDifferences, maxValues = 12, 2

// print writes the comparison in the selected format.
func (c *Compare) print(found *api.Comparison) error {
	switch c.Output {
	case cli.OutputJSON:
		return cli.WriteJSON(c.Streams.Out, found)
	case cli.OutputYAML:
		return cli.WriteYAML(c.Streams.Out, found)
	}
	p := comparisonText{Compare: c, found: found}
	lines := p.sides()
	verdict := p.verdict
	if found.Of == api.OfTraces {
		verdict = p.traces
	}
	lines = append(append(lines, ""), render.Wrap(verdict(), textWidth(&c.Options))...)
	if found.Total.A.Count+found.Total.B.Count > 0 {
		lines = append(append(append(lines, ""), p.rows()...), p.legend()...)
		lines = append(lines, p.differences()...)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(c.Streams.Out, line); err != nil {
			return err
		}
	}
	p.remarks()
	return nil
}

// comparisonText is the text of a comparison.
type comparisonText struct {
	*Compare

	found *api.Comparison
}

// sides describes both sides, one a line or more.
func (p *comparisonText) sides() []string {
	out := p.indented("A  ", p.side(&p.found.A, 0))
	out = append(out, p.indented("B  ", p.side(&p.found.B, 1))...)
	if p.found.Change != nil {
		out = append(out, p.indented("   ", "from "+cli.Shown(shifts.Change(p.found.Change, p.Namespace)))...)
	}
	return out
}

// indented returns the lines of a text with a margin.
func (p *comparisonText) indented(margin, text string) []string {
	lines := render.Wrap(text, textWidth(&p.Options)-len(margin))
	for i, line := range lines {
		lines[i] = margin + line
		margin = strings.Repeat(" ", len(margin))
	}
	return lines
}

// legend explains the verdicts in the table.
func (p *comparisonText) legend() []string {
	var out []string
	for _, row := range append(p.found.Rows, p.found.Total) {
		text := ""
		switch row.Verdict {
		case api.VerdictSame:
			text = "chance: no difference by more than chance"
		case api.VerdictUnknown:
			text = fmt.Sprintf("too few: a side has fewer than %d samples", p.found.Least)
		}
		if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

func (p *comparisonText) side(of *api.Compared, i int) string {
	if of.Trace != nil {
		stored := of.Trace.Stored()
		what := shifts.Change(changeOfSummary(of.Trace), p.Namespace)
		if stored.Open {
			what += ", not ended"
		}
		return cli.Shown(p.moment(of.Trace.Start) + "  " + what)
	}
	what := "of " + strings.Join(strings.Fields(of.Where), " ")
	if len(p.Names) > 0 {
		what = "of " + p.Names[min(i, len(p.Names)-1)]
		if p.Namespace != "" {
			what += " in " + p.Namespace
		}
	}
	more := ""
	if of.More {
		more = "the first "
	}
	text := fmt.Sprintf("%s%s %s", more, plural(of.Count, "sample"), what)
	switch {
	case of.Since != nil && of.Until != nil:
		text += ", " + p.moment(*of.Since) + " to " + p.moment(*of.Until)
	case of.Since != nil:
		text += ", since " + p.moment(*of.Since)
	case of.Until != nil:
		text += ", until " + p.moment(*of.Until)
	}
	return cli.Shown(text)
}

// moment returns a time on the user's clock.
func (p *comparisonText) moment(at time.Time) string {
	return at.In(p.Time().Location()).Format("2006-01-02 15:04")
}

// traces is the sentence about two traces.
func (p *comparisonText) traces() string {
	t := &p.found.Total
	word := "more than"
	if t.Difference < 0 {
		word = "less than"
	}
	return fmt.Sprintf("B took %s %s A%s: %s → %s. One trace each says nothing about chance: compare sets for that.",
		render.Duration(time.Duration(max(t.Difference, -t.Difference))), word, ratioOf(t, " (%s)"),
		render.Duration(time.Duration(t.A.Length)), render.Duration(time.Duration(t.B.Length)))
}

// ratioOf returns the ratio of the lengths in a format; empty if there is none.
func ratioOf(t *api.ComparedRow, format string) string {
	if t.A.Length <= 0 {
		return ""
	}
	return fmt.Sprintf(format, shifts.Times(float64(t.B.Length)/float64(t.A.Length)))
}

// verdict is the sentence about two sets.
func (p *comparisonText) verdict() string {
	t := &p.found.Total
	lengths := fmt.Sprintf(
		"%s → %s%s, %s%s",
		render.Duration(time.Duration(t.A.Length)),
		render.Duration(
			time.Duration(t.B.Length),
		),
		ratioOf(t, " (%s)"),
		shifts.Signed(t.Difference),
		intervalOf(t, " (95 %%: %s)"),
	)
	switch t.Verdict {
	case api.VerdictSlower:
		return "B is slower than A, by more than chance: " + lengths + p.most() + "."
	case api.VerdictFaster:
		return "B is faster than A, by more than chance: " + lengths + p.most() + "."
	case api.VerdictSame:
		return "No difference by more than chance: " + lengths + "."
	}
	return "Cannot tell whether B differs from A: " + p.lacks(t) + "."
}

// lacks says which side has too few samples.
func (p *comparisonText) lacks(row *api.ComparedRow) string {
	var out []string
	for _, side := range []struct {
		name  string
		count int
	}{{"A", row.A.Count}, {"B", row.B.Count}} {
		if side.count < p.found.Least {
			out = append(out, fmt.Sprintf("%s has %s", side.name, plural(side.count, "sample")))
		}
	}
	return fmt.Sprintf("%s, and %d are needed", strings.Join(out, " and "), p.found.Least)
}

// most names the phase with most of the difference.
func (p *comparisonText) most() string {
	t := &p.found.Total
	var best *api.ComparedRow
	for i := range p.found.Rows {
		row := &p.found.Rows[i]
		if row.Verdict == t.Verdict && (best == nil || row.Difference > best.Difference == (t.Difference > 0)) {
			best = row
		}
	}
	if best == nil || t.Difference == 0 {
		return ""
	}
	return fmt.Sprintf(
		"; %.0f %% of it in %s",
		100*float64(best.Difference)/float64(t.Difference),
		cli.Shown(best.Phase),
	)
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

// intervalOf returns the interval of a difference in a format; empty without one.
func intervalOf(row *api.ComparedRow, format string) string {
	if row.Low == nil || row.High == nil {
		return ""
	}
	return fmt.Sprintf(format, shifts.Signed(*row.Low)+" to "+shifts.Signed(*row.High))
}

// rows is the table of phases.
func (p *comparisonText) rows() []string {
	sets, wide := p.found.Of == api.OfSets, p.Output == OutputWide
	header := []string{"PHASE", "A", "", "B", "", "DIFF"}
	if sets {
		header = append(header, "95 %", "SAMPLES", "VERDICT")
	}
	if sets && wide {
		header = append(header, "P", "A 95 %", "B 95 %")
	}
	table := [][]string{header}
	for i := range p.found.Rows {
		table = append(table, p.row(&p.found.Rows[i], sets, wide))
	}
	return aligned(append(table, p.row(&p.found.Total, sets, wide)), 1, 6)
}

func (p *comparisonText) row(of *api.ComparedRow, sets, wide bool) []string {
	cell := func(l *api.ComparedLength) (string, string) {
		if l.Count == 0 {
			return "-", ""
		}
		return strings.TrimPrefix(shifts.Signed(l.Length), "+"), percent(l.Share)
	}
	a, shareA := cell(&of.A)
	b, shareB := cell(&of.B)
	out := []string{cli.Shown(of.Phase), a, shareA, b, shareB, shifts.Signed(of.Difference)}
	if !sets {
		return out
	}
	out = append(out, intervalOf(of, "%s"), fmt.Sprintf("%d, %d", of.A.Count, of.B.Count), verdictWords[of.Verdict])
	if wide {
		p := ""
		if of.Verdict != "" {
			p = fmt.Sprintf("%.2g", of.P)
		}
		out = append(out, p, lengthInterval(&of.A), lengthInterval(&of.B))
	}
	return out
}

// verdictWords are the verdicts in a table.
var verdictWords = map[string]string{
	api.VerdictSlower: "slower", api.VerdictFaster: "faster", api.VerdictSame: "chance", api.VerdictUnknown: "too few",
}

func lengthInterval(l *api.ComparedLength) string {
	if l.Low == nil || l.High == nil {
		return ""
	}
	return render.Duration(time.Duration(*l.Low)) + " to " + render.Duration(time.Duration(*l.High))
}

// differences is the table of the attributes that differ.
func (p *comparisonText) differences() []string {
	if len(p.found.Differences) == 0 {
		if p.found.Of == api.OfSets {
			return []string{"", "Nothing else differs by more than chance, of what is known."}
		}
		return []string{"", "Nothing else differs, of what is known."}
	}
	most, values := maxDifferences, maxValues
	if p.Output == OutputWide {
		most, values = len(p.found.Differences), 1000
	}
	table := [][]string{{"DIFFERS", "A", "B"}}
	for i := range p.found.Differences[:min(len(p.found.Differences), most)] {
		d := &p.found.Differences[i]
		table = append(table, []string{
			cli.Shown(
				shifts.Word(d.Attribute),
			),
			p.values(d.A, p.found.A.Count, values),
			p.values(d.B, p.found.B.Count, values),
		})
	}
	lines := aligned(table, 0, 0)
	if slices.ContainsFunc(lines, func(line string) bool { return render.Width(line) > textWidth(&p.Options) }) {
		lines = []string{"DIFFERS"}
		for _, row := range table[1:] {
			lines = append(lines, row[0])
			lines = append(lines, p.indented("  A  ", cmp.Or(row[1], "-"))...)
			lines = append(lines, p.indented("  B  ", cmp.Or(row[2], "-"))...)
		}
	}
	return append([]string{""}, lines...)
}

// values lists the values of one side, with their counts among several lifecycles.
func (p *comparisonText) values(all []api.ValueCount, of, most int) string {
	var out []string
	for _, v := range all[:min(len(all), most)] {
		text := cli.Shown(v.Value)
		if of > 1 {
			text += fmt.Sprintf(" (%d of %d)", v.Count, of)
		}
		out = append(out, text)
	}
	if more := len(all) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

// remarks prints what to know beside the table.
func (p *comparisonText) remarks() {
	shown := len(p.found.Differences)
	if p.Output != OutputWide {
		shown = min(shown, maxDifferences)
	}
	if n := len(p.found.Differences) - shown; n > 0 {
		p.Say("%s not shown: -o wide shows more", are(n, "difference"))
	}
	if p.found.A.More || p.found.B.More {
		p.Say(
			"more lifecycles match than are read for one comparison: a shorter time with --since and --until reads all",
		)
	}
}

// aligned returns the lines of a table with two blanks between columns. The columns from left to before right are
// aligned at the right. An empty cell of the first row belongs to the heading before it.
func aligned(rows [][]string, left, right int) []string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], render.Width(text))
		}
	}
	out := make([]string, len(rows))
	for n, row := range rows {
		var b strings.Builder
		for i, text := range row {
			blanks := strings.Repeat(" ", widths[i]-render.Width(text))
			if i >= left && i < right {
				b.WriteString(blanks + text)
			} else {
				b.WriteString(text + blanks)
			}
			b.WriteString("  ")
		}
		out[n] = strings.TrimRight(b.String(), " ")
	}
	return out
}
