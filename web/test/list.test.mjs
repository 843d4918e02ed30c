// SPDX-License-Identifier: Apache-2.0

// The list of changes over answers and live updates of the tests: their order and their errors are given.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually, launch, parameter, refused } from './browser.mjs'
import { fake, wrong } from './fake.mjs'

let browser
before(async () => {
  browser = await launch()
})
after(() => browser.close())

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

// change is a summary that begins `ago` milliseconds before now.
function change(name, ago, more = {}) {
  const id = [...name].map((c) => c.charCodeAt(0).toString(16)).join('').padStart(32, '0')
  const s = {
    traceId: id, open: false, start: new Date(Date.now() - ago).toISOString(), duration: 1, outcome: 'converged',
    verb: 'update', object: { kind: 'ConfigMap', namespace: 'n', name }, actor: name, spans: 1, asOf: new Date().toISOString(), ...more,
  }
  return { state: s.open ? (s.stuck ? 'stuck' : 'running') : s.outcome, ...s }
}

const running = { open: true, outcome: undefined }

// later returns the change with a later time, so that it replaces the present one.
const later = (s, more) => ({ ...s, asOf: new Date(Date.parse(s.asOf) + 1000).toISOString(), ...more })

// list opens the page with an answer to requests for traces: changes, or with {status, headers, json}.
const list = (path, traces, options) => fake(browser, path, { traces, ...options })

// held returns a promise and its end.
function held() {
  let release
  const until = new Promise((resolve) => (release = resolve))
  return { until, release }
}

// some answers a request for open changes with the open ones, and others with all.
const some = (q, all) => all.filter((s) => q.open === undefined || s.open)

test('updates during a load are in the list after it', async () => {
  const a = change('first-one', minute, running)
  const gate = held()
  const { page, end, of, send, row } = await list('/changes', async (q) => {
    const answer = some(q, [a])
    if (q.since === '1h') await gate.until
    return answer
  })
  await row('first-one').locator('.state.running').waitFor()
  await page.keyboard.press('1')
  await eventually('the question is asked', () => of('traces').some((q) => q.since === '1h'))
  await send('summary', later(a, { open: false, outcome: 'converged', state: 'converged' }))
  await send('summary', change('second-one', 0))
  await page.waitForTimeout(400) // the page applies updates together
  gate.release()
  await row('second-one').waitFor()
  await row('first-one').locator('.state.converged').waitFor()
  await end()
})

test('a refresh keeps the changes that came during it', async () => {
  const a = change('first-one', minute)
  const gate = held()
  let refreshing = false
  const { page, end, of, send, row } = await list('/changes', async (q) => {
    if (refreshing) await gate.until
    return some(q, [a])
  })
  await row('first-one').waitFor()
  refreshing = true
  const asked = of('traces').length
  await send('synced', {})
  await eventually('a refresh', () => of('traces').length > asked)
  await send('summary', change('second-one', 0))
  await row('second-one').waitFor()
  gate.release()
  await page.waitForTimeout(800) // its answer becomes the list
  assert.equal(await row('second-one').count(), 1)
  await end()
})

test('a filtered list keeps its pages at an update', async () => {
  // The order is that of the matching lifecycles: the traces at the end of a page are not the oldest.
  const all = Array.from({ length: 600 }, (_, i) => change(`c${i}`, ((i * 97) % 600) * minute))
  let matching = all
  const { page, end, of, send, status } = await list('/changes?where=kind+%3D%3D+%22ConfigMap%22&fold=off', (q) => {
    if (q.open) return []
    const from = Number(q.after ?? 0)
    const to = from + Number(q.limit)
    return { json: { traces: matching.slice(from, to), ...(to < matching.length ? { next: String(to) } : {}) } }
  })
  await eventually('all pages', async () => {
    await page.locator('.window').evaluate((e) => (e.scrollTop = e.scrollHeight))
    return (await status()).includes('600 changes')
  })
  const asked = of('traces').length
  // Three changes come, and one of the first page matches no more.
  matching = [...Array.from({ length: 3 }, (_, i) => change(`new${i}`, 0)), ...all.filter((_, i) => i !== 50)]
  await send('summary', later(all[10]))
  await eventually('a refresh', () => of('traces').length > asked)
  await eventually('the list has it', async () => /^\S*\s*live\s+602 changes/.test(await status()))
  await end()
})

test('an error of the server is shown, with another attempt', async () => {
  let answer = () => wrong(500, 'the store cannot be read; see the server’s log')
  const { page, end, of, row, status } = await list('/changes', (q) => answer(q), { allowed: ['500', '504'] })
  const failure = page.locator('.failure')
  await page.locator('.failure', { hasText: 'the store cannot be read' }).waitFor()
  assert.match(await status(), /not loaded/)
  answer = () => wrong(504, 'the store did not answer within 30s')
  const asked = of('traces').length
  await failure.locator('button').click()
  await page.locator('.failure', { hasText: 'within 30s' }).waitFor()
  assert.equal(of('traces').length, asked + 1, 'a question that takes too long is not repeated')
  answer = (q) => some(q, [change('first-one', minute)])
  await failure.locator('button').click()
  await row('first-one').waitFor()
  assert.equal(await failure.count(), 0)
  await end()
})

test('a lost answer is shown, if the server is there', async () => {
  let lost = true
  const { page, end, row } = await list('/changes', (q) => (lost ? { status: 200, body: '{"traces":[' } : some(q, [change('first-one', minute)])))
  await page.locator('.failure', { hasText: 'did not arrive' }).waitFor()
  lost = false
  await page.locator('.failure button').click()
  await row('first-one').waitFor()
  await end()
})

test('a busy server is asked again, and the rows of another question go', async () => {
  let busy = 2
  const { page, end, of, row } = await list('/changes', (q) => {
    if (busy-- > 0) return wrong(429, 'two questions at the same time', { 'Retry-After': '1' })
    return q.open ? [] : { json: { traces: [change('first-one', minute)], next: 'more' } }
  }, { allowed: ['429'] })
  await row('first-one').waitFor()
  assert.equal(await page.locator('.failure').count(), 0)
  busy = Infinity
  await page.keyboard.press('2')
  await page.locator('.failure', { hasText: 'two questions' }).waitFor({ timeout: 15_000 })
  assert.equal(await row('first-one').count(), 0, 'a row of the former question')
  assert.equal(await page.locator('.problem').count(), 0, 'the question has no error')
  assert.equal(of('traces').filter((q) => q.since === '6h').length, 3)
  await page.waitForTimeout(300)
  assert.deepEqual(of('traces').filter((q) => q.since === '6h' && q.after), [], 'the former cursor')
  await end()
})

test('the present state beside an outcome follows without an update of the change', async () => {
  const now = { state: 'still', problem: 'p1', category: 'image_not_found', reason: 'Deployment web fails', since: new Date().toISOString() }
  const broken = change('web-one', minute, { outcome: 'failed', now })
  let repaired = false
  const { page, end, row } = await list('/changes', (q) => some(q, [repaired ? { ...broken, now: undefined } : broken]), {
    prepare: (page) => page.clock.install(),
  })
  const later = row('web-one').locator('.later').first()
  await later.waitFor({ state: 'attached' })
  repaired = true
  await eventually('the state is gone', async () => {
    await page.clock.fastForward(16_000)
    return (await later.count()) === 0
  })
  await end()
})

test('the check of a question searches nothing', async () => {
  const { page, end, of, row } = await list('/changes', (q) => some(q, [change('first-one', minute)]))
  await row('first-one').waitFor()
  await page.keyboard.press('/')
  await page.locator('.cm-content').waitFor()
  await page.keyboard.type('kind == "Pod"')
  await eventually('a check', () => of('lifecycles').length > 0)
  const [check] = of('lifecycles')
  assert.equal(check.where, 'kind == "Pod"')
  assert.ok(check.since && check.since === check.until, JSON.stringify(check))
  await end()
})

test('a selected row asks nothing, also in a brushed part', async () => {
  const text = (ago) => encodeURIComponent(new Date(Date.now() - ago).toISOString())
  const all = [change('first-one', minute), change('second-one', 2 * minute), change('third-one', 3 * minute)]
  const { page, end, asked, of, row } = await list(`/changes?since=${text(hour)}&until=${text(0)}`, (q) => some(q, all))
  await row('first-one').waitFor()
  await eventually('the facets', () => of('groups').length === 5)
  await eventually('the strip', () => of('density').length > 0)
  const before = asked.length
  for (const name of ['first-one', 'second-one', 'third-one']) {
    await page.keyboard.press('j')
    await page.locator('[data-row].selected', { hasText: name }).waitFor()
  }
  await page.waitForTimeout(300)
  assert.deepEqual(asked.slice(before), [])
  await end()
})

test('an open change from before the range stays, until it ends', async () => {
  for (const where of ['', '&where=kind+%3D%3D+%22ConfigMap%22']) {
    const old = change('stuck-for-days', 3 * day, { ...running, stuck: true })
    const recent = change('just-now', minute)
    let open = [old]
    const { page, end, of, send, row } = await list(`/changes?range=1h${where}`, (q) => (q.open ? open : [recent]))
    await row('stuck-for-days').waitFor()
    const asked = of('traces').length
    await send('summary', later(old))
    await send('synced', {})
    await eventually('a refresh', () => of('traces').length >= asked + 2)
    await page.waitForTimeout(400)
    assert.equal(await row('stuck-for-days').count(), 1, where)
    open = []
    await send('summary', { ...later(later(old)), open: false, stuck: undefined, outcome: 'converged', state: 'converged' })
    await eventually('it has ended', async () => (await row('stuck-for-days').count()) === 0)
    assert.equal(await row('just-now').count(), 1)
    await end()
  }
})

test('a part has the date of its end, if that is another day', async () => {
  const { page, end, status } = await list('/changes?since=2026-10-24T10:00:00Z&until=2026-10-25T12:00:00Z', () => [], { timezoneId: 'Europe/Berlin' })
  await page.locator('.chosen').waitFor()
  assert.match(await status(), /2026-10-24 12:00:00 – 2026-10-25 13:00:00/)
  assert.notEqual(parameter(page, 'since'), null)
  await end()
})

test('the times are those of the server, whatever the clock of the browser', async () => {
  // The browser is an hour ahead.
  const ahead = hour
  const ended = change('ended-lately', 50 * minute + ahead)
  const grows = change('grows', 10_000 + ahead, { ...running, duration: 1 })
  const date = () => new Date(Date.now() - ahead).toUTCString()
  const dated = (answer) => ({ ...answer, headers: { Date: date() } })
  const { end, of, send, row } = await list('/changes?range=1h', (q) => dated({ json: { traces: some(q, [ended, grows]) } }))
  await row('ended-lately').waitFor()
  await send('summary', later(grows))
  await eventually('the open change is some seconds old', async () => /^1\d(\.\d)? s/.test(await row('grows').locator('.took').innerText()))
  await eventually('as its begin', async () => /^1\d s$/.test(await row('grows').locator('time').innerText()))
  assert.equal(await row('ended-lately').count(), 1, 'within the hour')
  await eventually('so is the strip', () => {
    const until = Date.parse(of('density').at(-1)?.until ?? '')
    return Math.abs(until - (Date.now() - ahead)) < 2 * minute
  })
  await end()
})

test('counts that cannot be read are not silent', async () => {
  const { page, end } = await list('/changes', () => [change('one', minute)], {
    allowed: [refused(422)],
    given: {
      groups: (q) =>
        q.by === 'kind' ? wrong(422, 'the question takes longer than 10s') : { json: { groups: [{ value: 'some', count: 3, with: 0 }] } },
    },
  })
  await page.getByText('Counts are missing or old. Kind: the question takes longer than 10s').waitFor()
  await page.locator('.facet', { hasText: 'Namespace' }).getByText('some').waitFor()
  await end()
})

test('plain words become CEL and states; a facet adds to them', async () => {
  const group = (value, count) => ({ value, count, with: 0 })
  const { page, end, of, row } = await list('/changes?where=web+failed', () => [change('web-1', minute, { outcome: 'failed' })], {
    given: {
      groups: (q) => ({ json: { groups: q.by === 'state' ? [group('converged', 7), group('stuck', 2), group('failed', 1)] : [] } }),
    },
  })
  await row('web-1').waitFor()
  const [asked] = of('traces')
  assert.match(asked.where, /^\(name\.contains\("web"\)/)
  assert.equal(asked.state, 'failed')
  const facet = page.locator('.facet', { hasText: 'State' })
  await facet.locator('.value', { hasText: 'stuck' }).waitFor()
  assert.deepEqual(
    (await facet.locator('.value').allInnerTexts()).map((t) => t.replace(/\s+/g, ' ').trim()),
    ['stuck 2', '✓ failed 1', 'converged 7'],
    'in the order of states',
  )
  const states = of('groups').find((q) => q.by === 'state')
  assert.deepEqual([states.state, states.changes], [undefined, 'true'], 'the counts of states are those without one')
  assert.equal(of('groups').find((q) => q.by === 'kind').state, 'failed')
  await facet.locator('.value', { hasText: 'stuck' }).click()
  await eventually('the question', () => parameter(page, 'where') === 'web failed stuck')
  await eventually('it is asked', () => of('traces').some((q) => q.state === 'stuck,failed'))
  await end()
})

test('a wrong question keeps the list, with its error below the box', async () => {
  const { page, end, row } = await list('/changes', (q) =>
    q.where ? { status: 400, json: { error: { code: 400, message: 'unknown field kin', column: 1, hint: 'did you mean kind?' } } } : [change('first-one', minute)],
  { allowed: [refused(400)] })
  await row('first-one').waitFor()
  await page.keyboard.press('/')
  await page.locator('.cm-content').waitFor()
  await page.keyboard.type('kin == "Pod"')
  await page.keyboard.press('Enter')
  await page.locator('.problem', { hasText: 'did you mean kind?' }).waitFor()
  await eventually('the question', () => parameter(page, 'where') === 'kin == "Pod"')
  await page.waitForTimeout(300)
  assert.equal(await row('first-one').count(), 1)
  await end()
})

test('plain words need no second Enter', async () => {
  const { page, end, row } = await list('/changes', () => [change('first-one', minute)], {
    given: { fields: () => ({ json: { fields: [{ name: 'start', type: 'timestamp', optional: false, meaning: '' }] } }) },
  })
  await row('first-one').waitFor()
  await page.keyboard.press('/')
  await page.locator('.cm-content').waitFor()
  await page.keyboard.type('sta')
  await page.locator('.cm-tooltip-autocomplete li').first().waitFor()
  await page.waitForTimeout(150)
  await page.keyboard.press('Enter')
  await eventually('the question', () => parameter(page, 'where') === 'sta')
  await end()
})

test('the present state stands beside the outcome', async () => {
  const now = (state) => ({ state, problem: 'p-1', category: 'crash', reason: 'Deployment web crashes: exit code 1', since: new Date(Date.now() - 3 * hour - minute).toISOString(), object: { kind: 'Deployment', name: 'web' } })
  const { page, end, row } = await list('/changes', () => [
    change('web-1', minute, { outcome: 'failed', reason: 'Deployment web cannot pull image web:2', now: now('still') }),
    change('web-2', 2 * minute, { now: now('since') }),
    change('web-3', 3 * minute),
  ], { viewport: { width: 1600, height: 800 }, allowed: [refused(404)] }) // the trace is not there
  await row('web-1').waitFor()
  assert.match(await row('web-1').locator('.state').innerText(), /failed · still broken, 3 h$/)
  assert.match(await row('web-2').locator('.state').innerText(), /converged · broken since (\d\d-\d\d )?\d\d:\d\d$/)
  assert.match(await row('web-2').locator('.why').innerText(), /exit code 1/)
  const cell = row('web-1').locator('.state')
  assert.ok(await cell.evaluate((e) => e.scrollWidth <= e.clientWidth), 'it is not cut')
  await page.setViewportSize({ width: 1280, height: 800 })
  assert.doesNotMatch(await cell.innerText(), /broken/)
  assert.match(await row('web-1').locator('.time').innerText(), /^still broken, 3 h\s*Deployment web cannot pull/)
  await page.setViewportSize({ width: 390, height: 800 })
  assert.match(await cell.innerText(), /still broken/)
  await row('web-1').locator('.state .later').click()
  await page.waitForURL(/\/\?problem=p-1$/)
  await page.goBack()
  await row('web-1').locator('.state .mark').click()
  await page.waitForURL(/\/trace\/[0-9a-f]{32}$/)
  await end()
})

test('the page offers what the server keeps', async () => {
  for (const [retention, want] of [
    [7 * 86400, ['1h', '6h', '24h', '7d']], [36 * 3600, ['1h', '6h', '24h', '7d']], [30 * 86400, ['1h', '6h', '24h', '7d', '30d']],
  ]) {
    const { page, end } = await list('/changes', () => [], {
      given: { info: () => ({ json: { version: 'test', cluster: 'c', asOf: new Date().toISOString(), leading: true, retention, stats: { traces: 5 } } }) },
    })
    await eventually(`${retention} s`, async () => {
      const texts = await page.locator('[aria-label="Time, back from now"] button').allInnerTexts()
      return texts.join() === want.join()
    })
    await end()
  }
})
