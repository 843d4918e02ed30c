// SPDX-License-Identifier: Apache-2.0

// Package welcome is `lifeline` without a command: the cluster of the kubeconfig, the server of that cluster, and a
// few commands that fit.
package welcome

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
)

// Patience bounds the wait for the cluster and the server.
const Patience = time.Second

// Welcome prints what to try.
type Welcome struct {
	cli.Options

	// Name is the name of the program: lifeline, or kubectl lifeline.
	Name string
	// Broken is the reason why the kubeconfig cannot be used; nil without one.
	Broken error
	// Patience bounds the wait; 0 means Patience.
	Patience time.Duration
}

// found is the state of the cluster and of its server.
type found struct {
	// version is the version of Kubernetes; silent is the error of a cluster without an answer.
	version string
	silent  error
	// server is the URL of the server, or its place; empty without one. held describes its data.
	server, held string
	namespaces   []string
	// notes are the messages of the search for a server.
	notes []string
}

// Run implements the command. It never waits longer than its patience, whatever a credential plugin does.
func (w *Welcome) Run(ctx context.Context) (int, error) {
	if w.Patience == 0 {
		w.Patience = Patience
	}
	ctx, cancel := context.WithTimeout(ctx, w.Patience)
	defer cancel()
	f := found{silent: fmt.Errorf("no answer within %s", w.Patience)}
	if w.Kubeconfig != nil {
		cluster, server := make(chan found, 1), make(chan found, 1)
		go func() { cluster <- w.cluster(ctx) }()
		go func() { server <- w.server(ctx) }()
		for range 2 {
			select {
			case c := <-cluster:
				f.version, f.silent = c.version, c.silent
			case s := <-server:
				f.server, f.held, f.namespaces, f.notes = s.server, s.held, s.namespaces, s.notes
			case <-ctx.Done():
			}
		}
	}
	if err := w.print(w.Streams.Out, f); err != nil {
		return cli.CodeError, err
	}
	return cli.CodeOK, nil
}

// cluster asks the API server for its version.
func (w *Welcome) cluster(ctx context.Context) (f found) {
	config := rest.CopyConfig(w.Kubeconfig.Current())
	config.UserAgent, config.NegotiatedSerializer = w.UserAgent(), scheme.Codecs.WithoutConversion()
	api, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		f.silent = err
		return f
	}
	doc, err := api.Get().AbsPath("/version").Do(ctx).Raw()
	var version struct{ GitVersion string }
	var failed *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		f.silent = fmt.Errorf("no answer within %s", w.Patience)
	case errors.As(err, &failed):
		f.silent = failed.Err
	case apierrors.IsForbidden(err): // it answers
	case err != nil:
		f.silent = err
	case json.Unmarshal(doc, &version) == nil:
		f.version = version.GitVersion
	}
	return f
}

// server looks for the server of the cluster.
func (w *Welcome) server(ctx context.Context) (f found) {
	var said bytes.Buffer
	o := w.Options
	o.Streams.ErrOut, o.Everywhere = &said, false
	s, err := o.Connect(ctx, cli.Server{})
	if err != nil {
		f.notes = append(f.notes, cli.OneLine(err))
	}
	for line := range strings.Lines(said.String()) {
		f.notes = append(f.notes, strings.TrimPrefix(strings.TrimSpace(line), "lifeline: "))
	}
	if s == nil {
		return f
	}
	defer s.Close()
	if f.server, f.namespaces = s.Server(), s.About.Namespaces; s.Through() {
		f.server = "in the cluster"
	}
	changes := "changes"
	if s.About.Stats.Traces == 1 {
		changes = "change"
	}
	f.held = fmt.Sprintf("%d %s, %d open", s.About.Stats.Traces, changes, s.About.Stats.Open)
	return f
}

// print writes the state and what to try.
func (w *Welcome) print(out io.Writer, f found) error {
	var b strings.Builder
	b.WriteString("Lifeline shows everything that a change does in a Kubernetes cluster, as one trace.\n\n")
	try := w.state(&b, f)
	b.WriteString("\nTry:\n")
	try = append(try, [2]string{"--help", "all commands"})
	width := 0
	for _, t := range try {
		width = max(width, len(t[0]))
	}
	for _, t := range try {
		fmt.Fprintf(&b, "  %s %-*s  %s\n", w.Name, width, t[0], t[1])
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// state writes the state, and returns the commands that fit.
func (w *Welcome) state(b *strings.Builder, f found) [][2]string {
	if w.Kubeconfig == nil {
		why := "there is none: set KUBECONFIG, or have one at ~/.kube/config"
		if w.Broken != nil {
			why = cli.OneLine(w.Broken)
		}
		fmt.Fprintf(b, "kubeconfig  %s\n", why)
		b.WriteString("            a cluster on this machine: kind create cluster, or minikube start\n")
		return [][2]string{
			{"replay FILE", "a recording of a cluster, as a tree"},
			{"ui --server URL", "the page of a server elsewhere"},
		}
	}
	namespace := cli.Shown(w.Kubeconfig.Namespace())
	fmt.Fprintf(b, "context  %s, namespace %s\n", cli.Shown(w.Kubeconfig.Context()), namespace)
	host := cli.Shown(w.Kubeconfig.Current().Host)
	switch {
	case f.silent != nil:
		fmt.Fprintf(b, "cluster  %s does not answer: %s\n", host, cli.OneLine(f.silent))
	default:
		fmt.Fprintf(b, "cluster  %s %s\n", host, cli.Shown(f.version))
	}
	if f.server == "" {
		b.WriteString("server   none, on this machine or in the cluster\n")
	} else {
		fmt.Fprintf(b, "server   %s: %s\n", cli.Shown(f.server), f.held)
	}
	for _, note := range f.notes {
		fmt.Fprintf(b, "         %s\n", note)
	}
	switch {
	case f.server != "":
		all := " -A"
		if len(f.namespaces) > 0 {
			all = ""
		}
		return [][2]string{
			{"ui", "the page of the server, in a browser"},
			{"ls" + all, "recent changes"},
			{"why" + all, "what is broken now"},
			{"watch" + all, "changes as they happen"},
			{"run -- kubectl apply -f app.yaml", "one change, and all that it sets off"},
		}
	case f.silent != nil:
		return [][2]string{{"ui --context NAME", "live changes of another cluster on a page"}}
	}
	return [][2]string{
		{"ui", "live changes on a page; -A: of all namespaces"},
		{"run -- kubectl apply -f app.yaml", "one change, and all that it sets off"},
		{"why -A", "what is broken now"},
		{"install", "a server in the cluster, which traces all changes"},
		{"doctor", "what this cluster offers, and how to get the rest"},
	}
}
