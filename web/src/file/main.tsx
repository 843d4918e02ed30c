// SPDX-License-Identifier: Apache-2.0

import { useSignalEffect } from '@preact/signals'
import { render } from 'preact'
import '../style.css'
import { Help, showHelp } from '../app/Help'
import { press, useKeys } from '../app/keys'
import { dark, turn } from '../app/theme'
import { Tools } from '../app/Tools'
import { TraceOf } from '../trace/Trace'
import { recorded, type Recorded } from '../trace/recorded'
import type { Source } from '../trace/source'

// The view of one trace in one file: the data are in the document, and there is no server.

async function read(): Promise<Recorded> {
  const packed = Uint8Array.from(atob(document.getElementById('data')?.textContent?.trim() ?? ''), (c) => c.charCodeAt(0))
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))
  return (await new Response(stream).json()) as Recorded
}

function File({ source, leftOut, note }: { source: Source; leftOut: number; note: string }) {
  useSignalEffect(() => {
    document.documentElement.dataset.theme = dark() ? 'dark' : 'light'
  })
  useKeys('Page', [
    { keys: ['?'], help: 'this help', run: () => (showHelp.value = true) },
    { keys: ['t'], help: 'light or dark', run: turn },
  ])
  return (
    <>
      <header class="top">
        <span class="brand">
          <svg viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
            <path d="M1 4h9M4 8h11M7 12h6" />
          </svg>
          Lifeline
        </span>
        <span class="note">
          one trace in a file
          {leftOut > 0 && `, without ${leftOut.toLocaleString('en')} spans of other components`}
          {note && `; ${note}`}
        </span>
        <Tools />
      </header>
      <main id="main" tabIndex={-1}>
        <TraceOf source={source} />
      </main>
      <Help />
    </>
  )
}

document.addEventListener('keydown', press)
const root = document.getElementById('app')
if (root) {
  read().then(
    (data) => render(<File source={recorded(data)} leftOut={data.leftOut ?? 0} note={data.note ?? ''} />, root),
    (err: unknown) => (root.textContent = `This file cannot be read: ${err instanceof Error ? err.message : String(err)}`),
  )
}
