// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Why says in a sentence how an object is, and why: `lifeline why`.
type Why struct {
	Trace
}

// WhyOutputs returns the output formats, the default first.
func WhyOutputs() []string { return []string{textOutput, cli.OutputJSON} }

const textOutput = "text"

// maxAnswers is the number of changes of one object that are explained.
const maxAnswers = 5

// Validate returns an error for invalid options. It sends no request.
func (w *Why) Validate() error {
	if !slices.Contains(WhyOutputs(), w.Output) {
		return fmt.Errorf("unknown output %q: known are %s and %s", w.Output, textOutput, cli.OutputJSON)
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
	if w.Output == cli.OutputJSON {
		enc := json.NewEncoder(w.Streams.Out)
		enc.SetIndent("", "  ")
		err = enc.Encode(map[string][]Answer{"answers": answers})
	} else {
		for _, a := range answers {
			_, failed := fmt.Fprint(w.Streams.Out, a.text(now, w.Namespace))
			err = errors.Join(err, failed)
		}
	}
	if err != nil {
		return cli.CodeError, fmt.Errorf("cannot print the answer: %w", err)
	}
	return worst(answers), nil
}

// worst returns the exit code for the worst answer.
func worst(answers []Answer) int {
	code := cli.CodeOK
	for _, a := range answers {
		switch {
		case a.State == State(span.Failed):
			return cli.CodeFailed
		case a.State.Bad():
			code = cli.CodeUnsettled
		}
	}
	return code
}

// answers returns at least one answer, that for the last change first, and the time of the answers.
func (w *Why) answers(ctx context.Context) ([]Answer, time.Time, error) {
	server, err := w.Connect(ctx, w.Server)
	if err != nil {
		return nil, time.Time{}, err
	}
	target, err := w.Target(w.Name, server == nil)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("cannot explain %s: %w", w.Name, err)
	}
	if server == nil {
		return w.present(ctx, target)
	}
	defer server.Close()
	answers, now, err := w.served(ctx, server, target)
	if err != nil {
		return nil, time.Time{}, err
	}
	switch {
	case w.Kubeconfig == nil && len(answers) == 0:
		return nil, time.Time{}, fmt.Errorf("the server at %s has no trace of %s", server.Server(), w.where(target))
	case w.Kubeconfig == nil, len(answers) > 0 && answers[0].final(target):
		return answers, now, nil
	}
	// The last change has ended; something may be wrong since then.
	present, _, err := w.present(ctx, target)
	if len(answers) == 0 {
		return present, now, err
	}
	if err == nil && present[0].State.Bad() && (!answers[0].State.Bad() || answers[0].ofRun(target)) {
		present[0].Cause = answers[0].Cause
		present[0].Start, present[0].Later = answers[0].Start, true
		answers[0] = present[0]
	}
	return answers, now, nil
}

// ofRun reports whether the answer is an ordinary wait of a run of a schedule. It hides the state of the
// schedule itself.
func (a *Answer) ofRun(target cli.Target) bool {
	return kind.Of(target.Kind.Group, target.Kind.Kind).Schedule && a.Category == "" && a.State != State(span.Deleted)
}

// final reports whether the present state of the object adds nothing to the answer.
func (a *Answer) final(target cli.Target) bool {
	return a.State == State(span.Deleted) || a.End.IsZero() && !a.ofRun(target)
}

// served returns the answers of a server, that for the last change first. There are none if it has no
// trace of the target.
func (w *Why) served(ctx context.Context, server *cli.Session, target cli.Target) ([]Answer, time.Time, error) {
	now := server.About.AsOf
	touching, _, err := collect(ctx, server.Client, client.Query{Object: target.Ref(w.Namespace)}, lookBack)
	if err != nil {
		return nil, now, fmt.Errorf("cannot look for traces of %s: %w", w.where(target), err)
	}
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
	var answers []Answer
	for i, id := range wanted {
		doc, err := server.Trace(ctx, id)
		if err != nil {
			return nil, now, fmt.Errorf("cannot get trace %s: %w", id, err)
		}
		now = later(doc.Summary.AsOf, now)
		if a := explain(doc.Trace, target.Ref(w.Namespace), now); i == 0 || a.State.Bad() {
			answers = append(answers, a)
		}
	}
	return answers, now, nil
}

// present returns the answer by the present state of the object and its relatives.
func (w *Why) present(ctx context.Context, target cli.Target) ([]Answer, time.Time, error) {
	p := pipeline.NewDisplay(w.Options, "")
	defer p.View.Close()
	traces, standing, now, err := w.rebuilt(ctx, p, target)
	if err != nil {
		return nil, now, err
	}
	a := explain(traces[0], target.Ref(w.Namespace), now)
	if a.Category == "" && standing.Text != "" {
		a.stand(standing)
	}
	a.Cause.TraceID = ""
	return []Answer{a}, now, nil
}
