// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// The columns of a list.
const (
	colWhen = iota
	colTrace
	colWho
	colWhat
	colChanged
	colOutcome
	colDuration
	colSlowest
	colReason
	numColumns
)

// listRow is one row of a list. Ends are parts of cells that stay when the text before them is cut,
// such as the share of the slowest work.
type listRow struct {
	columns [numColumns]piece
	ends    [numColumns]string
	// shorter are shorter texts for the author and the action, in the order of preference.
	shorter [numColumns][]string
	// reason is why the trace failed, or what an open one waits for, or "". It stands in the last column if the rest
	// of the line has room for all of it, and else below the row.
	reason string
	// whole means that the last column has the reason.
	whole bool
}

// leastBefore is the number of cells that must remain before an end; otherwise the end is cut as
// well.
const leastBefore = 4

// width returns the number of cells in a column.
func (r *listRow) width(column int) int {
	return cells(r.columns[column].text) + cells(r.ends[column])
}

// cell returns the content of a column in n cells. Components and phases keep the start of their
// names, objects the start and the end.
func (r *listRow) cell(column, n int) string {
	text, end := r.columns[column].text, r.ends[column]
	if all := r.shorter[column]; len(all) > 0 {
		last := len(all) - 1
		for _, end := range []string{end, ""} { // rather the whole object than the end
			for _, text := range append([]string{text}, all[:last]...) {
				if cells(text)+cells(end) <= n {
					return text + end
				}
			}
		}
		text, end = all[last], ""
	}
	if n < leastBefore+cells(end) {
		text, end = text+end, ""
	}
	if column == colWho || column == colSlowest || column == colChanged {
		return cut(text, n-cells(end)) + end
	}
	return squeeze(text, n-cells(end)) + end
}

// line renders the row; it omits columns with width 0.
func (r *listRow) line(widths [numColumns]int, o ListOptions) line {
	var l line
	for i, p := range r.columns {
		if widths[i] == 0 {
			continue
		}
		if len(l) > 0 {
			l = append(l, piece{strings.Repeat(" ", gap), plain})
		}
		text := p.text
		if i != colSlowest || !r.whole {
			text = r.cell(i, widths[i])
		}
		l = append(l, piece{pad(text, widths[i]), p.style})
	}
	if o.cuts() {
		return l.clip(o.width())
	}
	return l
}

// place moves the reason into the last column if it has room there in full length.
func (r *listRow) place(widths [numColumns]int, o ListOptions) {
	room := o.width() - listWidth(widths) + widths[colSlowest]
	if r.reason == "" || !o.roomy() || o.cuts() && (widths[colSlowest] == 0 || cells(r.reason) > room) {
		return
	}
	r.columns[colSlowest], r.ends[colSlowest], r.whole = piece{r.reason, plain}, "", true
	r.reason = ""
}

// below renders the reason of the row as a separate line; nil without one there.
func (r *listRow) below(o ListOptions) line {
	if r.reason == "" {
		return nil
	}
	const indent = "  "
	return line{{indent + cut(r.reason, o.width()-len(indent)), dim}}
}

// leastRoomy is the width of a terminal with room for the changed fields, and for reasons in the row.
const leastRoomy = 120

// roomy reports whether a list has room for the changed fields, and for a reason instead of the slowest
// work.
func (o ListOptions) roomy() bool { return !o.cuts() || o.width() >= leastRoomy }

func listHeader(o ListOptions) listRow {
	var r listRow
	for i, title := range []string{"WHEN", "TRACE", "WHO", "WHAT", "CHANGED", "OUTCOME", "DURATION", "SLOWEST",
		"REASON"} {
		r.columns[i].text = title
	}
	if !o.Wide {
		r.columns[colReason].text = ""
	}
	if !o.Wide && o.roomy() {
		r.columns[colSlowest].text = "SLOWEST OR REASON"
	}
	if !o.roomy() {
		r.columns[colChanged].text = ""
	}
	return r
}

func listTrace(t *store.Summary, o ListOptions) listRow {
	var r listRow
	r.columns[colWhen].text = whenText(t, o)
	r.columns[colTrace] = piece{t.ID.String(), dim}
	if !o.whole() {
		r.columns[colTrace].text = r.columns[colTrace].text[:8]
	}
	r.columns[colWho] = piece{whoText(t, o.Wide), componentStyle(t.Actor)}
	r.columns[colWhat].text = whatText(t, o)
	r.shorter[colWho], r.shorter[colWhat] = persons(t), objects(t, o)
	r.ends[colWhat] = healsText(t, o) + fightText(t, o) + wasText(t, o) + worseText(t, o) + pinnedText(t)
	if o.roomy() {
		r.columns[colChanged].text = escape(strings.Join(t.Edits, ", "))
	}
	r.columns[colOutcome] = outcomePiece(t, o)
	r.columns[colDuration].text = roughly(t) + precise(max(0, t.Duration))
	if !t.State().Ended() {
		r.columns[colDuration].text += "…"
	}
	r.columns[colSlowest].text, r.ends[colSlowest] = escape(t.Slowest), shareText(t)
	switch {
	case o.Wide && t.Aftermath != nil:
		r.columns[colReason].text = escape(t.Aftermath.Text())
	case o.Wide:
		r.columns[colReason].text = escape(t.Reason)
	case t.Aftermath != nil:
		r.reason = escape(t.Aftermath.Text())
	case t.Reason == "" || t.State().Ended() && !t.Outcome.InVain() || works(t):
	default:
		r.reason = escape(t.Reason)
	}
	if now, is := o.Present[t.ID]; is {
		r.present(now, o)
	}
	for i, p := range r.columns {
		if !o.whole() {
			r.columns[i].text = squeeze(p.text, maxCell)
		}
		if p.text == "" && (i != colReason || o.Wide) && (i != colChanged || o.roomy()) {
			r.columns[i] = piece{"-", plain}
		}
	}
	return r
}

// works reports whether an open change is in a step of its work, such as the pull of an image. The step says more than
// the wait for its end.
func works(t *store.Summary) bool {
	return t.State() == span.Running && t.Current != "" && !span.IsReconcileName(t.Current)
}

// present adds the present state. Where lines are cut, it does not widen the column of outcomes.
func (r *listRow) present(now Present, o ListOptions) {
	if o.cuts() {
		r.reason = now.text(o) + ": " + escape(now.Reason)
		return
	}
	r.columns[colOutcome].text += " · " + now.text(o)
	switch {
	case o.Wide && r.columns[colReason].text == "":
		r.columns[colReason].text = escape(now.Reason)
	case !o.Wide && r.reason == "":
		r.reason = escape(now.Reason)
	}
}

// whenText returns the age or the time of the start. "~" marks the latest possible one.
func whenText(t *store.Summary, o ListOptions) string {
	switch {
	case t.Start.IsZero():
		return ""
	case o.Wide:
		return roughly(t) + t.Start.In(o.Now.Location()).Format(time.RFC3339)
	}
	return roughly(t) + duration.HumanDuration(max(0, o.Now.Sub(t.Start)))
}

// roughly marks times that depend on the latest possible start.
func roughly(t *store.Summary) string {
	if t.Earliest.IsZero() {
		return ""
	}
	return "~"
}

// whoText returns the user and the component. It omits the system account of a component, which
// only repeats the name.
func whoText(t *store.Summary, wide bool) string {
	user, actor := escape(t.User), escape(t.Actor)
	if !wide && actor != "" && strings.HasPrefix(user, "system:") {
		return actor
	}
	if user != "" && actor != "" && user != actor {
		return user + " (" + actor + ")"
	}
	return cmp.Or(user, actor, Unknown)
}

// Unknown stands for an author that nothing shows: without the audit log, that of a deletion, for example.
const Unknown = "unknown"

// persons returns shorter texts for the author: without the component, and without the domain of an address.
func persons(t *store.Summary) []string {
	user := escape(t.User)
	if user == "" || strings.HasPrefix(user, "system:") {
		return nil
	}
	out := []string{user}
	if at := strings.LastIndexByte(user, '@'); at > 0 {
		out = append(out, user[:at])
	}
	return out
}

// objects returns shorter texts for an action: with kubectl's short name of the kind, and without the namespace.
func objects(t *store.Summary, o ListOptions) []string {
	if t.Command != "" || t.Verb == "" {
		return nil
	}
	head := escape(t.Verb) + " " + escape(cmp.Or(kind.Of(t.Object.Group, t.Object.Kind.Kind).Short, t.Object.Kind.Kind))
	return []string{
		join([]string{head, objectName(t.Object, t.Object.Namespace != o.Namespace)}, " "),
		join([]string{head, objectName(t.Object, false)}, " "),
	}
}

// whatText returns the command, or the action and its object.
func whatText(t *store.Summary, o ListOptions) string {
	if what := escape(t.Command); what != "" {
		return what
	}
	done := escape(t.Name)
	if t.Verb != "" {
		done = escape(t.Verb) + " " + escape(t.Object.Kind.Kind)
	}
	return join([]string{done, objectName(t.Object, t.Object.Namespace != o.Namespace)}, " ")
}

// healsText marks healing traces.
func healsText(t *store.Summary, o ListOptions) string {
	switch {
	case t.Heals == "":
		return ""
	case o.Wide:
		return " (healing: the cluster reacted to " + escape(t.Heals) + ")"
	}
	return " (healing)"
}

// fightText marks changes in a fight.
func fightText(t *store.Summary, o ListOptions) string {
	switch {
	case t.Fight == "":
		return ""
	case o.Wide:
		return " (fights over " + escape(t.Fight) + ")"
	}
	return " (fight)"
}

// wasText marks traces whose outcome was another one before.
func wasText(t *store.Summary, o ListOptions) string {
	switch {
	case t.Was == "":
		return ""
	case o.Wide && !t.SettledAt.IsZero():
		until := t.SettledAt.In(o.Now.Location()).Format(time.RFC3339)
		return " (" + recovered(t) + "was " + escape(string(t.Was)) + " until " + until + ")"
	case t.Recovered():
		return " (recovered)"
	}
	return " (was " + escape(string(t.Was)) + ")"
}

// recovered begins the remark on a claim that made the outcome a good one.
func recovered(t *store.Summary) string {
	if !t.Recovered() {
		return ""
	}
	return string(span.Recovered) + ": "
}

// worseText marks changes with an aftermath where the column of outcomes has no room for it.
func worseText(t *store.Summary, o ListOptions) string {
	if t.Aftermath == nil || o.roomy() {
		return ""
	}
	return " (" + span.ThenWorse + ")"
}

// pinnedText marks traces that retention keeps.
func pinnedText(t *store.Summary) string {
	if !t.Pinned {
		return ""
	}
	return " (pinned)"
}

func outcomePiece(t *store.Summary, o ListOptions) piece {
	state := t.State()
	if t.Aftermath != nil && o.roomy() {
		return piece{escape(string(state)) + ", " + span.ThenWorse, yellow}
	}
	return piece{escape(string(state)), stateStyle(state)}
}

// stateStyle returns the colour of a state.
func stateStyle(s span.State) style {
	switch s {
	case span.Stuck, span.State(span.Failed), span.State(span.Refused):
		return red
	case span.Running, span.Held, span.State(span.Unfinished):
		return yellow
	case span.State(span.Converged):
		return green
	}
	return dim
}

// shareText returns the slowest work's share of the whole.
func shareText(t *store.Summary) string {
	if t.Slowest == "" || t.Duration <= 0 {
		return ""
	}
	return fmt.Sprintf(" %d%%", min(100, max(0, 100*t.SlowestDuration/t.Duration)))
}
