// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/placed"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
)

// failing returns the problem of top, an object without its desired state whose controller has its own. It is nil for
// an ordinary wait.
func (p *problems) failing(top *off) *problem.Failing {
	blamed := p.worst(top)
	if blamed.weight() == 0 {
		return nil
	}
	r := blamed.reason
	f := &problem.Failing{
		Object: top.t.Ref, Root: p.root(top.t), Category: string(r.Category), Text: r.Text, Onset: top.onset,
		At: blamed.at, Next: r.Next(blamed.t.Ref), Rank: rank(&r), Lasting: blamed.lasting(),
		Vague: r.Category == "" || slices.Contains(vague, r.Category), Cause: p.cause(top),
	}
	switch {
	case named(r.At):
		f.Blamed = &r.At
	case blamed != top:
		f.Blamed = &blamed.t.Ref
	}
	p.group(f, blamed)
	return f
}

// The ranks of problems, the worst last.
const (
	rankNote = iota
	rankLess
	rankObject
	rankShared
)

// notes are the reasons that break nothing yet, and less those that follow from others as a rule.
var (
	notes = []reason.Category{
		reason.NodeCordoned, reason.DisruptionBudget, reason.ScaleLimited, reason.ResizeDeferred, reason.VolumeReleased,
		reason.EphemeralContainer, reason.VolumeResize,
	}
	less = []reason.Category{
		"", reason.EndpointsUnready, reason.StartMissed, reason.JobRetry, reason.SchedulingGated, reason.LoadBalancer,
	}
	sharedCauses = []reason.Category{
		reason.NodeLost, reason.NodeNotReady, reason.NodeMissing, reason.APIServiceUnavailable,
		reason.WebhookUnavailable, reason.UnschedulableNoNodes,
	}
)

func rank(r *reason.Reason) int {
	switch {
	case r.Note, slices.Contains(notes, r.Category):
		return rankNote
	case slices.Contains(less, r.Category):
		return rankLess
	case slices.Contains(sharedCauses, r.Category):
		return rankShared
	}
	return rankObject
}

// images are the reasons that an image gives, and byFor those that the awaited thing gives, alike for all objects
// that wait for it.
var (
	images = []reason.Category{
		reason.ImagePull, reason.ImageNotFound, reason.ImageUnauthorized, reason.ImageInvalid, reason.ImageNeverPulled,
	}
	byFor   = []reason.Category{reason.SchedulerMissing, reason.JobManager, reason.NodeMissing}
	byNodes = []reason.Category{
		reason.UnschedulableCPU, reason.UnschedulableMemory, reason.UnschedulableNoNodes, reason.UnschedulableCordon,
	}
)

// blames find the name of the blamed object in the text of a reason, by its categories.
var blames = []struct {
	categories []reason.Category
	name       *regexp.Regexp
	of         object.Kind
	cluster    bool
}{
	{
		[]reason.Category{reason.RefusedByWebhook, reason.WebhookUnavailable},
		regexp.MustCompile(`webhook "([^"]{1,253})"`),
		object.Kind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "Webhook"}, true,
	},
	{
		[]reason.Category{reason.RefusedByPolicy},
		regexp.MustCompile(`ValidatingAdmissionPolicy '([^']{1,253})'`),
		object.Kind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"}, true,
	},
	{
		[]reason.Category{reason.QuotaExceeded},
		regexp.MustCompile(`(?:exceeded|failed|insufficient) quota: ([^\s,:]{1,253})`),
		object.Kind{Version: "v1", Kind: "ResourceQuota"}, false,
	},
	{
		[]reason.Category{reason.LimitRange},
		regexp.MustCompile(`LimitRange (\S{1,253})`),
		object.Kind{Version: "v1", Kind: "LimitRange"}, false,
	},
	{
		[]reason.Category{reason.ServiceAccountMissing},
		regexp.MustCompile(`(?i)service ?account [^"]{0,300}"([^"]{1,253})" not found`),
		object.Kind{Version: "v1", Kind: "ServiceAccount"}, false,
	},
	{
		[]reason.Category{reason.ConfigMapMissing},
		regexp.MustCompile(`(?i)configmap "([^"]{1,253})"`),
		object.Kind{Version: "v1", Kind: "ConfigMap"}, false,
	},
	{
		[]reason.Category{reason.SecretMissing},
		regexp.MustCompile(`(?i)secret "([^"]{1,253})"`),
		object.Kind{Version: "v1", Kind: "Secret"}, false,
	},
	{
		[]reason.Category{reason.ClaimMissing},
		regexp.MustCompile(`persistentvolumeclaim "([^"]{1,253})"`),
		object.Kind{Version: "v1", Kind: "PersistentVolumeClaim"}, false,
	},
	{
		[]reason.Category{reason.ClaimWithoutClass},
		regexp.MustCompile(`storageclass\S* "([^"]{1,253})"`),
		object.Kind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}, true,
	},
}

// group sets the key of f, the image and the blamed object that all problems of the key share.
func (p *problems) group(f *problem.Failing, blamed *off) {
	r := &blamed.reason
	f.Image = imageOf(blamed)
	f.Key = problem.Grouping{Category: f.Category, Of: string(f.Object.UID), Fields: fieldsOf(r)}
	category := cmp.Or(r.Cause, r.Category)
	switch {
	case f.Image != "" && slices.Contains(images, r.Category):
		f.Key.Of = "image " + f.Image
	case f.Image != "" && r.Category == reason.RegistryUnreachable:
		f.Key.Of = "registry " + registry(f.Image)
	case kind.Node.Is(r.At.Kind) || kind.Node.Is(blamed.t.Ref.Kind) && r.Category == reason.NodeNotReady:
		f.Key.Category, f.Key.Of, f.Shared = string(reason.NodeNotReady), "node "+nodeOf(r, blamed), true
	case kind.PersistentVolumeClaim.Is(r.At.Kind) && r.Cause != "":
		f.Key.Category, f.Key.Of, f.Shared = string(r.Cause), string(r.At.UID), true
	case slices.Contains(byFor, r.Category):
		f.Key.Of = r.For
	case slices.Contains(byNodes, r.Category):
		f.Key.Of = "nodes"
	case r.Category == reason.PodSecurity:
		f.Key.Of = "namespace " + f.Object.Namespace
		f.Blamed = &object.Ref{Kind: kind.Namespace.Kind, Name: f.Object.Namespace}
		f.Shared = true
	}
	for _, b := range blames {
		if !slices.Contains(b.categories, category) {
			continue
		}
		at := b.name.FindStringSubmatch(r.Text)
		if at == nil {
			return
		}
		ref := object.Ref{Kind: b.of, Name: at[1]}
		if !b.cluster {
			ref.Namespace = f.Object.Namespace
		}
		f.Key.Category, f.Key.Of, f.Blamed, f.Shared = string(category), ref.String(), &ref, true
	}
}

// nodeOf returns the name of the Node to blame.
func nodeOf(r *reason.Reason, blamed *off) string { return cmp.Or(r.At.Name, blamed.t.Ref.Name) }

// imageOf returns the image of the container in question, for the reasons of a pull.
func imageOf(o *off) string {
	last := o.t.Last()
	if last == nil || last.Pod == nil || o.reason.Container == "" ||
		!slices.Contains(images, o.reason.Category) && o.reason.Category != reason.RegistryUnreachable {
		return ""
	}
	for _, init := range []bool{false, true} {
		if c := last.Pod.Container(o.reason.Container, init); c != nil {
			return c.Image
		}
	}
	return ""
}

// registry returns the host in the name of an image.
func registry(image string) string {
	host, _, found := strings.Cut(image, "/")
	if !found || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return "docker.io"
	}
	return host
}

// fieldsOf returns the paths of the fields in question.
func fieldsOf(r *reason.Reason) string {
	var out []string
	for _, f := range r.Fields {
		out = append(out, strings.TrimSpace(f.Of.Name+" "+f.Path))
	}
	return strings.Join(out, ",")
}

// cause returns the change after which top did not reach its desired state; nil for another one, and for one that
// is forgotten. A forgotten trace has its ID only.
func (p *problems) cause(top *off) *problem.Cause {
	t := top.t
	if g := p.groups.of[t]; g != nil && g.derived != nil {
		return causeIn(g.derived, t)
	}
	if past := t.Past; past != nil && past.Arrived == 0 && past.Verb != history.Deleted {
		return &problem.Cause{TraceID: past.TraceID.String()}
	}
	return nil
}

// causeIn returns the change by the derivation of the group of t.
func causeIn(d *derivation, t *change.Timeline) *problem.Cause {
	r := placed.Newest(d.placed.Of(t))
	if r == nil || r.Instant || r.ConvergedBy(^uint64(0)) != nil {
		return nil
	}
	l := r.Lineage
	out := &problem.Cause{TraceID: l.ID.String()}
	if l.Run != nil {
		out.Command, out.Start = object.Bound(l.Run.Command), l.Run.Start
	}
	if len(l.Reconciliations) == 0 {
		return out
	}
	root := l.Reconciliations[0]
	if root.Folded {
		return out
	}
	w := root.First()
	if out.Start.IsZero() {
		out.Start = d.trail.Began(w).At().Time
	}
	ref := root.Timeline.Ref
	out.Object, out.Verb, out.Who = &ref, root.Verb.String(), object.Bound(cause.Author(d.scene, w))
	if q := d.trail.Audited(w); q != nil && q.User != "" && !q.Unauthenticated {
		out.Who = object.Bound(q.User)
	}
	edits := root.Edits()
	if len(edits) > 0 {
		out.Fields = edits.Paths()
	}
	if root.Verb == history.Updated {
		out.Edits = edits.Words()
	}
	return out
}
