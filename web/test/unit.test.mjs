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

test('texts', async () => {
  const { visible, short, brief, briefer, quote } = await load('text/text.tsx')
  assert.equal(visible('a\u001b[31m\n\t\u202eb\u0085'), 'a\\x1b[31m\\n\\t\\u202eb\\u0085')
  assert.equal(short('abcdefghij', 5), 'ab…ij')
  assert.equal(short('👍👍👍', 3), '👍👍👍', 'characters, not units of UTF-16')
  assert.equal(brief('pull image registry.example.com/team/web:1.2'), 'pull image web:1.2')
  assert.equal(brief('pull image localhost:5000/web:1'), 'pull image web:1')
  assert.equal(brief('path /healthz → /ready'), 'path /healthz → /ready', 'no registry')
  assert.equal(brief('image nginx:1 → library/nginx:2'), 'image nginx:1 → library/nginx:2', 'no registry')
  assert.equal(briefer('Pod recommender-75df94b888-rxkhq waits'), 'Pod recommend…88-rxkhq waits')
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

test('folding', async () => {
  const { fold } = await load('changes/folding.ts')
  const change = (id, more = {}) => ({
    traceId: id, open: false, outcome: 'converged', verb: 'create', actor: 'x',
    object: { kind: 'Job', namespace: 'n', name: id }, ...more,
  })
  const like = ['a', 'b', 'c'].map((id) => change(id))
  const other = change('d', { outcome: 'failed' })
  const ids = (rows) => rows.map((r) => r.id)
  assert.deepEqual(ids(fold([...like, other], true, new Set())), ['g-c', 'd'])
  assert.deepEqual(ids(fold([...like, other], false, new Set())), ['a', 'b', 'c', 'd'])
  assert.deepEqual(ids(fold([...like, other], true, new Set(['b']))), ['g-c', 'a', 'b', 'c', 'd'])
  assert.deepEqual(ids(fold(like.slice(1), true, new Set())), ['b', 'c'], 'two are not folded')
  assert.deepEqual(ids(fold([like[0], other, like[1], like[2]], true, new Set())), ['a', 'd', 'b', 'c'], 'only neighbours')
  const elsewhere = change('e', { object: { kind: 'Job', namespace: 'other', name: 'e' } })
  assert.deepEqual(ids(fold([...like.slice(0, 2), elsewhere], true, new Set())), ['a', 'b', 'e'])
})

test('an open change continues', async () => {
  const { present, state, who } = await load('text/summary.ts')
  const s = {
    open: true, stuck: false, start: '2026-03-01T12:00:00Z', duration: 10, slowest: 'schedule', slowestDuration: 8,
    current: 'pull image', currentDuration: 2,
  }
  const at = (seconds) => present(s, Date.parse(s.start) + seconds * 1000)
  assert.equal(at(12).duration, 12)
  assert.equal(at(12).slowest, 'schedule')
  assert.deepEqual([at(60).slowest, at(60).slowestDuration], ['pull image', 52])
  assert.equal(at(5).duration, 10, 'a clock behind the server’s')
  assert.equal(state(s), 'running')
  assert.equal(state({ ...s, stuck: true }), 'stuck')
  assert.deepEqual(who({ user: 'alice', actor: 'kubectl' }), { name: 'alice', by: 'kubectl' })
  assert.deepEqual(who({ user: 'system:serviceaccount:x', actor: 'x-controller' }), { name: 'x-controller', by: '' })
})
