// Preloaded into a worker's process: its clock is off by STARFLOW_TEST_CLOCK_SHIFT_MS from the start.
const shiftMs = Number(process.env.STARFLOW_TEST_CLOCK_SHIFT_MS)
const RealDate = globalThis.Date

class ShiftedDate extends RealDate {
  constructor(...parts: [] | ConstructorParameters<typeof RealDate>) {
    if (parts.length === 0) super(ShiftedDate.now())
    else super(...(parts as ConstructorParameters<typeof RealDate>))
  }

  static override now(): number {
    return RealDate.now() + shiftMs
  }
}

globalThis.Date = ShiftedDate as DateConstructor
console.log(`its clock says ${new Date().toISOString()}`)
