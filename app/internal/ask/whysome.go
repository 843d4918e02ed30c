// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/answer"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// WhySome explains several objects, or all objects of kinds: `lifeline why deploy`.
type WhySome struct {
	// Why has the common options. Its Name is not used; an empty Namespace means all namespaces.
	Why Why
	// Names are objects as KIND/NAME, and Kinds are kinds. One of both is empty.
	Names, Kinds []string
	// Selector limits the objects of the kinds to those with these labels.
	Selector string
}

// maxExplained bounds the objects of one command: a server gets several requests for each.
const maxExplained = 200

// Validate returns an error for invalid options. It sends no request.
func (w *WhySome) Validate() error {
	if err := cli.CheckOutput(w.Why.Output, WhyOutputs()); err != nil {
		return err
	}
	for _, name := range w.Names {
		if err := cli.CheckTarget(name); err != nil {
			return err
		}
	}
	if len(w.Names) > maxExplained {
		return fmt.Errorf("%d objects: at most %d are explained at once", len(w.Names), maxExplained)
	}
	return checkSelector(w.Selector)
}

// result is what is known of one object.
type result struct {
	target    cli.Target
	namespace string
	answers   []answer.Answer
	now       time.Time
	code      int
	err       error
}

// Run prints the answers, those about objects with something wrong first. The exit code is that of the worst answer,
// or CodeError if an object has none.
func (w *WhySome) Run(ctx context.Context) (int, error) {
	server, err := w.Why.Connect(ctx, w.Why.Server)
	if err != nil {
		return cli.CodeError, err
	}
	if server != nil {
		defer server.Close()
	}
	results, err := w.targets(ctx, server == nil)
	if err != nil {
		return cli.CodeError, err
	}
	for i := range results {
		r := &results[i]
		if r.err != nil {
			continue
		}
		one := w.Why
		one.Name, one.Namespace = r.target.Kind.Kind+"/"+r.target.Name, r.namespace
		r.answers, r.now, r.err = one.of(ctx, server, r.target)
		r.code = worst(r.answers)
		w.Why.incomplete = cmp.Or(w.Why.incomplete, one.incomplete)
		if r.err != nil && ctx.Err() != nil {
			return cli.CodeError, r.err
		}
	}
	if len(results) == 0 {
		if err := checkNamespace(ctx, &w.Why.Options, w.Why.Namespace); err != nil {
			return cli.CodeError, err
		}
		w.Why.Say("%s", w.nothing())
	}
	slices.SortStableFunc(results, func(a, b result) int {
		return cmp.Or(cmp.Compare(b.code, a.code), a.begin().Compare(b.begin()))
	})
	return w.conclude(results)
}

// nothing returns the message about kinds without an object.
func (w *WhySome) nothing() string {
	text := "there is no object of kind " + cli.Shown(strings.Join(w.Kinds, ","))
	if w.Selector != "" {
		text += " with labels " + cli.Shown(w.Selector)
	}
	if w.Why.Namespace != "" {
		text += " in namespace " + cli.Shown(w.Why.Namespace) + "; -A looks at every namespace"
	}
	return text
}

// begin returns the time from which something is wrong; zero if nothing is.
func (r *result) begin() time.Time {
	if r.code == cli.CodeOK || len(r.answers) == 0 {
		return time.Time{}
	}
	a := &r.answers[len(r.answers)-1]
	if a.Since.IsZero() {
		return a.Start
	}
	return a.Since
}

// targets returns the objects to explain. strict is that of Options.Target.
func (w *WhySome) targets(ctx context.Context, strict bool) ([]result, error) {
	var out []result
	for _, name := range w.Names {
		target, err := w.Why.Target(name, strict)
		if err != nil {
			err = fmt.Errorf("cannot explain %s: %w", cli.Shown(name), err)
		}
		out = append(out, result{target: target, namespace: w.Why.Namespace, err: err})
	}
	for _, of := range w.Kinds {
		some, err := w.ofKind(ctx, of)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	if len(out) > maxExplained {
		return nil, &tooManyError{maxExplained}
	}
	return out, nil
}

// ofKind returns the objects of a kind. Their present state is read once for all.
func (w *WhySome) ofKind(ctx context.Context, of string) ([]result, error) {
	target, err := w.Why.Target(of+"/*", false)
	if err != nil {
		return nil, fmt.Errorf("cannot explain %s: %w", cli.Shown(of), err)
	}
	resource := target.Resource
	if resource.Resource == "" {
		resource = kind.Of(target.Kind.Group, target.Kind.Kind).GroupVersionResource()
	}
	found, err := listed(ctx, &w.Why.Options, []schema.GroupVersionResource{resource},
		target.Ref(w.Why.Namespace).Namespace, w.Selector, maxExplained)
	var many *tooManyError
	switch {
	case errors.As(err, &many):
		return nil, fmt.Errorf("%w; \"lifeline why -A\" lists what is broken among all", err)
	case err != nil:
		return nil, fmt.Errorf("cannot explain %s: %w", cli.Shown(of), err)
	}
	if w.Why.state == nil {
		w.readOnce(target)
	}
	var out []result
	for i := range found {
		one := target
		one.Name = found[i].name
		out = append(out, result{target: one, namespace: cmp.Or(found[i].namespace, w.Why.Namespace)})
	}
	return out, nil
}

// readOnce lets the answers share one read of the present state.
func (w *WhySome) readOnce(target cli.Target) {
	scope := watch.Scope{}
	if target.Namespaced && w.Why.Namespace != "" {
		scope.Namespaces = []string{w.Why.Namespace}
	}
	var once sync.Once
	var state *present
	var err error
	w.Why.state = func(ctx context.Context) (*present, error) {
		once.Do(func() { state, err = readPresent(ctx, &w.Why.Options, scope) })
		return state, err
	}
}

// conclude prints the results, and the errors of objects without an answer.
func (w *WhySome) conclude(results []result) (int, error) {
	code, failed := cli.CodeOK, false
	var all []answer.Answer
	var bad []object.Ref
	for i := range results {
		r := &results[i]
		all = append(all, r.answers...)
		switch {
		case r.err != nil:
			failed = true
		case r.code != cli.CodeOK:
			code = max(code, r.code)
			bad = append(bad, r.answers[len(r.answers)-1].Object)
		}
	}
	var err error
	switch w.Why.Output {
	case cli.OutputJSON, cli.OutputYAML:
		if all == nil {
			all = []answer.Answer{}
		}
		err = w.Why.print(all, w.Why.Time())
	case cli.OutputName:
		err = printNames(w.Why.Streams.Out, bad)
	default:
		err = w.printTexts(results)
	}
	if err != nil {
		return cli.CodeError, fmt.Errorf("cannot print the answers: %w", err)
	}
	for i := range results {
		if err := results[i].err; err != nil {
			w.Why.Say("%s", cli.OneLine(err))
		}
	}
	if failed {
		return cli.CodeError, nil
	}
	return code, nil
}

// printTexts writes the whole answer about each object with something wrong, and the first line about each other one.
func (w *WhySome) printTexts(results []result) error {
	whole := 0
	for i := range results {
		r := &results[i]
		if r.err != nil {
			continue
		}
		var text strings.Builder
		for k := range r.answers {
			text.WriteString(r.answers[k].Text(r.now, w.Why.Namespace))
		}
		out := text.String()
		if r.code == cli.CodeOK && len(r.answers) == 1 {
			if out = firstLine(&r.answers[0], out); whole > 0 {
				out, whole = "\n"+out, 0
			}
		} else if whole++; i > 0 {
			out = "\n" + out
		}
		if _, err := fmt.Fprint(w.Why.Streams.Out, out); err != nil {
			return err
		}
	}
	return nil
}

// firstLine returns the answer about an object without a reason in one line.
func firstLine(a *answer.Answer, text string) string {
	lines := strings.SplitN(text, "\n", 3)
	if a.Note != "" && len(lines) > 1 {
		return lines[0] + " " + lines[1] + "\n"
	}
	return lines[0] + "\n"
}
