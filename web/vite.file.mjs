// SPDX-License-Identifier: Apache-2.0

import { defineConfig } from 'vite'

// The script and the style of a file with one trace, which has both inline: one script without imports.
export default defineConfig({
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../app/internal/page/file',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    lib: { entry: 'src/file/main.tsx', formats: ['iife'], name: 'lifeline', fileName: () => 'trace.js', cssFileName: 'trace' },
  },
  define: { 'process.env.NODE_ENV': '"production"' },
})
