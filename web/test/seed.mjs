// SPDX-License-Identifier: Apache-2.0

// A day of a synthetic cluster, as lines for `lifeline archive import`. It is the same for the same
// number and end.
//
//   node seed.mjs NUMBER [END] >traces.jsonl

import { createHash } from 'node:crypto'
import { pathToFileURL } from 'node:url'

// hostile are names that no API server takes, but an archive from elsewhere may have.
export const hostile = [
  '<script>document.title="taken"</script>',
  '<img src=x onerror=alert(1)>',
  '\u001b[31mred\u001b[0m',
  'line\nbreak\ttab',
  '\u202egnp.exe',
  'שלום-עולם',
  'zero\u200bwidth',
  `long-${'x'.repeat(243)}-end`,
]

const categories = {
  image_not_found: (image) => `The registry does not have the image ${image}.`,
  crash: (image) => `The container exits with code 1, again after 5 restarts (${image}).`,
}

function random(seed) {
  let a = seed
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const value = (v) =>
  Array.isArray(v)
    ? { arrayValue: { values: v.map(value) } }
    : typeof v === 'number'
      ? { intValue: String(v) }
      : { stringValue: v }
const attributes = (o) =>
  Object.entries(o)
    .filter(([, v]) => v !== undefined)
    .map(([key, v]) => ({ key, value: value(v) }))

// Trace collects the spans of one change. Times are seconds after its start.
class Trace {
  constructor(number, start, cluster) {
    this.id = createHash('sha256').update(`trace ${number}`).digest('hex').slice(0, 32)
    this.start = start
    this.cluster = cluster
    this.spans = []
    this.facts = {}
    this.end = 0
  }

  at(seconds) {
    return String(BigInt(Math.round(this.start * 1000)) * 1000000n + BigInt(Math.round(seconds * 1e9)))
  }

  span(parent, name, service, object, from, to, more = {}, facts) {
    const id = createHash('sha256').update(`${this.id} ${this.spans.length}`).digest('hex').slice(0, 16)
    this.end = Math.max(this.end, to)
    this.spans.push({
      service,
      span: {
        traceId: this.id,
        spanId: id,
        ...(parent ? { parentSpanId: parent } : {}),
        flags: 257,
        name,
        kind: 1,
        startTimeUnixNano: this.at(from),
        endTimeUnixNano: this.at(to),
        attributes: attributes({
          ...more.attributes,
          'k8s.object.group': object.group,
          'k8s.object.version': 'v1',
          'k8s.object.kind': object.kind,
          'k8s.object.namespace': object.namespace,
          'k8s.object.name': object.name,
          'k8s.object.uid': createHash('sha256').update(`${object.kind}/${object.namespace}/${object.name}`).digest('hex').slice(0, 32),
          'lifeline.outcome': more.outcome,
          'lifeline.evidence': parent && more.outcome ? 'owner' : undefined,
          'lifeline.time.source.start': 'watch',
          'lifeline.time.source': 'watch',
        }),
        ...(more.verb
          ? {
              events: [
                {
                  timeUnixNano: this.at(from),
                  name: 'write',
                  attributes: attributes({
                    'lifeline.write.verb': more.verb,
                    'lifeline.write.part': 'desired',
                    'lifeline.actor.component': more.attributes?.['lifeline.actor.component'],
                    'lifeline.write.edits': more.attributes?.['lifeline.write.edits'],
                  }),
                },
              ],
            }
          : {}),
        status: {},
      },
    })
    if (facts) this.facts[id] = facts
    return id
  }

  line(outcome, reason) {
    const services = Map.groupBy ? Map.groupBy(this.spans, (s) => s.service) : group(this.spans)
    return JSON.stringify({
      resourceSpans: [...services].map(([service, list]) => ({
        resource: { attributes: attributes({ 'service.name': service, 'k8s.cluster.uid': this.cluster }) },
        scopeSpans: [
          { scope: { name: 'github.com/kube-lifeline/lifeline', version: 'seed' }, spans: list.map((s) => s.span) },
        ],
      })),
      lifeline: {
        format: 1,
        traceId: this.id,
        cluster: this.cluster,
        asOf: new Date((this.start + this.end + 2) * 1000).toISOString(),
        outcome,
        ...(reason ? { reason } : {}),
        parts: [{ revision: 1, spans: this.spans.map((s) => s.span.spanId) }],
        facts: this.facts,
      },
    })
  }
}

function group(spans) {
  const by = new Map()
  for (const s of spans) by.set(s.service, [...(by.get(s.service) ?? []), s])
  return by
}

const namespaces = ['shop', 'payments', 'search', 'data', 'monitoring', 'identity', 'kube-system']
const applications = ['web', 'cart', 'checkout', 'catalog', 'ledger', 'indexer', 'ingest', 'gateway', 'profile', 'mailer']
const people = [
  ['kubectl', 'alice@example.com'],
  ['kubectl', 'bob@example.com'],
  ['helm', 'chidi@example.com'],
  ['kustomize-controller', 'system:serviceaccount:flux-system:kustomize-controller'],
  ['argocd-application-controller', 'system:serviceaccount:argocd:argocd-application-controller'],
  ['horizontal-pod-autoscaler', 'system:serviceaccount:kube-system:horizontal-pod-autoscaler'],
]

// rollout is a new image or number of a Deployment.
function rollout(t, r, pick, { namespace, name, verb, who, edit, pods }) {
  const [actor, user] = who
  const image = `registry.example.com/${name.slice(0, 40)}:${1 + Math.floor(r() * 9)}.${Math.floor(r() * 20)}`
  const bad = verb !== 'delete' && r() < 0.07 ? pick(Object.keys(categories)) : undefined
  const outcome = bad ? 'failed' : r() < 0.08 ? 'superseded' : 'converged'
  const reason = bad ? categories[bad](image) : undefined
  const set = `${name.slice(0, 60)}-${Math.floor(r() * 1e9).toString(36)}`
  const parts = []
  let end = 0.1
  for (let p = 0; p < pods; p++) {
    const from = 0.03 + r() * 0.3
    const pull = bad === 'image_not_found' ? 90 + r() * 200 : Math.exp(r() * 4 - 1)
    const ready = 0.2 + r() * r() * 12
    parts.push({ from, pull, ready, node: `node-${Math.floor(r() * 6)}` })
    end = Math.max(end, from + 0.6 + pull + ready)
  }
  const workload = `Deployment/${name}`
  const root = t.span(undefined, 'reconcile Deployment', 'deployment-controller', { group: 'apps', kind: 'Deployment', namespace, name }, 0, end + 0.02, {
    outcome,
    verb,
    attributes: {
      'lifeline.actor.component': actor,
      'lifeline.actor.user': user,
      'lifeline.write.edits': edit ? [edit(image, r)] : undefined,
      'lifeline.reason': bad,
    },
  }, { verb, workload })
  const rs = t.span(root, 'reconcile ReplicaSet', 'replicaset-controller', { group: 'apps', kind: 'ReplicaSet', namespace, name: set }, 0.02, end, {
    outcome, verb: 'create', attributes: { 'lifeline.actor.component': 'deployment-controller' },
  }, { verb: 'create', workload })
  parts.forEach((p, i) => {
    const object = { kind: 'Pod', namespace, name: `${set}-${(i * 7919 + 4242).toString(36)}` }
    const pod = t.span(rs, 'reconcile Pod', 'kubelet', object, p.from, p.from + 0.5 + p.pull + p.ready, {
      outcome, verb: 'create', attributes: { 'lifeline.actor.component': 'replicaset-controller', 'k8s.node.name': p.node },
    }, { verb: 'create', workload, pod: { volumes: 1 + Math.floor(r() * 3), node: p.node, images: [image] } })
    t.span(pod, 'schedule', 'kube-scheduler', object, p.from, p.from + 0.1)
    t.span(pod, 'sandbox', 'kubelet', object, p.from + 0.1, p.from + 0.4)
    t.span(pod, 'pull image', 'kubelet', object, p.from + 0.4, p.from + 0.4 + p.pull, { attributes: { 'container.image.name': image } })
    if (!bad) t.span(pod, 'readiness', 'kubelet', object, p.from + 0.5 + p.pull, p.from + 0.5 + p.pull + p.ready)
  })
  return t.line(outcome, reason)
}

function single(t, { kind, group, namespace, name, verb, who, edit, outcome = 'converged', duration = 0 }) {
  const [actor, user] = who
  t.span(undefined, `reconcile ${kind}`, actor, { kind, group, namespace, name }, 0, duration, {
    outcome, verb,
    attributes: { 'lifeline.actor.component': actor, 'lifeline.actor.user': user, 'lifeline.write.edits': edit ? [edit] : undefined },
  }, { verb })
  return t.line(outcome)
}

function job(t, r, { namespace, name, who }) {
  const [actor, user] = who
  const run = 4 + r() * 20
  const failed = r() < 0.05
  const outcome = failed ? 'failed' : 'converged'
  const object = { group: 'batch', kind: 'Job', namespace, name }
  const root = t.span(undefined, 'reconcile Job', 'job-controller', object, 0, run + 1, {
    outcome, verb: 'create',
    attributes: { 'lifeline.actor.component': actor, 'lifeline.actor.user': user, 'lifeline.reason': failed ? 'crash' : undefined },
  }, { verb: 'create', workload: `CronJob/${name.replace(/-\d+$/, '')}` })
  const pod = { kind: 'Pod', namespace, name: `${name}-${Math.floor(r() * 1e6).toString(36)}` }
  const p = t.span(root, 'reconcile Pod', 'kubelet', pod, 0.05, run + 0.9, {
    outcome, verb: 'create', attributes: { 'lifeline.actor.component': 'job-controller' },
  }, { verb: 'create', workload: `CronJob/${name.replace(/-\d+$/, '')}`, pod: { volumes: 1, node: 'node-1', images: ['registry.example.com/report:3'] } })
  t.span(p, 'run', 'kubelet', pod, 0.6, run + 0.8, { attributes: { 'k8s.container.name': 'report' } })
  return t.line(outcome, failed ? categories.crash('registry.example.com/report:3') : undefined)
}

// lines yields that many traces, the oldest first. The last ones have hostile names, if these are given.
export function* lines(count, end, names = hostile, cluster = '') {
  const r = random(7)
  const pick = (list) => list[Math.floor(r() * list.length)]
  const day = 24 * 3600
  let left = count - names.length
  let n = 0
  const starts = []
  for (let i = 0; i < left; i++) {
    // More changes in the second half of the day, and one busy half hour.
    const busy = r() < 0.12
    starts.push(busy ? 0.7 + r() * 0.02 : 1 - Math.pow(r(), 1.6) * 0.999)
  }
  starts.sort((a, b) => a - b)
  while (left > 0) {
    const next = () => {
      left--
      const number = n++
      return new Trace(number, end - day + starts[number] * (day - 120), cluster)
    }
    const namespace = pick(namespaces)
    const name = pick(applications)
    const kind = r()
    if (kind < 0.5) {
      const who = pick(people)
      const scaled = who[0] === 'horizontal-pod-autoscaler'
      yield rollout(next(), r, pick, {
        namespace, name, who,
        verb: r() < 0.15 && !scaled ? 'create' : 'update',
        pods: 1 + Math.floor(r() * 5),
        edit: scaled
          ? (_, q) => { const from = 1 + Math.floor(q() * 5); return `replicas ${from} → ${from + 2}` }
          : (image) => `image ${image.split(':')[0]}:1.0 → ${image.split(':')[1]}`,
      })
    } else if (kind < 0.68) {
      // A CronJob makes several alike in a row.
      const who = ['cronjob-controller', 'system:serviceaccount:kube-system:cronjob-controller']
      const run = Math.min(left, 2 + Math.floor(r() * 9))
      for (let i = 0; i < run; i++) yield job(next(), r, { namespace, name: `${name}-report-${29300000 + n}`, who })
    } else if (kind < 0.8) {
      yield single(next(), { kind: 'ConfigMap', namespace, name: `${name}-config`, verb: 'update', who: pick(people), edit: 'data.log_level info → debug' })
    } else if (kind < 0.88) {
      const who = pick(people)
      const run = Math.min(left, 1 + Math.floor(r() * 6))
      for (let i = 0; i < run; i++) {
        yield single(next(), { kind: 'Secret', namespace, name: `${name}-${pick(['tls', 'token', 'db', 'api'])}-${i}`, verb: 'update', who })
      }
    } else if (kind < 0.94) {
      yield single(next(), { kind: 'Service', namespace, name, verb: pick(['create', 'update']), who: pick(people), duration: r() * 3 })
    } else {
      yield single(next(), { kind: 'Pod', namespace, name: `${name}-${Math.floor(r() * 1e9).toString(36)}`, verb: 'delete', who: people[0], outcome: 'deleted', duration: 1 + r() * 30 })
    }
  }
  for (const [i, name] of names.entries()) {
    const t = new Trace(n++, end - 100 + i * 8, cluster)
    yield rollout(t, r, pick, {
      namespace: `hostile ${i % 2 ? '<b>' : '\u202e'}`, name, who: ['kubectl', `mallory <${hostile[i % 3]}>`], verb: 'update', pods: 1,
      edit: () => `image ${hostile[(i + 1) % hostile.length]} → 2`,
    })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const end = process.argv[3] ? Date.parse(process.argv[3]) : Date.now()
  for (const line of lines(Number(process.argv[2] ?? 1000), end / 1000)) process.stdout.write(`${line}\n`)
}
