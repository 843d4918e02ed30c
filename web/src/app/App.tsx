// SPDX-License-Identifier: Apache-2.0

import { signal, useSignalEffect } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useRef } from 'preact/hooks'
import { connection, doubt } from '../api/connection'
import { Help, showHelp } from './Help'
import { useKeys } from './keys'
import { go, path } from './router'
import { dark, turn } from './theme'
import { TokenDialog } from './TokenDialog'
import { Tools } from './Tools'
import { views, type View } from './views'

type Loaded = ComponentType<{ argument: string }>

const loaded = signal<Record<string, Loaded | Error>>({})

function found(): { view: View; argument: string } | undefined {
  for (const view of views) {
    const match = view.path.exec(path.value)
    if (match) return { view, argument: match[1] ?? '' }
  }
  return undefined
}

async function load(view: View): Promise<void> {
  if (typeof loaded.peek()[view.id] === 'function') return
  try {
    const module = await view.load()
    loaded.value = { ...loaded.peek(), [view.id]: module.default }
  } catch (err) {
    loaded.value = { ...loaded.peek(), [view.id]: err instanceof Error ? err : new Error(String(err)) }
    void doubt()
  }
}

const homes = views.filter((v): v is View & { home: string } => v.home !== undefined)

export function App() {
  useSignalEffect(() => {
    document.documentElement.dataset.theme = dark() ? 'dark' : 'light'
  })
  useSignalEffect(() => {
    const here = found()
    if (here) void load(here.view)
  })
  // The element with the focus goes with its view.
  const shown = useRef(path.peek())
  useSignalEffect(() => {
    if (path.value === shown.current) return
    shown.current = path.value
    document.getElementById('main')?.focus({ preventScroll: true })
  })
  useKeys('Page', [
    { keys: ['?'], help: 'this help', run: () => (showHelp.value = true) },
    { keys: ['t'], help: 'light or dark', run: turn },
    ...homes.map((v) => ({ keys: [`g ${v.key}`], help: `go to ${v.title}`, run: () => go(v.home) })),
  ])
  const here = found()
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="/" aria-label="Lifeline: now">
          <svg viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
            <path d="M1 4h9M4 8h11M7 12h6" />
          </svg>
          Lifeline
        </a>
        <nav aria-label="Views">
          {homes.map((v) => (
            <a key={v.id} href={v.home} aria-current={here?.view === v ? 'page' : 'false'}>
              {v.title}
            </a>
          ))}
        </nav>
        <Tools />
      </header>
      <Banner />
      <main id="main" tabIndex={-1} aria-label={here?.view.title}>
        <Body />
      </main>
      <Help />
      <TokenDialog />
    </>
  )
}

function Body() {
  const here = found()
  if (!here) {
    return (
      <div class="blank">
        <h1>There is nothing at this address</h1>
        <p>
          <a href="/changes">All changes</a>
        </p>
      </div>
    )
  }
  const Shown = loaded.value[here.view.id]
  if (Shown === undefined) return null
  if (Shown instanceof Error) {
    return (
      <div class="blank" role="alert">
        <h1>The page could not be loaded</h1>
        <p>{Shown.message}</p>
        <p>
          <button type="button" onClick={() => window.location.reload()}>
            Load it again
          </button>
        </p>
      </div>
    )
  }
  return <Shown key={here.view.id} argument={here.argument} />
}

function Banner() {
  const now = connection.value
  return (
    <div class="banner-place" role="status">
      {now.state === 'away' && (
        <p class="banner">
          <span class="dot" aria-hidden="true" />
          <bdi>{now.message}</bdi> The page shows what it has, and tries again.
        </p>
      )}
    </div>
  )
}
