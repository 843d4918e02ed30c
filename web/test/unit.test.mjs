// SPDX-License-Identifier: Apache-2.0

// Tests of functions without a browser. Vite reads their TypeScript.

import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createServer } from 'vite'

let vite
const load = (file) => vite.ssrLoadModule(`/src/${file}`)
before(async () => {
  globalThis.addEventListener ??= () => {}
  globalThis.document ??= { hidden: true }
  const every = globalThis.setInterval
  globalThis.setInterval = (...given) => every(...given).unref()
  vite = await createServer({
    root: join(dirname(fileURLToPath(import.meta.url)), '..'),
    server: { middlewareMode: true, hmr: false, ws: false, watch: null },
    appType: 'custom',
    logLevel: 'error',
  })
})
after(() => vite.close())

test('clauses of a question', async () => {
  const { split, join, toggle, without } = await load('changes/clauses.ts')
  for (const [reason, question, want] of [
    ['none', '  ', []],
    ['two', 'a == "x" && b > 1', ['a == "x"', 'b > 1']],
    ['&& inside a text is no operator', 'a == "x && y" && b', ['a == "x && y"', 'b']],
    ['nor is an escaped quote the end of a text', String.raw`a == "\" && " && b`, [String.raw`a == "\" && "`, 'b']],
    ['nor is one inside parentheses', '(a && b) && c', ['(a && b)', 'c']],
    ['|| binds less', 'a && b || c', ['a && b || c']],
    ['as does ?', 'a ? b : c', ['a ? b : c']],
  ]) {
    assert.deepEqual(split(question), want, reason)
  }
  assert.equal(join(['a || b', 'c']), '(a || b) && c')
  for (const [reason, question, field, value, exclude, want] of [
    ['the first', '', 'kind', 'Pod', false, 'kind == "Pod"'],
    ['a second', 'kind == "Pod"', 'kind', 'Job', false, 'kind in ["Pod", "Job"]'],
    ['one away', 'kind in ["Pod", "Job"] && x', 'kind', 'Pod', false, 'kind == "Job" && x'],
    ['the last away', 'x && kind == "Pod"', 'kind', 'Pod', false, 'x'],
    ['not', 'x', 'kind', 'Pod', true, 'x && kind != "Pod"'],
    ['not two', 'kind != "Pod"', 'kind', 'Job', true, '!(kind in ["Pod", "Job"])'],
    ['not, away', '!(kind in ["Pod", "Job"])', 'kind', 'Job', true, 'kind != "Pod"'],
    ['demanded instead of excluded', 'kind != "Pod"', 'kind', 'Pod', false, 'kind == "Pod"'],
    ['beside a choice', 'a || b', 'kind', 'Pod', false, '(a || b) && kind == "Pod"'],
    ['hostile', '', 'namespace', '"\n\u202e', false, String.raw`namespace == "\"\n\u202e"`],
    ['hostile, away', String.raw`namespace == "\"\n\u202e"`, 'namespace', '"\n\u202e', false, ''],
  ]) {
    assert.equal(toggle(question, field, value, exclude), want, reason)
  }
  assert.equal(without('kind == "Pod" && x && kind != "Job"', 'kind'), 'x')
})

test('plain words of a question', async () => {
  const { chosenStates, isPlain, toggleState, translate, withoutStates } = await load('changes/plain.ts')
  const all = ['running', 'held', 'stuck', 'failed', 'refused', 'unfinished', 'converged', 'superseded', 'deleted']
  for (const [reason, text, where, states] of [
    ['none', '', '', []],
    ['states', 'Failed stuck', '', ['stuck', 'failed']],
    ['not a state', '-deleted', '', all.filter((s) => s !== 'deleted')],
    ['no state is left', 'failed -failed && a == 1', 'a == 1 && false', []],
    [
      'a name, perhaps a kind', 'Web-1',
      '(name.contains("web-1") || namespace.contains("web-1") || user.contains("Web-1") || actor.contains("Web-1"))', [],
    ],
    [
      'a kind, beside CEL', 'pods && duration > duration("1m")',
      '(name.contains("pods") || namespace.contains("pods") || user.contains("pods") || actor.contains("pods") || kind.matches("(?i)^pod(s|es)?$")) && duration > duration("1m")', [],
    ],
    [
      'an object', 'shop/web',
      '((namespace == "shop" || kind.matches("(?i)^shop(s|es)?$")) && name.contains("web") || images.exists(i, i.contains("shop/web")))', [],
    ],
    ['CEL is left alone', 'kind == "Pod" || !(a)', 'kind == "Pod" || !(a)', []],
    ['a state that is a text of CEL', 'outcome == "failed"', 'outcome == "failed"', []],
  ]) {
    const got = translate(text)
    assert.equal(got.where, where, reason)
    assert.deepEqual(got.states, states, reason)
  }
  assert.match(translate('-web').where, /^!\(name/)
  assert.match(translate('svc').where, /\^Service\(s\|es\)/)
  assert.match(translate('policies').where, /\^polic\(y\|ie\)\(s\|es\)/)
  assert.ok(isPlain('web failed') && !isPlain('kind == "Pod"') && !isPlain(''))
  const mixed = translate('web stuck && kin == "Pod"')
  assert.equal(mixed.column(mixed.where.indexOf('kin ==') + 1), 'web stuck && '.length + 1, 'the place of an error of CEL')
  assert.equal(mixed.column(3), undefined, 'plain words have none')
  assert.equal(translate('a && b == 1').column(undefined), undefined)
  for (const [reason, text, state, exclude, want] of [
    ['the first', '', 'failed', false, 'failed'],
    ['beside words', 'web', 'failed', false, 'web failed'],
    ['beside CEL', 'kind == "Pod"', 'stuck', false, 'stuck && kind == "Pod"'],
    ['another', 'web failed && x == 1', 'stuck', false, 'web failed stuck && x == 1'],
    ['away', 'web failed && x == 1', 'failed', false, 'web && x == 1'],
    ['the last away', 'failed && x == 1', 'failed', false, 'x == 1'],
    ['not', 'failed', 'failed', true, '-failed'],
    ['not, away', '-failed', 'failed', true, ''],
    ['beside a choice', 'a == 1 || b == 1', 'stuck', false, 'stuck && (a == 1 || b == 1)'],
  ]) {
    assert.equal(toggleState(text, state, exclude), want, reason)
  }
  assert.equal(withoutStates('web failed -stuck && x == 1'), 'web && x == 1')
  assert.deepEqual(chosenStates('web failed -stuck'), { demanded: new Set(['failed']), excluded: new Set(['stuck']) })
})

test('the present state beside an outcome', async () => {
  const { later, sentence } = await load('text/summary.ts')
  const at = Date.parse('2026-03-01T15:00:00Z')
  const now = (more) => ({ outcome: 'failed', state: 'failed', reason: 'of then', now: { state: 'still', reason: 'of now', since: '2026-03-01T12:03:00Z', ...more } })
  const zone = process.env.TZ
  process.env.TZ = 'UTC'
  try {
    assert.equal(later(now({}), at), 'still broken, 2 h')
    assert.equal(later(now({ before: true }), at), 'still broken, over 2 h')
    assert.equal(later(now({ state: 'since' }), at), 'broken since 12:03')
    assert.equal(later(now({ state: 'since', since: '2026-02-27T12:03:00Z' }), at), 'broken since 02-27 12:03')
    assert.equal(later({ outcome: 'failed' }, at), '')
  } finally {
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
  }
  assert.equal(sentence(now({})), 'of then')
  assert.equal(sentence({ ...now({ state: 'since' }), outcome: 'converged', state: 'converged' }), 'of now')
})

test('texts', async () => {
  const { visible, short, brief, briefer, quote } = await load('text/text.tsx')
  assert.equal(visible('a\u001b[31m\n\t\u202eb\u0085'), 'a\\x1b[31m\\n\\t\\u202eb\\u0085')
  assert.equal(short('abcdefghij', 5), 'ab…ij')
  assert.equal(short('👍👍👍', 3), '👍👍👍', 'characters, not units of UTF-16')
  assert.equal(brief('pull image registry.example.com/team/web:1.2'), 'pull image web:1.2')
  assert.equal(brief('pull image localhost:5000/web:1'), 'pull image web:1')
  assert.equal(brief('image registry.example.com/team/web → registry.example.com/web:2'), 'image web → web:2', 'without a tag')
  assert.equal(brief('image web@sha256:ab → example.com/web@sha256:cd'), 'image web@sha256:ab → web@sha256:cd')
  for (const text of ['finalizer example.com/cleanup: waits', 'label example.com/team a → b', 'annotation helm.sh/hook added']) {
    assert.equal(brief(text), text, 'a name with a prefix is no image')
  }
  assert.equal(brief('path /healthz → /ready'), 'path /healthz → /ready', 'no registry')
  assert.equal(brief('image nginx:1 → library/nginx:2'), 'image nginx:1 → library/nginx:2', 'no registry')
  assert.equal(briefer('Pod recommender-75df94b888-rxkhq waits'), 'Pod recommend…88-rxkhq waits')
  assert.equal(briefer('HorizontalPodAutoscaler web waits'), 'HorizontalPodAutoscaler web waits')
  assert.equal(quote('a"\u0007\u202e'), String.raw`"a\"\u0007\u202e"`)
})

test('durations and ages', async () => {
  const { duration, ago } = await load('text/time.tsx')
  for (const [seconds, want] of [
    [0, '0 s'], [0.0000174, '17.4 µs'], [0.0421, '42.1 ms'], [0.42, '420 ms'], [0.9996, '1 s'], [4.2049, '4.2 s'], [9.996, '10 s'],
    [59.94, '59.9 s'], [59.96, '1m 00s'], [-0.5, '−500 ms'],
    [245, '4m 05s'], [3599.6, '1h 00m'], [12_060, '3h 21m'], [190_000, '2d 4h'],
  ]) {
    assert.equal(duration(seconds), want)
  }
  for (const [seconds, want] of [[-5, 'now'], [1, 'now'], [12, '12 s'], [3599, '59 min'], [90_000, '25 h'], [180_000, '2 d']]) {
    assert.equal(ago(0, seconds * 1000), want)
  }
})

test('marks of the strip are round local times, also across a change of the clock', async () => {
  const { marks } = await load('changes/axis.ts')
  const { period } = await load('text/time.tsx')
  const zone = process.env.TZ
  process.env.TZ = 'Europe/Berlin'
  try {
    const of = (since, until, room) => marks(Date.parse(since), Date.parse(until), room).map((m) => m.text)
    const month = ['10-09', '10-14', '10-19', '10-24', '10-29', '11-03']
    assert.deepEqual(of('2026-10-06T09:00:00Z', '2026-11-05T09:00:00Z', 8), month, 'days, over the end of summer time')
    const days = ['03-24', '03-25', '03-26', '03-27', '03-28', '03-29', '03-30']
    assert.deepEqual(of('2026-03-23T12:00:00Z', '2026-03-30T12:00:00Z', 8), days, 'a day of 23 hours')
    const hours = ['06:00', '12:00', '18:00', '10-25', '06:00', '12:00']
    assert.deepEqual(of('2026-10-24T00:00:00Z', '2026-10-25T12:00:00Z', 6), hours, 'hours, by the clock')
    assert.deepEqual(of('2026-10-24T23:30:00Z', '2026-10-25T02:30:00Z', 4), ['02:00', '02:00', '03:00'], 'an hour comes twice')
    assert.deepEqual(of('2026-06-01T10:01:00Z', '2026-06-01T11:01:00Z', 4), ['12:15', '12:30', '12:45', '13:00'])
    const at = (text) => Date.parse(text)
    assert.equal(period(at('2026-10-25T10:00:00Z'), at('2026-10-25T12:00:00Z')), '2026-10-25 11:00:00 – 13:00:00')
    assert.equal(period(at('2026-10-24T10:00:00Z'), at('2026-10-25T12:00:00Z')), '2026-10-24 12:00:00 – 2026-10-25 13:00:00')
  } finally {
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
  }
})

test('the clock of the server', async () => {
  const { offsetOf } = await load('api/clock.ts')
  const date = 'Thu, 26 Nov 2026 12:00:00 GMT'
  const at = Date.parse(date)
  for (const [reason, former, header, sent, received, want] of [
    ['the same time', 0, date, at + 400, at + 600, 0],
    ['a slow answer', 0, date, at - 20_000, at + 600, 0],
    ['less than the header can show', 0, date, at - 900, at - 800, 0],
    ['an hour ahead', 0, date, at + 3_600_000, at + 3_600_200, -3_599_600],
    ['an hour behind', 0, date, at - 3_600_000, at - 3_599_800, 3_600_400],
    ['known already', -3_599_600, date, at + 3_600_800, at + 3_600_900, -3_599_600],
    ['the clock was set', -3_599_600, date, at + 400, at + 600, 0],
    ['no header', 7, null, at, at, 7],
  ]) {
    assert.equal(offsetOf(former, header, sent, received), want, reason)
  }
})

test('folding', async () => {
  const { fold } = await load('changes/folding.ts')
  const change = (id, more = {}) => ({
    traceId: id, open: false, outcome: 'converged', state: 'converged', verb: 'create', actor: 'x',
    object: { kind: 'Job', namespace: 'n', name: id }, ...more,
  })
  const like = ['a', 'b', 'c'].map((id) => change(id))
  const other = change('d', { outcome: 'failed', state: 'failed' })
  const ids = (rows) => rows.map((r) => r.id)
  assert.deepEqual(ids(fold([...like, other], true, new Set())), ['g-c', 'd'])
  assert.deepEqual(ids(fold([...like, other], false, new Set())), ['a', 'b', 'c', 'd'])
  assert.deepEqual(ids(fold([...like, other], true, new Set(['b']))), ['g-c', 'a', 'b', 'c', 'd'])
  assert.deepEqual(ids(fold(like.slice(1), true, new Set())), ['b', 'c'], 'two are not folded')
  assert.deepEqual(ids(fold([like[0], other, like[1], like[2]], true, new Set())), ['a', 'd', 'b', 'c'], 'only neighbours')
  const elsewhere = change('e', { object: { kind: 'Job', namespace: 'other', name: 'e' } })
  assert.deepEqual(ids(fold([...like.slice(0, 2), elsewhere], true, new Set())), ['a', 'b', 'e'])
})

test('where the time went', async () => {
  const { gradient, parts, words } = await load('changes/work.tsx')
  const s = {
    duration: 10, slowest: 'pull image web:2', slowestDuration: 6,
    work: [{ name: 'schedule', duration: 1 }, { name: 'pull image example.com/web:2', duration: 6 }, { name: 'create Pod', duration: 2.5 }],
  }
  assert.equal(words(parts(s)), 'schedule 1 s, pull image web:2 6 s, create Pod 2.5 s, other work 500 ms')
  assert.equal(
    gradient(parts(s)),
    'linear-gradient(to right, var(--work-place) 0.0% 10.0%, var(--work-image) 10.0% 70.0%, var(--work-control) 70.0% 95.0%, var(--work-other) 95.0% 100.0%)',
  )
  assert.deepEqual(parts({ ...s, work: undefined }).map((p) => p.tone), ['image', 'other'], 'an archive of an earlier version')
  assert.deepEqual(parts({ duration: 0 }), [])
})

test('an open change continues', async () => {
  const { present, sentence, who } = await load('text/summary.ts')
  const s = {
    open: true, stuck: false, state: 'running', start: '2026-03-01T12:00:00Z', duration: 10, slowest: 'schedule', slowestDuration: 8,
    current: 'pull image', currentDuration: 2, work: [{ name: 'schedule', duration: 8 }, { name: 'pull image', duration: 2 }],
  }
  const at = (seconds) => present(s, Date.parse(s.start) + seconds * 1000)
  assert.equal(at(12).duration, 12)
  assert.equal(at(12).slowest, 'schedule')
  assert.deepEqual([at(60).slowest, at(60).slowestDuration], ['pull image', 52])
  assert.deepEqual(at(60).work.map((w) => w.duration), [8, 52])
  assert.equal(at(5).duration, 10, 'a clock behind the server’s')
  assert.equal(present({ ...s, state: 'converged' }, Date.parse(s.start) + 60_000).duration, 10, 'it has its outcome')
  const waits = { ...s, reason: 'Pod web-1 is ready, and must stay so for 10s' }
  assert.equal(sentence({ ...waits, current: 'reconcile Pod' }), waits.reason)
  assert.equal(sentence({ ...waits, current: 'pull image web:1' }), '', 'a step says more')
  assert.deepEqual(who({ user: 'alice', actor: 'kubectl' }), { name: 'alice', by: 'kubectl' })
  assert.deepEqual(who({ user: 'system:serviceaccount:x', actor: 'x-controller' }), { name: 'x-controller', by: '' })
})

test('work of one kind is one share', async () => {
  const { sharesOf, percent } = await load('trace/shares.ts')
  const at = (seconds) => new Date(Date.parse('2026-03-01T12:00:00Z') + seconds * 1000).toISOString()
  const span = (spanId, label, name) => ({ spanId, name: label, label, object: { kind: 'Pod', namespace: 'n', name } })
  const spans = [span('a', 'pull image web:2', 'web-1'), span('b', 'pull image web:2', 'web-2'), span('c', 'pull image web:2', 'web-3'), span('d', 'schedule', 'web-1')]
  const value = (of) => ({ peek: () => of })
  const model = {
    tree: value({ path: [['a', 0, 6.7], ['b', 6.7, 13.3], ['c', 13.3, 20], ['d', 20, 100]].map(([spanId, from, to]) => ({ spanId, start: at(from), end: at(to) })) }),
    base: value(Date.parse('2026-03-01T12:00:00Z')),
    rows: value([]),
    source: { span: async (id) => ({ span: spans.find((s) => s.spanId === id) }) },
  }
  const got = (await sharesOf(model)).map((s) => [s.span.spanId, s.count, Math.round(s.longest), Math.round(s.ms), percent(s.part)])
  assert.deepEqual(got, [['d', 1, 80_000, 80_000, '80 %'], ['a', 3, 6700, 20_000, '20 %']])
})

test('what happened to the Pods of a change afterwards', async () => {
  const { sentence } = await load('text/summary.ts')
  const { verdict } = await load('trace/sentence.ts')
  const text = '14 restarts in 9 min (0 in the day before): container app exited with 137 (OOMKilled)'
  const web = { outcome: 'converged', state: 'converged', object: { kind: 'Deployment', name: 'web' }, duration: 4.2, aftermath: { text } }
  assert.equal(sentence(web), text)
  assert.equal(sentence({ ...web, now: { reason: 'of now' } }), 'of now')
  assert.equal(verdict(web, undefined, 4200, 0), `Deployment web converged in 4.2 s; since then ${text}.`)
  const stuck = { state: 'stuck', reason: 'crashes' }
  assert.equal(verdict(web, stuck, 4200, 0), `Deployment web is stuck: crashes. Its change converged; since then ${text}.`)
})

test('who changed what, in a sentence', async () => {
  const { changed } = await load('text/cause.ts')
  const web = { kind: 'Deployment', namespace: 'shop', name: 'web' }
  const edits = ['image web:1 → web:2', 'replicas 1 → 2', 'env A 1 → 2']
  assert.equal(changed({ who: 'alice', verb: 'update', object: web, edits }), 'alice changed Deployment shop/web (image web:1 → web:2, replicas 1 → 2 and 1 more)')
  assert.equal(changed({ who: 'alice', verb: 'update', object: web, edits: edits.slice(0, 1) }, web), 'alice changed image web:1 → web:2')
  assert.equal(changed({ who: 'alice', verb: 'update', object: web }, web), 'alice changed Deployment shop/web')
  assert.equal(changed({ verb: 'create', object: web }, web), 'Deployment shop/web was created')
  assert.equal(changed({ who: 'bob', command: 'kubectl cordon a' }), 'bob: kubectl cordon a')
  assert.equal(changed({ who: 'a', verb: 'delete', object: { kind: 'Node', name: 'n-1' } }), 'a deleted Node n-1')
})
