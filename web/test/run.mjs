// SPDX-License-Identifier: Apache-2.0

// Runs the tests of the page against one server:
//
//   node run.mjs smoke        the smoke test
//   node run.mjs all          all tests
//   node run.mjs screenshots  writes the pictures of docs/guides/page.md
//   node run.mjs serve        prints the URL of the server, until Ctrl-C
//
// Further arguments of smoke and all go to node, such as --test-name-pattern=TEXT.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { seed, startCluster, startServer, stopCluster } from './server.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const mode = process.argv[2] ?? 'smoke'
const files = {
  smoke: ['unit.test.mjs', 'smoke.test.mjs'],
  all: readdirSync(here).filter((name) => name.endsWith('.test.mjs')),
  screenshots: ['screenshots.mjs'],
  serve: [],
}[mode]
if (!files) throw new Error(`unknown mode ${mode}`)

const dir = mkdtempSync(join(tmpdir(), 'lifeline-page-'))
let cluster
let server
let code = 1
try {
  cluster = await startCluster(join(dir, 'cluster'), mode === 'smoke' ? 'none' : 'kwok')
  server = await startServer(cluster, join(dir, 'server'))
  await seed(cluster, server, mode === 'smoke' ? 300 : 3000, mode === 'screenshots' ? [] : undefined)
  const env = {
    ...process.env,
    LIFELINE_PAGE: JSON.stringify({ dir, cluster, server: { address: server.address, url: server.url, data: server.data } }),
  }
  if (mode === 'serve') {
    console.log(`${server.url}\nexport KUBECONFIG=${cluster.env.KUBECONFIG}`)
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
    code = 0
  } else {
    const args = mode === 'screenshots' ? files : ['--test', '--test-concurrency=1', '--test-timeout=300000', '--test-reporter=spec', ...process.argv.slice(3), ...files]
    const child = spawn(process.execPath, args, { cwd: here, env, stdio: 'inherit' })
    // A signal ends the tests; the cluster then ends below.
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
    ;[code] = await once(child, 'exit')
  }
} finally {
  await server?.stop()
  if (cluster) await stopCluster(cluster)
  rmSync(dir, { recursive: true, force: true })
}
process.exitCode = code ?? 1
