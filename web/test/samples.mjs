// SPDX-License-Identifier: Apache-2.0

// A server of the page and of the API over sample traces, without a cluster: TestServer of
// app/internal/page/pagetest.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const app = join(dirname(fileURLToPath(import.meta.url)), '../../app')

// startSamples returns the address of the server, and the IDs of its traces by name.
export async function startSamples(dir) {
  const program = join(dir, 'samples')
  const env = { ...process.env, GOWORK: 'off' }
  await promisify(execFile)('go', ['test', '-c', '-o', program, './internal/page/pagetest'], { cwd: app, env })
  const child = spawn(program, ['-test.run', '^TestServer$', '-test.timeout', '1h'], {
    cwd: dir,
    env: { ...env, LIFELINE_PAGE_TEST: '127.0.0.1:0' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let log = ''
  await new Promise((resolve, reject) => {
    child.stdout.on('data', (text) => {
      log += text
      if (log.includes('\nready\n')) resolve()
    })
    child.on('exit', (code) => reject(new Error(`the server of samples ended with ${code}:\n${log}`)))
  })
  const url = /^serving (\S+)$/m.exec(log)[1]
  const traces = Object.fromEntries([...log.matchAll(/^trace (\S+) (\S+)$/gm)].map((m) => [m[1], m[2]]))
  return {
    url,
    address: url.slice('http://'.length),
    traces,
    // grow adds Pods to the growing trace; with end, it ends.
    async grow(pods, end = false) {
      await fetch(`${url}/grow/${pods}${end ? '?end=yes' : ''}`, { method: 'POST' })
    },
    async stop() {
      child.stdin.end('\n')
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}
