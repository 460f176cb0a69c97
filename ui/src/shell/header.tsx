import { useState } from 'preact/hooks'
import { visible } from '../model/names'
import type { Page } from '../model/page'
import { NONE } from '../model/select'
import { count, duration, percent } from '../model/units'
import type { ThemeChoice } from './theme'

/** Milliseconds of CPU below which a stage has too few samples for a share to say anything. */
const FEW_SAMPLES = 500

interface Properties {
  readonly page: Page
  readonly samples: number
  readonly theme: ThemeChoice
  readonly onTheme: (choice: ThemeChoice) => void
  readonly onHelp: () => void
  readonly onFilter: (key: string, value: string) => void
}

export function Header({ page, samples, theme, onTheme, onHelp, onFilter }: Properties) {
  const [isOpen, setOpen] = useState(false)
  const { application } = page
  const lost = page.processes.reduce((sum, process) => sum + process.lost, 0)
  const folded = page.folded.reduce((sum, entry) => sum + entry.count, 0)
  const chips: [text: string, alarming: boolean][] = [
    [plural(page.processes.length, 'process', 'processes'), false],
    [plural(samples, 'CPU sample', 'CPU samples'), false],
    [lost === 0 ? 'none lost' : `${count(lost)} without a full stack`, lost > 0],
    [page.warnings.length === 0 ? 'no warnings' : plural(page.warnings.length, 'warning', 'warnings'), page.warnings.length > 0],
    [folded === 0 ? 'nothing folded' : `${count(folded)} folded`, false],
  ]
  return (
    <header>
      <div class="title">
        <Logo />
        <h1 title={visible(page.title)}>{visible(page.title) || 'Profile'}</h1>
        <span class="facts">
          {visible([application.id, application.attempt === '' ? '' : `attempt ${application.attempt}`].filter(part => part !== '').join(' · '))}
          <span title="The driver's clock, UTC">{windowText(page)}</span>
          {application.spark === '' ? null : <span>{visible(`Spark ${application.spark}`)}</span>}
          {page.final ? null : <span class="running">still running · report {page.seq}</span>}
        </span>
        <button class="chips" aria-expanded={isOpen} aria-controls="details" onClick={() => setOpen(!isOpen)} title="Processes, stages, warnings, losses">
          {chips.map(([text, alarming]) => (
            <span class={alarming ? 'chip alarming' : 'chip'}>{text}</span>
          ))}
          <span class="chip more">{isOpen ? 'Hide details ▴' : 'Details ▾'}</span>
        </button>
        <ThemeButton choice={theme} onChoose={onTheme} />
        <button class="icon" onClick={onHelp} title="Keys and help (?)" aria-label="Keys and help">
          ?
        </button>
      </div>
      {isOpen ? <Details page={page} onFilter={onFilter} /> : null}
    </header>
  )
}

function Details({ page, onFilter }: Pick<Properties, 'page' | 'onFilter'>) {
  const { application } = page
  return (
    <div class="details" id="details" tabIndex={-1}>
      <p class="engine">
        {[
          page.version === '' ? '' : `Glowplug ${page.version}`,
          application.spark === '' ? '' : `Spark ${application.spark}`,
          application.scala === '' ? '' : `Scala ${application.scala}`,
          page.engine,
          page.periodMicroseconds > 0 ? `a CPU sample stands for ${page.periodMicroseconds / 1000} ms, as set` : '',
          `report ${page.seq}${page.final ? ', the last one' : ''}`,
        ]
          .filter(part => part !== '')
          .map(visible)
          .join(' · ')}
      </p>
      {page.warnings.length === 0 ? null : (
        <section>
          <h2>Warnings</h2>
          <ul class="warnings">
            {page.warnings.map(warning => (
              <li>
                <code>{visible(warning.code)}</code> {visible(warning.message)}
                {warning.count > 1 ? <span class="muted"> ({count(warning.count)} times)</span> : null}
              </li>
            ))}
          </ul>
        </section>
      )}
      <section>
        <h2>Processes</h2>
        <Table head={['Process', 'Host', 'Ended', 'Samples', 'Lost', 'CPU', 'Glowplug’s own CPU']} numbers={3}>
          {page.processes.map(process => (
            <tr>
              <td>
                <button class="link" title="Show only this process" onClick={() => onFilter('process', process.id)}>
                  {visible(process.id)}
                </button>
              </td>
              <td>{visible(process.host)}</td>
              <td>{visible(process.ended) || 'running'}</td>
              <td>{count(process.samples)}</td>
              <td class={process.lost > 0 ? 'alarming' : ''}>
                {count(process.lost)}
                {process.lost > 0 ? ` (${percent(process.lost, process.lost + process.samples)} of samples)` : ''}
              </td>
              <td>{seconds(process.processCpuSeconds)}</td>
              <td>
                {seconds(process.ownCpuSeconds)}
                {process.processCpuSeconds > 0 ? ` (${percent(process.ownCpuSeconds, process.processCpuSeconds)} of its CPU)` : ''}
              </td>
            </tr>
          ))}
        </Table>
      </section>
      {page.stages.length === 0 ? null : (
        <section>
          <h2>Stages</h2>
          <Table head={['Stage', 'Attempt', 'Name', 'CPU here', 'CPU by Spark', 'Here / Spark']} numbers={3}>
            {page.stages.map(stage => (
              <tr>
                <td>
                  <button class="link" title="Show only this stage" onClick={() => onFilter('stage', stage.stage === '' ? NONE : stage.stage)}>
                    {visible(stage.stage)}
                  </button>
                </td>
                <td>{visible(stage.attempt)}</td>
                <td class="wide">{visible(stage.name)}</td>
                <td>{seconds(stage.cpuMilliseconds / 1000)}</td>
                <td>{seconds(stage.sparkCpuMilliseconds / 1000)}</td>
                <td>{stage.sparkCpuMilliseconds >= FEW_SAMPLES ? `${((100 * stage.cpuMilliseconds) / stage.sparkCpuMilliseconds).toFixed(1)} %` : ''}</td>
              </tr>
            ))}
          </Table>
        </section>
      )}
      {page.folded.length === 0 ? null : (
        <section>
          <h2>Folded to stay within limits</h2>
          <Table head={['What', 'Count', 'CPU']} numbers={1}>
            {page.folded.map(entry => (
              <tr>
                <td>{visible(entry.what)}</td>
                <td>{count(entry.count)}</td>
                <td>{duration(entry.weight)}</td>
              </tr>
            ))}
          </Table>
        </section>
      )}
    </div>
  )
}

function Table({ head, numbers, children }: { head: string[]; numbers: number; children: preact.ComponentChildren }) {
  return (
    <table class={`numbers-from-${numbers}`}>
      <thead>
        <tr>
          {head.map(text => (
            <th scope="col">{text}</th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}

function ThemeButton({ choice, onChoose }: { choice: ThemeChoice; onChoose: (choice: ThemeChoice) => void }) {
  const next: Record<ThemeChoice, ThemeChoice> = { auto: 'light', light: 'dark', dark: 'auto' }
  const names: Record<ThemeChoice, string> = { auto: 'as the system', light: 'light', dark: 'dark' }
  return (
    <button class="icon" aria-label={`Theme: ${names[choice]}`} title={`Theme: ${names[choice]}. Click for ${names[next[choice]]}.`} onClick={() => onChoose(next[choice])}>
      {choice === 'light' ? '☀' : choice === 'dark' ? '☾' : '◐'}
    </button>
  )
}

function Logo() {
  return (
    <svg class="logo" viewBox="0 0 16 16" width="18" height="18" role="img" aria-label="Glowplug">
      <rect width="16" height="16" rx="3" />
      <path d="M3 4h10v2H3zm0 3.5h7v2H3zM3 11h3.5v2H3z" />
    </svg>
  )
}

function windowText(page: Page): string {
  if (page.from === 0 && page.to === 0) return ''
  const from = new Date(page.from).toISOString()
  const to = new Date(page.to).toISOString()
  const sameDay = from.slice(0, 10) === to.slice(0, 10)
  return `${from.slice(0, 10)} ${from.slice(11, 19)} – ${sameDay ? '' : `${to.slice(0, 10)} `}${to.slice(11, 19)} UTC (${clock(page.to - page.from)})`
}

function clock(milliseconds: number): string {
  const all = Math.round(milliseconds / 1000)
  const parts: [number, string][] = [
    [Math.floor(all / 3600), 'h'],
    [Math.floor(all / 60) % 60, 'min'],
    [all % 60, 's'],
  ]
  return parts.filter(([value]) => value > 0).map(([value, unit]) => `${value} ${unit}`).join(' ') || '0 s'
}

function seconds(value: number): string {
  return `${value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : value < 1000 ? 1 : 0 })} s`
}

function plural(value: number, one: string, many: string): string {
  return `${count(value)} ${value === 1 ? one : many}`
}
