// SPDX-License-Identifier: Apache-2.0

import { signal, useSignalEffect } from '@preact/signals'
import { get } from '../api/client'
import { epoch } from '../api/connection'
import type { Bucket, Density } from '../api/types'
import { number } from '../text/text'
import { namespace } from './state'

// The numbers are asked for again after this time.
const patience = 30_000

const last = signal<{ namespace: string; counts: Bucket } | undefined>(undefined)

// Hour has the numbers of changes in the last hour. It is empty until they are known.
export function Hour() {
  useSignalEffect(() => {
    const of = namespace.value
    epoch.value
    const control = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async () => {
      try {
        if (!document.hidden) {
          const answer = await get<Density>('density', { since: '1h', buckets: 1, namespace: of }, control.signal)
          last.value = { namespace: of, counts: answer.buckets[0] ?? { count: 0 } }
        }
      } catch {
        // The list shows an error of the server; these numbers are no more than a help.
      }
      if (!control.signal.aborted) timer = setTimeout(ask, patience)
    }
    void ask()
    return () => {
      control.abort()
      clearTimeout(timer)
    }
  })
  if (last.value?.namespace !== namespace.value) return <p class="hour" />
  const { count, failed = 0, open = 0 } = last.value.counts
  return (
    <p class="hour">
      In the last hour: <Changes n={count} words={count === 1 ? 'change' : 'changes'} where="" />
      {failed > 0 && (
        <>
          , <Changes n={failed} words="failed" where="failed" />
        </>
      )}
      {open > 0 && (
        <>
          , <Changes n={open} words="not ended" where="running stuck" />
        </>
      )}
      .
    </p>
  )
}

function Changes({ n, words, where }: { n: number; words: string; where: string }) {
  const query = new URLSearchParams({ range: '1h', ...(where ? { where } : {}) })
  return (
    <a href={`/changes?${query}`}>
      {number(n)} {words}
    </a>
  )
}
