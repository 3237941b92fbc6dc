/**
 * Whether a worker may go on claiming: `running`; `deprecated` (told to stop, or stopped); `fenced` (its function is
 * disabled); `unknown` (it has no row, so it must register again).
 */
export type WorkerState = 'running' | 'deprecated' | 'fenced' | 'unknown'
