// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/answer"
	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Why says in a sentence how an object is, and why: `lifeline why`.
type Why struct {
	Trace

	// incomplete says why the server may lack traces of the object; empty if it does not.
	incomplete string
	// state returns the present state of all objects; nil means that the object and its relatives are read.
	state func(ctx context.Context) (*present, error)
}

// explained is the JSON document.
type explained struct {
	Answers    []answer.Answer `json:"answers"`
	Incomplete string          `json:"incomplete,omitempty"`
}

// WhyOutputs returns the output formats, the default first.
func WhyOutputs() []string {
	return []string{textOutput, OutputWide, cli.OutputJSON, cli.OutputYAML, cli.OutputName}
}

const textOutput = "text"

// maxAnswers is the number of changes of one object that are explained, and maxBlamed the number of
// writes of an object that are searched for the cause of a reason.
const (
	maxAnswers = 5
	maxBlamed  = 500
)

// Validate returns an error for invalid options. It sends no request.
func (w *Why) Validate() error {
	if err := cli.CheckOutput(w.Output, WhyOutputs()); err != nil {
		return err
	}
	return cli.CheckTarget(w.Name)
}

// Run prints the answers: for the last change of the object, and for its other changes that are stuck.
// The exit code is that of the worst answer.
func (w *Why) Run(ctx context.Context) (int, error) {
	answers, now, err := w.answers(ctx)
	if err != nil {
		return cli.CodeError, err
	}
	if err := w.print(answers, now); err != nil {
		return cli.CodeError, fmt.Errorf("cannot print the answer: %w", err)
	}
	return worst(answers), nil
}

// print writes answers in the selected format. The format of names has the objects with something wrong.
func (w *Why) print(answers []answer.Answer, now time.Time) error {
	out := w.Streams.Out
	switch w.Output {
	case cli.OutputJSON:
		return writeIndented(out, explained{Answers: answers, Incomplete: w.incomplete})
	case cli.OutputYAML:
		return cli.WriteYAML(out, explained{Answers: answers, Incomplete: w.incomplete})
	case cli.OutputName:
		var objects []object.Ref
		for i := range answers {
			if worst(answers[i:i+1]) != cli.CodeOK {
				objects = append(objects, answers[i].Object)
			}
		}
		return printNames(out, objects)
	}
	for i := range answers {
		if _, err := fmt.Fprint(out, answers[i].Text(now, w.Namespace)); err != nil {
			return err
		}
	}
	return nil
}

// worst returns the exit code for the worst answer.
func worst(answers []answer.Answer) int {
	code := cli.CodeOK
	for _, a := range answers {
		switch {
		case a.State == answer.State(span.Failed), a.Lost():
			return cli.CodeFailed
		case a.State.Bad():
			code = cli.CodeUnsettled
		case a.State == answer.Refused && len(answers) == 1:
			return cli.CodeFailed // nothing else is known of the object
		}
	}
	return code
}

// answers returns at least one answer, that for the last change first, and the time of the answers.
func (w *Why) answers(ctx context.Context) ([]answer.Answer, time.Time, error) {
	server, err := w.Connect(ctx, w.Server)
	if err != nil {
		return nil, time.Time{}, err
	}
	target, err := w.Target(w.Name, server == nil)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("cannot explain %s: %w", cli.Shown(w.Name), err)
	}
	if server != nil {
		defer server.Close()
	}
	return w.of(ctx, server, target)
}

// of returns the answers about the target. The server may be nil.
func (w *Why) of(ctx context.Context, server *cli.Session, target cli.Target) ([]answer.Answer, time.Time, error) {
	if server == nil {
		return w.present(ctx, target)
	}
	found, err := collect(ctx, server.Client, client.Query{Object: target.Ref(w.Namespace)}, lookBack)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("cannot look for traces of %s: %w", w.where(target), err)
	}
	found.note(&w.Options)
	w.incomplete = found.Incomplete
	touching := found.Traces
	refused, touching, err := w.refused(ctx, server, target, touching)
	if err != nil {
		return nil, time.Time{}, err
	}
	answers, now, err := w.ofObject(ctx, server, target, touching)
	if len(refused) > 0 && (err != nil || len(answers) == 0) {
		return refused, later(now, server.About.AsOf), nil //nolint:nilerr // the object does not exist
	}
	return append(refused, answers...), now, err
}

// ofObject returns the answers about the object itself: by the server's traces with it, and by its present state.
func (w *Why) ofObject(
	ctx context.Context, server *cli.Session, target cli.Target, touching []api.Summary,
) ([]answer.Answer, time.Time, error) {
	answers, now, err := w.served(ctx, server, target, touching)
	if err != nil {
		return nil, time.Time{}, err
	}
	if len(answers) > 0 {
		p := problemOf(ctx, server, answers[0].Object, w.Beside(besidePatience))
		recount(&answers[0], p)
		defer func() { lasting(&answers[0], p) }()
	}
	switch {
	case w.Kubeconfig == nil && len(answers) == 0:
		return nil, time.Time{}, fmt.Errorf("the server at %s has no trace of %s", server.Server(), w.where(target))
	case w.Kubeconfig == nil, len(answers) > 0 && final(&answers[0], target):
		return answers, now, nil
	}
	// The last change has ended; something may be wrong since then.
	present, _, err := w.present(ctx, target)
	if len(answers) == 0 {
		return present, now, err
	}
	if err == nil {
		answers[0] = renewed(&answers[0], present[0], target)
	}
	blame(ctx, server, &answers[0])
	return answers, now, nil
}

// besidePatience bounds a request whose answer only completes another one.
const besidePatience = time.Second

// problemOf returns the problem of an object; nil without one, or without an answer of the server in that time.
func problemOf(
	ctx context.Context, server *cli.Session, of object.Ref, patience time.Duration,
) *problem.Problem {
	if of.UID == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	list, err := server.Problems(ctx, client.ProblemQuery{Object: object.Ref{UID: of.UID}, Limit: 1})
	if err != nil || len(list.Problems) == 0 {
		return nil
	}
	return &list.Problems[0]
}

// recount gives the answer about a change that has ended the reason of the problem of its object, with its counts of
// today: that of a trace stands still.
func recount(a *answer.Answer, p *problem.Problem) {
	if p != nil && a.State.Bad() && !a.End.IsZero() && p.Category == a.Category && p.Object.UID == a.Object.UID {
		a.Reason = p.Reason
	}
}

// lasting gives the answer the age of the problem of its object, if that is older: a retry, or the end of a change,
// does not begin it again.
func lasting(a *answer.Answer, p *problem.Problem) {
	if p != nil && a.State.Bad() && p.Category == a.Category &&
		(a.Since.IsZero() && !p.Before || p.Since.Before(a.Since)) {
		a.Since = p.Since
	}
}

// renewed returns the answer a, by the trace of the last change of the target, as the present state of the target
// completes it: that of a trace stands still when the change has ended.
func renewed(a *answer.Answer, present answer.Answer, target cli.Target) answer.Answer {
	out := *a
	switch {
	case present.State.Bad() && (!a.State.Bad() || vague(a, target) && present.Category != a.Category):
		out = present
		out.Cause, out.Start, out.Later, out.Aftermath = a.Cause, a.Start, true, a.Aftermath
		if a.End.IsZero() && a.Category != "" { // not an ordinary wait of a run
			out.Since, out.Later = a.Since, false
		}
	case present.State.Bad() && present.Category != "" && present.Category == a.Category && !a.End.IsZero():
		out.Reason = present.Reason // with its counts of today
	case present.State == answer.Held && !a.State.Bad():
		out = present
		out.Cause, out.Start, out.Later, out.Aftermath = a.Cause, a.Start, true, a.Aftermath
	case present.Note != "" && !a.State.Bad():
		out.Note, out.Category, out.Fields, out.Since = present.Note, present.Category, present.Fields, present.Since
		out.Later = true
	}
	return out
}

// maxRefused is the number of refused requests in a row that are left out.
const maxRefused = 20

// refused returns the answer about the last request for the object, if it was refused, and the traces without
// the last refused ones.
func (w *Why) refused(
	ctx context.Context, server *cli.Session, target cli.Target, touching []api.Summary,
) (refused []answer.Answer, rest []api.Summary, err error) {
	rest = touching
	for n := 0; len(rest) > 0 && n < maxRefused; n++ {
		best, err := w.best(ctx, server, rest, target)
		if err != nil {
			return nil, nil, err
		}
		if o := rest[best].Outcome; !o.InVain() && o != span.Unfinished && o != "" {
			break
		}
		why, err := server.Why(ctx, rest[best].TraceID, target.Ref(w.Namespace))
		if err != nil {
			return nil, nil, fmt.Errorf("cannot ask why of trace %s: %w", rest[best].TraceID, err)
		}
		if why.Answer.State != answer.Refused {
			break
		}
		if refused == nil {
			refused = []answer.Answer{why.Answer}
		}
		rest = slices.Delete(slices.Clone(rest), best, best+1)
	}
	return refused, rest, nil
}

// blame names the newest change of the fields that led to the answer's reason, if the reason has some and the server
// knows that change. Without it, the answer stays as it is.
func blame(ctx context.Context, server *cli.Session, a *answer.Answer) {
	var newest *api.Write
	for _, f := range a.Fields {
		if f.Of.Name == "" {
			f.Of = a.Object
		}
		page, err := server.Writes(ctx, client.WriteQuery{Object: f.Of, Limit: maxBlamed})
		if err != nil {
			return
		}
		i := slices.IndexFunc(page.Writes, func(of api.Write) bool {
			return of.MoreChanges > 0 || changes(&of, f)
		})
		switch {
		case i < 0:
		case !changes(&page.Writes[i], f):
			return // the field may be among its further changes
		case newest == nil, page.Writes[i].Start.After(newest.Start):
			newest = &page.Writes[i]
		}
	}
	if newest == nil {
		return
	}
	doc, err := server.Trace(ctx, newest.TraceID)
	if err != nil {
		return // it is gone
	}
	of := answer.Explain(doc.Trace, newest.Object, doc.Summary.AsOf)
	of.Cause.Verb = doc.Summary.Verb // the document of a trace has no writes
	a.Cause, a.Start, a.Later, a.Since = of.Cause, newest.Start, false, newest.Start
}

// vague reports whether the present state may say more than the answer. An ordinary wait of a run of a
// schedule hides the state of the schedule itself. An Ingress without an address may name a Service that
// does not exist. A definition in deletion waits for the objects of its kind. At a progress deadline, the Pods may have
// had no reason yet.
func vague(a *answer.Answer, target cli.Target) bool {
	switch {
	case a.State == answer.State(span.Deleted):
		return false
	case a.Category == string(reason.ProgressDeadline):
		return true
	case target.Kind == kind.Ingress.GroupKind():
		return a.Category == string(reason.LoadBalancer)
	case target.Kind == kind.CustomResourceDefinition.GroupKind():
		return a.Category == string(reason.Finalizer)
	}
	return kind.Of(target.Kind.Group, target.Kind.Kind).Schedule && a.Category == ""
}

// final reports whether the present state of the object adds nothing to the answer.
func final(a *answer.Answer, target cli.Target) bool {
	return a.State == answer.State(span.Deleted) || a.End.IsZero() && !vague(a, target)
}

// listKey is the key of a list item in a path.
var listKey = regexp.MustCompile(`\[[^]]*=[^]]*\]`)

// changes reports whether the write created the object, or changed the field or one below it. The field is without
// the keys of list items.
func changes(w *api.Write, field reason.Field) bool {
	return w.Verb == "create" && !field.Changed || slices.ContainsFunc(w.Changes, func(c api.FieldChange) bool {
		rest, below := strings.CutPrefix(listKey.ReplaceAllString(c.Path, ""), field.Path)
		return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// served returns the answers of a server, that for the last change first. There are none if it has no
// trace of the target. touching are its traces with the target.
func (w *Why) served(
	ctx context.Context, server *cli.Session, target cli.Target, touching []api.Summary,
) ([]answer.Answer, time.Time, error) {
	now := server.About.AsOf
	if len(touching) == 0 {
		return nil, now, nil
	}
	best, err := w.best(ctx, server, touching, target)
	if err != nil {
		return nil, now, err
	}
	wanted := []string{touching[best].TraceID}
	for i, s := range touching {
		if i != best && s.Open && len(wanted) < maxAnswers {
			wanted = append(wanted, s.TraceID)
		}
	}
	var answers []answer.Answer
	for i, id := range wanted {
		why, err := server.Why(ctx, id, target.Ref(w.Namespace))
		if err != nil {
			return nil, now, fmt.Errorf("cannot ask why of trace %s: %w", id, err)
		}
		now = later(why.AsOf, now)
		a := why.Answer
		a.Begins = seenSince(server.About)
		told := slices.ContainsFunc(answers, func(b answer.Answer) bool { return b.Cause.TraceID == a.Cause.TraceID })
		if i == 0 || a.State.Bad() && !told {
			answers = append(answers, a)
		}
	}
	return answers, now, nil
}

// present returns the answer by the present state of the object and its relatives.
func (w *Why) present(ctx context.Context, target cli.Target) ([]answer.Answer, time.Time, error) {
	if w.state != nil {
		return w.presentAmong(ctx, target)
	}
	p := pipeline.NewDisplay(w.Options, "")
	defer p.View.Close()
	traces, standing, now, err := w.rebuilt(ctx, p, target)
	if err != nil {
		return nil, now, err
	}
	return []answer.Answer{explainPresent(traces[0], standing, target, w.Namespace, now)}, now, nil
}

// explainPresent returns the answer by a trace of the present state, which no server has. The reason is for a
// converged target that does not work.
func explainPresent(
	t *span.Trace, standing reason.Reason, target cli.Target, namespace string, now time.Time,
) answer.Answer {
	a := answer.Explain(t, target.Ref(namespace), now)
	if standing.Text != "" && (a.Category == "" || vague(&a, target)) {
		a.Stand(standing)
	}
	a.Cause.TraceID = ""
	return a
}

// presentAmong is present by the state of all objects.
func (w *Why) presentAmong(ctx context.Context, target cli.Target) ([]answer.Answer, time.Time, error) {
	state, err := w.state(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	traces, standing := state.of(target.Ref(w.Namespace))
	if len(traces) == 0 {
		return nil, state.now, fmt.Errorf(
			"no history can be rebuilt from %s: only a server that watched it has one (lifeline serve)",
			w.where(target),
		)
	}
	return []answer.Answer{explainPresent(traces[0], standing, target, w.Namespace, state.now)}, state.now, nil
}
