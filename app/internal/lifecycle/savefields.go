// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// The methods of this file and of saveobserved.go name every field of every
// struct that is saved. A change here needs a new savedVersion.

func (c *coder) timeline(t *timeline) {
	c.of, c.intents = t, known[*intent, *intent]{}
	c.ref(&t.ref)
	list(c, &t.versions, func(c *coder, v **version) { sole(c, v, (*coder).version) })
	optional(c, &t.removal, (*coder).removal)
	list(c, &t.events, func(c *coder, e **event) { sole(c, e, (*coder).event) })
	list(c, &t.requests, (*coder).requestPointer)
	optional(c, &t.audits, (*coder).auditLists)
	optional(c, &t.past, (*coder).past)
	c.bool(&t.folded)
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

func (c *coder) removal(r *removal) {
	c.uint(&r.rv)
	c.time(&r.seen)
	c.bool(&r.listed)
	if c.format > 9 {
		c.bool(&r.told)
	}
}

func (c *coder) version(v *version) {
	one(c, &c.intents, &v.intent, (*coder).intent)
	one(c, &c.statuses, &v.status, (*coder).status)
	c.uint(&v.ResourceVersion)
	alikes(c, &c.managerLists, &v.Managers, (*coder).managerPointer)
	c.time(&v.seen)
	c.bool(&v.listed)
	c.bool(&v.late)
	c.bool(&v.baseline)
	if c.format > 9 {
		c.bool(&v.told)
	}
}

func (c *coder) intent(i *intent) {
	if c.reading() {
		i.Ref = &c.of.ref
	}
	one(c, &c.leaves, &i.leave, (*coder).leave)
	one(c, &c.origins, &i.origin, (*coder).origin)
	c.time(&i.Created)
	alikes(c, &c.owners, &i.Owners, (*coder).owner)
	alikes(c, &c.finalizers, &i.Finalizers, text[string])
	c.int64(&i.Generation)
	c.uint(&i.Desired)
	c.bool(&i.Reconciled)
	if c.format > 9 {
		maybe(c, &c.alike.fields, &i.fields, (*coder).fieldTable)
	}
}

func (c *coder) fieldTable(f *fields) { list(c, &f.leaves, (*coder).leaf) }

func (c *coder) leaf(l *observation.Leaf) {
	text(c, &l.Path)
	c.uint(&l.Value)
	c.uint(&l.Managers)
}

func (c *coder) leave(l *leave) {
	c.time(&l.Deleting)
	c.int64(&l.GraceSeconds)
}

func (c *coder) origin(o *origin) {
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

func (c *coder) status(s *status) {
	one(c, &c.progresses, &s.progress, (*coder).progress)
	c.int64(&s.ObservedGeneration)
	alikes(c, &c.conditionLists, &s.Conditions, (*coder).conditionPointer)
	maybe(c, &c.pods, &s.Pod, (*coder).pod)
	maybe(c, &c.workloads, &s.Workload, (*coder).workload)
}

func (c *coder) progress(p *progress) {
	text(c, &p.Progress)
	text(c, &p.ProgressMessage)
}

func (c *coder) pod(p *podState) {
	one(c, &c.specs, &p.podSpec, (*coder).podSpec)
	one(c, &c.phases, &p.podPhase, (*coder).podPhase)
	alikes(c, &c.containerLists, &p.Init, (*coder).containerPointer)
	alikes(c, &c.containerLists, &p.Containers, (*coder).containerPointer)
	c.int64(&p.Scheduled)
}

func (c *coder) podSpec(s *podSpec) {
	text(c, &s.Node)
	text(c, &s.Scheduler)
	list(c, &s.ReadinessGates, text[string])
	list(c, &s.SchedulingGates, text[string])
	c.int(&s.Volumes)
}

func (c *coder) podPhase(p *podPhase) {
	text(c, &p.Phase)
	text(c, &p.Reason)
	text(c, &p.Message)
}

func (c *coder) event(e *event) {
	one(c, &c.notices, &e.notice, (*coder).notice)
	c.uint(&e.ResourceVersion)
	c.int32(&e.Count)
	c.bool(&e.exact)
	c.bool(&e.listed)
	c.bool(&e.told)
	c.time(&e.stamp)
	c.time(&e.seen)
}

func (c *coder) notice(n *notice) {
	text(c, &n.Type)
	text(c, &n.Reason)
	text(c, &n.FieldPath)
	text(c, &n.Note)
}

func (c *coder) past(p *past) {
	c.traceID(&p.line)
	c.spanID(&p.span)
	text(c, &p.verb)
	c.uint(&p.rv)
	c.time(&p.activity)
	c.bool(&p.gone)
	c.bool(&p.lost)
	c.bool(&p.replaced)
	c.int64(&p.began)
	optional(c, &p.before, (*coder).before)
}

func (c *coder) before(b *before) { list(c, &b.recs, (*coder).earlier) }

func (c *coder) earlier(e *earlier) {
	c.traceID(&e.line)
	c.spanID(&e.span)
	c.uint(&e.rv)
	c.int64(&e.began)
	c.time(&e.activity)
}

func (c *coder) taken(t *taken) {
	c.time(&t.at)
	c.time(&t.latest)
	c.bool(&t.outside)
	list(c, &t.originations, (*coder).uint)
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

func (c *coder) auditLists(a *audits) { list(c, &a.list, (*coder).auditPointer) }

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
