// SPDX-License-Identifier: Apache-2.0

// What is broken now, over answers and live updates of the tests.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually, launch, parameter, refused } from './browser.mjs'
import { fake, wrong } from './fake.mjs'
import { bad, problem } from './problems.mjs'

let browser
before(async () => {
  browser = await launch()
})
after(() => browser.close())

const minute = 60_000
const hour = 60 * minute

const states = [['converged', 306], ['running', 2], ['failed', 3], ['stuck', 1]]

const listOf = (...problems) => ({ asOf: new Date().toISOString(), problems })

// now opens the view over a list, or over a function that answers requests.
const now = (list, path = '/', options = {}) =>
  fake(browser, path, {
    ...options,
    given: { problems: typeof list === 'function' ? list : () => ({ json: list }), groups: (q) => ({ json: { groups: q.by === 'state' ? states.map(([value, count]) => ({ value, count, with: 0 })) : [] } }), ...options.given },
  })

const row = (page, name) => page.locator('[data-problem]', { hasText: name })

test('a problem is said in full: since when, what, why, who, and the next command', async () => {
  for (const viewport of [{ width: 1280, height: 800 }, { width: 390, height: 844 }]) {
    const { page, end } = await now(bad(), '/', { viewport })
    const first = page.locator('[data-problem]').first()
    await first.waitFor()
    assert.equal(await page.title(), '(5) Now · Lifeline')
    assert.match(await page.locator('h1').innerText(), /^5 problems$/)
    assert.match(await first.locator('.since').innerText(), /^3h 21m$/)
    const reason = first.locator('.reason')
    assert.equal(
      await reason.innerText(),
      'Deployment worker-1 cannot pull image registry.example.com/platform/worker:2026.11.3: the registry has no such tag',
    )
    assert.ok(await reason.evaluate((e) => e.scrollWidth <= e.clientWidth && e.scrollHeight <= e.clientHeight + 1), 'nothing is cut')
    assert.match(await first.locator('.place').innerText(), /shop\/worker-1\s*\+499 more\s*in data, payments, search, shop$/)
    assert.match(await first.locator('.cause').innerText(), /^alice@example.com changed image worker:2026.11.2 → worker:2026.11.3, 3 h ago$/)
    assert.equal(await first.locator('.cause a').getAttribute('href'), '/trace/5b8aa5a2d2c872e8321cf37308d69df2')
    assert.equal(await first.locator('.next code').innerText(), 'lifeline why deploy/worker-1 -n shop')
    assert.match(await row(page, 'ledger').locator('.cause').innerText(), /^StatefulSet payments\/ledger was changed \(replicas 2 → 3\), 12 min ago$/)
    assert.match(await row(page, 'preview-812').locator('.since').innerText(), /^over 1d 2h$/, 'older than the first observation')
    assert.match(await row(page, 'preview-812').locator('.reason').innerText(), /example\.com\/cleanup/)
    const colour = (name) => row(page, name).locator('.since').evaluate((e) => getComputedStyle(e).color)
    assert.equal(await colour('ledger'), await colour('worker-1'))
    assert.notEqual(await colour('node-2'), await colour('worker-1'), 'a cordon breaks nothing')
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), viewport.width)
    await end()
  }
})

test('the objects of one cause and the earlier reasons unfold, also from a link', async () => {
  const { page, end } = await now(bad())
  const first = page.locator('[data-problem]').first()
  await first.locator('.count').click()
  assert.equal(await first.locator('.objects li').count(), 19)
  assert.match(await first.locator('.objects li').first().innerText(), /Deployment payments\/worker-2/)
  await first.getByText('and 480 further objects').waitFor()
  await eventually('the address has it', () => parameter(page, 'more') === 'p-worker-1')
  await page.reload()
  await first.locator('.objects li').first().waitFor()
  assert.match(await first.locator('.objects a').first().getAttribute('href'), /^\/changes\?where=kind/)
  const second = row(page, 'checkout')
  assert.match(await second.locator('.earlier').innerText(), /GET \/healthz .*503/)
  await second.getByText('and 1 earlier').click()
  await second.getByText('exits with code 1, 2 restarts').waitFor()
  await end()
})

test('the list is live: ages count, problems come and go, until nothing is broken', async () => {
  const { page, end, sendTo } = await now(listOf(problem('web', 5000)))
  const age = () => row(page, 'web').locator('.since').innerText()
  await row(page, 'web').waitFor()
  const first = await age()
  await eventually('the age counts', async () => (await age()) !== first)
  await page.locator('.status', { hasText: 'live' }).waitFor()
  await sendTo('problems/stream', 'problems', listOf(problem('api', hour), problem('web', 5000)))
  await row(page, 'api').waitFor()
  assert.match(await page.locator('[data-problem]').first().innerText(), /api/, 'the worst first')
  await sendTo('problems/stream', 'problems', listOf())
  await page.locator('h1', { hasText: 'Nothing is broken.' }).waitFor()
  assert.match(await page.locator('.hour').innerText(), /^In the last hour: 306 changes converged, 3 failed; now: 2 running, 1 stuck\.$/)
  assert.equal(await page.title(), 'Now · Lifeline')
  assert.equal(await page.locator('.hour a').nth(1).getAttribute('href'), '/changes?range=1h&where=failed')
  await end()
})

test('a list that is not live says so, with its time', async () => {
  const { page, end } = await now(listOf(problem('web', hour)), '/', {
    prepare: (page) => page.addInitScript(() => {
      const faked = window.fetch
      window.fetch = (input, init) => (String(input).includes('problems/stream') ? new Promise(() => {}) : faked(input, init))
    }),
  })
  await page.locator('.stale', { hasText: 'not live: as of' }).waitFor()
  assert.equal(await row(page, 'web').count(), 1)
  await end()
})

test('a server that has not looked yet, and one with an error', async () => {
  let answer = () => wrong(503, 'the server has not looked at the cluster yet')
  const { page, end, sendTo } = await now(() => answer(), '/', { allowed: [refused(503)] })
  await page.locator('.failure', { hasText: 'has not looked' }).waitFor()
  assert.equal(await page.locator('h1').count(), 0, 'no claim that nothing is broken')
  answer = () => ({ json: listOf() })
  await sendTo('problems/stream', 'problems', listOf(problem('web', minute)))
  await row(page, 'web').waitFor()
  assert.equal(await page.locator('.failure').count(), 0)
  await end()
})

test('a namespace is asked for, and each has its number', async () => {
  const { page, end, of } = await now((q) => {
    const all = bad()
    const problems = q.namespace ? all.problems.filter((p) => p.namespaces.includes(q.namespace)) : all.problems
    return { json: { ...all, problems } }
  })
  const chip = (name) => page.locator('.spaces button', { hasText: name })
  assert.match(await chip('shop').innerText(), /shop 2/)
  await chip('payments').click()
  await eventually('two problems', async () => (await page.locator('[data-problem]').count()) === 2)
  assert.equal(parameter(page, 'namespace'), 'payments')
  assert.ok(of('problems').some((q) => q.namespace === 'payments'))
  assert.match(await page.locator('h1').innerText(), /2 problems in payments/)
  assert.equal(await chip('shop').count(), 1, 'the others stay')
  await page.goto(page.url().replace('payments', 'elsewhere'))
  await page.locator('h1', { hasText: 'Nothing is broken in elsewhere.' }).waitFor()
  await chip('all namespaces').click()
  await eventually('all again', async () => (await page.locator('[data-problem]').count()) === 5)
  await end()
})

test('keys move, unfold, copy and open', async () => {
  const { page, context, end } = await now(bad(), '/', { allowed: [refused(404)] }) // the trace is not there
  await page.locator('[data-problem]').first().waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  const focused = () => page.evaluate(() => document.activeElement?.dataset.problem)
  await eventually('the second', async () => (await focused()) === 'p-checkout')
  await page.keyboard.press('f')
  await row(page, 'checkout').getByText('2 restarts').waitFor()
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.keyboard.press('c')
  await eventually('the command', async () => (await page.evaluate(() => navigator.clipboard.readText())) === 'kubectl logs -n shop deploy/checkout -c checkout --previous')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/trace\/a3ce929d0e0e47364bf92f3577b34da6/)
  await page.goBack()
  await eventually('back selects it', async () => (await page.locator('.problem-row.selected').getAttribute('data-problem')) === 'p-checkout')
  await end()
})

test('the views are Now and Changes; an earlier link to the list stays one', async () => {
  const { page, end, status } = await now(listOf())
  assert.deepEqual(await page.locator('nav[aria-label=Views] a').allInnerTexts(), ['Now', 'Changes'])
  await page.keyboard.press('g')
  await page.keyboard.press('c')
  await page.waitForURL(/\/changes$/)
  await eventually('the list', async () => /0 changes/.test(await status()))
  await page.keyboard.press('g')
  await page.keyboard.press('n')
  await page.locator('h1', { hasText: 'Nothing is broken' }).waitFor()
  await page.goto(new URL('/?range=7d', page.url()).href)
  await page.locator('[aria-label="Time, back from now"] [aria-pressed=true]', { hasText: '7d' }).waitFor()
  await end()
})

test('hostile names of a problem are text', async () => {
  const name = '<img src=x onerror=alert(1)>\u202e\u001b[31m'
  const { page, end } = await now(listOf(problem(name, minute, { namespaces: [name, 'shop'], next: `lifeline why ${name}` })))
  await page.locator('[data-problem]').waitFor()
  assert.equal(await page.locator('main img').count(), 0)
  assert.match(await page.locator('.reason').innerText(), /<img src=x onerror=alert\(1\)>\\u202e\\x1b\[31m/)
  await end()
})
