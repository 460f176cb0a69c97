// Bundles each test with what it tests, and runs them with node's own runner.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const here = fileURLToPath(new URL('.', import.meta.url))
const tests = readdirSync(here).filter(name => name.endsWith('.test.ts'))
const out = mkdtempSync(join(tmpdir(), 'glowplug-ui-'))
try {
  await build({
    absWorkingDir: here,
    entryPoints: tests,
    outdir: out,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node18',
    sourcemap: 'inline',
    define: { SOURCES: JSON.stringify(join(here, '..', 'src')) },
  })
  const { status } = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...tests.map(name => join(out, name.replace(/\.ts$/, '.mjs')))], { stdio: 'inherit' })
  process.exitCode = status ?? 1
} finally {
  rmSync(out, { recursive: true, force: true })
}
