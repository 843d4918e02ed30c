// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// CompareOutputs returns the output formats of Compare and Regressions, the default first.
func CompareOutputs() []string {
	return []string{cli.OutputTable, OutputWide, cli.OutputJSON, cli.OutputYAML}
}

// Compare prints two traces, or two sets of lifecycles, phase by phase: `lifeline compare`.
type Compare struct {
	cli.Options
	Server cli.Server
	// Names are two traces by their IDs, two objects as KIND/NAME, or one object before and after a time.
	Names []string
	// Where and And are questions, in place of Names.
	Where, And string
	// Before is the end of the first set, and After the begin of the second one. One of them stands for both. Change
	// is the trace of a change in place of them. An object alone has its newest change.
	Before, After, Change string
	// Since and Until bound the starts.
	Since, Until string
	// Namespace is that of the objects, or of the lifecycles of questions; empty means all.
	Namespace string
}

// minTrace is the smallest number of digits of a trace ID.
const minTrace = 8

// AreTraces reports whether all arguments are trace IDs, or the beginnings of some.
func AreTraces(args []string) bool {
	return !slices.ContainsFunc(args, func(arg string) bool { return !isTrace(arg) })
}

// isTrace reports whether an argument is a trace ID, or the beginning of one.
func isTrace(arg string) bool {
	return len(arg) >= minTrace && len(arg) <= 32 && strings.Trim(strings.ToLower(arg), "0123456789abcdef") == ""
}

// Validate returns an error for invalid options. It sends no request.
func (c *Compare) Validate() error {
	if !slices.Contains(CompareOutputs(), c.Output) {
		return fmt.Errorf("unknown output %q: known are %s", c.Output, strings.Join(CompareOutputs(), ", "))
	}
	times := c.Before != "" || c.After != ""
	switch {
	case len(c.Names) > 2:
		return fmt.Errorf("there are %d things to compare: give two traces or objects", len(c.Names))
	case len(c.Names) > 0 && (c.Where != "" || c.And != ""):
		return errors.New("--where and --and are questions in place of names: give the ones or the others")
	case c.And != "" && c.Where == "":
		return errors.New("--and is the second question: --where gives the first one")
	case c.Change != "" && times:
		return errors.New("--change is in place of --before and --after: give the one or the others")
	case len(c.Names) == 2 && (times || c.Change != ""):
		return errors.New("--before, --after and --change divide one object or question: give one name")
	case len(c.Names) == 0 && c.Where == "":
		return errors.New("nothing to compare: give two traces, two objects, one object, or a question with --where")
	case len(c.Names) == 0 && c.And == "" && !times && c.Change == "":
		return errors.New(
			"nothing to compare with: give a second question with --and, or a time with --before and --after",
		)
	}
	traces := 0
	for _, name := range c.Names {
		if isTrace(name) {
			traces++
		} else if err := cli.CheckTarget(name); err != nil {
			return fmt.Errorf("%w, and no trace ID of at least %d digits", err, minTrace)
		}
	}
	if traces == 1 {
		return errors.New(
			"a trace goes with another trace, and an object with another object: lifeline ls lists traces",
		)
	}
	if traces == 2 && c.Since+c.Until != "" {
		return errors.New("--since and --until bound sets of lifecycles: two traces have none")
	}
	if _, err := c.times(); err != nil {
		return err
	}
	return checkRange(c.Since, c.Until, c.Time())
}

// times returns the query with its times.
func (c *Compare) times() (q client.Comparing, err error) {
	before, err := clockTime("--before", c.Before, c.Time())
	if err != nil {
		return q, err
	}
	after, err := clockTime("--after", c.After, c.Time())
	if err != nil {
		return q, err
	}
	if !before.IsZero() && !after.IsZero() && before.After(after) {
		return q, fmt.Errorf("--before %s --after %s: the first set must end before the second one begins",
			c.Before, c.After)
	}
	q.Before, q.From, q.Change = inAPI(before), inAPI(after), c.Change
	q.Since, q.Until = c.Since, c.Until
	return q, nil
}

// Run prints the comparison. It returns an error without a server.
func (c *Compare) Run(ctx context.Context) (code int, err error) {
	server, err := c.Need(ctx, c.Server)
	if err != nil {
		return cli.CodeError, err
	}
	defer server.Close()
	q, err := c.query(ctx, server)
	if err != nil {
		return cli.CodeError, err
	}
	found, err := server.Compare(ctx, q)
	switch {
	case pointOut(&c.Options, expressions{where: c.wrong(q, err)}, err):
		return cli.CodeError, nil
	case err != nil:
		return cli.CodeError, fmt.Errorf("cannot compare: %w", err)
	}
	if err := c.print(found); err != nil {
		return cli.CodeError, fmt.Errorf("cannot print the comparison: %w", err)
	}
	return cli.CodeOK, nil
}

// wrong returns the question that an error is about.
func (*Compare) wrong(q client.Comparing, err error) string {
	var fault *api.Error
	if errors.As(err, &fault) && fault.Parameter == "and" {
		return q.And
	}
	return q.Where
}

// query returns the request for the names, or for the questions.
func (c *Compare) query(ctx context.Context, server *cli.Session) (client.Comparing, error) {
	q, err := c.times()
	if err != nil {
		return q, err
	}
	if len(c.Names) == 2 && isTrace(c.Names[0]) {
		q.A, q.B = strings.ToLower(c.Names[0]), strings.ToLower(c.Names[1])
		return q, nil
	}
	if len(c.Names) == 0 {
		q.Where, q.And, q.Namespace = c.Where, c.And, c.Namespace
		return q, nil
	}
	for i, name := range c.Names {
		target, err := c.Target(name, false)
		if err != nil {
			return q, err
		}
		if target.Namespaced && c.Namespace == "" {
			return q, errNamespace(target)
		}
		where := questionAbout(target.Ref(c.Namespace))
		if i == 1 {
			q.And = where
			return q, nil
		}
		q.Where = where
		if len(c.Names) == 1 && q.Before == "" && q.From == "" && q.Change == "" {
			if q.Change, err = newestChange(ctx, server, target.Ref(c.Namespace)); err != nil {
				return q, err
			}
		}
	}
	return q, nil
}

// workloads are the kinds whose length is that of their Pods.
var workloads = []object.Kind{
	kind.Deployment.Kind, kind.StatefulSet.Kind, kind.DaemonSet.Kind, kind.Job.Kind, kind.CronJob.Kind,
}

// workloadOf returns an object as the field workload has it, if it is of a kind with Pods.
func workloadOf(o object.Ref) (string, bool) {
	is := slices.ContainsFunc(
		workloads,
		func(k object.Kind) bool { return k.Group == o.Group && k.Kind == o.Kind.Kind },
	)
	return o.Kind.Kind + "/" + o.Name, is
}

// questionAbout returns the question for the new Pods of a workload, or for an object of another kind.
func questionAbout(o object.Ref) string {
	conditions := []string{"kind == " + strconv.Quote(o.Kind.Kind), "name == " + strconv.Quote(o.Name)}
	if workload, is := workloadOf(o); is {
		conditions = []string{`kind == "Pod"`, "workload == " + strconv.Quote(workload), `verb == "create"`}
	}
	if o.Namespace != "" {
		conditions = append(conditions, "namespace == "+strconv.Quote(o.Namespace))
	}
	return strings.Join(conditions, " && ")
}

// newestChange returns the trace of the newest change of an object by people or programs.
func newestChange(ctx context.Context, server *cli.Session, o object.Ref) (string, error) {
	found, err := collect(ctx, server.Client, client.Query{Object: o}, lookBack)
	if err != nil {
		return "", fmt.Errorf("cannot look for changes of %s: %w", cli.Argument(o), err)
	}
	scaled := ""
	for _, t := range found.Traces {
		of := t.Object
		if of == nil || of.Kind.Kind != o.Kind.Kind || of.Name != o.Name || t.Heals != "" || len(t.Edits) == 0 {
			continue
		}
		if slices.ContainsFunc(t.Edits, func(edit string) bool { return !strings.HasPrefix(edit, "replicas ") }) {
			return t.TraceID, nil
		}
		scaled = cmp.Or(scaled, t.TraceID)
	}
	if scaled != "" { // it leaves the Pods as they are
		return scaled, nil
	}
	return "", fmt.Errorf("no change of %s is known: give a time with --before and --after, or a trace with --change",
		cli.Argument(o))
}
