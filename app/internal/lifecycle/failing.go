// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
)

// failing returns the problem of top, an object without its desired state whose controller has its own. It is nil for
// an ordinary wait.
func (p *problems) failing(top *off) *problem.Failing {
	blamed := p.chosen(top)
	if blamed.weight() == 0 {
		return nil
	}
	if behind := p.behind(top); len(behind) > 0 {
		return p.following(top, behind)
	}
	r := blamed.reason
	if deepest := p.waited(blamed); r.Category == reason.ProgressDeadline && deepest != blamed {
		r.Text += ": " + deepest.t.Ref.Kind.Kind + " " + deepest.t.Ref.Name + " " + deepest.reason.Text
		r.At = deepest.t.Ref
	}
	f := &problem.Failing{
		Object: top.t.Ref, Category: string(r.Category), Text: r.Text, Onset: top.onset, At: blamed.at,
		Next: r.Next(blamed.t.Ref), Rank: rank(&r), Lasting: blamed.lasting(),
		Vague: r.Category == "" || slices.Contains(vague, r.Category),
	}
	if f.Onset.Found && f.Lasting > problem.Lasting && f.Onset.At.Sub(top.created) > Confirmation {
		f.Onset.Before = true // the conditions change with each restart
	}
	switch {
	case named(r.At):
		f.Blamed = &r.At
	case blamed != top:
		ref := blamed.t.Ref // a copy: other goroutines read snapshots
		f.Blamed = &ref
	}
	p.group(f, blamed)
	f.Cause = p.cause(top, blamed, f)
	return f
}

// following returns the problem of top, which behind explain: that of the worst of these. It is nil if they have
// ordinary waits.
func (p *problems) following(top *off, behind []*off) *problem.Failing {
	var worst *problem.Failing
	for _, o := range behind {
		f := p.failing(o)
		if f != nil && (worst == nil || cmp.Or(
			cmp.Compare(f.Rank, worst.Rank),
			worst.Onset.At.Compare(f.Onset.At),
			cmp.Compare(worst.Object.UID, f.Object.UID),
		) > 0) {
			worst = f
		}
	}
	if worst == nil {
		return nil
	}
	f := *worst
	f.Object, f.Category, f.Text = top.t.Ref, string(top.reason.Category), top.reason.Text
	f.Onset, f.At, f.Next, f.Lasting = top.onset, top.at, top.reason.Next(top.t.Ref), top.lasting()
	f.Rank, f.Image, f.Vague, f.Follows = rankLess, "", false, true
	if f.Blamed == nil {
		f.Blamed = &worst.Object
	}
	return &f
}

// waiting returns the problem of top, which had one and has an ordinary wait now.
func (p *problems) waiting(top *off) *problem.Failing {
	o := p.waited(top)
	return &problem.Failing{
		Object: top.t.Ref, Text: o.reason.Text, Onset: top.onset, At: o.at, Next: o.reason.Next(o.t.Ref),
		Lasting: o.lasting(), Rank: rankLess, Vague: true, Key: problem.Grouping{Of: string(top.t.Ref.UID)},
	}
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
		reason.NodeCordoned, reason.DisruptionBudget, reason.ResizeDeferred, reason.EphemeralContainer,
		reason.VolumeResize,
	}
	less = []reason.Category{
		"", reason.EndpointsUnready, reason.StartMissed, reason.JobRetry, reason.SchedulingGated, reason.LoadBalancer,
		reason.CertificateUnsigned,
	}
	outside = []reason.Category{
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
	case slices.Contains(outside, r.Category):
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
	f.Origin = kind.PersistentVolumeClaim.Is(f.Object.Kind) // before the workload that waits for it
	f.Key = problem.Grouping{Category: f.Category, Of: string(f.Object.UID), Fields: fieldsOf(r)}
	category := cmp.Or(r.Cause, r.Category)
	switch {
	case f.Image != "" && slices.Contains(images, r.Category):
		f.Key.Of = "image " + f.Image
	case f.Image != "" && r.Category == reason.RegistryUnreachable:
		f.Key.Of = "registry " + registry(f.Image)
	case kind.Node.Is(r.At.Kind) || kind.Node.Is(blamed.t.Ref.Kind) && r.Category == reason.NodeNotReady:
		f.Key.Category, f.Key.Of, f.Shared = string(reason.NodeNotReady), "node "+nodeOf(r, blamed), true
		f.Origin = kind.Node.Is(f.Object.Kind)
	case kind.PersistentVolumeClaim.Is(r.At.Kind) && r.Cause != "":
		f.Key.Category, f.Key.Of, f.Shared = string(r.Cause), string(r.At.UID), true
	case slices.Contains(byFor, r.Category):
		f.Key.Of = r.For
	case slices.Contains(byNodes, r.Category):
		f.Key.Of = "nodes"
	case r.Category == reason.ScaleMetric:
		if api := metricsAPI.FindStringSubmatch(r.Text); api != nil {
			f.Key.Of = "api " + api[1]
		}
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
			break
		}
		ref := object.Ref{Kind: b.of, Name: at[1]}
		if !b.cluster {
			ref.Namespace = f.Object.Namespace
		}
		f.Key.Category, f.Key.Of, f.Blamed, f.Shared = string(category), ref.String(), &ref, true
	}
	f.Outside = slices.Contains(outside, category)
}

// metricsAPI is the API in the message of an autoscaler that gets no answer of it.
var metricsAPI = regexp.MustCompile(
	`(?:could not find the requested resource|unable to handle the request) \((?:get|list) ` +
		`\S{1,100}?\.((?:custom\.|external\.)?metrics\.k8s\.io)\)`,
)

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
