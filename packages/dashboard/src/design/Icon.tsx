import styles from './Icon.module.css'

/** Drawn on a field of 16 by 16, with lines of 1.5 */
const PATHS = {
  overview: 'M2.75 9.25h3l1.75-5 2.5 8 1.5-3h1.75',
  queues: 'M2.75 3.75h10.5M2.75 8h10.5M2.75 12.25h6',
  workers:
    'M4.75 4.75h6.5v6.5h-6.5zM6.25 2.25v2.5M9.75 2.25v2.5M6.25 11.25v2.5M9.75 11.25v2.5M2.25 6.25h2.5M2.25 9.75h2.5M11.25 6.25h2.5M11.25 9.75h2.5',
  runs: 'M5 3.25v9.5l7.5-4.75z',
  flows:
    'M3.25 6.25h3.5v3.5h-3.5zM10 2.5h3.25v3.25h-3.25zM10 10.25h3.25v3.25h-3.25zM6.75 8h1.5c1 0 0-3.875 1.75-3.875M8.25 8c1 0 0 3.875 1.75 3.875',
  waits: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M8 5v3.25l2 1.25',
  runners: 'M2.75 3h10.5v4h-10.5zM2.75 9h10.5v4h-10.5zM5 5h.01M5 11h.01',
  menu: 'M2.5 4.25h11M2.5 8h11M2.5 11.75h11',
  close: 'M4 4l8 8M12 4l-8 8',
  light:
    'M8 5.25a2.75 2.75 0 1 0 0 5.5a2.75 2.75 0 1 0 0-5.5M8 1.5v1.25M8 13.25v1.25M1.5 8h1.25M13.25 8h1.25M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9',
  dark: 'M13 9.6a5.5 5.5 0 1 1-6.6-6.6a4.5 4.5 0 0 0 6.6 6.6z',
  system: 'M2.25 3h11.5v7.5h-11.5zM5.5 13.25h5M8 10.5v2.75',
  signOut: 'M9.5 3.25h3.25v9.5h-3.25M2.75 8h6.75M6.75 5.25l2.75 2.75l-2.75 2.75',
  search: 'M7 2.75a4.25 4.25 0 1 0 0 8.5a4.25 4.25 0 1 0 0-8.5M10.25 10.25l3.25 3.25',
  chevron: 'M6 4l4 4l-4 4',
  down: 'M4 6l4 4l4-4',
  copy: 'M5.5 5.5h7.25v7.25h-7.25zM3.25 10.5v-7.25h7.25',
  check: 'M3 8.5l3.25 3.25l6.75-7.5',
  warning: 'M8 2.5l6 10.75h-12zM8 6.5v3M8 11.5h.01',
  refresh: 'M13 8a5 5 0 1 1-1.5-3.55M13 2.5v2.5h-2.5',
  plus: 'M8 3.25v9.5M3.25 8h9.5',
  minus: 'M3.25 8h9.5',
  fit: 'M2.75 6v-3.25h3.25M10 2.75h3.25v3.25M13.25 10v3.25h-3.25M6 13.25h-3.25v-3.25',
  save: 'M8 2.75v7.5M4.75 7.25l3.25 3.25l3.25-3.25M3 13.25h10',
} as const

export type IconName = keyof typeof PATHS

/** A mark beside words. Where it stands alone, whatever holds it has the words. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg className={styles.icon} width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
