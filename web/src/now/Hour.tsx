// SPDX-License-Identifier: Apache-2.0

import { signal, useSignalEffect } from '@preact/signals'
import { get } from '../api/client'
import { epoch } from '../api/connection'
import type { Group, GroupPage } from '../api/types'
import { states, type State } from '../text/states'
import { number } from '../text/text'
import { namespace } from './state'

// The numbers are asked for again after this time.
const patience = 30_000

const last = signal<{ namespace: string; groups: Group[] } | undefined>(undefined)

// The states of changes that continue. The others are of changes that have ended.
const going: readonly State[] = ['running', 'held', 'stuck']
const ended = ['converged', ...states.filter((s) => !going.includes(s) && s !== 'converged')] as const

// Hour has the numbers of changes: those of the last hour that have ended, and those that continue. It is empty until
// they are known.
export function Hour() {
  useSignalEffect(() => {
    const of = namespace.value
    epoch.value
    const control = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async () => {
      try {
        if (!document.hidden) {
          const { groups } = await get<GroupPage>('groups', { by: 'state', changes: true, since: '1h', namespace: of }, control.signal)
          last.value = { namespace: of, groups }
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
  const counts = new Map(last.value.groups.map((g) => [g.value, g.count]))
  const had = (list: readonly State[]) => list.filter((s) => counts.has(s))
  const before = had(ended)
  const now = had(going)
  return (
    <p class="hour">
      In the last hour: {before.length === 0 && 'no change ended'}
      <Numbers of={before} counts={counts} noun />
      {now.length > 0 && '; now: '}
      <Numbers of={now} counts={counts} />.
    </p>
  )
}

function Numbers({ of, counts, noun = false }: { of: readonly State[]; counts: ReadonlyMap<string, number>; noun?: boolean }) {
  return of.map((state, i) => {
    const n = counts.get(state) ?? 0
    const where = [namespace.value && `namespace == ${JSON.stringify(namespace.value)}`, state].filter(Boolean)
    const query = new URLSearchParams({ range: '1h', where: where.reverse().join(' && ') })
    return (
      <span key={state}>
        {i > 0 && ', '}
        <a href={`/changes?${query}`}>
          {number(n)} {noun && i === 0 ? (n === 1 ? 'change ' : 'changes ') : ''}
          {state}
        </a>
      </span>
    )
  })
}
