// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// The methods of this file and of saveobserved.go name every field of every saved struct. A change
// here needs a new savedVersion.

func (c *coder) timeline(t *change.Timeline) {
	c.of, c.intents = t, known[*history.Intent, *history.Intent]{}
	c.ref(&t.Ref)
	list(c, &t.Versions, func(c *coder, v **history.Version) { sole(c, v, (*coder).version) })
	optional(c, &t.Removal, (*coder).removal)
	list(c, &t.Events, func(c *coder, e **history.Event) { sole(c, e, (*coder).event) })
	list(c, &t.Requests, (*coder).requestPointer)
	optional(c, &t.Audits, (*coder).auditLists)
	optional(c, &t.Past, (*coder).past)
	c.bool(&t.Folded)
}

func (c *coder) seriesList(l *seriesList) {
	c.ref(&l.ref)
	list(c, &l.all, (*coder).series)
}

func (c *coder) series(s *series) {
	text(c, &s.author)
	text(c, &s.fields)
	c.traceID(&s.line)
	c.spanID(&s.span)
	c.int64(&s.writes)
	c.int64(&s.reported)
	c.uint(&s.rv)
	c.time(&s.last)
	c.time(&s.reportedAt)
}

func (c *coder) ref(r *object.Ref) {
	c.kind(&r.Kind)
	text(c, &r.Namespace)
	text(c, &r.Name)
	text(c, &r.UID)
}

func (c *coder) kind(k *object.Kind) {
	text(c, &k.Group)
	text(c, &k.Version)
	text(c, &k.Kind)
}

func (c *coder) removal(r *history.Removal) {
	c.uint(&r.RV)
	c.time(&r.Seen)
	c.bool(&r.Listed)
	if c.format > 9 {
		c.bool(&r.Told)
	}
}

func (c *coder) version(v *history.Version) {
	one(c, &c.intents, &v.Intent, (*coder).intent)
	one(c, &c.statuses, &v.Status, (*coder).status)
	c.uint(&v.ResourceVersion)
	alikes(c, &c.managerLists, &v.Managers, (*coder).managerPointer)
	c.time(&v.Seen)
	c.bool(&v.Listed)
	c.bool(&v.Late)
	c.bool(&v.Baseline)
	if c.format > 9 {
		c.bool(&v.Told)
	}
}

func (c *coder) intent(i *history.Intent) {
	if c.reading() {
		i.Ref = &c.of.Ref
	}
	one(c, &c.leaves, &i.Leave, (*coder).leave)
	one(c, &c.origins, &i.Origin, (*coder).origin)
	c.time(&i.Created)
	alikes(c, &c.owners, &i.Owners, (*coder).owner)
	alikes(c, &c.finalizers, &i.Finalizers, text[string])
	c.int64(&i.Generation)
	c.uint(&i.Desired)
	c.bool(&i.Reconciled)
	if c.format > 9 {
		maybe(c, &c.alike.fields, &i.Fields, (*coder).fieldTable)
	}
}

func (c *coder) fieldTable(f *history.Fields) { list(c, &f.Leaves, (*coder).leaf) }

func (c *coder) leaf(l *observation.Leaf) {
	text(c, &l.Path)
	c.uint(&l.Value)
	c.uint(&l.Managers)
}

func (c *coder) leave(l *history.Leave) {
	c.time(&l.Deleting)
	c.int64(&l.GraceSeconds)
}

func (c *coder) origin(o *history.Origin) {
	text(c, &o.TraceParent)
	text(c, &o.TraceState)
	text(c, &o.TraceConvention)
	text(c, &o.GenerateName)
}

func (c *coder) owner(o *object.Owner) {
	c.kind(&o.Kind)
	text(c, &o.Name)
	text(c, &o.UID)
	c.bool(&o.Controller)
}

func (c *coder) status(s *history.Status) {
	one(c, &c.progresses, &s.Verdict, (*coder).progress)
	c.int64(&s.ObservedGeneration)
	alikes(c, &c.conditionLists, &s.Conditions, (*coder).conditionPointer)
	maybe(c, &c.pods, &s.Pod, (*coder).pod)
	maybe(c, &c.workloads, &s.Workload, (*coder).workload)
}

func (c *coder) progress(p *history.Verdict) {
	text(c, &p.Progress)
	text(c, &p.ProgressMessage)
}

func (c *coder) pod(p *history.PodState) {
	one(c, &c.specs, &p.PodSpec, (*coder).podSpec)
	one(c, &c.phases, &p.PodPhase, (*coder).podPhase)
	alikes(c, &c.containerLists, &p.Init, (*coder).containerPointer)
	alikes(c, &c.containerLists, &p.Containers, (*coder).containerPointer)
	c.int64(&p.Scheduled)
}

func (c *coder) podSpec(s *history.PodSpec) {
	text(c, &s.Node)
	text(c, &s.Scheduler)
	list(c, &s.ReadinessGates, text[string])
	list(c, &s.SchedulingGates, text[string])
	c.int(&s.Volumes)
}

func (c *coder) podPhase(p *history.PodPhase) {
	text(c, &p.Phase)
	text(c, &p.Reason)
	text(c, &p.Message)
}

func (c *coder) event(e *history.Event) {
	one(c, &c.notices, &e.Notice, (*coder).notice)
	c.uint(&e.ResourceVersion)
	c.int32(&e.Count)
	c.bool(&e.Exact)
	c.bool(&e.Listed)
	c.bool(&e.Told)
	c.time(&e.Stamp)
	c.time(&e.Seen)
}

func (c *coder) notice(n *history.Notice) {
	text(c, &n.Type)
	text(c, &n.Reason)
	text(c, &n.FieldPath)
	text(c, &n.Note)
}

func (c *coder) past(p *change.Past) {
	c.traceID(&p.TraceID)
	c.spanID(&p.SpanID)
	text(c, &p.Verb)
	c.uint(&p.RV)
	c.time(&p.Activity)
	c.bool(&p.Gone)
	c.bool(&p.Lost)
	c.bool(&p.Replaced)
	c.int64(&p.Began)
	optional(c, &p.Before, (*coder).before)
}

func (c *coder) before(b *change.Before) { list(c, &b.Recs, (*coder).earlier) }

func (c *coder) earlier(e *change.Earlier) {
	c.traceID(&e.TraceID)
	c.spanID(&e.SpanID)
	c.uint(&e.RV)
	c.int64(&e.Began)
	c.time(&e.Activity)
}

func (c *coder) taken(t *cause.Taken) {
	c.time(&t.At)
	c.time(&t.Latest)
	c.bool(&t.Outside)
	list(c, &t.Originations, (*coder).uint)
}

func (c *coder) amendment(a *amendment) {
	c.ref(&a.ref)
	text(c, &a.service)
	c.past(&a.past)
	text(c, &a.key)
	c.time(&a.at)
	c.uint(&a.rv)
	optional(c, &a.event, (*coder).event)
	optional(c, &a.write, (*coder).request)
	if c.format > 9 {
		c.int64(&a.repeats)
	}
}

func (c *coder) auditLists(a *change.Audits) { list(c, &a.List, (*coder).auditPointer) }

func (c *coder) trail(t *trail) {
	dict(c, t.sightings, cmp.Compare[uint64], (*coder).uint, (*coder).sighting)
	dict(c, t.earlier, cmp.Compare[uint64], (*coder).uint, (*coder).sighting)
	dict(c, t.adrift, compareSubjects, (*coder).subject, (*coder).adrift)
	dict(c, t.longAdrift, compareSubjects, (*coder).subject, (*coder).adrift)
	dict(
		c,
		t.refusals,
		compareSubjects,
		(*coder).subject,
		func(c *coder, r **refusals) { sole(c, r, (*coder).refusals) },
	)
	c.time(&t.turned)
}

func (c *coder) subject(i *subject) {
	text(c, &i.uid)
	text(c, &i.owner)
	text(c, &i.group)
	text(c, &i.kind)
	text(c, &i.namespace)
	text(c, &i.name)
}

func (c *coder) sighting(s *sighting) {
	c.uint(&s.content)
	c.bool(&s.twice)
}

func (c *coder) adrift(writes *[]*observation.Write) {
	list(c, writes, (*coder).auditPointer)
	if len(*writes) == 0 {
		c.fail("something is missing")
	}
}

func (c *coder) refusals(r *refusals) {
	list(c, &r.kinds, func(c *coder, k **refusal) { sole(c, k, (*coder).refusal) })
	c.time(&r.last)
	if len(r.kinds) == 0 {
		c.fail("something is missing")
	}
}

func (c *coder) refusal(r *refusal) {
	list(c, &r.writes, (*coder).auditPointer)
	c.int(&r.repeats)
	c.time(&r.last)
	c.bool(&r.told)
	if len(r.writes) == 0 {
		c.fail("something is missing")
	}
}
