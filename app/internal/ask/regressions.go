// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	shifts "github.com/kube-lifeline/lifeline/app/internal/shift"
)

// Regressions prints what got slower, since when, and what may have caused it: `lifeline regressions`.
type Regressions struct {
	cli.Options
	Server cli.Server
	// Name is a workload as KIND/NAME: the answer then has the changes before each shift. Empty means all.
	Name string
	// Namespace is that of the objects; empty means all.
	Namespace string
	// Where is a question that selects the samples; empty selects all.
	Where string
	// Since and Until bound the samples.
	Since, Until string
	// Faster and Ended add what got faster, and what is no longer slower.
	Faster, Ended bool
}

// maxGroups is the number of regressions of an answer, and maxNamed that of the other workloads of one, unless it is
// wide.
const maxGroups, maxNamed = 20, 3

// Validate returns an error for invalid options. It sends no request.
func (r *Regressions) Validate() error {
	if !slices.Contains(CompareOutputs(), r.Output) {
		return fmt.Errorf("unknown output %q: known are %s", r.Output, strings.Join(CompareOutputs(), ", "))
	}
	if r.Name != "" {
		if err := cli.CheckTarget(r.Name); err != nil {
			return err
		}
	}
	return checkRange(r.Since, r.Until, r.Time())
}

// Run prints the answer. It returns an error without a server.
func (r *Regressions) Run(ctx context.Context) (code int, err error) {
	server, err := r.Need(ctx, r.Server)
	if err != nil {
		return cli.CodeError, err
	}
	defer server.Close()
	q := client.RegressionQuery{
		Question: client.Question{Where: r.Where, Namespace: r.Namespace, Since: r.Since, Until: r.Until},
		Faster:   r.Faster, Ended: r.Ended,
	}
	if r.Name != "" {
		target, err := r.Target(r.Name, false)
		if err != nil {
			return cli.CodeError, err
		}
		of := target.Ref(r.Namespace)
		var is bool
		if q.Workload, is = workloadOf(of); !is {
			return cli.CodeError, fmt.Errorf("%s is no workload with Pods: select its kind with --where", target)
		}
		if r.Namespace == "" {
			return cli.CodeError, errNamespace(target)
		}
	}
	found, err := server.Regressions(ctx, q)
	switch {
	case pointOut(&r.Options, expressions{where: r.Where}, err):
		return cli.CodeError, nil
	case err != nil:
		return cli.CodeError, fmt.Errorf("cannot tell what got slower: %w", err)
	}
	if err := r.print(found); err != nil {
		return cli.CodeError, fmt.Errorf("cannot print the regressions: %w", err)
	}
	return cli.CodeOK, nil
}

// print writes the report in the selected format.
func (r *Regressions) print(found *shifts.Report) error {
	switch r.Output {
	case cli.OutputJSON:
		return cli.WriteJSON(r.Streams.Out, found)
	case cli.OutputYAML:
		return cli.WriteYAML(r.Streams.Out, found)
	}
	groups := shifts.Groups(found)
	for _, line := range r.headline(found, groups) {
		if _, err := fmt.Fprintln(r.Streams.Out, line); err != nil {
			return err
		}
	}
	if len(groups) > 0 {
		if err := r.printBlocks(found, groups); err != nil {
			return err
		}
	}
	if n := len(groups) - maxGroups; n > 0 && r.Output != OutputWide {
		r.Say("%s not shown: -o wide shows all", are(n, "regression"))
	}
	if found.Incomplete != "" {
		r.Say("incomplete: %s", cli.Shown(found.Incomplete))
	}
	return nil
}

// headline says how much was looked at, and how much was found.
func (r *Regressions) headline(found *shifts.Report, groups []shifts.Group) []string {
	looked := fmt.Sprintf("%d series with %s %s.", found.Series, plural(found.Samples, "sample"), r.where(found))
	short := ""
	if found.Short > 0 {
		short = fmt.Sprintf("%s too few samples: %d before and %d after a shift are needed.",
			have(found.Short, "workload"), found.Least, found.Least)
	}
	var text string
	switch {
	case len(groups) > 0:
		text = plural(len(groups), "regression")
		if r.Faster || r.Ended {
			text = plural(len(groups), "shift")
		}
		if len(groups) > 1 {
			text += ", the worst first"
		}
		text += ". Looked at " + looked
	case found.Series == 0 && found.Short == 0:
		text, short = "Cannot tell whether anything got slower: no samples "+r.where(found)+".", ""
	case found.Series == 0:
		text = "Cannot tell whether anything got slower " + r.where(found) + ":"
	default:
		text = "Nothing got slower. Looked at " + looked
	}
	lines := render.Wrap(strings.TrimSpace(text+" "+short), r.width())
	if len(groups) > 0 {
		lines = append(lines, "")
	}
	return lines
}

// have returns a number with a noun and the verb.
func have(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " has"
	}
	return plural(n, noun) + " have"
}

// where says what was looked at: "of deploy/web in namespace shop since 2026-03-01 12:00".
func (r *Regressions) where(found *shifts.Report) string {
	out := ""
	if r.Name != "" {
		out += "of " + cli.Shown(r.Name) + " "
	}
	if r.Namespace != "" {
		out += "in namespace " + cli.Shown(r.Namespace) + " "
	}
	return out + "since " + found.Since.In(r.Time().Location()).Format("2006-01-02 15:04")
}

// printBlocks writes a block for each group.
func (r *Regressions) printBlocks(found *shifts.Report, groups []shifts.Group) error {
	most := maxGroups
	if r.Output == OutputWide {
		most = len(groups)
	}
	var blocks []render.Block
	for i := range groups[:min(len(groups), most)] {
		blocks = append(blocks, r.block(found, &groups[i]))
	}
	return render.Blocks(r.Streams.Out, blocks, r.width(), cli.NewScreen(r.Streams.Out, r.Environment()).Color)
}

// width is the width of the text.
func (r *Regressions) width() int { return textWidth(&r.Options) }

// textWidth returns the width of the terminal, and 80 without one.
func textWidth(o *cli.Options) int {
	const usual = 80
	if screen := cli.NewScreen(o.Streams.Out, o.Environment()); screen.Terminal {
		if width, _ := screen.Size(); width > 0 {
			return width
		}
	}
	return usual
}

func (r *Regressions) block(found *shifts.Report, g *shifts.Group) render.Block {
	of := g.Lead
	wide := r.Output == OutputWide
	b := render.Block{
		Left:  duration.HumanDuration(max(0, found.AsOf.Sub(g.Since))),
		Title: cli.Shown(of.Title(r.Namespace)),
		Details: []string{
			cli.Shown(of.Evidence()) + ".",
			strings.TrimSpace("Since " + r.clock(of.Since) + ". " + cli.Shown(of.Cause(r.Namespace))),
		},
	}
	switch {
	case of.Ended && of.Until != nil:
		b.Details = append(b.Details, "It ended at "+r.clock(*of.Until)+".")
	case of.Ended:
		b.Details = append(b.Details, "It has ended.")
	}
	if text := g.Phases(); text != "" {
		b.Details = append(b.Details, "Also: "+cli.Shown(text)+".")
	}
	most := maxNamed
	if wide {
		most = len(g.Others) + len(g.Near)
	}
	if text := g.Elsewhere(r.Namespace, most); text != "" {
		b.Details = append(b.Details, fmt.Sprintf("%s with the same cause: %s.",
			plural(len(g.Others), "further workload"), cli.Shown(text)))
	}
	if text := g.Nearby(most); text != "" {
		b.Details = append(b.Details, "At about the same time, and perhaps the same: "+cli.Shown(text)+".")
	}
	if wide {
		for _, s := range g.All() {
			b.Details = append(b.Details, cli.Shown(fmt.Sprintf("%s: %s, p = %.2g, since %s, series %s.",
				s.Of(r.Namespace), s.Evidence(), s.P, r.clock(s.Since), s.ID)))
		}
	}
	b.Details = append(b.Details, r.earlier(of)...)
	if next := r.next(of); next != "" {
		b.Commands = []string{"Next: " + next}
	}
	return b
}

// earlier lists the changes before the shift.
func (r *Regressions) earlier(of *shifts.Shift) []string {
	if r.Name == "" {
		return nil
	}
	if len(of.Earlier) == 0 {
		return []string{"No change is known in the day before it."}
	}
	out := []string{"Changes in the day before it, the latest first:"}
	for i := range of.Earlier {
		e := &of.Earlier[i]
		out = append(out, cli.Shown(fmt.Sprintf("- %s  %s (%s)",
			r.clock(e.Start), shifts.Change(&e.Cause, r.Namespace), e.Relation)))
	}
	return out
}

// next is the command that shows more.
func (r *Regressions) next(of *shifts.Shift) string {
	kind, name, is := strings.Cut(of.Workload, "/")
	if !is {
		return ""
	}
	command := "lifeline regressions "
	after := ""
	if r.Name != "" {
		command = "lifeline compare "
		after = " --before " + of.Since.UTC().Format(time.RFC3339)
		if of.Change != nil {
			after = " --change " + of.Change.TraceID[:min(len(of.Change.TraceID), minTrace)]
		}
	}
	command += strings.ToLower(kind) + "/" + name + after
	if of.Namespace != "" {
		command += " -n " + of.Namespace
	}
	return cli.Shown(command)
}

// clock returns a time on the user's clock.
func (r *Regressions) clock(at time.Time) string {
	return at.In(r.Time().Location()).Format("2006-01-02 15:04")
}

// changeOfSummary returns the change of a trace.
func changeOfSummary(s *api.Summary) *problem.Cause {
	return &problem.Cause{
		TraceID: s.TraceID, Start: s.Start, Who: cmp.Or(s.User, s.Actor), Object: s.Object, Verb: s.Verb,
		Edits: s.Edits, Command: s.Command,
	}
}
