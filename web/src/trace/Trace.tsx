// SPDX-License-Identifier: Apache-2.0

import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { ApiError } from '../api/client'
import { connection, epoch } from '../api/connection'
import { stream } from '../api/stream'
import type { Summary } from '../api/types'
import { useKeys } from '../app/keys'
import { link } from '../app/router'
import { marks } from '../text/states'
import { continues, who, worse } from '../text/summary'
import { brief, Text, visible } from '../text/text'
import { absolute, Ago } from '../text/time'
import { Details } from './details/Details'
import { Minimap } from './Minimap'
import { modelOf, type Model } from './model'
import { title, verdict } from './sentence'
import { copy, CopyButton } from '../app/Copy'
import { download, formats, markdown } from './share'
import { sharesOf } from './shares'
import { served, type Source } from './source'
import * as state from './state'
import './trace.css'
import { windowOf, type Window } from './view'
import { Waterfall } from './Waterfall'

// Trace shows one change.
export default function Trace({ argument }: { argument: string }) {
  return <TraceOf key={argument} source={useMemo(() => served(argument), [argument])} />
}

export function TraceOf({ source }: { source: Source }) {
  const model = useMemo(() => modelOf(source), [source])
  const view = useMemo(() => windowOf(model), [model])
  useEffect(() => () => model.end(), [model])
  useSignalEffect(() => {
    epoch.value
    model.retry()
  })
  useEffect(() => (source.live ? follow(model) : undefined), [model])
  // A selected span that is hidden is unfolded, also after the trace has changed.
  useSignalEffect(() => {
    const id = state.at.value
    model.asked.value
    if (model.tree.value && /^[0-9a-f]{16}$/.test(id) && !model.index.peek().has(id)) void model.reveal(id)
  })
  useSignalEffect(() => {
    const words = state.find.value
    model.asked.value
    const timer = setTimeout(() => model.search(words), 150)
    return () => clearTimeout(timer)
  })
  const summary = model.tree.value?.summary
  useEffect(() => {
    document.title = summary ? `${title(summary)} · Lifeline` : 'Trace · Lifeline'
  }, [summary && title(summary)])
  if (!summary) return <Absent model={model} />
  return (
    <div class="trace">
      <Trouble model={model} />
      <Head model={model} view={view} summary={summary} />
      <Toolbar model={model} view={view} summary={summary} />
      <Minimap model={model} window={view} />
      <div class="trace-body">
        <Waterfall model={model} window={view} />
        <Details model={model} window={view} />
      </div>
    </div>
  )
}

// shownProblem returns the problem to show. While the server is away, the frame has a banner.
function shownProblem(model: Model): ApiError | undefined {
  return connection.value.state === 'ok' ? model.problem.value : undefined
}

// Absent is in the place of a trace without an answer yet.
function Absent({ model }: { model: Model }) {
  const problem = shownProblem(model)
  if (!problem) return <div class="blank" aria-busy="true" />
  return (
    <div class="blank" role="alert">
      <h1>{problem.status === 404 ? 'There is no such trace' : 'The trace cannot be shown'}</h1>
      <p>
        <bdi>{visible(problem.message)}</bdi>
      </p>
      {problem.status !== 404 && (
        <p>
          <button type="button" onClick={() => model.retry()}>
            Try again
          </button>
        </p>
      )}
      <p>
        <a href="/changes">All changes</a>
      </p>
    </div>
  )
}

// Trouble says above a trace why it lacks the last changes or a list.
function Trouble({ model }: { model: Model }) {
  const problem = shownProblem(model)
  return (
    <div class="banner-place" role="status">
      {problem && (
        <p class="banner">
          <bdi>{visible(problem.message)}</bdi>{' '}
          <button type="button" onClick={() => model.retry()}>
            Try again
          </button>
        </p>
      )}
    </div>
  )
}

// follow asks again when the trace has changed, until it has ended.
function follow(model: Model): () => void {
  let end: (() => void) | undefined
  // A new stream begins with the open traces. Without this one among them, the trace has ended.
  let sent = false
  const stop = () => {
    end?.()
    end = undefined
  }
  const off = model.tree.subscribe((tree) => {
    const s = tree?.summary
    if (!s) return
    if (!s.open) return stop()
    end ??= stream(
      'watch',
      { view: 'summary', uid: s.object?.uid },
      {
        event(name, data) {
          if (name === 'resync') model.changed()
          else if (name === 'synced') {
            if (!sent) model.changed()
            sent = false
          } else if ((name === 'summary' || name === 'withdrawn') && (data as { traceId: string }).traceId === s.traceId) {
            sent = true
            model.changed()
          }
        },
      },
    )
  })
  return () => {
    off()
    stop()
  }
}

function sentenceOf(model: Model, view: Window, summary: Summary): string {
  const present = model.base.value + view.present.value
  const took = continues(summary) ? present - Date.parse(summary.start) : summary.duration * 1000
  return verdict(summary, model.tree.value?.why, took, present)
}

function Head({ model, view, summary: s }: { model: Model; view: Window; summary: Summary }) {
  const text = sentenceOf(model, view, s)
  const why = model.tree.value?.why
  const now = s.state
  const by = who(s)
  const edits = (s.edits ?? []).map(visible)
  const next = why?.next
  return (
    <header class={`trace-head s-${now}`}>
      <p class="what-line">
        {model.source.live && (
          <>
            <a href="/changes">Changes</a>
            <span aria-hidden="true"> › </span>
          </>
        )}
        <bdi class="mono" title={title(s)}>
          {title(s)}
        </bdi>
        {s.heals && (
          <span class="tag">
            replaces <Text of={s.heals} most={40} />
          </span>
        )}
        {s.pinned && <span class="tag">pinned</span>}
      </p>
      <h1>
        <span class={`state-mark ${now}`} aria-hidden="true">
          {marks[now]}
        </span>
        <bdi class="verdict">{text}</bdi>
      </h1>
      <p class="meta">
        {by.name && (
          <span>
            <Text of={by.name} most={60} />
            {by.by && (
              <span class="soft">
                {' '}
                with <Text of={by.by} most={40} />
              </span>
            )}
          </span>
        )}
        <span title={absolute(Date.parse(s.start)) + (s.earliest ? `, at the earliest ${absolute(Date.parse(s.earliest))}` : '')}>
          {model.source.live ? (
            <>
              {s.earliest && '~'}
              <Ago at={s.start} past />
            </>
          ) : (
            absolute(Date.parse(s.start))
          )}
        </span>
        <span class={`outcome o-${now}`}>{now}</span>
        {s.open && <span class={connection.value.state === 'ok' ? 'live-now' : 'soft'}>{model.source.live ? 'live' : 'not ended'}</span>}
        {edits.map((e) => (
          <bdi key={e} class="edit mono" title={e}>
            {brief(e)}
          </bdi>
        ))}
        {s.was && <span class="tag">{s.outcome === 'converged' ? 'recovered' : `was ${s.was}`}</span>}
        {s.aftermath && <span class="tag warn">{worse}</span>}
        {s.fight && (
          <span class="tag warn">
            fight: <Text of={s.fight} most={120} />
          </span>
        )}
        {why?.before?.map((b) => (
          <span key={b} class="soft">
            after <Text of={b} />
          </span>
        ))}
      </p>
      {next && (
        <p class="next">
          next: <code>{visible(next)}</code>
          <CopyButton text={() => next} title="Copy the command" />
        </p>
      )}
    </header>
  )
}

function Toolbar({ model, view, summary }: { model: Model; view: Window; summary: Summary }) {
  const input = useRef<HTMLInputElement>(null)
  const status = useSignal({ text: '', wrong: false })
  const found = model.found.value
  const list = found?.spans ?? []
  const step = (by: number) => {
    const all = model.found.peek()?.spans ?? []
    if (all.length === 0) return
    const here = all.findIndex((s) => s.spanId === state.at.peek())
    const next = here < 0 ? (by > 0 ? 0 : all.length - 1) : (here + by + all.length) % all.length
    const id = all[next]!.spanId
    void model.reveal(id).then((ok) => ok && state.select(id))
  }
  const leave = () => {
    input.current?.blur()
  }
  useKeys('Trace', [
    { keys: ['/'], help: 'search in the trace', run: () => input.current?.select() },
    { keys: ['n'], help: 'next match', run: () => step(1) },
    { keys: ['N'], help: 'previous match', run: () => step(-1) },
    { keys: ['c'], help: 'critical path', run: () => state.setCritical(!state.critical.peek()) },
    {
      keys: ['Escape'],
      help: 'leave the search, the zoom, the selection',
      run: () => {
        if (state.find.peek()) state.setFind('')
        else if (view.zoomed.peek()) view.show(undefined)
        else state.select('')
      },
    },
    { keys: ['y'], help: 'copy the link', run: () => void share('link') },
  ], [model, view])
  // say shows a text for a moment, and an error until the next text.
  const fading = useRef<ReturnType<typeof setTimeout>>(undefined)
  const say = (text: string, { wrong = false } = {}) => {
    clearTimeout(fading.current)
    status.value = { text, wrong }
    if (!wrong) fading.current = setTimeout(() => (status.value = { text: '', wrong }), 2500)
  }
  const menu = useRef<HTMLDetailsElement>(null)
  const share = async (what: 'link' | 'markdown') => {
    if (menu.current) menu.current.open = false
    let text = link()
    if (what === 'markdown') {
      const s = model.tree.peek()?.summary ?? summary
      const by = who(s)
      text = markdown(s, `${title(s)}: ${sentenceOf(model, view, s)}`, await sharesOf(model), by.by ? `${by.name} with ${by.by}` : by.name, link())
    }
    say((await copy(text)) ? (what === 'link' ? 'Link copied' : 'Markdown copied') : 'The browser does not permit copying')
  }
  const at = list.findIndex((s) => s.spanId === state.at.value)
  return (
    <div class="toolbar">
      <div class="find" role="search">
        <input
          ref={input}
          type="search"
          aria-label="Search in the trace"
          placeholder="Search: name, object, message, attribute"
          value={state.find.value}
          onInput={(e) => state.setFind(e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key === 'Enter') {
              step(e.shiftKey ? -1 : 1)
              if (!e.shiftKey) leave()
            } else if (e.key === 'Escape') {
              e.preventDefault()
              state.setFind('')
              leave()
            }
          }}
        />
        {state.find.value && (
          <span class="found" aria-live="polite">
            {found ? (list.length === 0 ? 'none' : `${at >= 0 ? `${at + 1} of ` : ''}${found.count.toLocaleString('en')}`) : '…'}
          </span>
        )}
        <button type="button" class="tool" disabled={list.length === 0} onClick={() => step(-1)} aria-label="Previous match" title="Previous match (N)">
          ↑
        </button>
        <button type="button" class="tool" disabled={list.length === 0} onClick={() => step(1)} aria-label="Next match" title="Next match (n)">
          ↓
        </button>
      </div>
      <button type="button" class="switch" aria-pressed={state.critical.value} onClick={() => state.setCritical(!state.critical.peek())} title="Critical path (c)">
        <span class="swatch" aria-hidden="true" /> Critical path
      </button>
      <button type="button" onClick={() => void model.unfoldAll()} title="Unfold all (e)">
        Unfold all
      </button>
      <button type="button" onClick={() => model.foldAll()} title="Fold all (E)">
        Fold all
      </button>
      {view.zoomed.value && (
        <button type="button" onClick={() => view.show(undefined, { step: true })} title="All of the time (0)">
          All of the time
        </button>
      )}
      <span class={`said${status.value.wrong ? ' wrong' : ''}`} role="status">
        {status.value.text}
      </span>
      {model.source.live && (
        <details
          class="menu"
          ref={menu}
          onKeyDown={(e) => {
            if (e.key === 'Escape' && menu.current?.open) {
              e.preventDefault()
              e.stopPropagation()
              menu.current.open = false
              menu.current.querySelector('summary')?.focus()
            }
          }}
        >
          <summary>Share</summary>
          <div class="menu-list">
            <button type="button" onClick={() => void share('link')}>
              Copy the link <kbd>y</kbd>
            </button>
            <button type="button" onClick={() => void share('markdown')}>
              Copy as Markdown
            </button>
            <hr />
            {formats.map((f) => (
              <button
                type="button"
                key={f.name}
                onClick={() => {
                  if (menu.current) menu.current.open = false
                  download(summary.traceId, f).catch((err: unknown) => say(`Not downloaded: ${err instanceof Error ? visible(err.message) : String(err)}`, { wrong: true }))
                }}
              >
                Download {f.title}
              </button>
            ))}
          </div>
        </details>
      )}
    </div>
  )
}
