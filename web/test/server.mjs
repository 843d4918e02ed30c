// SPDX-License-Identifier: Apache-2.0

// A real `lifeline serve` for the tests of the page: it watches a real cluster of the lab, and its
// archive has the changes of seed.mjs. A gate is in front of it, which a test can close.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { lines } from './seed.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
const lab = join(root, 'bin/lab')
const lifeline = join(root, 'bin/lifeline')
const run = promisify(execFile)

// startCluster starts a cluster in a directory. `flags` are further ones of `lab up`.
export async function startCluster(dir, nodes, flags = []) {
  for (const program of [lab, lifeline]) if (!existsSync(program)) throw new Error(`${program} is missing: make bin`)
  await run(lab, ['up', '--dir', dir, '--nodes', nodes, ...flags])
  const kubeconfig = (await run(lab, ['kubeconfig', '--dir', dir])).stdout.trim()
  const path = `${(await run(lab, ['bin', '--dir', dir])).stdout.trim()}:${process.env.PATH}`
  return { dir, env: { ...process.env, KUBECONFIG: kubeconfig, PATH: path } }
}

export async function stopCluster(cluster) {
  await run(lab, ['down', '--dir', cluster.dir])
}

export async function kubectl(cluster, args, input) {
  const child = run('kubectl', args, { env: cluster.env })
  if (input !== undefined) child.child.stdin.end(input)
  return (await child).stdout
}

// startServer starts a server with a data directory of its own, and returns its address and its end.
export async function startServer(cluster, dir, config = '') {
  mkdirSync(dir, { recursive: true })
  const file = join(dir, 'config.yaml')
  writeFileSync(file, `apiVersion: lifeline.dev/v1alpha1\nkind: ServerConfiguration\n${config}`)
  const data = join(dir, 'data')
  const child = spawn(
    lifeline,
    ['serve', '--config', file, '--data-dir', data, '--api-address', '127.0.0.1:0', '--telemetry-address', '127.0.0.1:0'],
    { env: cluster.env, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let log = ''
  const address = await new Promise((resolve, reject) => {
    const read = (text) => {
      log += text
      const found = /msg="API listens" address=(\S+)/.exec(log)
      if (found) resolve(found[1])
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('exit', (code) => reject(new Error(`lifeline serve ended with ${code}:\n${log}`)))
  })
  return {
    address,
    data,
    url: `http://${address}`,
    async stop() {
      if (child.exitCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

// seed stores changes that end now.
export async function seed(cluster, server, count, names) {
  const child = spawn(lifeline, ['archive', 'import', '--data-dir', server.data, '-'], {
    env: cluster.env,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  let problem = ''
  child.stderr.on('data', (text) => (problem += text))
  for (const line of lines(count, Date.now() / 1000, names)) {
    if (!child.stdin.write(`${line}\n`)) await once(child.stdin, 'drain')
  }
  child.stdin.end()
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`cannot seed the archive: ${problem}`)
}

// gate listens on a port of its own, and passes connections to an address while it is open.
export async function gate(address) {
  const [host, port] = address.split(':')
  const sockets = new Set()
  let open = true
  const server = net.createServer((from) => {
    if (!open) return from.destroy()
    const to = net.connect(Number(port), host)
    for (const [a, b] of [[from, to], [to, from]]) {
      sockets.add(a)
      a.pipe(b)
      a.on('error', () => b.destroy())
      a.on('close', () => {
        sockets.delete(a)
        b.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      open = false
      for (const s of sockets) s.destroy()
    },
    open() {
      open = true
    },
    end() {
      this.close()
      server.close()
    },
  }
}
