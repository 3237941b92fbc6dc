import { hostname, userInfo } from 'node:os'

/** Who runs this command: `ana@laptop`. */
export function operatorName(): string {
  return `${userName()}@${hostname()}`
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under an id that has no name.
    return 'somebody'
  }
}
