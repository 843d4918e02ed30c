// SPDX-License-Identifier: Apache-2.0

// Writes the pictures of docs/guides/scheduler.md: a Pod of a real cluster that fits on no node, in the terminal
// and on the page. Its scheduler is bin/lifeline-scheduler.

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { launch } from './launch.mjs'
import { kubectl, startCluster, startServer, stopCluster } from './server.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
const to = join(root, 'docs/guides/images')
mkdirSync(to, { recursive: true })

const scheduler = join(root, 'bin/lifeline-scheduler')
const receiver = await freeAddress()
const dir = mkdtempSync(join(tmpdir(), 'lifeline-scheduler-'))
let cluster
let server
let browser
try {
  cluster = await startCluster(join(dir, 'cluster'), 'kwok', [
    '--node-count', '10', '--scheduler', scheduler, '--tracing', `kube-scheduler=${receiver}`,
  ])
  server = await startServer(cluster, join(dir, 'server'), `receivers: {otlp: {grpc: {address: "${receiver}"}}}\n`)
  browser = await launch()
  await pictures()
} finally {
  await browser?.close()
  await server?.stop()
  if (cluster) await stopCluster(cluster)
  rmSync(dir, { recursive: true, force: true })
}

async function pictures() {
  await kubectl(cluster, ['taint', 'nodes', 'node-0', 'node-1', 'node-2', 'dedicated=database:NoSchedule'])
  await kubectl(cluster, ['cordon', 'node-3'])
  const resources = { requests: { cpu: '2', memory: '100Gi' } }
  await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify({
    apiVersion: 'v1', kind: 'Pod', metadata: { name: 'trainer' },
    spec: { containers: [{ name: 'trainer', image: 'registry.example.com/trainer:3', resources }] },
  }))
  const words = await eventually('the reasons of the scheduler', async () => {
    const text = await why('pod/trainer')
    return /lack memory \(NodeResourcesFit\)/.test(text) && /got a taint: /.test(text) && /was cordoned: /.test(text) && text
  })
  const answer = await (await fetch(`${server.url}/api/v1/traces?kind=Pod&name=trainer`)).json()
  for (const colorScheme of ['light', 'dark']) {
    await terminal('lifeline why pod/trainer', words, colorScheme)
    await page(answer.traces[0].traceId, colorScheme)
  }
}

// why returns what the command prints. Its exit code is 1 for a stuck object.
async function why(object) {
  const env = { ...cluster.env, LIFELINE_SERVER: server.url }
  return promisify(execFile)(join(root, 'bin/lifeline'), ['why', object], { env }).then((r) => r.stdout, (err) => err.stdout)
}

// terminal writes a picture of a command with its output.
async function terminal(command, output, colorScheme) {
  const context = await browser.newContext({ viewport: { width: 900, height: 600 }, deviceScaleFactor: 2, colorScheme })
  const view = await context.newPage()
  await view.setContent(`<!doctype html><meta name="color-scheme" content="light dark"><style>
    body { margin: 0; background: light-dark(#fff, #0d1117) }
    pre { margin: 0; padding: 16px 20px; font: 13.5px/1.5 monospace; white-space: pre-wrap; color: light-dark(#1f2328, #e6edf3) }
    b { font-weight: 400; color: light-dark(#6e7781, #8b949e) }
  </style><pre><b>$ </b></pre>`)
  const text = view.locator('pre')
  // A browser breaks lines after a hyphen, such as in the name of a node.
  await text.evaluate((pre, words) => pre.append(words), `${command}\n${output.trimEnd()}`.replaceAll('-', '\u2011'))
  await text.screenshot({ path: join(to, `scheduler-why-${colorScheme}.png`) })
  await context.close()
}

// page writes a picture of the attempt's spans, and of the phase that waits for them.
async function page(trace, colorScheme) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 800 }, colorScheme })
  const view = await context.newPage()
  await view.goto(`${server.url}/trace/${trace}`)
  const row = (text) => view.locator('.waterfall [data-row]', { hasText: text }).first()
  await row('schedule').waitFor()
  await view.getByRole('button', { name: 'Unfold all' }).click()
  await row('Filter NodeResourcesFit').waitFor()
  await row('scheduling attempt').click()
  await view.keyboard.press('z') // to the two milliseconds of the attempt
  await row('schedule').click()
  await view.locator('.details .node-changes li').nth(1).waitFor()
  await view.mouse.move(10, 10)
  await view.screenshot({ path: join(to, `scheduler-${colorScheme}.png`) })
  await context.close()
}

// eventually returns the first result that is not false.
async function eventually(what, attempt) {
  for (const end = Date.now() + 60_000; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 300))) {
    const got = await attempt()
    if (got) return got
  }
  throw new Error(`not after a minute: ${what}`)
}

async function freeAddress() {
  const one = net.createServer().listen(0, '127.0.0.1')
  await once(one, 'listening')
  const { port } = one.address()
  one.close()
  await once(one, 'close')
  return `127.0.0.1:${port}`
}
