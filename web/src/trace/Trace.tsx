// SPDX-License-Identifier: Apache-2.0

import { useSignal, useSignalEffect } from '@preact/signals'
import { get } from '../api/client'
import { epoch } from '../api/connection'
import type { Summary } from '../api/types'
import { Text } from '../text/text'
import { Ago, duration } from '../text/time'

// Trace shows one change.
export default function Trace({ argument }: { argument: string }) {
  const summary = useSignal<Summary | undefined>(undefined)
  const problem = useSignal('')
  useSignalEffect(() => {
    epoch.value
    const control = new AbortController()
    get<{ lifeline: { summary: Summary } }>(`traces/${argument}`, {}, control.signal).then(
      (doc) => (summary.value = doc.lifeline.summary),
      (err: unknown) => (problem.value = err instanceof Error ? err.message : String(err)),
    )
    return () => control.abort()
  })
  const s = summary.value
  if (!s) return <div class="blank">{problem.value && <p role="alert">{problem.value}</p>}</div>
  return (
    <div class="blank">
      <h1>
        <Text of={s.name ?? ''} /> <Text of={s.object?.name ?? ''} class="mono" />
      </h1>
      <p>
        <Ago at={s.start} /> · {duration(s.duration)} · {s.spans} spans
      </p>
    </div>
  )
}
