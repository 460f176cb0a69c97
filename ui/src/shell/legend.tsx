import type { Palette } from '../canvas/palette'
import { LAYERS } from '../model/page'
import { STATES } from '../model/select'
import { MEASURE_NOUNS, percent } from '../model/units'
import type { Session } from './session'
import type { State } from './state'

interface Properties {
  readonly session: Session
  readonly state: State
  readonly palette: Palette
  readonly onChange: (change: Partial<State>) => void
}

/** What the colours mean; it also filters: a layer can be dimmed or left out, a thread state switched off. */
export function Legend(properties: Properties) {
  return properties.state.measure === 'latency' ? <StateLegend {...properties} /> : <LayerLegend {...properties} />
}

function LayerLegend({ session, state, palette, onChange }: Properties) {
  const shares = session.layerShares(state)
  const whole = shares.reduce((sum, share) => sum + share, 0)
  const noun = MEASURE_NOUNS[state.measure]
  return (
    <div class="legend" role="group" aria-label="Layers">
      {LAYERS.map((name, layer) => {
        const isHidden = state.hidden.has(layer)
        const isDimmed = state.dimmed.has(layer)
        const share = isHidden ? 'left out' : percent(shares[layer], whole)
        return (
          <span class={isHidden ? 'entry off' : isDimmed ? 'entry dimmed' : 'entry'}>
            <button
              aria-pressed={!isDimmed}
              onClick={() => onChange({ dimmed: toggled(state.dimmed, layer) })}
              title={isHidden ? `${name}: left out, what it weighs is its callers’` : `${name}: ${share} of ${noun} is self in this layer. Click to ${isDimmed ? 'colour' : 'dim'} it.`}
            >
              <span class="swatch" style={{ background: palette.layers[layer] }} />
              {name} <span class="number">{share}</span>
            </button>
            <button
              class="eye"
              aria-pressed={isHidden}
              aria-label={`${isHidden ? 'Show' : 'Leave out'} ${name}`}
              title={isHidden ? `Show the frames of ${name}` : `Leave the frames of ${name} out: what they weigh is their caller’s`}
              onClick={() => onChange({ hidden: toggled(state.hidden, layer) })}
            >
              {isHidden ? '+' : '−'}
            </button>
          </span>
        )
      })}
      {state.dimmed.size + state.hidden.size > 0 ? (
        <button class="link" onClick={() => onChange({ dimmed: new Set(), hidden: new Set() })}>
          All layers
        </button>
      ) : null}
    </div>
  )
}

function StateLegend({ session, state, palette, onChange }: Properties) {
  const shares = session.stateShares(state)
  const whole = shares.reduce((sum, share) => sum + share, 0)
  return (
    <div class="legend" role="group" aria-label="Thread states">
      {STATES.map((name, at) => {
        const isOff = state.statesOff.has(name)
        return (
          <span class={isOff ? 'entry off' : 'entry'}>
            <button
              aria-pressed={!isOff}
              title={`${percent(shares[at], whole)} of the latency under these filters. Click to switch it ${isOff ? 'on' : 'off'}.`}
              onClick={() => onChange({ statesOff: toggled(state.statesOff, name) })}
            >
              <span class="swatch" style={{ background: palette.states[at] }} />
              {name} <span class="number">{percent(shares[at], whole)}</span>
            </button>
          </span>
        )
      })}
      <span class="muted">Wall time of all thread states but IDLE</span>
      {state.statesOff.size > 0 ? (
        <button class="link" onClick={() => onChange({ statesOff: new Set() })}>
          All states
        </button>
      ) : null}
    </div>
  )
}

function toggled<T>(set: ReadonlySet<T>, value: T): ReadonlySet<T> {
  const next = new Set(set)
  if (!next.delete(value)) next.add(value)
  return next
}
