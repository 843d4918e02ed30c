// SPDX-License-Identifier: Apache-2.0

import { useSignalEffect } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { connection, epoch } from '../api/connection'
import { useKeys } from '../app/keys'
import { go } from '../app/router'
import { copy } from '../app/Copy'
import { number, Text, visible } from '../text/text'
import { absolute, ago, serverNow } from '../text/time'
import { Hour } from './Hour'
import './now.css'
import { atLeast, failure, follow, live, shown, spaces } from './problems'
import { ProblemView } from './ProblemView'
import { namespace, select, selected, setNamespace, toggle } from './state'

// Now is what is broken, the worst first.
export default function Now() {
  useSignalEffect(() => {
    epoch.value
    return follow(namespace.value)
  })
  const list = shown.value?.namespace === namespace.value ? shown.value.list : undefined
  const problems = list?.problems ?? []
  const whole = problems.length + (list?.more ?? 0)
  useEffect(() => {
    document.title = `${whole > 0 ? `(${whole}) ` : ''}Now · Lifeline`
  }, [whole])

  const here = () => {
    const of = shown.peek()?.list.problems ?? []
    return { of, i: of.findIndex((p) => p.id === selected.peek()) }
  }
  const move = (to: (i: number, n: number) => number) => {
    const { of, i } = here()
    const next = of[Math.max(0, Math.min(of.length - 1, i < 0 ? 0 : to(i, of.length)))]
    if (!next) return
    select(next.id)
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-problem="${CSS.escape(next.id)}"]`)?.focus())
  }
  useKeys('Now', [
    { keys: ['j', 'ArrowDown'], help: 'next problem', run: () => move((i) => i + 1) },
    { keys: ['k', 'ArrowUp'], help: 'previous problem', run: () => move((i) => i - 1) },
    { keys: ['Home'], help: 'worst', run: () => move(() => 0) },
    { keys: ['End'], help: 'last', run: () => move((_, n) => n - 1) },
    {
      keys: ['Enter', 'o'],
      help: 'open the change that led to it',
      run: () => {
        const { of, i } = here()
        const trace = of[i]?.cause?.traceId
        if (trace) go(`/trace/${trace}`)
      },
    },
    {
      keys: ['f', ' '],
      help: 'unfold or fold its objects and reasons',
      run: () => {
        const { of, i } = here()
        if (of[i]) toggle(of[i].id)
      },
    },
    {
      keys: ['c'],
      help: 'copy the next command',
      run: () => {
        const { of, i } = here()
        if (of[i]?.next) void copy(of[i].next)
      },
    },
  ])

  return (
    <div class="now">
      <div class="now-width">
        <Spaces />
        <Failure />
        {!list ? (
          <div class="blank" aria-busy="true">
            {!failure.value && <p class="soft">loading</p>}
          </div>
        ) : problems.length === 0 ? (
          <Calm asOf={list.asOf} />
        ) : (
          <>
            <header class="now-head">
              <h1 aria-live="polite">
                {number(whole)} {whole === 1 ? 'problem' : 'problems'}
                {namespace.value && (
                  <>
                    {' in '}
                    <Text of={namespace.value} most={63} />
                  </>
                )}
              </h1>
              <Live asOf={list.asOf} />
              <Hour />
            </header>
            <ol class="problems" aria-label="Problems, the worst first">
              {problems.map((p, i) => (
                <ProblemView key={p.id} of={p} focusable={p.id === selected.value || (i === 0 && !problems.some((o) => o.id === selected.value))} />
              ))}
            </ol>
            {!!list.more && (
              <p class="note">
                {number(list.more)} further problems are not in this list. Choose a namespace, or ask <code>lifeline why -A</code>.
              </p>
            )}
          </>
        )}
      </div>
    </div>
  )
}

// Live says whether the list is up to date.
function Live({ asOf }: { asOf: string }) {
  if (live.value) {
    return (
      <p class="status">
        <span class="live on" aria-hidden="true" /> live
      </p>
    )
  }
  const at = Date.parse(asOf)
  return (
    <p class="status stale" role="status">
      <span class="live" aria-hidden="true" /> not live: as of {absolute(at).slice(11, 19)}, {ago(at, serverNow.value)} ago
    </p>
  )
}

// Failure shows an error of the server. The frame shows an absent one.
function Failure() {
  if (!failure.value || connection.value.state !== 'ok') return null
  return (
    <p class="failure" role="alert">
      The problems cannot be loaded: <bdi>{visible(failure.value.message)}</bdi> The page tries again.
    </p>
  )
}

// Calm is a good day.
function Calm({ asOf }: { asOf: string }) {
  return (
    <div class="calm">
      <svg viewBox="0 0 24 24" width="40" height="40" aria-hidden="true">
        <circle cx="12" cy="12" r="11" />
        <path d="M7 12.5l3.5 3.5L17 9" />
      </svg>
      <h1 aria-live="polite">
        Nothing is broken
        {namespace.value && (
          <>
            {' in '}
            <Text of={namespace.value} most={63} />
          </>
        )}
        .
      </h1>
      <Hour />
      <Live asOf={asOf} />
    </div>
  )
}

// few is the number of namespaces beside the list.
const few = 12

// countOf is a number of problems, with a plus if the answer lacks some.
const countOf = (n: number) => `${n}${atLeast.value ? '+' : ''}`

// Spaces selects a namespace. Each has the number of its problems.
function Spaces() {
  const chosen = namespace.value
  const all = [...spaces.value].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
  if (chosen === '' && all.length < 2) return null
  const listed = all.slice(0, few)
  if (chosen !== '' && !listed.some(([name]) => name === chosen)) listed.push([chosen, spaces.value.get(chosen) ?? 0])
  const rest = all.filter(([name]) => !listed.some(([other]) => other === name))
  return (
    <div class="spaces" role="group" aria-label="Namespace">
      <button type="button" aria-pressed={chosen === ''} onClick={() => setNamespace('')}>
        all namespaces
      </button>
      {listed.map(([name, n]) => (
        <button type="button" key={name} aria-pressed={name === chosen} onClick={() => setNamespace(name === chosen ? '' : name)}>
          <Text of={name} most={40} /> <span class="soft">{countOf(n)}</span>
        </button>
      ))}
      {rest.length > 0 && (
        <select aria-label="Further namespaces" value="" onChange={(e) => setNamespace(e.currentTarget.value)}>
          <option value="">{rest.length} more</option>
          {rest.map(([name, n]) => (
            <option key={name} value={name}>
              {visible(name)} ({countOf(n)})
            </option>
          ))}
        </select>
      )}
    </div>
  )
}
