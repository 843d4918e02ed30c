// SPDX-License-Identifier: Apache-2.0

import { useSignal, useSignalEffect } from '@preact/signals'
import { aborted, ApiError, get } from '../api/client'
import { epoch } from '../api/connection'
import type { GroupPage } from '../api/types'
import { Text, visible } from '../text/text'
import { states } from '../text/states'
import { chosen, toggle, without } from './clauses'
import { frequent } from './fields'
import { loaded, question } from './list'
import { chosenStates, toggleState, translate, withoutStates } from './plain'
import { setWhere } from './state'

interface Facet {
  field: string
  title: string
  // empty is the name of the value ''.
  empty: string
}

const facets: Facet[] = [
  { field: 'state', title: 'State', empty: '' },
  { field: 'namespace', title: 'Namespace', empty: 'of the cluster' },
  { field: 'kind', title: 'Kind', empty: '' },
  { field: 'user', title: 'People', empty: 'unknown' },
  { field: 'actor', title: 'Component', empty: 'unknown' },
]

// few is the number of values before "more".
const few = 7
// The counts are asked again after this time.
const patience = 30_000

let answered = ''

// Facets are the frequent values of the changes that match. A click adds one to the question.
export function Facets() {
  // problem is why counts are missing, or older than the list.
  const problem = useSignal('')
  useSignalEffect(() => {
    const of = question.value
    epoch.value
    if (!loaded.value) return
    const control = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    // The server answers few costly questions at once: the facets ask one after the other.
    const ask = async () => {
      if (document.hidden) {
        timer = setTimeout(ask, patience)
        return
      }
      let failed = ''
      for (const { field, title } of facets) {
        try {
          const rest = translate(field === 'state' ? withoutStates(of.text) : without(of.text, field))
          const page = await get<GroupPage>(
            'groups',
            { by: field, changes: true, where: rest.where, state: rest.states.join(','), since: of.since, until: of.until },
            control.signal,
          )
          frequent.value = { ...frequent.peek(), [field]: page.groups }
        } catch (err) {
          if (control.signal.aborted || aborted(err)) return
          // The frame shows an absent server and a missing token.
          if (err instanceof ApiError && err.status !== 401) failed ||= `${title}: ${err.message}`
        }
      }
      problem.value = failed
      answered = of.key
      if (!control.signal.aborted) timer = setTimeout(ask, patience)
    }
    timer = setTimeout(ask, answered === of.key ? 1500 : 0)
    return () => {
      control.abort()
      clearTimeout(timer)
    }
  })
  return (
    <>
      {facets.map((facet) => (
        <Values key={facet.field} facet={facet} />
      ))}
      {problem.value && (
        <p class="note" role="status">
          Counts are missing or old. <Text of={problem.value} />
        </p>
      )}
      <p class="note">
        A count is the number of changes with such a value. Shift and click excludes it.
      </p>
    </>
  )
}

function Values({ facet }: { facet: Facet }) {
  const all = useSignal(false)
  const text = question.value.text
  const { demanded, excluded } = facet.field === 'state' ? chosenStates(text) : chosen(text, facet.field)
  let groups = frequent.value[facet.field] ?? []
  // Chosen values stay, even if nothing matches them.
  for (const value of [...demanded, ...excluded]) {
    if (!groups.some((g) => g.value === value)) groups = [...groups, { value, count: 0, with: 0 }]
  }
  if (facet.field === 'user') {
    groups = groups.filter((g) => g.value !== '' && (!g.value.startsWith('system:') || demanded.has(g.value) || excluded.has(g.value)))
  }
  if (facet.field === 'state') groups = [...groups].sort((a, b) => place(a.value) - place(b.value))
  if (groups.length === 0) return null
  const shown = all.value ? groups : groups.filter((g, i) => i < few || demanded.has(g.value) || excluded.has(g.value))
  const most = Math.max(1, ...groups.map((g) => g.count))
  return (
    <fieldset class="facet">
      <legend>{facet.title}</legend>
      {shown.map((g) => {
        const on = demanded.has(g.value)
        const off = excluded.has(g.value)
        const name = g.value === '' ? facet.empty : g.value
        return (
          <button
            type="button"
            key={g.value}
            class={`value${on ? ' on' : ''}${off ? ' off' : ''}`}
            aria-pressed={on || off}
            title={g.value === name ? visible(name) : undefined}
            onClick={(e) => {
              const exclude = off || e.shiftKey
              setWhere(facet.field === 'state' ? toggleState(text, g.value, exclude) : toggle(text, facet.field, g.value, exclude))
            }}
          >
            <span class="share" style={{ width: `${(100 * g.count) / most}%` }} aria-hidden="true" />
            <span class="check" aria-hidden="true">
              {on ? '✓' : off ? '−' : ''}
            </span>
            {off && <span class="hidden">not </span>}
            <Text of={name || '—'} class="name" />
            <span class="count">{count(g.count)}</span>
          </button>
        )
      })}
      {groups.length > few && (
        <button type="button" class="more" onClick={() => (all.value = !all.value)} aria-expanded={all.value}>
          {all.value ? 'fewer' : `${groups.length - few} more`}
        </button>
      )}
    </fieldset>
  )
}

// place is that of a state among all.
const place = (state: string) => states.findIndex((s) => s === state)

// count writes a number in at most five characters.
export function count(n: number): string {
  if (n < 10_000) return String(n)
  if (n < 1_000_000) return `${(n / 1000).toFixed(n < 100_000 ? 1 : 0)}k`
  return `${(n / 1_000_000).toFixed(1)}M`
}
