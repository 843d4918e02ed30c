// SPDX-License-Identifier: Apache-2.0

// Problems as the API answers them, for the tests and the pictures.

const second = 1000
const minute = 60 * second
const hour = 60 * minute

const ref = (kind, namespace, name, group = '') => ({ group, version: 'v1', kind, namespace, name })
const before = (ms) => new Date(Date.now() - ms).toISOString()

// many are the objects of one image: 500 Deployments in four namespaces.
const many = Array.from({ length: 20 }, (_, i) => ref('Deployment', ['shop', 'payments', 'search', 'data'][i % 4], `worker-${i + 1}`, 'apps'))

// problem returns a problem of a Deployment that began `ago` milliseconds before now.
export function problem(name, ago, more = {}) {
  const object = ref('Deployment', 'shop', name, 'apps')
  return {
    id: `p-${name}`, category: 'image_not_found', reason: `Deployment ${name} cannot pull image ${name}:2: not found`, since: before(ago),
    object, objects: [object], count: 1, namespaces: ['shop'], next: `lifeline why deploy/${name} -n shop`, ...more,
  }
}

// bad returns the list of a bad day.
export function bad() {
  return {
    asOf: before(0),
    problems: [
      problem('worker-1', 3 * hour + 21 * minute, {
        reason: 'Deployment worker-1 cannot pull image registry.example.com/platform/worker:2026.11.3: the registry has no such tag',
        object: many[0], objects: many, count: 500, namespaces: ['data', 'payments', 'search', 'shop'],
        image: 'registry.example.com/platform/worker:2026.11.3',
        cause: {
          traceId: '5b8aa5a2d2c872e8321cf37308d69df2', start: before(3 * hour + 22 * minute), who: 'alice@example.com', object: many[0], verb: 'update',
          edits: ['image registry.example.com/platform/worker:2026.11.2 → registry.example.com/platform/worker:2026.11.3'],
        },
        next: 'lifeline why deploy/worker-1 -n shop',
      }),
      problem('checkout', 48 * minute, {
        category: 'crash',
        reason: 'Deployment checkout crashes: container checkout exits with code 137 (out of memory, limit 256Mi), 48 restarts; 0 of 4 Pods are ready',
        earlier: [
          { category: 'crash', reason: 'Deployment checkout crashes: container checkout exits with code 1, 2 restarts', since: before(48 * minute) },
          { category: 'probe', reason: 'Deployment checkout is not ready: GET /healthz of container checkout answers with status 503', since: before(44 * minute) },
        ],
        cause: {
          traceId: 'a3ce929d0e0e47364bf92f3577b34da6', start: before(49 * minute), who: 'helm', verb: 'update', object: ref('Deployment', 'shop', 'checkout', 'apps'),
          edits: ['memory limit 512Mi → 256Mi', 'image checkout:7.1 → checkout:7.2', 'env LOG_LEVEL info → debug'],
        },
        next: 'kubectl logs -n shop deploy/checkout -c checkout --previous',
      }),
      problem('ledger-0', 12 * minute, {
        category: 'quota',
        reason: 'StatefulSet ledger cannot create Pod ledger-2: exceeded quota: compute, requested: requests.cpu=2, used: requests.cpu=15, limited: requests.cpu=16',
        object: ref('StatefulSet', 'payments', 'ledger', 'apps'), objects: [ref('StatefulSet', 'payments', 'ledger', 'apps')], namespaces: ['payments'],
        cause: { traceId: '0af7651916cd43dd8448eb211c80319c', start: before(12 * minute), verb: 'update', object: ref('StatefulSet', 'payments', 'ledger', 'apps'), edits: ['replicas 2 → 3'] },
        next: 'kubectl describe quota compute -n payments',
      }),
      problem('cleanup', 26 * hour, {
        category: 'finalizer', before: true,
        reason: 'Namespace preview-812 cannot be deleted: Widget widgets-0 waits for finalizer example.com/cleanup, and nothing removes it',
        object: ref('Namespace', '', 'preview-812'), objects: [ref('Namespace', '', 'preview-812')], namespaces: [''],
        blamed: ref('Widget', 'preview-812', 'widgets-0', 'example.com'),
        next: 'lifeline why namespace/preview-812',
      }),
      problem('node-2', 95 * minute, {
        category: 'cordoned', note: true,
        reason: 'Node node-2 takes no Pods: it is cordoned',
        object: ref('Node', '', 'node-2'), objects: [ref('Node', '', 'node-2')], namespaces: [''],
        cause: { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', start: before(95 * minute), who: 'bob@example.com', command: 'kubectl cordon node-2' },
        next: 'kubectl uncordon node-2',
      }),
    ],
  }
}
