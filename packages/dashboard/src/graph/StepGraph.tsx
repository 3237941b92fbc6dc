import { useEffect, useMemo, useRef, useState } from 'react'
import { IconButton } from '../design/Button.tsx'
import { classNames } from '../design/class-names.ts'
import { type StatusName, statusLook } from '../design/status-look.ts'
import { useElementWidth } from '../design/use-element-width.ts'
import { VisuallyHidden } from '../design/VisuallyHidden.tsx'
import { countOf, formatCount } from '../format/count.ts'
import { type GraphLayout, graphLayout, type PlacedNode } from './graph-layout.ts'
import { groupStatus } from './group-status.ts'
import styles from './StepGraph.module.css'
import { type GraphStep, stepGraph } from './step-graph.ts'

/** What is said of a step beside its name. */
export interface StepMark {
  readonly status: StatusName
  /** A few characters: how long it took, for instance. */
  readonly note: string | null
  /** Of a map whose tasks are known. */
  readonly progress: { readonly total: number; readonly completed: number } | null
}

export interface StepGraphProps {
  /** What it is a picture of. */
  readonly label: string
  readonly steps: readonly GraphStep[]
  /** Of a run; without it the picture is of the flow. */
  readonly marks?: ReadonlyMap<string, StepMark>
  readonly selected: string | null
  /** Null: what was selected was chosen once more. */
  readonly onSelect: (step: string | null) => void
}

const ZOOM_STEP = 1.25
const SMALLEST_ZOOM = 0.25
/** Smaller than this nobody reads the names; then one scrolls. */
const SMALLEST_READABLE_ZOOM = 0.8

/** The steps of a flow as boxes with lines between them. Every box is a button; nothing moves while a run goes on. */
export function StepGraph({ label, steps, marks, selected, onSelect }: StepGraphProps) {
  const [frame, width] = useElementWidth<HTMLDivElement>()
  // By value: a refresh brings the same steps as another array.
  const shape = JSON.stringify(steps)
  const layout = useMemo(() => {
    const graph = stepGraph(JSON.parse(shape) as GraphStep[])
    return width === 0 ? undefined : { graph, placed: graphLayout(graph, width) }
  }, [shape, width])

  return (
    <div ref={frame} className={styles.frame}>
      {layout?.placed !== undefined && (
        <Canvas
          {...{ label, marks, selected, onSelect }}
          layout={layout.placed}
          width={width}
          impliedEdges={layout.graph.impliedEdges}
        />
      )}
      {layout !== undefined && layout.placed === undefined && (
        <p className={styles.tooLarge}>
          {countOf(steps.length, 'step')} are too many for a picture. The timeline below has all that have begun.
        </p>
      )}
    </div>
  )
}

interface CanvasProps extends Omit<StepGraphProps, 'steps'> {
  readonly layout: GraphLayout
  readonly width: number
  readonly impliedEdges: number
}

function Canvas({ label, marks, selected, onSelect, layout, width, impliedEdges }: CanvasProps) {
  const fitting = Math.min(1, width / layout.width)
  const [zoom, setZoom] = useState<number | null>(null)
  const scale = zoom ?? Math.max(fitting, SMALLEST_READABLE_ZOOM)
  const viewport = useRef<HTMLElement>(null)
  const isScrolled = layout.width * scale > width + 1 || layout.height * scale > 512

  // A picture that is larger than its frame begins at the step that is looked at, else where something happens.
  const first =
    layout.nodes.find(({ steps }) => steps.some(({ step }) => step === selected)) ??
    layout.nodes.find(({ steps }) => isOfInterest(groupStatus(steps, marks)?.status))
  const firstBox = useRef(first?.box)
  firstBox.current = first?.box
  useEffect(() => {
    const box = firstBox.current
    if (box === undefined) return
    viewport.current?.scrollTo({ left: box.x * scale - 60, top: box.y * scale - 60 })
  }, [scale, layout])

  return (
    <>
      {isScrolled || zoom !== null ? (
        <div className={styles.zoom}>
          <IconButton icon="minus" label="Smaller" size="small" onClick={() => setZoom(scale / ZOOM_STEP)} />
          <IconButton
            icon="fit"
            label="Show all of it"
            size="small"
            onClick={() => setZoom(Math.max(SMALLEST_ZOOM, Math.min(fitting, 500 / layout.height)))}
          />
          <IconButton
            icon="plus"
            label="Larger"
            size="small"
            onClick={() => setZoom(Math.min(1.5, scale * ZOOM_STEP))}
          />
        </div>
      ) : null}
      <section ref={viewport} className={styles.viewport} aria-label={label} tabIndex={isScrolled ? 0 : undefined}>
        <div
          className={styles.canvas}
          style={{ width: Math.ceil(layout.width * scale), height: Math.ceil(layout.height * scale) }}
        >
          <div className={styles.scaled} style={{ transform: `scale(${scale})`, width: layout.width }}>
            <svg className={styles.edges} width={layout.width} height={layout.height} aria-hidden="true">
              {layout.edges.map(({ from, to, path }) => (
                <path
                  key={`${from} ${to}`}
                  d={path}
                  className={classNames(
                    styles.edge,
                    (from === selected || to === selected) && styles.selectedEdge,
                    isSkipped(layout, to, marks) && styles.untakenEdge,
                  )}
                />
              ))}
            </svg>
            <ul>
              {layout.nodes.map((node) => (
                <Node key={node.id} {...{ node, marks, selected, onSelect }} />
              ))}
            </ul>
          </div>
        </div>
      </section>
      {impliedEdges > 0 && (
        <p className={styles.note}>
          {countOf(impliedEdges, 'dependency', 'dependencies')} that follow from others{' '}
          {impliedEdges === 1 ? 'is' : 'are'} not drawn.
        </p>
      )}
    </>
  )
}

function Node({
  node,
  marks,
  selected,
  onSelect,
}: Pick<StepGraphProps, 'marks' | 'selected' | 'onSelect'> & { readonly node: PlacedNode }) {
  const mark = groupStatus(node.steps, marks)
  const look = mark && statusLook(mark.status)
  const isGroup = node.steps.length > 1
  const isSelected = node.steps.some(({ step }) => step === selected)
  const { type, dependsOn } = node.steps[0]!
  const { x, y, width, height } = node.box
  const name = isGroup ? `${formatCount(node.steps.length)} steps like ${node.id}` : node.id
  return (
    <li>
      <button
        type="button"
        className={classNames(styles.node, look && styles[look.tone], isGroup && styles.group)}
        style={{ left: x, top: y, width, height }}
        aria-pressed={isSelected}
        title={name}
        onClick={() => onSelect(isSelected ? null : node.id)}
      >
        <span className={styles.name}>{isGroup ? `${formatCount(node.steps.length)} steps` : node.id}</span>
        <span className={styles.state}>
          {look !== undefined && (
            <svg className={styles.mark} width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
              <path d={look.mark} />
            </svg>
          )}
          <span className={styles.word}>{mark?.words ?? (isGroup ? `${node.id} …` : typeWords[type])}</span>
          <span className={styles.noteOfNode}>{mark?.note}</span>
        </span>
        <VisuallyHidden>
          {[
            isGroup && `like ${node.id}`,
            mark !== undefined && typeWords[type],
            dependsOn.length > 0 && `after ${afterText(dependsOn)}`,
          ]
            .filter(Boolean)
            .join(', ')}
        </VisuallyHidden>
        {mark?.progress != null && (
          <span className={styles.progress}>
            <span style={{ width: `${(100 * mark.progress.completed) / Math.max(1, mark.progress.total)}%` }} />
          </span>
        )}
      </button>
    </li>
  )
}

/** A step may depend on a thousand others. */
function afterText(dependsOn: readonly string[]): string {
  return dependsOn.length <= 5
    ? dependsOn.join(', ')
    : `${dependsOn.slice(0, 4).join(', ')} and ${dependsOn.length - 4} more`
}

const typeWords = { single: 'step', map: 'map', wait: 'wait' } as const

function isOfInterest(status: StatusName | undefined): boolean {
  return status === 'failed' || status === 'started' || status === 'waiting'
}

function isSkipped(layout: GraphLayout, id: string, marks: StepGraphProps['marks']): boolean {
  const node = layout.nodes.find((each) => each.id === id)
  return node !== undefined && groupStatus(node.steps, marks)?.status === 'skipped'
}
