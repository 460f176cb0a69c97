// Builds dist/index.html, the page with everything in it but the data, and dist/glowplug.js, the same script for pages that mount it themselves.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const here = fileURLToPath(new URL('.', import.meta.url))
const LARGEST_SCRIPT = 150 * 1024

const { outputFiles } = await build({
  absWorkingDir: here,
  entryPoints: ['src/main.ts'],
  bundle: true,
  minify: true,
  format: 'iife',
  globalName: 'Glowplug',
  target: ['chrome90', 'firefox90', 'safari15'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  loader: { '.css': 'text' },
  legalComments: 'none',
  charset: 'ascii',
  write: false,
})
const script = outputFiles[0].text.trim()
if (/<\/script|<!--/i.test(script)) throw new Error('The script holds a text that would end its own element.')
if (script.length > LARGEST_SCRIPT) throw new Error(`The script has ${script.length} bytes; ${LARGEST_SCRIPT} are allowed.`)

const hash = `sha256-${createHash('sha256').update(script).digest('base64')}`
// Replacement by function: the script is full of `$`, which has a meaning in replacement texts.
const page = readFileSync(`${here}template.html`, 'utf8')
  .replace('__SCRIPT_HASH__', () => hash)
  .replace('__SCRIPT__', () => script)

rmSync(`${here}dist`, { recursive: true, force: true })
mkdirSync(`${here}dist`)
writeFileSync(`${here}dist/index.html`, page)
writeFileSync(`${here}dist/glowplug.js`, script)
console.log(`dist/index.html: ${page.length} bytes, script ${script.length}`)
