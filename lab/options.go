// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/kube-lifeline/lifeline/lab/internal/build"
)

// NodeMode is the implementation of a cluster's nodes.
type NodeMode string

const (
	// NodesKWOK fakes nodes and the life of their Pods, without root. It is
	// what an empty NodeMode means.
	NodesKWOK NodeMode = "kwok"
	// NodesReal runs a kubelet with containerd and runc, and a registry of the
	// cluster's own. It needs root.
	NodesReal NodeMode = "real"
	// NodesNone leaves the cluster without nodes: every Pod stays pending.
	NodesNone NodeMode = "none"
)

// Options describe a cluster. The zero value is a cluster of one KWOK node in a temporary
// directory.
type Options struct {
	// Name identifies the cluster: lower-case letters, digits and dashes, at
	// most 32. Empty means a random one.
	Name string
	// Dir is the absolute path of the cluster's directory. Empty means a
	// temporary one, which Stop removes; a directory that was named is kept.
	Dir string

	// Version is the minor version of Kubernetes, one of Versions. Empty means the environment
	// variable VersionEnv, or else the newest.
	Version string

	// Nodes is the implementation of the nodes, NodeCount their number; zero means one. NodesReal
	// has exactly one.
	Nodes     NodeMode
	NodeCount int
	// KWOK sets how fake Pods behave under NodesKWOK.
	KWOK KWOKOptions
	// PullBandwidth limits what the registry of NodesReal sends, in bytes a
	// second over all connections. Zero means no limit.
	PullBandwidth int64

	// AuditPolicy is the text of an audit.k8s.io/v1 Policy. Empty means the
	// one that package audit needs: every write but Leases and Events with
	// its body, and no read. The log is always written, see AuditLog.
	AuditPolicy string
	// AuditWebhook is the URL of a further sink for audit batches.
	AuditWebhook string

	// Scheduler is the absolute path of a program in place of the version's kube-scheduler, with the
	// same flags. Empty means kube-scheduler.
	Scheduler string

	// Tracing sends a component's own spans to an OTLP endpoint. It may name
	// those that Traced lists; one that it does not name has no tracing
	// configuration at all. It may name Scheduler if Options.Scheduler sends spans.
	Tracing map[Component]Tracing
	// ExtraArgs are appended to a component's command line, and so win over
	// the lab's own flags: {"--kube-api-qps=100"}.
	ExtraArgs map[Component][]string

	// AddOns are what the cluster has beyond Kubernetes. Nothing of an add-on
	// is built or started for a cluster without it.
	AddOns []AddOn

	// Users are ordinary users, who have no permission until one is granted.
	Users []User

	// BeforeControllers, if set, runs when the API server is ready and before
	// the controller manager, the scheduler and the nodes start: the moment to
	// register a webhook that shall miss no write. An error ends the start.
	BeforeControllers func(ctx context.Context, c *Cluster) error

	// Detached lets the cluster outlive the process that started it; End, or
	// the command "lab down", ends it. All others die with their caller.
	Detached bool
	// Progress receives lines about the progress; nil means none.
	Progress io.Writer
}

// A User authenticates by a client certificate.
type User struct {
	Name   string
	Groups []string
}

// KWOKOptions set the pace of fake Pods. A Pod overrides each with the
// annotation named beside it, whose value is a duration such as "1.5s".
type KWOKOptions struct {
	Pull   time.Duration // lab.lifeline.dev/pull: an image pull; zero means 300ms
	Create time.Duration // lab.lifeline.dev/create: pulled to created; zero means 50ms
	Start  time.Duration // lab.lifeline.dev/start: created to started; zero means 50ms
	Ready  time.Duration // lab.lifeline.dev/ready: started to ready; zero means 200ms
}

func (o KWOKOptions) withDefaults() KWOKOptions {
	for value, def := range map[*time.Duration]time.Duration{
		&o.Pull:   300 * time.Millisecond,
		&o.Create: 50 * time.Millisecond,
		&o.Start:  50 * time.Millisecond,
		&o.Ready:  200 * time.Millisecond,
	} {
		if *value == 0 {
			*value = def
		}
	}
	return o
}

func (o Options) withDefaults() Options {
	o.Version = o.version()
	if o.Nodes == "" {
		o.Nodes = NodesKWOK
	}
	if o.NodeCount == 0 {
		o.NodeCount = 1
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	o.KWOK = o.KWOK.withDefaults()
	return o
}

var (
	namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)
	userPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$`)
)

// Validate reports everything that is wrong with the options, by field.
func (o Options) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if o.Name != "" && !namePattern.MatchString(o.Name) {
		bad("Name %q: want at most 32 lower-case letters, digits and inner dashes", o.Name)
	}
	if o.Dir != "" && !filepath.IsAbs(o.Dir) {
		bad("Dir %q: want an absolute path", o.Dir)
	}
	if _, err := build.Release(o.version()); err != nil {
		bad("Version (or %s): %w", VersionEnv, err)
	}
	switch o.Nodes {
	case "", NodesKWOK, NodesReal, NodesNone:
	default:
		bad("Nodes %q: want %s, %s or %s", o.Nodes, NodesKWOK, NodesReal, NodesNone)
	}
	if o.NodeCount < 0 || (o.Nodes == NodesReal && o.NodeCount > 1) {
		bad("NodeCount %d: want a positive number, and no more than 1 with real nodes", o.NodeCount)
	}
	if min(o.KWOK.Pull, o.KWOK.Create, o.KWOK.Start, o.KWOK.Ready) < 0 {
		bad("KWOK: a delay is negative")
	}
	if o.PullBandwidth < 0 {
		bad("PullBandwidth %d: negative", o.PullBandwidth)
	}
	if u, err := url.Parse(o.AuditWebhook); err != nil || (o.AuditWebhook != "" && u.Host == "") {
		bad("AuditWebhook %q: want a URL", o.AuditWebhook)
	}
	if o.Scheduler != "" && !filepath.IsAbs(o.Scheduler) {
		bad("Scheduler %q: want the absolute path of a program", o.Scheduler)
	}
	for component, t := range o.Tracing {
		if !slices.Contains(Traced(), component) && (component != Scheduler || o.Scheduler == "") {
			bad("Tracing: %s sends no spans", component)
		}
		if t.Endpoint == "" || t.SamplingRatePerMillion < 0 || t.SamplingRatePerMillion > EveryTrace {
			bad("Tracing of %s: want an endpoint and a rate from 0 to %d", component, EveryTrace)
		}
	}
	for component := range o.ExtraArgs {
		if !slices.Contains(components, component) {
			bad("ExtraArgs: no component %q", component)
		}
	}
	for _, a := range o.AddOns {
		if !slices.Contains(AddOns(), a) {
			bad("AddOns: no add-on %q: want some of %v", a, AddOns())
		}
		if a == Metrics && o.Nodes != NodesReal {
			bad("AddOns: %s needs Nodes %q", a, NodesReal)
		}
	}
	seen := map[string]bool{}
	for _, u := range o.Users {
		if !userPattern.MatchString(u.Name) || seen[u.Name] || u.Name == adminUser {
			bad("Users: name %q is malformed, taken or repeated", u.Name)
		}
		seen[u.Name] = true
	}
	if o.Detached && o.Dir == "" {
		bad("Dir: a detached cluster needs one, to be found again")
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("invalid options: %w", err)
	}
	return nil
}
