// SPDX-License-Identifier: Apache-2.0

import { aborted, address, ApiError, explained, type Parameters } from './client'
import { connection, doubt, headers, unauthorized } from './connection'

// Handlers receive the events of a stream, with their data as parsed JSON.
export interface Handlers {
  event(name: string, data: unknown): void
  // connected is called at the start of a connection and at its end.
  connected?(on: boolean): void
  // refused is called with an answer that is no stream. The next attempt follows by itself.
  refused?(err: ApiError): void
}

const retry = 2000
// The server sends a comment each 15 s. A connection that is silent for longer is lost.
const silence = 40_000

// stream follows a stream of the API until the returned function is called. It connects again by itself,
// with the last event ID. It has no connection while the page is hidden: a browser has only six for all
// pages of a server. fetch takes the place of EventSource, which cannot send a token.
export function stream(path: string, parameters: Parameters, handlers: Handlers): () => void {
  let last = ''
  let ended = false
  let current: AbortController | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  const connect = async (): Promise<void> => {
    timer = undefined
    if (ended || current || document.hidden || connection.peek().state !== 'ok') return
    const control = new AbortController()
    current = control
    try {
      const response = await fetch(address(path, parameters), {
        headers: { ...headers(), Accept: 'text/event-stream', ...(last ? { 'Last-Event-ID': last } : {}) },
        cache: 'no-store',
        redirect: 'manual',
        signal: control.signal,
      })
      if (!response.ok || !response.body) {
        if (response.status === 401) unauthorized()
        else {
          void doubt() // too many streams is no absence
          handlers.refused?.(response.ok ? new ApiError(0, 'The answer of the server did not arrive.') : await explained(response))
        }
        return
      }
      handlers.connected?.(true)
      await read(response.body, control)
    } catch (err) {
      if (!aborted(err)) void doubt()
    } finally {
      handlers.connected?.(false)
      if (current === control) current = undefined
      if (!ended && !current && !document.hidden) timer ??= setTimeout(connect, retry)
    }
  }

  const read = async (body: ReadableStream<Uint8Array>, control: AbortController): Promise<void> => {
    const reader = body.pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>).getReader()
    let rest = ''
    let name = ''
    let data = ''
    let watchdog: ReturnType<typeof setTimeout> | undefined
    const alive = () => {
      clearTimeout(watchdog)
      watchdog = setTimeout(() => control.abort(), silence)
    }
    try {
      alive()
      for (;;) {
        const { done, value } = await reader.read()
        if (done || ended) return
        alive()
        const lines = (rest + value).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          if (line === '') {
            if (data) handlers.event(name, JSON.parse(data))
            name = data = ''
          } else if (line.startsWith('data:')) data += line.slice(5).trimStart()
          else if (line.startsWith('event:')) name = line.slice(6).trim()
          else if (line.startsWith('id:')) last = line.slice(3).trim()
        }
      }
    } finally {
      clearTimeout(watchdog)
    }
  }

  const wake = () => {
    if (document.hidden) {
      clearTimeout(timer)
      timer = undefined
      current?.abort()
      current = undefined
    } else timer ??= setTimeout(connect, 0)
  }
  const back = connection.subscribe((now) => {
    if (now.state === 'ok') wake()
  })
  document.addEventListener('visibilitychange', wake)
  return () => {
    ended = true
    back()
    document.removeEventListener('visibilitychange', wake)
    clearTimeout(timer)
    current?.abort()
  }
}
