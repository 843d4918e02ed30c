// SPDX-License-Identifier: Apache-2.0

import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ApiError } from '../../api/client'
import type { Summary } from '../../api/types'
import { Text } from '../../text/text'
import type { Model } from '../model'
import { title } from '../sentence'
import { mostSummaries } from '../source'
import type { Cause, SpanDetail } from '../types'
import { link } from '../words'
import { jump } from './Panel'

// mostLinks bounds the links of a list.
const mostLinks = 20

// Linked lists the traces at the other ends of links, with what each says about itself.
export function Linked({ model }: { model: Model }) {
  const causes = useSignal<Cause[]>([])
  const problem = useSignal('')
  useSignalEffect(() => {
    model.asked.value
    // The trace itself comes first.
    const timer = setTimeout(() => {
      model.source.causes().then(
        (list) => {
          causes.value = list
          problem.value = ''
        },
        // The frame shows an absent server and a missing token.
        (err: unknown) => (problem.value = err instanceof ApiError && err.status !== 401 ? err.message : ''),
      )
    }, 400)
    return () => clearTimeout(timer)
  })
  const mine = model.tree.value?.summary?.traceId
  const seen = new Set<string>()
  const links = causes.value.flatMap((c) => {
    const out = c.traceId === mine
    const trace = out ? c.ofTrace : c.traceId
    const key = `${trace} ${c.reason ?? ''} ${out}`
    if (seen.has(key)) return []
    seen.add(key)
    return [{ trace, span: out ? c.ofSpan : c.spanId, reason: c.reason, out }]
  })
  const summaries = useSummaries(model, links.slice(0, mostLinks).map((l) => l.trace))
  if (links.length === 0 && problem.value === '') return null
  return (
    <section>
      <h3>Linked traces</h3>
      {problem.value && (
        <p class="note" role="status">
          They are missing or old. <Text of={problem.value} />
        </p>
      )}
      <ul class="plain">
        {links.slice(0, mostLinks).map((l) => (
          <li key={`${l.trace} ${l.reason} ${l.out}`}>
            <LinkedTrace model={model} trace={l.trace} span={l.span} summary={summaries.get(l.trace)} />
            <span class="soft"> {l.out ? link(l.reason) : 'follows from this change'}</span>
          </li>
        ))}
      </ul>
      {links.length > mostLinks && <p class="note">and {links.length - mostLinks} more</p>}
    </section>
  )
}

// useSummaries returns the known summaries of traces, by ID.
function useSummaries(model: Model, traces: string[]): ReadonlyMap<string, Summary> {
  const known = useSignal<ReadonlyMap<string, Summary>>(new Map())
  const ids = [...new Set(traces)].slice(0, mostSummaries).join(',')
  useEffect(() => {
    if (ids === '') return
    model.source.summaries(ids.split(',')).then(
      (list) => (known.value = new Map(list.map((s) => [s.traceId, s]))),
      () => undefined, // a link without words has the ID
    )
  }, [model, ids])
  return known.value
}

function LinkedTrace({ model, trace, span, summary }: { model: Model; trace: string; span: string; summary: Summary | undefined }) {
  const words = summary ? title(summary) : `trace ${trace.slice(0, 8)}`
  if (!model.source.live) return <Text of={words} most={80} />
  return (
    <a href={`/trace/${trace}${/^0*$/.test(span) ? '' : `?at=${span}`}`}>
      <Text of={words} most={80} />
    </a>
  )
}

// Links lists the links of one span.
export function Links({ model, list }: { model: Model; list: NonNullable<SpanDetail['links']> }) {
  const own = model.tree.value?.summary?.traceId
  const shown = list.slice(0, mostLinks)
  const summaries = useSummaries(model, shown.flatMap((l) => (l.traceId === own ? [] : [l.traceId])))
  return (
    <section>
      <h3>Links</h3>
      <ul class="plain">
        {shown.map((l) => (
          <li key={`${l.traceId} ${l.spanId} ${l.reason}`}>
            {l.traceId === own ? (
              <button type="button" class="as-link" onClick={() => void jump(model, l.spanId)}>
                another span of this trace
              </button>
            ) : (
              <LinkedTrace model={model} trace={l.traceId} span={l.spanId} summary={summaries.get(l.traceId)} />
            )}
            <span class="soft"> {link(l.reason)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
