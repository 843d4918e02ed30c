// SPDX-License-Identifier: Apache-2.0

import { heard } from './clock'
import { doubt, headers, loggedOut, loginEnded, unauthorized } from './connection'

// ApiError is an error that the server explains. Errors of a question have a place, from 1.
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly line?: number,
    readonly column?: number,
    readonly hint?: string,
  ) {
    super(message)
  }
}

export type Parameters = Record<string, string | number | boolean | undefined>

export function address(path: string, parameters: Parameters = {}): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '' && value !== false) query.set(name, String(value))
  }
  const text = query.toString()
  return `/api/v1/${path}${text ? `?${text}` : ''}`
}

// A busy server is asked this often, after the pause in its Retry-After. Both times are in milliseconds.
const attempts = 3
const usualPause = 1000
const longestPause = 5000

// pauseOf returns the pause before the next attempt; undefined if the answer asks for none. The server answers
// few costly questions at once (429), and is at another limit or starts (503). It gives up after a time (504), and
// would do so again.
function pauseOf(response: Response): number | undefined {
  const after = response.headers.get('Retry-After')
  if (after === null || (response.status !== 429 && response.status !== 503)) return undefined
  const seconds = Number(after)
  return seconds > 0 ? Math.min(longestPause, seconds * 1000) : usualPause
}

// get asks the API for JSON, like ask.
export async function get<T>(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
  return (await (await ask(path, parameters, signal)).json()) as T
}

// ask asks the API. It reports an absent server and a missing token to the frame, and then throws, too.
// Callers show an ApiError with a status other than 401, and ask again when `epoch` grows.
export async function ask(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    let response: Response
    const sent = Date.now()
    try {
      response = await fetch(address(path, parameters), {
        headers: headers(),
        cache: 'no-store',
        redirect: 'manual',
        signal: signal ?? null,
      })
    } catch (err) {
      if (!aborted(err)) void doubt()
      throw err
    }
    heard(response, sent)
    if (response.ok) return response
    const err = await explained(response)
    if (err.status === 401) unauthorized()
    else if (err.status >= 500 || loggedOut(response)) void doubt()
    const pause = pauseOf(response)
    if (pause === undefined || attempt === attempts) throw err
    await new Promise((resolve) => setTimeout(resolve, pause))
    signal?.throwIfAborted()
  }
}

export function aborted(err: unknown): boolean {
  return err instanceof DOMException && err.name === 'AbortError'
}

export async function explained(response: Response): Promise<ApiError> {
  if (loggedOut(response)) return new ApiError(0, loginEnded)
  try {
    const { error } = (await response.json()) as {
      error: { message: string; line?: number; column?: number; hint?: string }
    }
    return new ApiError(response.status, error.message, error.line, error.column, error.hint)
  } catch {
    return new ApiError(response.status, response.statusText || `status ${response.status}`)
  }
}
