// SPDX-License-Identifier: Apache-2.0

import { ApiError } from '../api/client'
import type { Source } from './source'
import type { Cause, SpanDetail, Step, Tree, TreeSpan } from './types'

// Recorded has the answers of a server about one trace, in a file.
export interface Recorded {
  tree: Tree
  lists: Record<string, Tree>
  spans: Record<string, Omit<SpanDetail, 'way'> & { up?: string; key: string }>
  // order has the IDs of the spans in the order of the tree.
  order: string[]
  causes: Cause[]
  leftOut?: number
  note?: string
}

// most is the number of matches that one can step through, as a server has it.
const most = 1000

export function recorded(data: Recorded): Source {
  const absent = (what: string) => new ApiError(404, `This file does not have ${what}.`)
  let texts: { span: TreeSpan; text: string }[] | undefined
  return {
    id: data.tree.summary?.traceId ?? '',
    live: false,
    tree: async () => data.tree,
    async expand(key) {
      const list = data.lists[key] ?? part(data, key)
      if (!list) throw absent(`the list ${key}`)
      return list
    },
    async span(id) {
      const own = data.spans[id]
      if (!own) throw absent(`the span ${id}`)
      const way: Step[] = []
      const seen = new Set<string>()
      for (let at = own, name = id; at && !seen.has(name); name = at.up ?? '', at = data.spans[name]!) {
        seen.add(name)
        way.unshift({ span: at.span, key: at.key })
      }
      return { ...own, way }
    },
    async find(text) {
      const words = text.toLowerCase().split(/\s+/).filter((w) => w !== '')
      texts ??= data.order.map((id) => data.spans[id]!).map(({ span, attributes, events }) => ({
        span,
        text: [
          span.spanId, span.name, span.service, span.outcome, span.message, span.object?.kind, span.object?.namespace, span.object?.name,
          ...attributes.map((a) => String(a.value)),
          ...(events ?? []).flatMap((e) => [e.name, ...(e.attributes ?? []).map((a) => String(a.value))]),
        ].join('\n').toLowerCase(),
      }))
      const all = words.length === 0 ? [] : texts.filter((t) => words.every((w) => t.text.includes(w)))
      return { asOf: data.tree.asOf, count: all.length, spans: all.slice(0, most).map((t) => t.span) }
    },
    causes: async () => data.causes,
    summaries: async () => [],
  }
}

// part returns the end of a list, from a number that no recorded page begins with.
function part(data: Recorded, key: string): Tree | undefined {
  const [name, at] = key.split(':')
  const from = Number(at ?? 0)
  const page = data.lists[`${name}:${from - (from % 200)}`] ?? (from < 200 ? data.lists[name!] : undefined)
  return page && { ...page, nodes: page.nodes.slice(from % 200) }
}
