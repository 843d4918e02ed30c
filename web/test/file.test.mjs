// SPDX-License-Identifier: Apache-2.0

// `lifeline trace ID --archive FILE -o html`, without a server: the file is opened from disk.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { eventually, launch, open } from './browser.mjs'
import { lines } from './seed.mjs'

const lifeline = join(dirname(fileURLToPath(import.meta.url)), '../../bin/lifeline')

let browser
let dir
before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'lifeline-file-'))
  browser = await launch()
})
after(async () => {
  await browser?.close()
  if (dir) rmSync(dir, { recursive: true, force: true })
})

test('a trace of an export, and of a data directory, becomes a page without a server', async () => {
  // Nothing but the export: no server, no kubeconfig.
  const env = { PATH: process.env.PATH, HOME: dir, KUBECONFIG: join(dir, 'none') }
  const all = [...lines(40, 1_760_000_000, [], 'of-the-export')]
  const exported = join(dir, 'traces.jsonl')
  writeFileSync(exported, `${all.join('\n')}\n`)
  const data = join(dir, 'data')
  execFileSync(lifeline, ['archive', 'import', exported, '--data-dir', data], { env, stdio: 'pipe' })
  const wanted = all.map((line) => JSON.parse(line)).find((t) => t.lifeline.outcome === 'converged' && JSON.stringify(t).includes('pull image'))
  for (const [name, from] of [['export', exported], ['data', data]]) {
    const html = execFileSync(lifeline, ['trace', wanted.lifeline.traceId.slice(0, 10), '--archive', from, '-o', 'html'], { env })
    const file = join(dir, `${name}.html`)
    writeFileSync(file, html)
    const { page, context, end } = await open(browser, '', { url: pathToFileURL(file).href })
    await context.setOffline(true)
    assert.match(await page.locator('.verdict').innerText(), /^Deployment \S+ converged in .* % of it for pull image/)
    await page.locator('.waterfall [data-row]', { hasText: 'Pod' }).first().click()
    await eventually('the reason in words', async () =>
      /^Pod \S+ took [\d.]+ s; \d+ % of it for /.test(await page.locator('.because').innerText().catch(() => '')))
    await end()
  }
})
