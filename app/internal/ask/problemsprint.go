// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/answer"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/render"
)

// maxShown is the number of problems of an answer, unless it is wide, and namedOthers that of the further objects of a
// problem with a name.
const maxShown, namedOthers = 25, 3

// print writes the problems in the selected format.
func (p *Problems) print(found *broken) error {
	out := p.Streams.Out
	switch p.Output {
	case cli.OutputJSON:
		return writeIndented(out, found.document())
	case cli.OutputYAML:
		return cli.WriteYAML(out, found.document())
	case cli.OutputName:
		return printNames(out, allObjects(found.Problems))
	}
	lines := []string{p.headline(found)}
	if len(found.Problems) == 0 {
		lines = append(lines, p.seen(found))
	}
	for _, text := range lines {
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
	}
	if err := p.printBlocks(found); err != nil {
		return err
	}
	p.remarks(found)
	return nil
}

// document is the answer of the API. A problem without a cause has the last change of its first object.
type document struct {
	problem.List

	Problems []documented `json:"problems"`
}

type documented struct {
	problem.Problem

	LastChange *problem.Cause `json:"lastChange,omitempty"`
}

func (b *broken) document() document {
	out := document{List: b.List, Problems: make([]documented, len(b.Problems))}
	for i := range b.Problems {
		out.Problems[i] = documented{b.Problems[i], b.last[b.Problems[i].ID]}
	}
	return out
}

// printBlocks writes a block for each problem.
func (p *Problems) printBlocks(found *broken) error {
	if len(found.Problems) == 0 {
		return nil
	}
	wide := p.Output == OutputWide
	most := namedOthers
	if wide {
		most = problem.MaxObjects
	}
	problems := p.shown(found)
	blocks := make([]render.Block, 0, len(problems))
	for i := range problems {
		of := &problems[i]
		text := answer.OfProblem(of, found.last[of.ID], p.at(found), p.Namespace, most)
		b := render.Block{Left: text.Age, Title: text.Sentence}
		for _, detail := range []string{text.Others, text.Cause, text.Before} {
			if detail != "" {
				b.Details = append(b.Details, detail)
			}
		}
		if wide {
			b.Details = append(b.Details, p.wide(of)...)
		}
		if text.Next != "" {
			b.Commands = []string{"Next: " + text.Next}
		}
		blocks = append(blocks, b)
	}
	screen, width := cli.NewScreen(p.Streams.Out, p.Environment()), 0
	if screen.Terminal {
		width, _ = screen.Size()
	}
	if _, err := fmt.Fprintln(p.Streams.Out); err != nil {
		return err
	}
	return render.Blocks(p.Streams.Out, blocks, width, screen.Color)
}

// shown returns the problems to print.
func (p *Problems) shown(found *broken) []problem.Problem {
	if p.Output == OutputWide {
		return found.Problems
	}
	return found.Problems[:min(len(found.Problems), maxShown)]
}

// wide returns the further details of a problem.
func (p *Problems) wide(of *problem.Problem) []string {
	var out []string
	for _, e := range of.Earlier[:max(0, len(of.Earlier)-1)] {
		out = append(out, "From "+e.Since.In(p.Time().Location()).Format(time.DateTime)+": "+cli.Shown(e.Reason))
	}
	if of.Blamed != nil {
		out = append(out, "Object to blame: "+cli.Shown(of.Blamed.String())+".")
	}
	if of.Image != "" {
		out = append(out, "Image: "+cli.Shown(of.Image))
	}
	if of.Cause != nil && of.Cause.TraceID != "" {
		out = append(out, "Trace: "+cli.Shown(of.Cause.TraceID))
	}
	return append(out, "Problem: "+cli.Shown(of.ID)+", category "+cli.First(cli.Shown(of.Category), "none"))
}

// at returns the time of the problems on the user's clock.
func (p *Problems) at(found *broken) time.Time {
	at := found.AsOf
	if at.IsZero() {
		at = p.Time()
	}
	return at.In(p.Time().Location())
}

// headline is the first line.
func (p *Problems) headline(found *broken) string {
	at := p.at(found).Format(time.TimeOnly)
	n := len(found.Problems) + found.More
	if n == 0 {
		return fmt.Sprintf("Nothing is broken in %s, at %s.", p.where(), at)
	}
	objects := 0
	for i := range found.Problems {
		objects += found.Problems[i].Count
	}
	what := plural(n, "problem")
	if objects > n {
		what += " with " + plural(objects, "object")
	}
	text := fmt.Sprintf("%s in %s, at %s", what, p.where(), at)
	if n > 1 {
		text += ", the worst first"
	}
	return text + "."
}

// where names the objects that were looked at.
func (p *Problems) where() string {
	where := "the cluster"
	if p.Namespace != "" {
		where = "namespace " + cli.Shown(p.Namespace)
	}
	if p.Selector != "" {
		where += ", of objects with labels " + cli.Shown(p.Selector)
	}
	return where
}

// plural returns a number with a noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// seen says what an empty answer rests on.
func (p *Problems) seen(found *broken) string {
	if found.watched.IsZero() {
		return plural(found.objects, "object") + " read, without a server."
	}
	text := "The server has watched since " + found.watched.In(p.Time().Location()).Format(time.DateTime) + "."
	switch {
	case found.some:
		text += fmt.Sprintf(" At least %s: lifeline ls --open", runs(found.running))
	case found.running > 0:
		text += fmt.Sprintf(" %s: lifeline ls --open", runs(found.running))
	default:
		return text + " No change is running."
	}
	if p.Namespace == "" {
		text += " -A"
	}
	return text
}

func runs(n int) string {
	if n == 1 {
		return "1 change is running"
	}
	return fmt.Sprintf("%d changes are running", n)
}

// remarks prints what to know beside the problems.
func (p *Problems) remarks(found *broken) {
	if n := len(found.Problems) - len(p.shown(found)); n > 0 {
		p.Say("%s not shown: -o wide shows all", are(n, "problem"))
	}
	if found.More > 0 {
		p.Say("%s left out: give a namespace with -n, or labels with -l", are(found.More, "problem"))
	}
	if found.elsewhere > 0 {
		p.Say("%s in other namespaces: lifeline why -A", are(found.elsewhere, "more problem"))
	}
	if found.watched.IsZero() && len(found.Problems) > 0 {
		p.Say("there is no server: most causes and earlier reasons are unknown; \"lifeline ui\" starts one")
	}
}

func are(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return fmt.Sprintf("%d %ss are", n, noun)
}

// allObjects returns the named objects of all problems.
func allObjects(problems []problem.Problem) []object.Ref {
	var out []object.Ref
	for i := range problems {
		out = append(out, problems[i].Objects...)
	}
	return out
}

// printNames writes the kind, the namespace and the name of each object once: "Pod shop/web".
func printNames(out io.Writer, objects []object.Ref) error {
	printed := map[string]bool{}
	for i := range objects {
		o := &objects[i]
		name := cli.Shown(o.Kind.Kind) + " " + cli.Shown(strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"))
		if printed[name] {
			continue
		}
		printed[name] = true
		if _, err := fmt.Fprintln(out, name); err != nil {
			return err
		}
	}
	return nil
}

// writeIndented writes v as indented JSON without terminal control characters.
func writeIndented(out io.Writer, v any) error {
	var line, doc bytes.Buffer
	if err := cli.WriteJSON(&line, v); err != nil {
		return err
	}
	if err := json.Indent(&doc, line.Bytes(), "", "  "); err != nil {
		return err
	}
	_, err := out.Write(doc.Bytes())
	return err
}
